"""Faults of a server of the page protocol as data: texts of the source, and what stands there instead."""

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Edit:
    """A text of the source, which stands there once, and what stands there instead."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Fault:
    """One fault, and the case that finds it in a file of cases."""

    name: str
    cases: str
    case: str
    edits: tuple[Edit, ...]

    def plant(self, folder: Path) -> None:
        """Copy the sources into `folder`, with the fault."""
        shutil.copytree(ROOT / "src", folder / "src")
        for edit in self.edits:
            spoilt = folder / edit.file
            spoilt.write_text(spoilt.read_text(encoding="utf-8").replace(edit.find, edit.replace), encoding="utf-8")


def faults() -> list[Fault]:
    """Every fault there is."""
    rows: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("page_protocol.toml").read_text())["fault"]
    return [Fault(row["name"], row["cases"], row["case"], tuple(Edit(**edit) for edit in row["edit"])) for row in rows]
