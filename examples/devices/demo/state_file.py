"""Where a console that is being served says so, for `scripts/demo --agent` of the same user."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from demo.console_process import Console

STATE_FILE: Final = Path(__file__).resolve().parent.parent / ".remit" / "demo.json"


def announce(console: Console, file: Path = STATE_FILE) -> None:
    """Write the file, readable by its owner only: it holds tokens."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    half = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(console.to_line())
    half.replace(file)


def withdraw(console: Console, file: Path = STATE_FILE) -> None:
    """Remove the file, unless another console has replaced it meanwhile."""
    if announced(file) == console:
        file.unlink(missing_ok=True)


def announced(file: Path = STATE_FILE) -> Console | None:
    """The console that is being served, as far as the file knows; None without a readable one."""
    try:
        return Console.from_line(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, TypeError):
        return None
