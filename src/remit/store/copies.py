"""What a store keeps in this process beside requests: what stands, steps for persons, views, tokens, calls."""

import builtins
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._model.handoff_view import HandoffStatus
from remit.store.recovery import KEPT
from remit.store.rows import CallRow, DelegationRow, HandoffRow, SessionRow, StandingRow

HELD: Final = 10_000
"""Of each kind; the longest unused goes first."""

ENDED: Final = 1_000
"""Of handoffs, which hold what was told of each."""


class _Owned(Protocol):
    @property
    def tenant(self) -> str | None: ...

    @property
    def principal(self) -> str: ...


R = TypeVar("R", bound=_Owned)


class MemoryStandings:
    """The approvals for the session of one process; what has ended is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._rows: Bounded[str, StandingRow] = Bounded(HELD, None, clock)

    def put(self, row: StandingRow) -> None:
        """Keep it as it is now."""
        if row.ended is None:
            self._rows.put(row.id, row)
        else:
            self._rows.pop(row.id)

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> Sequence[StandingRow]:
        """Return what stands now, oldest first; None does not restrict."""
        return sorted(_of(tenant, principal, self._rows.items()), key=lambda row: (row.given_at, row.id))


class MemoryHandoffs:
    """The steps for persons of one process: surfaces hold those that are open, here are the last that have ended.

    Whoever asks may be in another thread than whoever adds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: Bounded[str, HandoffRow] = Bounded(ENDED, None, clock)

    def put(self, row: HandoffRow) -> None:
        """Keep it once it has ended; one that is open its surface holds."""
        if row.status != HandoffStatus.PENDING.value:
            with self._lock:
                self._ended.put(row.id, row)

    def list(self, tenant: str | None, principal: str, consumer: str) -> builtins.list[HandoffRow]:
        """Return what this person and consumer had that has ended, and is not too old, oldest first."""
        with self._lock:
            own = [row for row in _of(tenant, principal, self._ended.items()) if row.consumer == consumer]
        since = (self._clock.now() - KEPT).isoformat()
        return sorted((row for row in own if row.tenant == tenant and row.created_at >= since), key=_age)

    def lost(self, tenant: str | None, principal: str, capability: str, instance: str) -> Sequence[HandoffRow]:
        """Hand over what a process that has ended left behind: nothing."""
        del tenant, principal, capability, instance
        return ()


class MemorySessions:
    """The open views of one process."""

    def __init__(self, clock: Clock) -> None:
        self._rows: Bounded[str, SessionRow] = Bounded(HELD, None, clock)

    def put(self, row: SessionRow) -> None:
        """Keep it as it is now."""
        self._rows.put(row.id, row)

    def end(self, id: str) -> None:
        """Forget it."""
        self._rows.pop(id)

    def lost(self, tenant: str | None, principal: str, key: str) -> SessionRow | None:
        """Hand over the view that a process which has ended had open: none."""
        del tenant, principal, key
        return None

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> builtins.list[SessionRow]:
        """Return what is kept, oldest first; None does not restrict."""
        return sorted(_of(tenant, principal, self._rows.items()), key=lambda row: (row.opened_at, row.id))


class MemoryDelegations:
    """The tokens that one process has given out or seen; whoever asks may be in another thread than whoever adds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: Bounded[str, DelegationRow] = Bounded(HELD, None, clock)

    def put(self, row: DelegationRow) -> None:
        """Keep it."""
        with self._lock:
            self._rows.put(row.id, row)

    def get(self, id: str) -> DelegationRow | None:
        """Return it, or None."""
        with self._lock:
            return self._rows.get(id)

    def list(self, *, tenant: str | None = None, principal: str | None = None) -> builtins.list[DelegationRow]:
        """Return those that have not ended by themselves, oldest first; None does not restrict."""
        with self._lock:
            rows, now = self._rows.items(), self._clock.now()
        live = [row for row in _of(tenant, principal, rows) if datetime.fromisoformat(row.until) > now]
        return sorted(live, key=lambda row: (row.begins, row.id))


class MemoryCalls:
    """The calls of one process that must not run twice; the surfaces hold them too, and none outlives them."""

    def __init__(self, clock: Clock) -> None:
        self._rows: Bounded[tuple[str, str, str], CallRow] = Bounded(HELD, None, clock)

    @property
    def any_lost(self) -> bool:
        """False: no process has left one behind."""
        return False

    async def begin(self, row: CallRow) -> None:
        """Keep a call that is about to run."""
        self._rows.put((row.surface_id, row.consumer, row.id), row)

    async def settle(self, surface_id: str, consumer: str, id: str, outcome: str | None) -> None:
        """Keep how it ended: its surface does that, so here it is forgotten."""
        del outcome
        self._rows.pop((surface_id, consumer, id))

    async def lost(self, tenant: str | None, principal: str, consumer: str, id: str) -> CallRow | None:
        """Return the call that a process which has ended began: none."""
        del tenant, principal, consumer, id
        return None


def _age(row: HandoffRow) -> tuple[str, str]:
    return row.created_at, row.id


def _of(tenant: str | None, principal: str | None, rows: Iterable[tuple[object, R]]) -> builtins.list[R]:
    return [
        row
        for _, row in rows
        if (tenant is None or row.tenant == tenant) and (principal is None or row.principal == principal)
    ]
