"""The store of a single process: everything is gone when it ends."""

import builtins
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Final

from typing_extensions import Unpack

from remit._base.bounded import Bounded, Full
from remit._base.clock import Clock, SystemClock
from remit._model.request_view import ConfirmationStatus
from remit.store.copies import MemoryCalls, MemoryDelegations, MemoryHandoffs, MemorySessions, MemoryStandings
from remit.store.protocol import ConfirmationChanges, ConfirmationRow, RevocationRow

CAPACITY: Final = 10_000
BUCKETS: Final = 10_000
BUCKET_S: Final = 3_600.0
SUSPENDED: Final = 10_000
REVOKED: Final = 10_000

_OPEN: Final = frozenset({ConfirmationStatus.PENDING.value, ConfirmationStatus.APPROVED.value})


class MemoryStore:
    """Keeps everything in this process; fits `Store`, and `ConfirmationStore` too.

    It holds at most `capacity` requests: ended ones go first, the longest unused before the others; when all are open,
    a new one is an `OverflowError`. Nothing in here ever waits, so a compare-and-set is atomic on one event loop.
    """

    __slots__ = (
        "_calls",
        "_delegations",
        "_handoffs",
        "_meters",
        "_revocations",
        "_rows",
        "_sessions",
        "_standing",
        "_suspensions",
    )

    def __init__(self, *, clock: Clock | None = None, capacity: int = CAPACITY) -> None:
        clock = clock or SystemClock()
        self._rows: Bounded[str, ConfirmationRow] = Bounded(
            capacity, None, clock, keep=lambda _, row: row.status in _OPEN
        )
        self._meters = MemoryMeters(clock)
        self._suspensions = MemorySuspensions()
        self._revocations = MemoryRevocations(clock)
        self._standing = MemoryStandings(clock)
        self._handoffs = MemoryHandoffs(clock)
        self._sessions = MemorySessions(clock)
        self._delegations = MemoryDelegations(clock)
        self._calls = MemoryCalls(clock)

    @property
    def durable(self) -> bool:
        """False: everything is gone when the process ends."""
        return False

    @property
    def confirmations(self) -> "MemoryStore":
        """The confirmation requests: this very store."""
        return self

    @property
    def meters(self) -> "MemoryMeters":
        """The shared limits."""
        return self._meters

    @property
    def suspensions(self) -> "MemorySuspensions":
        """What is switched off."""
        return self._suspensions

    @property
    def revocations(self) -> "MemoryRevocations":
        """What was taken back."""
        return self._revocations

    @property
    def standing(self) -> MemoryStandings:
        """What was approved for the session."""
        return self._standing

    @property
    def handoffs(self) -> MemoryHandoffs:
        """The steps for persons."""
        return self._handoffs

    @property
    def sessions(self) -> MemorySessions:
        """The open views."""
        return self._sessions

    @property
    def delegations(self) -> MemoryDelegations:
        """The tokens that were given out."""
        return self._delegations

    @property
    def calls(self) -> MemoryCalls:
        """The calls that must not run twice."""
        return self._calls

    async def flush(self) -> None:
        """Return at once: what is said is kept."""

    async def put(self, row: ConfirmationRow) -> None:
        """Keep a new request; an id that is taken is a `ValueError`, a store full of open ones an `OverflowError`."""
        if row.id in self._rows:
            raise ValueError("there is a request with this id already")
        try:
            self._rows.put(row.id, row)
        except Full:
            raise OverflowError("the store is full of open requests") from None

    async def get(self, id: str) -> ConfirmationRow | None:
        """Return the request, or None."""
        return self._rows.get(id)

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        """Change the status if it still is `from_status`; False when it is not, or there is no such id."""
        row = self._rows.get(id)
        if row is None or row.status != from_status:
            return False
        self._rows.put(id, replace(row, status=to_status, **changes))
        return True

    async def list(
        self, *, surface_id: str | None = None, statuses: Collection[str] | None = None
    ) -> builtins.list[ConfirmationRow]:
        """Return the requests that fit, oldest first; None does not restrict."""
        rows = [
            row
            for _, row in self._rows.items()
            if (surface_id is None or row.surface_id == surface_id) and (statuses is None or row.status in statuses)
        ]
        return sorted(rows, key=lambda row: (row.created_at, row.id))


class MemoryMeters:
    """Token buckets of one process; of each only the instant at which it will be full again is kept.

    The longest unused of more than 10,000 is forgotten, and so is one that was not used for an hour.
    """

    __slots__ = ("_clock", "_full_at", "_lock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._full_at: Bounded[str, float] = Bounded(BUCKETS, BUCKET_S, clock)
        self._lock = threading.Lock()  # surfaces of one store may live in several threads

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        """Take a token, or say in how many seconds there is one."""
        with self._lock:
            now = self._clock.monotonic()
            full_at = max(self._full_at.get(key) or now, now) + per_s / calls
            over = full_at - now - per_s
            if over > per_s * 1e-9:
                return over
            if charge:
                self._full_at.put(key, full_at)
            return 0.0


class MemorySuspensions:
    """What is switched off in one process; bounded, because forgetting one would let somebody in again."""

    __slots__ = ("_keys", "_listeners", "_lock", "any")

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._lock = threading.Lock()
        self.any = False

    def holds(self, key: str) -> bool:
        """Whether this is suspended."""
        return key in self._keys

    def set(self, key: str, suspended: bool) -> bool:
        """Suspend or reinstate; say whether that changed anything. The 10,001st is an `OverflowError`."""
        with self._lock:
            if (key in self._keys) is suspended:
                return False
            if suspended and len(self._keys) >= SUSPENDED:
                raise OverflowError(f"{SUSPENDED} suspensions are held: reinstate some")
            if suspended:
                self._keys.add(key)
            else:
                self._keys.discard(key)
            self.any = bool(self._keys)
            listeners = tuple(self._listeners.values())
        for listener in listeners:
            listener(key)
        return True

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Tell a listener the key after each change; return what ends it."""
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def end() -> None:
            self._listeners.pop(token, None)

        return end


class MemoryRevocations:
    """What was taken back in one process; bounded, and only what has ended by itself is forgotten."""

    __slots__ = ("_clock", "_listeners", "_lock", "_rows", "any")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[str, RevocationRow] = {}
        self._listeners: dict[object, Callable[[RevocationRow], None]] = {}
        self._lock = threading.Lock()
        self.any = False

    def holds(self, id: str) -> bool:
        """Whether this grant is revoked."""
        return id in self._rows

    def add(self, row: RevocationRow) -> bool:
        """Revoke; say whether that changed anything. The 10,001st that has not ended is an `OverflowError`."""
        with self._lock:
            if row.id in self._rows:
                return False
            if len(self._rows) >= REVOKED:
                self._forget_ended()
            if len(self._rows) >= REVOKED:
                raise OverflowError(f"{REVOKED} revocations are held, and none of them has ended by itself")
            self._rows[row.id] = row
            self.any = True
            listeners = tuple(self._listeners.values())
        for listener in listeners:
            listener(row)
        return True

    def subscribe(self, listener: Callable[[RevocationRow], None]) -> Callable[[], None]:
        """Tell a listener each row after it was added; return what ends it."""
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def end() -> None:
            self._listeners.pop(token, None)

        return end

    def _forget_ended(self) -> None:
        now = self._clock.now()
        ended = [id for id, row in self._rows.items() if row.until and datetime.fromisoformat(row.until) <= now]
        for id in ended:
            del self._rows[id]
