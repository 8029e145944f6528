"""The survivors that are known, each with the reason why it may live: `spec/mutants.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.mutants.operators import Key
from tests.mutants.suite import ROOT

FILE = ROOT / "spec" / "mutants.toml"
NAMES = frozenset(field.name for field in fields(Key))


def known(file: Path = FILE) -> dict[Key, str]:
    """Reasons, by mutant."""
    if not file.exists():
        return {}
    rows: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    return {Key(**{name: value for name, value in row.items() if name in NAMES}): row["reason"] for row in rows}
