"""What every store over a database is: its parts, one thread, and a look around each second."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from remit._base.clock import Clock
from remit.store.database import Database, Engine, Lasts, Owners, Value
from remit.store.recovery import forget, recover
from remit.store.sql_parts import (
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
from remit.store.writer import Writer

FORGET_EVERY = 3_600
"""After how many looks around what has had its time is dropped."""


class SqlStore(ABC):
    """The parts over one engine; whoever makes it has opened the engine, and is `owner` from now on."""

    def __init__(self, engine: Engine, owners: Owners, owner: str, clock: Clock, poll_s: float) -> None:
        self._engine = engine
        self._owners = owners
        self._owner = owner
        self._clock = clock
        self._looks = 0
        self._seen: object = None
        self._left_calls = False
        self._suspensions = SqlSuspensions(self._later)
        self._revocations = SqlRevocations(clock, self._later)
        self._standing = SqlStandings(clock, self._later, owner)
        self._handoffs = SqlHandoffs(clock, self._later, owner)
        self._sessions = SqlSessions(clock, self._later, owner)
        self._delegations = SqlDelegations(clock, self._later)
        recover(engine, owners, owner, clock)
        forget(engine, clock)
        self._read(engine.db)
        # From here on the engine belongs to the thread.
        self._writer = Writer(engine, poll_s, self._look_around, self._ending)
        self._confirmations = SqlConfirmations(self._writer, owner)
        self._meters = SqlMeters(self._writer, clock)
        self._calls = SqlCalls(self._writer, owner, lambda: self._left_calls)

    @property
    def durable(self) -> bool:
        """True: what is kept outlives the process."""
        return True

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
        """Return when everything that was said before is kept; StoreError where that cannot be."""
        await self._writer.flush()

    async def refresh(self) -> None:
        """Take over at once what other processes have changed; it happens every `poll_s` seconds by itself."""
        await self._writer.ask(Lasts.READS, self._read)

    def close(self) -> None:
        """Write what is owed and end; it waits for that. What the process left open counts as left behind.

        Twice is once. Whatever is asked later is a StoreError.
        """
        self._writer.end()

    def _later(self, table: str, key: str, statement: str, values: Sequence[Value]) -> None:
        self._writer.later(table, key, statement, values)

    @abstractmethod
    def _ending(self) -> None:
        """Said by a process that ends by itself; one that does not is found out."""

    @abstractmethod
    def _changed(self) -> object:
        """What differs when another process has written since."""

    def _look_around(self) -> None:
        changed = self._changed()
        recovered = recover(self._engine, self._owners, self._owner, self._clock)
        if recovered or changed != self._seen:
            self._seen = changed
            self._read(self._engine.db)
        self._looks += 1
        if self._looks % FORGET_EVERY == 0:
            forget(self._engine, self._clock)

    def _read(self, db: Database) -> None:
        now = self._clock.now().isoformat()
        self._suspensions.read(db)
        self._revocations.read(db)
        self._delegations.read(db, now)
        self._sessions.read(db, now)
        self._handoffs.read(db, now)
        left = db.execute('SELECT 1 FROM "calls" WHERE "owner" IS NULL AND "until" > ? LIMIT 1', (now,))
        self._left_calls = left.fetchone() is not None
