"""Which processes live: each holds a lock that ends with it, however it ends (SPEC 15.1)."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from remit._base.ident import new_id

PREFIX: Final = "own_"


class Lock:
    """The lock of one owner of rows: the operating system takes it back when the process ends, SIGKILL included.

    It is an exclusive transaction on an empty database beside the store, so it works wherever the store itself does,
    and between two stores of one process, too.
    """

    __slots__ = ("_file", "_held", "id")

    def __init__(self, store: Path) -> None:
        self.id = new_id(PREFIX)
        self._file = file_of(store, self.id)
        self._held = _locked(self._file)

    def end(self) -> None:
        """Give it back, as the end of the process would."""
        self._held.close()
        remove(self._file)


class FileOwners:
    """The owners of the rows of a file; fits `Owners`."""

    __slots__ = ("_store",)

    def __init__(self, store: Path) -> None:
        self._store = store

    def lives(self, id: str) -> bool:
        """Whether the process that is this owner has not ended."""
        return lives(self._store, id)

    def gone(self, id: str) -> None:
        """What it left has been brought to its end."""
        remove(file_of(self._store, id))


def file_of(store: Path, id: str) -> Path:
    """Where the lock of an owner is."""
    return store.with_name(f"{store.name}-{id}")


def lives(store: Path, id: str) -> bool:
    """Whether somebody holds the lock of this owner; one whose file is gone has ended."""
    file = file_of(store, id)
    if not file.exists():
        return False
    try:
        _locked(file).close()
    except sqlite3.OperationalError:
        return True
    return False


def remove(file: Path) -> None:
    """Take the file of an owner that has ended away; where that cannot be done it lies there, and means nothing."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


def _locked(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except BaseException:
        connection.close()
        raise
    return connection
