"""One confirmation request: what was asked, what it is bound to, who may answer (SPEC 7.1, 7.2, 7.4)."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from remit._base.boundary import Json, canonical, loads
from remit._base.clock import TimerHandle
from remit._base.codes import InvalidReason
from remit._base.digest import keyed_hex
from remit._model.consumer import Consumer, Decider, Principal, check_decider
from remit._model.descriptor import Descriptor
from remit._model.record import PARAM, RecordId, is_record_id
from remit._model.request import Invocation
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit._model.standing import StandingOffer
from remit._model.withheld import masked
from remit.errors import AgentError, Happened, confirmation_invalid, confirmation_required
from remit.store.protocol import ConfirmationRow

OPEN: Final = frozenset({ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED})
ENDS: Final[Mapping[ConfirmationStatus, InvalidReason]] = MappingProxyType(
    {
        ConfirmationStatus.DENIED: "denied",
        ConfirmationStatus.EXPIRED: "expired",
        ConfirmationStatus.CANCELLED: "cancelled",
        ConfirmationStatus.SPENT: "spent",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pins:
    """What a standing approval holds a call to; `size` is that of the canonical input in bytes (SPEC 7.9)."""

    registration: str
    capability: str
    contract: str
    principal: tuple[str | None, str]
    consumer: Consumer
    input: dict[str, Json]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ask:
    """Everything the pipeline knows about a call that needs a person.

    `input` is the effective input and `canonical` its RFC 8785 bytes. `invocation` is the raw call, to be run again by
    `continue_`; it carries the invocation id. `approvers` are the grants a decider needs, none for the principal.
    `decide_s` and `spend_s` are seconds, None for the limits' own. `standing` is what may be given for the session,
    None where a person decides afresh each time. `fingerprint` is that of the raw call. `sensitive` names the fields of
    this input whose values are not kept: `kept` puts their digests in.
    """

    surface_id: str
    registration: str
    instance: str
    component: str
    descriptor: Descriptor
    consumer: Consumer
    principal: Principal
    contract_hash: str
    input: dict[str, Json]
    canonical: bytes
    invocation: Invocation
    approvers: tuple[str, ...] = ()
    summary: str | None = None
    decide_s: float | None = None
    spend_s: float | None = None
    standing: StandingOffer | None = None
    fingerprint: str = ""
    sensitive: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()

    def kept(self, keys: bytes) -> "Ask":
        """The ask as a request may hold it: a keyed digest of each sensitive value, and the raw call without its input.

        Equal values give equal digests, so that two calls can be compared (SPEC 7.2).
        """
        fingerprint = keyed_hex(keys, self.fingerprint.encode())
        if not self.sensitive:
            return replace(self, fingerprint=fingerprint)
        input: dict[str, Json] = {
            name: {"withheld": keyed_hex(keys, canonical([self.descriptor.id, name, value]))}
            if name in self.sensitive
            else value
            for name, value in self.input.items()
        }
        return replace(
            self,
            input=input,
            canonical=canonical(input),
            invocation=replace(self.invocation, input=None),
            fingerprint=fingerprint,
        )

    @property
    def record(self) -> RecordId | None:
        """The row that a folded row action would act on; None for everything else."""
        record = None if self.descriptor.record is None else self.input.get(PARAM)
        return record if is_record_id(record) else None

    @property
    def pins(self) -> Pins:
        """What a standing approval is held against."""
        return Pins(
            registration=self.registration,
            capability=self.descriptor.id,
            contract=self.contract_hash,
            principal=self.principal.key,
            consumer=self.consumer,
            input=self.input,
            size=len(self.canonical),
        )

    def may_be_decided_by(self, decider: Decider) -> bool:
        """The principal without approvers, else whoever holds all such grants; always of the same tenant (SPEC 7.4)."""
        if decider.tenant != self.principal.tenant:
            return False
        return decider.grants.issuperset(self.approvers) if self.approvers else decider.id == self.principal.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """What an inline `decide` returns to approve; `by` is the authenticated person.

    `standing` approves for the session, too: the fields it names are left free (SPEC 7.9). What is no `Decider`, or no
    collection of names, is a TypeError where it is written.
    """

    by: Decider
    standing: Collection[str] | None = None

    def __post_init__(self) -> None:
        check_decider(self.by, needed=True)
        check_fields(self.standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """What an inline `decide` returns to deny; the reason is for the journal."""

    by: Decider
    reason: str | None = None

    def __post_init__(self) -> None:
        check_decider(self.by, needed=True)
        check_reason(self.reason)


def check_fields(standing: object) -> None:
    """Raise a TypeError for what names no fields to be left free."""
    if standing is None:
        return
    if isinstance(standing, str) or not isinstance(standing, Collection):
        raise TypeError(f"standing= is a collection of field names, () for none, not {standing!r:.80}")
    if odd := [name for name in standing if not isinstance(name, str)]:
        raise TypeError(f"an entry of standing= is text, not {type(odd[0]).__name__}")


def check_reason(reason: object) -> None:
    """Raise a TypeError for a reason that is no text."""
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"deny(reason=…) is text, not {type(reason).__name__}")


DecideFn = Callable[[ConfirmationView], Awaitable[Approved | Denied | None]]
"""An inline decision: None is no answer, and the request stays pending."""


def form_of(ask: Ask) -> bytes:
    """The canonical form that an approval is bound to (SPEC 7.1)."""
    kind, issuer, actors, grant = ask.consumer.key
    return canonical(
        {
            "surface": ask.surface_id,
            "registration": ask.registration,
            "capability": ask.descriptor.id,
            "contract": ask.contract_hash,
            "consumer": [kind, issuer, list(actors), grant],
            "principal": [ask.principal.tenant, ask.principal.id],
            "input": ask.input,
            "effect": ask.descriptor.effect.value,
        }
    )


@dataclass(frozen=True, slots=True)
class Signed:
    """A call as one key holds it: what may be kept of it, the canonical form, and the digest over that (SPEC 7.1)."""

    kid: str
    ask: Ask
    form: bytes
    digest: str


def signed(ask: Ask, kid: str, secret: bytes) -> Signed:
    """Bind a call with the key of this name."""
    kept = ask.kept(secret)
    form = form_of(kept)
    return Signed(kid, kept, form, keyed_hex(secret, form))


def _differs(name: str, value: Json, descriptor: Descriptor) -> bool:
    """Whether a field has another value than its default, or has none; a sensitive one tells nothing of its value."""
    properties = descriptor.input_schema.get("properties")
    field = properties.get(name) if isinstance(properties, Mapping) else None
    return not isinstance(field, Mapping) or "default" not in field or field["default"] != value


class RequestRecord:
    """One live request; only the broker changes it.

    `kid` names the key that `digest` was made with (SPEC 7.1). `homeless` is one whose registration has gone and may
    come back; `moved_from` names the registrations it asked for before (SPEC 7.12).
    """

    __slots__ = (
        "ask",
        "cause",
        "created_at",
        "decide_by",
        "decided_by",
        "decider",
        "digest",
        "ends_at",
        "form",
        "happened",
        "homeless",
        "id",
        "kid",
        "listed",
        "moved_from",
        "person_s",
        "spend_by",
        "status",
        "task",
        "timer",
        "waiters",
    )

    def __init__(self, id: str, bound: "Signed", created_at: datetime, decide_by: datetime) -> None:
        self.id = id
        self.ask = bound.ask
        self.form = bound.form
        self.digest = bound.digest
        self.kid = bound.kid
        self.created_at = created_at
        self.decide_by = decide_by
        self.spend_by: datetime | None = None
        self.ends_at = 0.0
        self.status = ConfirmationStatus.PENDING
        self.cause: CancelCause | None = None
        self.decider: Decider | None = None
        self.decided_by: str | None = None
        self.happened: Happened | None = None
        self.listed = False
        self.homeless = False
        self.moved_from: tuple[str, ...] = ()
        self.person_s: float | None = None
        self.timer: TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.waiters: list[asyncio.Future[None]] = []

    @property
    def open(self) -> bool:
        """True while the request is pending, or approved and unspent."""
        return self.status in OPEN

    def may_be_decided_by(self, decider: Decider) -> bool:
        """Whether this person may answer; see `Ask`."""
        return self.ask.may_be_decided_by(decider)

    def asked(self) -> AgentError:
        """CONFIRMATION_REQUIRED for this request; the agent's copy holds the description, and nothing of the view."""
        descriptor = self.ask.descriptor
        expires = self.decide_by if self.spend_by is None else self.spend_by
        return confirmation_required(
            self.id, summary=descriptor.description, expires_at=expires.isoformat(), effect=descriptor.effect.value
        )

    def ended(self) -> AgentError:
        """CONFIRMATION_INVALID saying how this request ended (SPEC 7.5)."""
        cause = None if self.cause is None else self.cause.value
        return confirmation_invalid(ENDS[self.status], cause=cause, happened=self.happened)

    def view(self) -> ConfirmationView:
        """What a decider is shown, with a copy of the input of its own."""
        ask, descriptor = self.ask, self.ask.descriptor
        input = loads(ask.canonical)
        return ConfirmationView(
            id=self.id,
            capability=descriptor.id,
            component=ask.component,
            instance=ask.instance,
            effect=descriptor.effect,
            title=descriptor.title or descriptor.id,
            description=descriptor.description,
            input=MappingProxyType(masked(input, ask.sensitive) if isinstance(input, dict) else {}),
            bound=ask.bound,
            required=descriptor.required,
            summary=ask.summary,
            approvers=ask.approvers,
            consumer=ask.consumer.id,
            consumer_kind=ask.consumer.kind.value,
            principal=ask.principal.id,
            tenant=ask.principal.tenant,
            surface_id=ask.surface_id,
            registration=ask.registration,
            digest=self.digest,
            created_at=self.created_at,
            decide_by=self.decide_by,
            status=self.status,
            cause=self.cause,
            decided_by=self.decided_by,
            standing=ask.standing,
            record=ask.record,
            withheld=ask.sensitive,
            changed=tuple(name for name in sorted(ask.input) if _differs(name, ask.input[name], descriptor)),
        )

    def row(self) -> ConfirmationRow:
        """The request as a store keeps it."""
        kind, issuer, actors, grant = self.ask.consumer.key
        return ConfirmationRow(
            id=self.id,
            surface_id=self.ask.surface_id,
            registration=self.ask.registration,
            capability=self.ask.descriptor.id,
            tenant=self.ask.principal.tenant,
            principal=self.ask.principal.id,
            consumer=canonical([kind, issuer, list(actors), grant]).decode(),
            kid=self.kid,
            digest=self.digest,
            form=self.form.decode(),
            approvers=self.ask.approvers,
            created_at=self.created_at.isoformat(),
            decide_by=self.decide_by.isoformat(),
            status=self.status.value,
        )
