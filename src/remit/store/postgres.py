"""The store of several machines, in PostgreSQL: what was decided outlives every process (SPEC 15.1)."""

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg import errors

from remit._base.clock import Clock, SystemClock
from remit._base.ident import new_id
from remit.store.database import Answer, Lasts, Value, writing
from remit.store.failures import (
    StoreBroken,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnreachable,
)
from remit.store.owners import PREFIX
from remit.store.recovery import lose
from remit.store.schema import STEPS, VERSION, check_between
from remit.store.sql_store import SqlStore

__all__ = ["PostgresStore", "StoreUnreachable", "migrate_database"]

POLL_S: Final = 1.0
BUSY_S: Final = 1.0
GRACE_S: Final = 5.0
SCHEMA: Final = "remit"
_BETWEEN: Final = 7_236_041
"""The advisory lock that transactions of one schema hold while they write: two are never beside each other."""


class PostgresStore(SqlStore):
    """Keeps everything in the schema `remit` of a database; fits `Store`. What is over it needs keys (SPEC 7.1).

        store = PostgresStore("postgresql://app@db.example/app")

    `conninfo` is what libpq takes. It keeps what `SQLiteStore` keeps, in the same way; processes of any number of
    machines may use one database. Each holds a lock in its session: one whose connection has ended, and that was not
    heard of for `grace_s` seconds, has ended, and what it left open is brought to its end. A connection that breaks is
    made anew with the next question, so a database that was restarted needs no hand.

    `busy_s` is how long somebody else may hold what is asked for. StoreUnreachable: nobody answers; StoreLocked,
    StoreReadOnly, StoreFull, StoreVersion and StoreBroken as for `SQLiteStore`. The schema is made by the first store
    that finds none, and changed by `migrate_database` alone. Close it with `close()`.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        clock: Clock | None = None,
        busy_s: float = BUSY_S,
        poll_s: float = POLL_S,
        grace_s: float = GRACE_S,
    ) -> None:
        if not isinstance(conninfo, str) or not conninfo.strip():
            raise ValueError('PostgresStore(conninfo) takes what libpq does: "postgresql://user@host/database"')
        owner = new_id(PREFIX)
        self._server = PostgresEngine(conninfo, busy_s, owner)
        with _telling(self._server):
            try:
                self._server.open()
                _make(self._server)
                self._server.begin(Lasts.READS)
                self._server.check_version()
                self._server.commit()
                self._server.heard()
                at = SystemClock() if clock is None else clock
                super().__init__(self._server, SessionOwners(self._server, grace_s), owner, at, poll_s)
            except BaseException:
                self._server.close()
                raise

    def _ending(self) -> None:
        with writing(self._server) as db:
            lose(db, self._owner, self._clock.now().isoformat())

    def _changed(self) -> object:
        self._server.heard()
        counts = (
            f'(SELECT count(*) FROM "{table}"), (SELECT max("xmin"::text::bigint) FROM "{table}")'
            for table in ("suspensions", "revocations", "delegations")
        )
        return self._server.db.execute(f"SELECT {', '.join(counts)}").fetchone()


class PostgresEngine:
    """A connection that is made anew when it has broken; fits `Engine`, and is its own `Database`."""

    def __init__(self, conninfo: str, busy_s: float, owner: str) -> None:
        self._conninfo = conninfo
        self._busy_ms = max(round(busy_s * 1_000), 1)
        self._owner = owner
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def name(self) -> str:
        """What an operator calls it; nothing of how it is reached."""
        return "the database"

    @property
    def db(self) -> "PostgresEngine":
        """Where statements go."""
        return self

    def open(self) -> None:
        """Connect, and hold the lock of this process."""
        self.close()
        options = f"-c lock_timeout={self._busy_ms} -c client_min_messages=warning -c search_path={SCHEMA}"
        connection = psycopg.connect(
            self._conninfo, autocommit=True, connect_timeout=2, options=options, tcp_user_timeout=5_000
        )
        connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (self._owner,))
        self._connection = connection

    def heard(self) -> None:
        """Say that this process lives."""
        self.execute(
            'INSERT INTO "owners" VALUES (?, extract(epoch FROM clock_timestamp())::text)'
            ' ON CONFLICT ("id") DO UPDATE SET "since" = excluded."since"',
            (self._owner,),
        )

    def execute(self, statement: str, values: Sequence[Value] = (), /) -> Answer:
        """Do it, on a new connection where the old one has broken."""
        if self._connection is None or self._connection.closed:
            self.open()
        assert self._connection is not None
        answer: Answer = self._connection.execute(statement.replace("?", "%s").encode(), tuple(values))
        return answer

    def begin(self, lasts: Lasts) -> None:
        """Begin a transaction; one that writes is alone."""
        try:
            self.execute("BEGIN")
        except psycopg.OperationalError:  # the connection had broken before anything was asked of it
            self.close()
            self.execute("BEGIN")
        if lasts:
            self.execute("SELECT pg_advisory_xact_lock(?)", (_BETWEEN,))
        if lasts is Lasts.LOOSELY:
            self.execute("SET LOCAL synchronous_commit = off")

    def commit(self) -> None:
        """End it, and keep it."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """End it, and keep nothing; a connection that cannot do that is given up."""
        try:
            if self._connection is not None and not self._connection.closed:
                self._connection.execute(b"ROLLBACK")
        except psycopg.Error:
            self.close()

    def check_version(self) -> None:
        """StoreVersion where this program and the schema do not go together."""
        version, oldest = self.execute("SELECT version, oldest FROM remit_schema").fetchone()
        check_between(version, oldest, self.name)

    def told(self, problem: Exception) -> StoreError | None:
        """The problem in the operator's terms."""
        if not isinstance(problem, psycopg.Error):
            return None
        match problem:
            case errors.LockNotAvailable() | errors.QueryCanceled() | errors.DeadlockDetected():
                return StoreLocked("somebody holds the database\n  do  end what holds it; calls go on by themselves")
            case errors.ReadOnlySqlTransaction():
                return StoreReadOnly("the database is read-only\n  do  name the primary; calls go on by themselves")
            case errors.DiskFull() | errors.OutOfMemory():
                return StoreFull("there is no room in the database\n  do  make room; calls go on by themselves")
            case psycopg.OperationalError() | psycopg.InterfaceError():
                self.close()
                return StoreUnreachable(
                    "the database cannot be reached\n  do  look whether it runs; calls go on by themselves"
                )
            case _:
                return StoreBroken(f"the database refused a statement: {type(problem).__name__}")

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()


class SessionOwners:
    """The owners of rows by the locks of their sessions; fits `Owners`.

    A connection may break while its process lives, so one that was heard of lately lives, too.
    """

    def __init__(self, engine: PostgresEngine, grace_s: float) -> None:
        self._engine = engine
        self._grace_s = grace_s

    def lives(self, id: str) -> bool:
        """Whether the process that is this owner has not ended."""
        heard = self._engine.execute(
            'SELECT extract(epoch FROM clock_timestamp()) - "since"::double precision FROM "owners" WHERE "id" = ?',
            (id,),
        ).fetchone()
        if heard is None or float(heard[0]) < self._grace_s:
            return heard is not None
        (free,) = self._engine.execute("SELECT pg_try_advisory_lock(hashtextextended(?, 0))", (id,)).fetchone()
        if free:
            self._engine.execute("SELECT pg_advisory_unlock(hashtextextended(?, 0))", (id,))
        return not free

    def gone(self, id: str) -> None:
        """What it left has been brought to its end: nothing of it is left beside its rows."""


def migrate_database(conninfo: str) -> tuple[int, int]:
    """Bring the schema of a store to this program's version; the version before and after (SPEC 15.6).

    One that is not there is made; a newer one is left as it is, which the versions tell.
    """
    engine = PostgresEngine(conninfo, BUSY_S, new_id(PREFIX))
    with _telling(engine), contextlib.closing(engine):
        engine.open()
        return _migrate(engine)


def _make(engine: PostgresEngine) -> None:
    """Make the schema where there is none; two that begin at the same time make one."""
    if _version(engine) == 0:
        _migrate(engine)


def _migrate(engine: PostgresEngine) -> tuple[int, int]:
    with writing(engine) as db:
        version = _version(engine)
        if version == 0:
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            db.execute("CREATE TABLE remit_schema (version INTEGER NOT NULL, oldest INTEGER NOT NULL)")
            db.execute("INSERT INTO remit_schema VALUES (0, 0)")
        for step in STEPS[version:]:
            for statement in step.sql.split(";\n"):
                if statement.strip():
                    db.execute(_dialect(statement))
        if version < VERSION:
            db.execute("UPDATE remit_schema SET version = ?, oldest = ?", (VERSION, STEPS[-1].oldest))
    return version, max(version, VERSION)


def _version(engine: PostgresEngine) -> int:
    (there,) = engine.execute("SELECT to_regclass(?)", (f"{SCHEMA}.remit_schema",)).fetchone()
    return 0 if there is None else int(engine.execute("SELECT version FROM remit_schema").fetchone()[0])


def _dialect(statement: str) -> str:
    """A statement of the schema as this database says it."""
    return (
        statement.replace(" STRICT, WITHOUT ROWID", "").replace(" STRICT", "").replace(" REAL ", " DOUBLE PRECISION ")
    )


class _Telling(contextlib.AbstractContextManager[None]):
    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        told = self._engine.told(problem) if isinstance(problem, Exception) else None
        if told is not None:
            raise told from problem


def _telling(engine: PostgresEngine) -> _Telling:
    return _Telling(engine)
