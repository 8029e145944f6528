"""Where a console that is being served says so, for `scripts/demo --agent` of the same user."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from demo.console_process import Console

STATE_FILE: Final = Path(__file__).resolve().parent.parent / ".remit" / "demo.json"


def announce(console: Console) -> None:
    """Write the file, readable by its owner only: it holds tokens."""
    STATE_FILE.parent.mkdir(mode=0o700, exist_ok=True)
    half = STATE_FILE.with_name(f"demo.{os.getpid()}")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(console.to_line())
    half.replace(STATE_FILE)


def withdraw(console: Console) -> None:
    """Remove the file, unless another console has replaced it meanwhile."""
    if announced() == console:
        STATE_FILE.unlink(missing_ok=True)


def announced() -> Console | None:
    """The console that is being served, as far as the file knows; None without a readable one."""
    try:
        return Console.from_line(STATE_FILE.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, TypeError):
        return None
