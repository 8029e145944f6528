"""An approval for the session: what may be given, what is held, and how it ends (SPEC 7.9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remit._model.record import RecordId


class StandingEnd(StrEnum):
    """Why a standing approval has ended."""

    EXPIRED = "expired"
    USED_UP = "used-up"
    REVOKED = "revoked"
    DENIED = "denied"
    SCOPE_CHANGED = "scope-changed"
    UNMOUNTED = "unmounted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingOffer:
    """What a person may choose beside approving once: the same call again, for a while, without being asked.

    `may_vary` maps each field that the person may leave free to the JSON Schema within which it may vary then; every
    other field keeps its value. `seconds` and `uses` are how long it would hold, and for how many calls after this one.
    """

    may_vary: Mapping[str, Mapping[str, object]]
    seconds: float
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApproval:
    """An approval that a person gave for the session, as it stands now.

    It covers calls of `capability` by the one `consumer` in the one `registration` whose effective input has every
    value of `input`, and in the fields of `may_vary` whatever fits the schema there. `confirmation` is the request with
    which it was given. `record` is the one row of a folded row action that it covers, which `input` holds, too; None
    for everything else. Times are aware UTC.
    """

    id: str
    capability: str
    component: str
    instance: str
    registration: str
    title: str
    consumer: str
    consumer_kind: str
    principal: str
    tenant: str | None
    input: Mapping[str, object]
    may_vary: Mapping[str, Mapping[str, object]]
    decided_by: str
    confirmation: str
    given_at: datetime
    until: datetime
    uses_left: int
    record: RecordId | None = None
