"""The parts of a store over a database: what is asked of it, and copies with it behind them."""

import builtins
from collections.abc import Callable, Collection, Sequence
from typing import Final

from typing_extensions import Unpack

from remit._base.clock import Clock
from remit.store.copies import ENDED, MemoryDelegations, MemoryHandoffs, MemorySessions, MemoryStandings
from remit.store.database import Database, Lasts, Value
from remit.store.memory import MemoryRevocations, MemorySuspensions
from remit.store.protocol import ConfirmationChanges, ConfirmationRow, RevocationRow
from remit.store.rows import CallRow, DelegationRow, HandoffRow, SessionRow, StandingRow
from remit.store.table import Table
from remit.store.writer import Writer

CONFIRMATIONS: Final = Table("confirmations", ConfirmationRow, owned=True)
REVOCATIONS: Final = Table("revocations", RevocationRow)
STANDING: Final = Table("standing", StandingRow, owned=True)
HANDOFFS: Final = Table("handoffs", HandoffRow, owned=True)
SESSIONS: Final = Table("sessions", SessionRow, owned=True)
DELEGATIONS: Final = Table("delegations", DelegationRow)
CALLS: Final = Table("calls", CallRow, ("surface_id", "consumer", "id"), owned=True)

_CHARGE: Final = """INSERT INTO "meters" ("key", "full_at", "used_at") VALUES (?, ?, ?)
ON CONFLICT ("key") DO UPDATE SET "full_at" = excluded."full_at", "used_at" = excluded."used_at\""""
_CHANGES: Final = frozenset(ConfirmationChanges.__annotations__)

Later = Callable[[str, str, str, Sequence[Value]], None]
"""Write a row of a table soon: table, key, statement, values."""


class SqlConfirmations:
    """The confirmation requests; a compare-and-set is one statement, so it holds between processes."""

    def __init__(self, writer: Writer, owner: str) -> None:
        self._writer = writer
        self._owner = owner

    @property
    def durable(self) -> bool:
        """True: requests outlive the process that asked."""
        return True

    async def put(self, row: ConfirmationRow) -> None:
        """Keep a new request; an id that is taken is a `ValueError`."""

        def work(db: Database) -> None:
            if db.execute('SELECT 1 FROM "confirmations" WHERE "id" = ?', (row.id,)).fetchone() is not None:
                raise ValueError("there is a request with this id already")
            db.execute(CONFIRMATIONS.put, CONFIRMATIONS.values(row, self._owner))

        await self._writer.ask(Lasts.SAFELY, work)

    async def get(self, id: str) -> ConfirmationRow | None:
        """Return the request, or None."""
        found = await self._writer.ask(Lasts.READS, lambda db: CONFIRMATIONS.select(db, 'WHERE "id" = ?', (id,)))
        return found[0] if found else None

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        """Change the status if it still is `from_status`; False when it is not, or there is no such id."""
        given: dict[str, Value] = {"status": to_status}
        for name, value in changes.items():
            if name not in _CHANGES or not (value is None or isinstance(value, str)):
                raise TypeError(f"a transition changes {', '.join(sorted(_CHANGES))}, as text; not {name!r}")
            given[name] = value
        columns = ", ".join(f'"{name}" = ?' for name in given)
        statement = f'UPDATE "confirmations" SET {columns} WHERE "id" = ? AND "status" = ?'
        values = (*given.values(), id, from_status)
        return await self._writer.ask(Lasts.SAFELY, lambda db: db.execute(statement, values).rowcount == 1)

    async def list(
        self, *, surface_id: str | None = None, statuses: Collection[str] | None = None
    ) -> builtins.list[ConfirmationRow]:
        """Return the requests that fit, oldest first; None does not restrict."""
        if statuses is not None and not statuses:
            return []
        where, given = ["1 = 1"], builtins.list[Value]()
        if surface_id is not None:
            where.append('"surface_id" = ?')
            given.append(surface_id)
        if statuses is not None:
            where.append(f'"status" IN ({", ".join("?" for _ in statuses)})')
            given += statuses
        rest = f'WHERE {" AND ".join(where)} ORDER BY "created_at", "id"'
        return await self._writer.ask(Lasts.READS, lambda db: CONFIRMATIONS.select(db, rest, given))


class SqlMeters:
    """Token buckets that every process over the file shares; of each only the instant at which it will be full."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        """Take a token, or say in how many seconds there is one."""

        def work(db: Database) -> float:
            now = self._clock.now().timestamp()  # monotonic clocks of two processes have nothing in common
            row = db.execute('SELECT "full_at" FROM "meters" WHERE "key" = ?', (key,)).fetchone()
            full_at = max(now if row is None else row[0], now) + per_s / calls
            over: float = full_at - now - per_s
            if over > per_s * 1e-9 + 1e-6:  # seconds since 1970 have so many digits
                return over
            if charge:
                db.execute(_CHARGE, (key, full_at, now))
            return 0.0

        return await self._writer.ask(Lasts.LOOSELY if charge else Lasts.READS, work)


class SqlCalls:
    """The calls that must not run twice; `left` says whether a process has left one behind."""

    def __init__(self, writer: Writer, owner: str, left: Callable[[], bool]) -> None:
        self._writer = writer
        self._owner = owner
        self._left = left

    @property
    def any_lost(self) -> bool:
        """False as long as no process has left a call behind."""
        return self._left()

    async def begin(self, row: CallRow) -> None:
        """Keep a call that is about to run."""
        values = CALLS.values(row, self._owner)
        await self._writer.ask(Lasts.SAFELY, lambda db: db.execute(CALLS.put, values))

    async def settle(self, surface_id: str, consumer: str, id: str, outcome: str | None) -> None:
        """Keep how it ended; None forgets it."""
        where, given = '"surface_id" = ? AND "consumer" = ? AND "id" = ?', (surface_id, consumer, id)
        if outcome is None:
            statement, values = f'DELETE FROM "calls" WHERE {where}', given
            await self._writer.ask(Lasts.SAFELY, lambda db: db.execute(statement, values))
            return
        set_ = f'UPDATE "calls" SET "outcome" = ? WHERE {where}'
        await self._writer.ask(Lasts.SAFELY, lambda db: db.execute(set_, (outcome, *given)))

    async def lost(self, tenant: str | None, principal: str, consumer: str, id: str) -> CallRow | None:
        """Return the call of this id that a process began which has ended since."""
        whose, given = ('"tenant" = ?', [tenant]) if tenant is not None else ('"tenant" IS NULL', [])
        rest = (
            f'WHERE "owner" IS NULL AND {whose} AND "principal" = ? AND "consumer" = ? AND "id" = ?'
            ' ORDER BY "started_at" DESC LIMIT 1'
        )
        given = [*given, principal, consumer, id]
        found = await self._writer.ask(Lasts.READS, lambda db: CALLS.select(db, rest, given))
        return found[0] if found else None


class SqlSuspensions(MemorySuspensions):
    """What is switched off, in memory for every call; a change is written behind it."""

    def __init__(self, later: Later) -> None:
        super().__init__()
        self._later = later

    def set(self, key: str, suspended: bool) -> bool:
        """Suspend or reinstate; say whether that changed anything."""
        changed = super().set(key, suspended)
        if changed:
            verb = 'INSERT INTO "suspensions" ("key") VALUES (?) ON CONFLICT DO NOTHING'
            self._later("suspensions", key, verb if suspended else 'DELETE FROM "suspensions" WHERE "key" = ?', (key,))
        return changed

    def read(self, db: Database) -> None:
        """Take over what other processes have changed."""
        found = {key for (key,) in db.execute('SELECT "key" FROM "suspensions"')}
        for key in found - self._keys:
            super().set(key, True)
        for key in self._keys - found:
            super().set(key, False)


class SqlRevocations(MemoryRevocations):
    """What was taken back, in memory for every request; a new row is written behind it."""

    def __init__(self, clock: Clock, later: Later) -> None:
        super().__init__(clock)
        self._later = later

    def add(self, row: RevocationRow) -> bool:
        """Revoke; say whether that changed anything."""
        added = super().add(row)
        if added:
            self._later("revocations", row.id, REVOCATIONS.put, REVOCATIONS.values(row))
        return added

    def read(self, db: Database) -> None:
        """Take over what other processes have revoked."""
        for row in REVOCATIONS.select(db):
            super().add(row)


class SqlStandings(MemoryStandings):
    """What was approved for the session; ended ones stay in the file for as long as requests do."""

    def __init__(self, clock: Clock, later: Later, owner: str) -> None:
        super().__init__(clock)
        self._later = later
        self._owner = owner

    def put(self, row: StandingRow) -> None:
        """Keep it as it is now."""
        super().put(row)
        self._later("standing", row.id, STANDING.put, STANDING.values(row, self._owner))


class SqlHandoffs(MemoryHandoffs):
    """The steps for persons: written behind their surfaces, and handed over when a process has ended."""

    def __init__(self, clock: Clock, later: Later, owner: str) -> None:
        super().__init__(clock)
        self._later = later
        self._owner = owner
        self._lost: dict[str, HandoffRow] = {}
        self._taken: set[str] = set()
        self._left = 0

    def put(self, row: HandoffRow) -> None:
        """Keep it as it is now."""
        super().put(row)
        self._later("handoffs", row.id, HANDOFFS.put, HANDOFFS.values(row, self._owner))

    def list(self, tenant: str | None, principal: str, consumer: str) -> builtins.list[HandoffRow]:
        """Return what this person and consumer had that has ended, and then what waits to be handed over."""
        wanted = (tenant, principal, consumer)
        waits = [row for row in tuple(self._lost.values()) if (row.tenant, row.principal, row.consumer) == wanted]
        return [*super().list(tenant, principal, consumer), *waits]

    def lost(self, tenant: str | None, principal: str, capability: str, instance: str) -> Sequence[HandoffRow]:
        """Hand over what waits for this person here and was asked for by a process that has ended; each only once."""
        if not self._lost:
            return ()
        wanted = (tenant, principal, capability, instance)
        own = [
            row
            for row in tuple(self._lost.values())
            if (row.tenant, row.principal, row.capability, row.instance) == wanted
        ]
        self._taken.update(row.id for row in own)
        return [row for row in own if self._lost.pop(row.id, None) is not None]

    def read(self, db: Database, now: str) -> None:
        """Find what processes that have ended left open, and what had ended there."""
        rest = """WHERE "owner" IS NULL AND "status" = 'pending' AND "expires_at" > ?"""
        self._lost = {row.id: row for row in HANDOFFS.select(db, rest, (now,)) if row.id not in self._taken}
        ended = """WHERE "owner" IS NULL AND "status" <> 'pending'"""
        (left,) = db.execute(f'SELECT COUNT(*) FROM "handoffs" {ended}').fetchone() or (0,)
        if left != self._left:
            for row in reversed(HANDOFFS.select(db, f'{ended} ORDER BY "created_at" DESC LIMIT {ENDED}')):
                super().put(row)
            self._left = left


class SqlSessions(MemorySessions):
    """The open views: written behind the gateway, and found again when a process has ended."""

    def __init__(self, clock: Clock, later: Later, owner: str) -> None:
        super().__init__(clock)
        self._later = later
        self._owner = owner
        self._lost: dict[str, SessionRow] = {}
        self._taken: set[str] = set()

    def put(self, row: SessionRow) -> None:
        """Keep it as it is now."""
        super().put(row)
        self._later("sessions", row.id, SESSIONS.put, SESSIONS.values(row, self._owner))

    def end(self, id: str) -> None:
        """Forget it."""
        super().end(id)
        self._later("sessions", id, 'DELETE FROM "sessions" WHERE "id" = ?', (id,))

    def lost(self, tenant: str | None, principal: str, key: str) -> SessionRow | None:
        """Hand over the view of this name that a process had open which has ended; only once."""
        named = (tenant, principal, key)
        found = [row for row in tuple(self._lost.values()) if (row.tenant, row.principal, row.key) == named]
        latest = max(found, key=lambda row: row.seen_at or "", default=None)
        if latest is None:
            return None
        self._taken.add(latest.id)
        return self._lost.pop(latest.id, None)

    def read(self, db: Database, now: str) -> None:
        """Find what processes that have ended had open."""
        rest = 'WHERE "owner" IS NULL AND "key" IS NOT NULL AND "until" > ?'
        self._lost = {row.id: row for row in SESSIONS.select(db, rest, (now,)) if row.id not in self._taken}


class SqlDelegations(MemoryDelegations):
    """The tokens that were given out; a new one is written behind the copy."""

    def __init__(self, clock: Clock, later: Later) -> None:
        super().__init__(clock)
        self._later = later

    def put(self, row: DelegationRow) -> None:
        """Keep it."""
        if self.get(row.id) != row:
            super().put(row)
            self._later("delegations", row.id, DELEGATIONS.put, DELEGATIONS.values(row))

    def read(self, db: Database, now: str) -> None:
        """Take over what other processes have given out."""
        for row in DELEGATIONS.select(db, 'WHERE "until" > ? ORDER BY "begins"', (now,)):
            if self.get(row.id) is None:
                super().put(row)
