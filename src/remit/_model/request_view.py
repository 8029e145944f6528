"""A confirmation request, as shown to the person who decides it (SPEC 7.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remit._model.effects import Effect
from remit._model.record import RecordId
from remit._model.standing import StandingOffer


class ConfirmationStatus(StrEnum):
    """`pending → approved | denied | expired | cancelled`, `approved → spent | expired | cancelled`."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SPENT = "spent"


class CancelCause(StrEnum):
    """Why a request was cancelled (SPEC 8.1)."""

    UNMOUNTED = "unmounted"
    VIEW_RELOADED = "view-reloaded"
    VIEW_CLOSED = "view-closed"
    WITHDRAWN = "withdrawn"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationView:
    """Everything a decider must see, and nothing an agent could have added to it.

    `input` is the exact effective input, whole, but for the values of the fields in `withheld`, which nobody is shown;
    `digest` names what was shown and is given back when approving; `summary` is the author's or policy's text and
    stands beside the input, never instead. `approvers` are the grants a decider needs, all of them; none when the
    principal decides. `changed` names the fields whose value is not their default. `standing` is what a person may
    choose beside approving once, None where each call is decided afresh. `record` is the row that a folded row action
    would act on, which `input` holds, too; None for everything else. Times are aware UTC.
    """

    id: str
    capability: str
    component: str
    instance: str
    effect: Effect
    title: str
    description: str
    input: Mapping[str, object]
    bound: tuple[str, ...]
    required: tuple[str, ...]
    summary: str | None
    approvers: tuple[str, ...]
    consumer: str
    consumer_kind: str
    principal: str
    tenant: str | None
    surface_id: str
    registration: str
    digest: str
    created_at: datetime
    decide_by: datetime
    status: ConfirmationStatus
    cause: CancelCause | None = None
    decided_by: str | None = None
    standing: StandingOffer | None = None
    withheld: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    record: RecordId | None = None
