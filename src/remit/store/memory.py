"""The store of a single process: everything is gone when it ends."""

import builtins
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from typing_extensions import Unpack

from remit._base.bounded import Bounded, Full
from remit._base.clock import Clock, SystemClock
from remit._model.request_view import ConfirmationStatus
from remit.store.protocol import ConfirmationChanges, ConfirmationRow

CAPACITY: Final = 10_000

_OPEN: Final = frozenset({ConfirmationStatus.PENDING.value, ConfirmationStatus.APPROVED.value})


class MemoryStore:
    """Keeps everything in this process; fits `Store`, and `ConfirmationStore` too.

    It holds at most `capacity` requests: ended ones go first, the longest unused before the others; when all are open,
    a new one is an `OverflowError`. Nothing in here ever waits, so a compare-and-set is atomic on one event loop.
    """

    __slots__ = ("_rows",)

    def __init__(self, *, clock: Clock | None = None, capacity: int = CAPACITY) -> None:
        self._rows: Bounded[str, ConfirmationRow] = Bounded(
            capacity, None, clock or SystemClock(), keep=lambda _, row: row.status in _OPEN
        )

    @property
    def confirmations(self) -> "MemoryStore":
        """The confirmation requests: this very store."""
        return self

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
