"""Why a store gave no answer, in the operator's terms; nothing was kept of what was asked (SPEC 15.1, 15.6)."""

import sqlite3
from pathlib import Path
from typing import Final

_BUSY, _LOCKED, _READ_ONLY, _FULL, _CORRUPT, _NO_DATABASE, _CANNOT_OPEN = 5, 6, 8, 13, 11, 26, 14
_PRIMARY: Final = 0xFF


class StoreError(Exception):
    """The store gave no answer: nothing of what was asked has been kept, and the call that needed it is refused.

    It is asked anew with the next call, so that nothing is to be done by hand once the reason has gone.
    """


class StoreLocked(StoreError):
    """Another process holds the file, for longer than `busy_s`."""


class StoreUnreachable(StoreError):
    """Nobody answers where the database is meant to be."""


class StoreReadOnly(StoreError):
    """The file, its folder or its mount cannot be written."""


class StoreFull(StoreError):
    """There is no room: the disk, or what `most_bytes` allows."""


class StoreVersion(StoreError):
    """The file has an older schema than this program (`remit migrate`), or a newer one that it cannot work with."""


class StoreBroken(StoreError):
    """The file is no store, or the machine cannot read or write it."""


def told(problem: sqlite3.Error, path: Path) -> StoreError:
    """The error of the database, named by what an operator can do about it."""
    code = (getattr(problem, "sqlite_errorcode", None) or 0) & _PRIMARY
    name = path.name
    if code in {_BUSY, _LOCKED}:
        return StoreLocked(f"{name} is locked by another process\n  do  end what holds it; calls go on by themselves")
    if code == _READ_ONLY:
        return StoreReadOnly(f"{name} cannot be written\n  do  mount its folder for writing; calls go on by themselves")
    if code == _FULL:
        return StoreFull(f"there is no room for {name}\n  do  make room on its disk; calls go on by themselves")
    if code in {_CORRUPT, _NO_DATABASE}:
        return StoreBroken(f"{name} is no store, or is damaged: {problem}\n  do  bring the last copy of it back")
    if code == _CANNOT_OPEN:
        return StoreBroken(f"{name} cannot be opened: {problem}\n  do  look at its folder, and at who may write there")
    return StoreBroken(f"{name} cannot be read or written: {problem}")
