"""Handoffs that have ended on a surface which has gone, as their consumer may still hear of them (SPEC 4.4, 15.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from remit._base.boundary import loads
from remit._base.clock import Clock
from remit._confirmation.handoff_rows import text_of
from remit._contract.handed import Recorded
from remit._model.consumer import ConsumerKey
from remit._model.handoff_view import HandoffState, HandoffStatus
from remit.store.protocol import HandoffStore
from remit.store.rows import HandoffRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the store holds of one person's handoffs beside those of this surface; `of` is what the contract says."""

    store: HandoffStore
    owner: tuple[str | None, str]
    clock: Clock
    of: Callable[[str], Recorded | None]

    def find(self, id: object, key: ConsumerKey) -> tuple[HandoffRow, Recorded] | None:
        """One of this person and consumer, with what the contract says of its capability now; None: there is none."""
        row = next((row for row in self.store.list(*self.owner, text_of(key)) if row.id == id), None)
        recorded = None if row is None else self.of(row.capability)
        return None if row is None or recorded is None else (row, recorded)

    def state(self, row: HandoffRow, recorded: Recorded) -> HandoffState:
        """How it stands, for its consumer."""
        return HandoffState(
            id=row.id,
            capability=row.capability,
            status=self._status(row),
            reason=recorded.reason,
            url=f"{row.path}?handoff={row.id}",
            expires_at=row.expires_at,
            data=loads(row.data.encode()),
            untrusted=recorded.untrusted,
        )

    def _status(self, row: HandoffRow) -> HandoffStatus:
        status = HandoffStatus(row.status)
        over = status is HandoffStatus.PENDING and datetime.fromisoformat(row.expires_at) <= self.clock.now()
        return HandoffStatus.EXPIRED if over else status
