"""How a place inside a value is named to a caller: bounded, and free of what the caller sent (SPEC 6.12, 8.3)."""

import re
from collections.abc import Iterable
from typing import Final

MAX_SEGMENT: Final = 64
MAX_PATH: Final = 200
"""Characters of a path that somebody else wrote."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_WRITTEN: Final = re.compile(r"(.*?)((?:\[[0-9]{1,15}\])*)", re.DOTALL)


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


def reworded(path: str) -> str:
    """Return a path that somebody else wrote as `join` would have: plain segments only, 200 characters at most.

    What goes beyond is left out whole segments at a time, and a `?` stands for it.
    """
    shown = ""
    for written in path[: MAX_PATH * MAX_SEGMENT].split(".") if path else ():
        found = _WRITTEN.fullmatch(written)
        name, indices = (written, "") if found is None else found.groups()
        step = segment(name) + indices if name or not indices else indices
        longer = f"{shown}.{step}" if shown else step
        if len(longer) > MAX_PATH:
            return f"{shown}.?" if shown else "?"
        shown = longer
    return shown
