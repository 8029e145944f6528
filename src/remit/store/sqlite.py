"""The store of one machine, in one SQLite file: what was decided outlives every process (SPEC 15.1)."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remit._base.clock import Clock, SystemClock
from remit.store.database import Lasts, writing
from remit.store.failures import StoreBroken, StoreError, StoreFull, StoreLocked, StoreReadOnly, StoreVersion, told
from remit.store.owners import FileOwners, Lock
from remit.store.schema import check_version, is_empty, migrate
from remit.store.sql_store import SqlStore

__all__ = [
    "SQLiteStore",
    "StoreBroken",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreReadOnly",
    "StoreVersion",
    "migrate_file",
]

BUSY_S: Final = 1.0
POLL_S: Final = 1.0
_MODE: Final = 0o600


class SQLiteStore(SqlStore):
    """Keeps everything in the file at `path`; fits `Store`. Surfaces and gateways over it need keys (SPEC 7.1).

        store = SQLiteStore(".remit/state.db")

    One thread works the file, so no event loop waits for a disk; what is asked at the same time is written together. A
    decision, a spent approval and a call that must not run twice are on the disk before they count. Suspensions,
    revocations, views, tokens, handoffs and standing approvals count at once, are written right after, and again until
    they are: `flush()` returns when they are. Several processes of one machine may use one file; what one changes the
    others know within `poll_s` seconds.

    When it is opened, and while it is open, what a process that has ended left behind is brought to its end: requests
    that were open are cancelled, what was spent and not settled stays `outcome: unknown`.

    `busy_s` is how long another process may hold the file, `most_bytes` how large it may become (None: as the disk
    allows). StoreVersion: the file has another schema; a new one is made with this one, an older one needs `remit
    migrate`. StoreLocked, StoreReadOnly, StoreFull, StoreBroken, here and at every later question: nothing of it was
    kept, and it is asked anew when the reason has gone. Close it with `close()`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        busy_s: float = BUSY_S,
        poll_s: float = POLL_S,
        most_bytes: int | None = None,
    ) -> None:
        self._path = _file(path)
        at = SystemClock() if clock is None else clock
        with _telling(self._path):
            connection = _opened(self._path, busy_s, most_bytes)
            try:
                self._lock = Lock(self._path)
                try:
                    engine = self._sqlite = SQLiteEngine(connection, self._path)
                    with writing(engine) as db:
                        db.execute('INSERT INTO "owners" VALUES (?, ?)', (self._lock.id, at.now().isoformat()))
                    super().__init__(engine, FileOwners(self._path), self._lock.id, at, poll_s)
                except BaseException:
                    self._lock.end()
                    raise
            except BaseException:
                connection.close()
                raise

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def close(self) -> None:
        """Write what is owed and end; it waits for the disk. What the process left open counts as left behind.

        Twice is once. Whatever is asked later is a StoreError.
        """
        super().close()
        self._lock.end()

    def _ending(self) -> None:
        """Its lock ends with it, and says so to others."""

    def _changed(self) -> object:
        return self._engine.db.execute("PRAGMA data_version").fetchone()


class SQLiteEngine:
    """A connection to the file; fits `Engine`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self._path = path
        self._synchronous = Lasts.READS

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    @property
    def db(self) -> sqlite3.Connection:
        """The connection."""
        return self.connection

    def begin(self, lasts: Lasts) -> None:
        """Begin a transaction; one that writes waits for those of other processes, `busy_s` at most."""
        if lasts and lasts is not self._synchronous:  # how safely it is written: said before it begins
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if lasts is Lasts.SAFELY else 'NORMAL'}")
            self._synchronous = lasts
        self.connection.execute("BEGIN IMMEDIATE" if lasts else "BEGIN")

    def commit(self) -> None:
        """End it, and keep it."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """End it, and keep nothing."""
        with contextlib.suppress(sqlite3.Error):  # a disk that fails ends it by itself
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")

    def check_version(self) -> None:
        """StoreVersion where this program and the file do not go together."""
        check_version(self.connection, self.name)

    def told(self, problem: Exception) -> StoreError | None:
        """The problem in the operator's terms."""
        return told(problem, self._path) if isinstance(problem, sqlite3.Error) else None

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def migrate_file(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Bring the file of a store to this program's schema; the version before and after (SPEC 15.6).

    A file that is not there is made; a newer one is left as it is, which the versions tell. Workers refuse an older
    file until this was done, and never do it themselves. Errors are those of `SQLiteStore`.
    """
    file = _file(path)
    with _telling(file), contextlib.closing(_connected(file, BUSY_S)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        return migrate(connection)


def _file(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"SQLiteStore(path) takes the path of a file, not {type(path).__name__}")
    text = os.fspath(path)
    if not isinstance(text, str) or not text or text.startswith((":", "file:")):
        raise ValueError(f"{text!r:.80} is no path of a file: what is in memory, or has no name, outlives nothing")
    return Path(text).absolute()


def _opened(file: Path, busy_s: float, most_bytes: int | None) -> sqlite3.Connection:
    connection = _connected(file, busy_s)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        if is_empty(connection):
            migrate(connection)
        check_version(connection, file.name)
        if most_bytes is not None:
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(most_bytes // page, 1)}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(file: Path, busy_s: float) -> sqlite3.Connection:
    """A connection; the file is made for its owner alone, for it holds what people were asked about."""
    if not file.parent.is_dir():
        raise StoreBroken(f"{file.name} cannot be opened: there is no folder {file.parent}")
    with contextlib.suppress(FileExistsError, OSError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MODE))
    return sqlite3.connect(file, timeout=busy_s, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def _telling(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as problem:
        raise told(problem, file) from problem
