"""A handoff, as the application and as the agent see it (SPEC 11.7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remit._model.outcome import Untrusted, untrusted_to_json
from remit._model.record import RecordId


class HandoffStatus(StrEnum):
    """`pending → completed | declined | expired | cancelled`; the last when its view has closed."""

    PENDING = "pending"
    COMPLETED = "completed"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffView:
    """What the application needs to let its person do the step, and nothing an agent could have added to it.

    `input` is the exact effective input of the call, without the values of the fields in `withheld`; `record` the row
    that it is about, which `input` holds, too. `url` is the path the agent was given. `data` is what the
    application said when it completed the step. Times are aware UTC.
    """

    id: str
    capability: str
    component: str
    instance: str
    title: str
    description: str
    reason: str
    url: str
    input: Mapping[str, object]
    record: RecordId | None
    consumer: str
    consumer_kind: str
    principal: str
    tenant: str | None
    surface_id: str
    created_at: datetime
    expires_at: datetime
    status: HandoffStatus
    decided_by: str | None = None
    data: object = None
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffState:
    """How a handoff stands, for the consumer that asked for it.

    `data` is there once it is completed, of the capability's output type, in an own copy; `untrusted` marks it as an
    output is marked (SPEC 3.14). `expires_at` is ISO 8601, UTC.
    """

    id: str
    capability: str
    status: HandoffStatus
    reason: str
    url: str
    expires_at: str
    data: object = None
    untrusted: Untrusted = False

    def to_json(self) -> dict[str, object]:
        """A fresh JSON-able form; `data` only once it is completed."""
        form: dict[str, object] = {
            "handoff": self.id,
            "capability": self.capability,
            "status": self.status.value,
            "reason": self.reason,
            "url": self.url,
            "expires_at": self.expires_at,
        }
        if self.status is HandoffStatus.COMPLETED:
            form["data"] = self.data
            if self.untrusted:
                form["untrusted"] = untrusted_to_json(self.untrusted)
        return form
