"""How a place inside a value is named to a caller: bounded, and free of what the caller sent (SPEC 6.12, 8.3)."""

import re
from collections.abc import Iterable
from typing import Final

MAX_SEGMENT: Final = 64

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")


def segment(key: str) -> str:
    """Return a key cut at 64 characters, or `?` if it holds anything but `[A-Za-z0-9_.-]`."""
    cut = key[:MAX_SEGMENT]
    return cut if _PLAIN.fullmatch(cut) else "?"


def join(steps: Iterable[str | int]) -> str:
    """Return a path like `filter.city` or `ids[2]`; the root is the empty text."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{segment(step)}" if path else segment(step)
    return path
