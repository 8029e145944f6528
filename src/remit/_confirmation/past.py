"""Handoffs that have ended on a surface which has gone, as their consumer may still hear of them (SPEC 4.4, 15.1)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from remit._base.boundary import Json, loads
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._confirmation.handoff import BY_THE_PERSON, Handing
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
    limits: Limits
    surface_id: str
    of: Callable[[str], Recorded | None]

    def find(self, id: object, key: ConsumerKey) -> tuple[HandoffRow, Recorded] | None:
        """One of this person and consumer, with what the contract says of its capability now; None: there is none."""
        row = next((row for row in self.store.list(*self.owner, text_of(key)) if row.id == id), None)
        recorded = None if row is None else self.of(row.capability)
        return None if row is None or recorded is None else (row, recorded)

    def ended_for(self, asked: Handing) -> str | None:
        """The handoff that the person ended for the same call under the same invocation id, while a flow waits."""
        since = self.clock.now() - timedelta(seconds=self.limits.replay_s)
        for row in self.store.list(*self.owner, text_of(asked.consumer.key)):
            wanted = (asked.invocation, asked.plan.id, asked.instance, asked.digest)
            same = (row.invocation, row.capability, row.instance, row.digest) == wanted
            same = same and row.surface_id != self.surface_id  # else its flow heard of it
            if same and HandoffStatus(row.status) in BY_THE_PERSON and datetime.fromisoformat(row.expires_at) > since:
                return row.id
        return None

    def stands(self, id: str, key: ConsumerKey) -> tuple[HandoffStatus, Json] | None:
        """How one stands, and what was told when it was completed."""
        found = self.find(id, key)
        return None if found is None else (self._status(found[0]), loads(found[0].data.encode()))

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
