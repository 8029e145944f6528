"""The store of one machine, in one SQLite file: what was decided outlives every process (SPEC 15.1)."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from remit._base.clock import Clock, SystemClock
from remit.store.failures import StoreBroken, StoreError, StoreFull, StoreLocked, StoreReadOnly, StoreVersion, told
from remit.store.owners import Lock
from remit.store.recovery import forget, recover, writing
from remit.store.schema import check_version, is_empty, migrate
from remit.store.sqlite_parts import (
    SqlCalls,
    SqlConfirmations,
    SqlDelegations,
    SqlHandoffs,
    SqlMeters,
    SqlRevocations,
    SqlSessions,
    SqlStandings,
    SqlSuspensions,
)
from remit.store.table import Value
from remit.store.writer import Lasts, Writer

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
FORGET_EVERY: Final = 3_600
"""After how many looks around what has had its time is dropped."""

_MODE: Final = 0o600


class SQLiteStore:
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
        self._clock = SystemClock() if clock is None else clock
        self._looks = 0
        self._seen = -1
        with _telling(self._path):
            connection = _opened(self._path, busy_s, most_bytes)
            try:
                self._lock = Lock(self._path)
                try:
                    self._begin(connection)
                except BaseException:
                    self._lock.end()
                    raise
            except BaseException:
                connection.close()
                raise
        # From here on the connection belongs to the thread.
        self._writer = Writer(connection, self._path, poll_s, self._look_around)
        self._confirmations = SqlConfirmations(self._writer, self._lock.id)
        self._meters = SqlMeters(self._writer, self._clock)
        self._calls = SqlCalls(self._writer, self._lock.id, lambda: self._left_calls)

    def _begin(self, connection: sqlite3.Connection) -> None:
        owner, clock = self._lock.id, self._clock
        with writing(connection):
            connection.execute('INSERT INTO "owners" VALUES (?, ?)', (owner, clock.now().isoformat()))
        recover(connection, self._path, owner, clock)
        forget(connection, clock)
        self._suspensions = SqlSuspensions(self._later)
        self._revocations = SqlRevocations(clock, self._later)
        self._standing = SqlStandings(clock, self._later, owner)
        self._handoffs = SqlHandoffs(self._later, owner)
        self._sessions = SqlSessions(clock, self._later, owner)
        self._delegations = SqlDelegations(clock, self._later)
        self._left_calls = False
        self._read(connection)

    @property
    def durable(self) -> bool:
        """True: what is kept outlives the process."""
        return True

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def confirmations(self) -> SqlConfirmations:
        """The confirmation requests."""
        return self._confirmations

    @property
    def meters(self) -> SqlMeters:
        """The shared limits."""
        return self._meters

    @property
    def suspensions(self) -> SqlSuspensions:
        """What is switched off."""
        return self._suspensions

    @property
    def revocations(self) -> SqlRevocations:
        """What was taken back."""
        return self._revocations

    @property
    def standing(self) -> SqlStandings:
        """What was approved for the session."""
        return self._standing

    @property
    def handoffs(self) -> SqlHandoffs:
        """The steps for persons."""
        return self._handoffs

    @property
    def sessions(self) -> SqlSessions:
        """The open views."""
        return self._sessions

    @property
    def delegations(self) -> SqlDelegations:
        """The tokens that were given out."""
        return self._delegations

    @property
    def calls(self) -> SqlCalls:
        """The calls that must not run twice."""
        return self._calls

    async def flush(self) -> None:
        """Return when everything that was said before is on the disk; StoreError where that cannot be."""
        await self._writer.flush()

    async def refresh(self) -> None:
        """Take over at once what other processes have changed; it happens every `poll_s` seconds by itself."""
        await self._writer.ask(Lasts.READS, self._read)

    def close(self) -> None:
        """Write what is owed and end; it waits for the disk. What the process left open counts as left behind.

        Twice is once. Whatever is asked later is a StoreError.
        """
        self._writer.end()
        self._lock.end()

    def _later(self, table: str, key: str, statement: str, values: Sequence[Value]) -> None:
        self._writer.later(table, key, statement, values)

    def _look_around(self, connection: sqlite3.Connection) -> None:
        (changed,) = connection.execute("PRAGMA data_version").fetchone()
        recovered = recover(connection, self._path, self._lock.id, self._clock)
        if recovered or changed != self._seen:
            self._seen = changed
            self._read(connection)
        self._looks += 1
        if self._looks % FORGET_EVERY == 0:
            forget(connection, self._clock)

    def _read(self, connection: sqlite3.Connection) -> None:
        now = self._clock.now().isoformat()
        self._suspensions.read(connection)
        self._revocations.read(connection)
        self._delegations.read(connection, now)
        self._sessions.read(connection, now)
        self._handoffs.read(connection, now)
        left = connection.execute('SELECT 1 FROM "calls" WHERE "owner" IS NULL AND "until" > ? LIMIT 1', (now,))
        self._left_calls = left.fetchone() is not None


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
