"""What operators read: every decision with its true reason, causes and stacks too, in production (SPEC 8.2, 9.2)."""

import traceback
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from remit._base.boundary import Json, loads
from remit._base.clock import Clock
from remit._base.closed import some_of
from remit._journal.about import Handed, ListingCounts, Place
from remit._journal.sinks import Sinks
from remit._model.effects import Audit
from remit._model.trace import Trace
from remit._schema.repair import Repair
from remit.errors import ErrorCode, Happened

CAPACITY: Final = 1_000
PAYLOAD_BYTES: Final = 8_192
PAYLOADS_BYTES: Final = 1_048_576
CAUSE_CHARACTERS: Final = 8_192

Key = tuple[object, ...]


class AuditType(StrEnum):
    """What an entry is about."""

    INVOCATION = "invocation"
    CONFIRMATION = "confirmation"
    REGISTRATION = "registration"
    LISTING = "listing"
    PAYLOAD = "payload"
    ATTEMPT = "attempt"
    LATE_RESULT = "late-result"
    SUSPENSION = "suspension"
    REVOCATION = "revocation"
    STANDING = "standing"
    HANDOFF = "handoff"
    UNTRUSTED = "untrusted"
    FAULT = "fault"
    SLOW = "slow"


class VoteLike(Protocol):
    """One policy's answer, as the chain reports it."""

    @property
    def policy(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def decision(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def cause(self) -> BaseException | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVote:
    """One policy's answer; `cause` is the stack of what it raised."""

    policy: str
    method: str
    decision: str
    reason: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the journal (SPEC 9.2).

    `time` is ISO 8601 UTC; durations are milliseconds, None where the step was not reached. `code` is what the agent
    was told, `status` what became of an approval, a handoff, a mount, a suspension or a grant, `why` the true reason
    (of a hidden capability, too), `cause` the stack of an unknown exception. `repairs` names the places of the input
    that were read as something else, and by which rule (SPEC 6.12). `input` and `output` are there at `full` only, as
    redacted, up to 8,192 canonical bytes each, while the journal has room; `payload` says whether, `dropped` why not.
    Entries of registrations have `component` and `instance`. `traceparent` is a call's span, `linked` from outside.
    """

    sequence: int
    time: str
    type: AuditType
    surface: str
    registration: str | None = None
    component: str | None = None
    instance: str | None = None
    capability: str | None = None
    invocation: str | None = None
    correlation_id: str | None = None
    traceparent: str | None = None
    linked: bool = False
    consumer: Key | None = None
    principal: str | None = None
    tenant: str | None = None
    decider: str | None = None
    confirmation: str | None = None
    handoff: str | None = None
    status: str | None = None
    code: ErrorCode | None = None
    why: str | None = None
    votes: tuple[AuditVote, ...] = ()
    repairs: tuple[Repair, ...] = ()
    listing: ListingCounts | None = None
    policy_ms: float | None = None
    queue_ms: float | None = None
    person_ms: float | None = None
    execution_ms: float | None = None
    outcome: Happened | None = None
    contract_hash: str | None = None
    payload: bool = False
    input: Json = None
    output: Json = None
    dropped: str | None = None
    cause: str | None = None


class Durations(NamedTuple):
    """How long the parts of one call took, in seconds; None where it did not get there."""

    policy: float | None = None
    queue: float | None = None
    person: float | None = None
    execution: float | None = None


class AuditSink(Protocol):
    """Where entries go, beside the memory of the surface; see `Surface.audit_to`."""

    def write(self, entry: AuditEntry) -> Awaitable[None] | None:
        """Take one entry; plain or async.

        A plain one runs inline, so it must be quick. An async one is never waited for: it gets the entries one after
        the other, up to a thousand wait for it, and one that takes longer than 10 s loses those. What either raises,
        and how many entries were lost, is journalled and changes nothing else.
        """
        ...


_NO_TIMES: Final = Durations()
_NONE: Final = Audit.NONE  # a member of an enumeration costs more to look up than a name, on every call
_FULL: Final = Audit.FULL


class _Payload(NamedTuple):
    input: bytes | None = None
    output: bytes | None = None
    dropped: str | None = None

    @property
    def size(self) -> int:
        return len(self.input or b"") + len(self.output or b"")


About: TypeAlias = Place | ListingCounts | Trace | Handed
_NO_PAYLOAD: Final = _Payload()


class _Raw(NamedTuple):
    sequence: int
    at: datetime
    type: AuditType
    registration: str | None
    capability: str | None
    invocation: str | None
    correlation_id: str | None
    consumer: Key | None
    principal: tuple[str | None, str] | None
    decider: str | None
    confirmation: str | None
    status: str | None
    code: ErrorCode | None
    why: str | None
    votes: Sequence[VoteLike] | tuple[AuditVote, ...]
    repairs: tuple[Repair, ...]
    durations: Durations
    outcome: Happened | None
    contract_hash: str | None
    cause: str | None
    about: About | None


_Values: TypeAlias = tuple[
    int,
    datetime,
    AuditType,
    str | None,
    str | None,
    str | None,
    str | None,
    Key | None,
    tuple[str | None, str] | None,
    str | None,
    str | None,
    str | None,
    ErrorCode | None,
    str | None,
    Sequence[VoteLike] | tuple[AuditVote, ...],
    tuple[Repair, ...],
    Durations,
    Happened | None,
    str | None,
    str | None,
    About | None,
]


class AuditLog:
    """The journal of one surface in memory: the latest 1,000 entries, and the sinks that get each.

    Entries are kept raw; the public form is built when somebody reads it. Causes and payloads are bounded, so a flood
    of failures holds no memory and no frame of the application.
    """

    __slots__ = ("_entries", "_muted", "_now", "_payload_size", "_payloads", "_sequence", "_sinks", "_surface_id")

    def __init__(self, surface_id: str, clock: Clock, *, capacity: int = CAPACITY) -> None:
        self._surface_id = surface_id
        self._now = clock.now
        self._entries: deque[_Values] = deque(maxlen=capacity)
        self._payloads: OrderedDict[int, _Payload] = OrderedDict()
        self._payload_size = 0
        self._sinks: Sinks[AuditEntry] = Sinks(capacity, clock, self._sink_failed)
        self._muted = False
        self._sequence = 0

    def append(  # noqa: PLR0913 - one keyword a field of the entry; a value in between would cost as much as the call
        self,
        type: AuditType,
        *,
        level: Audit = Audit.METADATA,
        registration: str | None = None,
        capability: str | None = None,
        invocation: str | None = None,
        correlation_id: str | None = None,
        consumer: Key | None = None,
        principal: tuple[str | None, str] | None = None,
        decider: str | None = None,
        confirmation: str | None = None,
        status: str | None = None,
        code: ErrorCode | None = None,
        why: str | None = None,
        votes: Sequence[VoteLike] = (),
        repairs: tuple[Repair, ...] = (),
        durations: Durations = _NO_TIMES,
        outcome: Happened | None = None,
        contract_hash: str | None = None,
        input: bytes | None = None,
        output: bytes | None = None,
        dropped: str | None = None,
        cause: BaseException | None = None,
        about: About | None = None,
    ) -> None:
        """Add an entry. `principal` is (tenant, id); `input` and `output` are canonical bytes.

        At the level `none` a success without a raising policy and without repairs leaves none; everything else is at
        least metadata.
        Payloads are kept at `full` only.
        """
        stacks: Sequence[VoteLike] | tuple[AuditVote, ...] = votes
        for vote in votes:
            if vote.cause is not None:
                stacks = tuple(_plain(one) for one in votes)
                break
        if level is _NONE and code is None and cause is None and stacks is votes and not repairs:
            return
        self._sequence = sequence = self._sequence + 1
        # A plain tuple: making the class would cost three times as much, on every call.
        raw = (
            sequence, self._now(), type, registration, capability, invocation, correlation_id, consumer, principal,
            decider, confirmation, status, code, why, stacks, repairs, durations, outcome, contract_hash,
            None if cause is None else stack_of(cause), about,
        )  # fmt: skip
        self._entries.append(raw)
        if level is _FULL:
            self._keep(sequence, input, output, dropped)
        if self._sinks.audience and not self._muted:
            self._sinks.send(self._entry(raw))

    def fault(self, why: str, cause: BaseException, *, capability: str | None = None) -> None:
        """Record an exception that no call answers for: of a listener, a predicate, a policy while listing."""
        self.append(AuditType.FAULT, capability=capability, why=why, cause=cause)

    def entries(
        self, types: Collection[AuditType | str] | None = None, invocation: str | None = None
    ) -> tuple[AuditEntry, ...]:
        """The kept entries, oldest first, in their public form: of some types, of one invocation, or all.

        A type that there is not is a ValueError, one text instead of a collection a TypeError.
        """
        if invocation is not None and not isinstance(invocation, str):
            raise TypeError(f"audit(invocation=…) is the id of one invocation, not {type(invocation).__name__}")
        wanted = some_of(AuditType, types, "audit(types=…)")
        return tuple(
            self._entry(raw)
            for raw in self._entries
            if (wanted is None or raw[2] in wanted) and (invocation is None or raw[5] == invocation)
        )

    def sink(self, sink: AuditSink) -> Callable[[], None]:
        """Give every later entry to `sink`, too; return what ends it."""
        return self._sinks.add(sink.write)

    def has_sink(self) -> bool:
        """Whether anybody gets what is written here."""
        return self._sinks.audience

    def __len__(self) -> int:
        return len(self._entries)

    def _keep(self, sequence: int, input: bytes | None, output: bytes | None, dropped: str | None) -> None:
        cut = [
            f"{name}: {len(value)} bytes"
            for name, value in (("input", input), ("output", output))
            if value is not None and len(value) > PAYLOAD_BYTES
        ]
        kept = _Payload(_within(input), _within(output), "; ".join(filter(None, (dropped, *cut))) or None)
        if kept == _NO_PAYLOAD:
            return
        self._payloads[sequence] = kept
        self._payload_size += kept.size
        oldest = self._entries[0][0]
        while self._payload_size > PAYLOADS_BYTES or next(iter(self._payloads)) < oldest:
            self._payload_size -= self._payloads.popitem(last=False)[1].size

    def _entry(self, values: _Values) -> AuditEntry:
        raw = _Raw(*values)
        tenant, principal = raw.principal or (None, None)
        kept = self._payloads.get(raw.sequence, _NO_PAYLOAD)
        return AuditEntry(
            sequence=raw.sequence,
            time=raw.at.isoformat(),
            type=raw.type,
            surface=self._surface_id,
            registration=raw.registration,
            component=raw.about.component if isinstance(raw.about, Place) else None,
            instance=raw.about.instance if isinstance(raw.about, Place) else None,
            capability=raw.capability,
            invocation=raw.invocation,
            correlation_id=raw.correlation_id,
            consumer=raw.consumer,
            principal=principal,
            tenant=tenant,
            decider=raw.decider,
            confirmation=raw.confirmation,
            handoff=raw.about.id if isinstance(raw.about, Handed) else None,
            status=raw.status,
            code=raw.code,
            why=raw.why,
            repairs=raw.repairs,
            traceparent=raw.about.traceparent if isinstance(raw.about, Trace) else None,
            linked=isinstance(raw.about, Trace) and raw.about.linked,
            listing=raw.about if isinstance(raw.about, ListingCounts) else None,
            votes=tuple(vote if isinstance(vote, AuditVote) else _plain(vote) for vote in raw.votes),
            policy_ms=_milliseconds(raw.durations.policy),
            queue_ms=_milliseconds(raw.durations.queue),
            person_ms=_milliseconds(raw.durations.person),
            execution_ms=_milliseconds(raw.durations.execution),
            outcome=raw.outcome,
            contract_hash=raw.contract_hash,
            payload=kept.size > 0,
            input=None if kept.input is None else loads(kept.input),
            output=None if kept.output is None else loads(kept.output),
            dropped=kept.dropped,
            cause=raw.cause,
        )

    def _sink_failed(self, why: str, raised: BaseException) -> None:
        self._muted = True  # a sink that cannot take entries would raise for this one, too, without end
        try:
            self.append(AuditType.FAULT, why=why, cause=raised)
        finally:
            self._muted = False


def stack_of(cause: BaseException) -> str:
    """The formatted stack of an exception, its end kept when it is too long; for operators only (SPEC 8.2)."""
    try:
        text = "".join(traceback.format_exception(cause))
    except Exception:  # noqa: BLE001 - an exception whose text raises is still worth its name
        text = f"{type(cause).__name__} (its text cannot be shown)"
    return text if len(text) <= CAUSE_CHARACTERS else "…" + text[1 - CAUSE_CHARACTERS :]


def _plain(vote: VoteLike) -> AuditVote:
    cause = None if vote.cause is None else stack_of(vote.cause)
    return AuditVote(policy=vote.policy, method=vote.method, decision=vote.decision, reason=vote.reason, cause=cause)


def _within(payload: bytes | None) -> bytes | None:
    return payload if payload is not None and len(payload) <= PAYLOAD_BYTES else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
