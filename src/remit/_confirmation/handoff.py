"""Handoffs of one surface: opened by a call, ended by the application, by time, or with the view (SPEC 11.7)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from remit._base.boundary import Json, NotJson, loads
from remit._base.bounded import Bounded
from remit._base.clock import Clock, TimerHandle
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.refusals import HandoffEnded, NotTheDecider, UnknownHandoff, WrongData
from remit._contract.plan import Plan
from remit._journal.about import Handed
from remit._journal.audit import AuditLog, AuditType
from remit._journal.hub import EventHub
from remit._journal.listeners import Listeners
from remit._model.consumer import Consumer, ConsumerKey, Decider, Principal, check_decider
from remit._model.event import EventType
from remit._model.handoff_view import HandoffState, HandoffStatus, HandoffView
from remit._model.ids import check_id
from remit._model.record import PARAM, is_record_id
from remit._schema.derive import OutputRefused
from remit.errors import Refusal, handoff_required, rate_limited

MILLISECONDS: Final = 1_000
SOONEST_S: Final = 0.001
BY_THE_PERSON: Final = (HandoffStatus.COMPLETED, HandoffStatus.DECLINED)
ENDED: Final = 320
"""How many that have ended are kept for those who ask what became of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """One call that asks for a handoff: who and what, and the path without the handoff's id.

    `input` is without the values that are withheld, `digest` a keyed one of the whole.
    `registration`, `instance` and `place` are those of the component at that time; it may go, the handoff stays.
    """

    plan: Plan
    registration: str
    instance: str
    place: str
    consumer: Consumer
    principal: Principal
    input: Mapping[str, Json]
    withheld: tuple[str, ...]
    digest: str
    path: str
    invocation: str
    correlation_id: str | None
    contract_hash: str

    @property
    def same(self) -> tuple[object, ...]:
        """What two calls have in common that are answered with one handoff."""
        descriptor = self.plan.descriptor
        return (self.consumer.key, descriptor.id, descriptor.component, self.instance, self.digest)


@dataclass(slots=True, eq=False)
class HandoffRecord:
    """One handoff; `status` and what came with it change once."""

    id: str
    asked: Handing
    surface_id: str
    created_at: datetime
    expires_at: datetime
    ends_at: float
    timer: TimerHandle | None = None
    status: HandoffStatus = HandoffStatus.PENDING
    decided_by: str | None = None
    data: bytes = b"null"
    taken_over: bool = False

    @property
    def url(self) -> str:
        """Where the person goes; the id is no secret: only the principal's own session may use it."""
        return f"{self.asked.path}?handoff={self.id}"

    @property
    def reason(self) -> str:
        """Why only a person may do it."""
        return self.asked.plan.descriptor.handoff or ""

    def required(self) -> Refusal:
        """The answer to a call."""
        return Refusal(
            handoff_required(self.id, reason=self.reason, url=self.url, expires_at=self.expires_at.isoformat())
        )

    def may_be_ended_by(self, decider: Decider) -> bool:
        """The principal, and nobody else: it is that person's step."""
        return (decider.tenant, decider.id) == self.asked.principal.key

    def state(self) -> HandoffState:
        """How it stands, for its consumer."""
        descriptor = self.asked.plan.descriptor
        return HandoffState(
            id=self.id,
            capability=descriptor.id,
            status=self.status,
            reason=self.reason,
            url=self.url,
            expires_at=self.expires_at.isoformat(),
            data=loads(self.data),
            untrusted=descriptor.untrusted,
        )

    def view(self) -> HandoffView:
        """The same for the application."""
        asked, descriptor = self.asked, self.asked.plan.descriptor
        record = asked.input.get(PARAM) if descriptor.record is not None else None
        return HandoffView(
            id=self.id,
            capability=descriptor.id,
            component=descriptor.component,
            instance=asked.instance,
            title=descriptor.title or descriptor.id,
            description=descriptor.description,
            reason=self.reason,
            url=self.url,
            input=dict(asked.input),
            record=record if is_record_id(record) else None,
            consumer=asked.consumer.id,
            consumer_kind=asked.consumer.kind.value,
            principal=asked.principal.id,
            tenant=asked.principal.tenant,
            surface_id=self.surface_id,
            created_at=self.created_at,
            expires_at=self.expires_at,
            status=self.status,
            decided_by=self.decided_by,
            data=loads(self.data),
            withheld=asked.withheld,
        )


class HandoffDesk:
    """Owns the handoffs of one surface: those that are open, and for a while those that have ended."""

    __slots__ = (
        "_audit",
        "_clock",
        "_ended",
        "_hub",
        "_keep",
        "_limits",
        "_open",
        "_surface_id",
        "handoffs",
        "kept",
        "listeners",
        "on_end",
    )

    def __init__(  # noqa: PLR0913 - the wiring of one owner of state
        self,
        surface_id: str,
        clock: Clock,
        limits: Limits,
        hub: EventHub,
        audit: AuditLog,
        keep: Callable[["HandoffRecord"], None],
        kept: Callable[[], Awaitable[None]],
    ) -> None:
        self._surface_id = surface_id
        self._clock = clock
        self._limits = limits
        self._hub = hub
        self._audit = audit
        self._keep = keep
        self.kept = kept
        """Waits until the store has what it was told; raises what keeps it from having it."""
        self._open: dict[str, HandoffRecord] = {}
        self._ended: Bounded[str, HandoffRecord] = Bounded(ENDED, limits.handoff_s, clock)
        self.listeners: Listeners[HandoffView] = Listeners(
            partial(audit.fault, "a handoff callback raised"), backlog=limits.events_backlog
        )
        self.handoffs = Handoffs(self, limits)
        """The application's side: the only one that ends them."""
        self.on_end: Callable[[str], None] | None = None
        """Hears of each handoff that has ended, after everybody else."""

    def ask(self, asked: Handing) -> HandoffRecord:
        """The handoff that answers this call: the open one for the same call, else a new one.

        RATE_LIMITED{queue-full} when this consumer, or the surface, has as many open as there may be.
        """
        self._lapse()
        found = self.standing(asked)
        if found is not None:
            return found
        self._refuse_if_full(asked.consumer.key)
        now, seconds = self._clock.now(), self._limits.handoff_s
        record = HandoffRecord(
            new_id("hnd_"),
            asked,
            self._surface_id,
            now,
            now + timedelta(seconds=seconds),
            self._clock.monotonic() + seconds,
        )
        self.hold(record)
        self._tell(record, EventType.HANDOFF_REQUESTED)
        return record

    def hold(self, record: HandoffRecord) -> None:
        """Take one in that waits: a new one, or one that an earlier process left (SPEC 15.1)."""
        left = max(record.ends_at - self._clock.monotonic(), SOONEST_S)
        record.timer = self._clock.call_later(left, partial(self.end, record, HandoffStatus.EXPIRED))
        self._open[record.id] = record
        self._keep(record)

    def standing(self, asked: Handing) -> HandoffRecord | None:
        """The open handoff for the same call; opens none."""
        now = self._clock.monotonic()
        open_ = (record for record in self._open.values() if record.ends_at > now)
        return next((record for record in open_ if record.asked.same == asked.same), None)

    def ended_for(self, asked: Handing) -> str | None:
        """One of an earlier process that the person ended for the same call under the same invocation id."""
        for id, record in self._ended.items():
            same = record.asked.invocation == asked.invocation and record.asked.same == asked.same
            if same and record.taken_over and record.status in BY_THE_PERSON:
                return id
        return None

    def find(self, id: object) -> HandoffRecord | None:
        """One by its id, whether it is open or has ended a short while ago."""
        self._lapse()
        if not isinstance(id, str):
            return None
        return self._open.get(id) or self._ended.peek(id)

    def pending(self) -> tuple[HandoffRecord, ...]:
        """The open ones, oldest first."""
        self._lapse()
        return tuple(self._open.values())

    def end(
        self, record: HandoffRecord, status: HandoffStatus, by: Decider | None = None, data: bytes | None = None
    ) -> None:
        """Write down how it ended, once; then tell."""
        if self._open.pop(record.id, None) is None:
            return
        if record.timer is not None:
            record.timer.cancel()
        record.status = status
        record.decided_by = None if by is None else by.id
        record.data = record.data if data is None else data
        self._ended.put(record.id, record)
        self._keep(record)
        self._tell(record, EventType.HANDOFF_RESOLVED)
        if self.on_end is not None:
            self.on_end(record.id)

    def end_all(self) -> None:
        """The view has closed: nobody can do any of the steps for it any more."""
        for record in tuple(self._open.values()):
            self.end(record, HandoffStatus.CANCELLED)

    def leave_all(self) -> None:
        """The process stops, and the store hands what waits to the next one: nothing has ended."""
        for record in self._open.values():
            if record.timer is not None:
                record.timer.cancel()
        self._open.clear()

    def _lapse(self) -> None:
        """End what is over although no timer has run yet, so that nobody is told otherwise."""
        now = self._clock.monotonic()
        for record in [record for record in self._open.values() if record.ends_at <= now]:
            self.end(record, HandoffStatus.EXPIRED)

    def _refuse_if_full(self, key: ConsumerKey) -> None:
        open_, limits = self._open.values(), self._limits
        own = [record for record in open_ if record.asked.consumer.key == key]
        if len(own) < limits.handoffs_per_consumer and len(open_) < limits.handoffs_per_surface:
            return
        # When the surface is full a consumer without one of its own waits for somebody else's.
        soonest = min(record.ends_at for record in own or open_)
        wait_ms = max(round((soonest - self._clock.monotonic()) * MILLISECONDS), 1)
        whose = "consumer" if len(own) >= limits.handoffs_per_consumer else "surface"
        raise Refusal(rate_limited("queue-full", wait_ms), why=f"as many handoffs are open as a {whose} may have")

    def _tell(self, record: HandoffRecord, type: EventType) -> None:
        asked = record.asked
        self._audit.append(
            AuditType.HANDOFF,
            registration=asked.registration,
            capability=asked.plan.id,
            invocation=asked.invocation,
            correlation_id=asked.correlation_id,
            consumer=asked.consumer.key,
            principal=asked.principal.key,
            decider=record.decided_by,
            status=record.status.value,
            contract_hash=asked.contract_hash,
            about=Handed(record.id),
        )
        data: dict[str, object] = {"handoff": record.id, "capability": asked.plan.id}
        if type is EventType.HANDOFF_RESOLVED:
            data["status"] = record.status.value
        self._hub.emit(type, data, asked.consumer.key)
        if self.listeners.audience:
            self.listeners.send(record.view())


class Handoffs:
    """The handoffs of one surface, for the application whose person does the steps.

    Errors are for the host: `UnknownHandoff` (a `LookupError`), `NotTheDecider` (a `PermissionError`), `HandoffEnded`
    (a `RuntimeError` with the status), `WrongData` (a `ValueError`), and a `TypeError` for who is no `Decider`. After
    each of them nothing has changed. No verb of an agent reaches it.
    """

    __slots__ = ("_desk", "_limits")

    def __init__(self, desk: HandoffDesk, limits: Limits) -> None:
        self._desk = desk
        self._limits = limits

    def pending(self, decider: Decider | None = None) -> tuple[HandoffView, ...]:
        """What waits for the person, oldest first; with `decider` only what that person may end."""
        check_decider(decider)
        records = self._desk.pending()
        return tuple(record.view() for record in records if decider is None or record.may_be_ended_by(decider))

    def get(self, id: str, decider: Decider | None = None) -> HandoffView | None:
        """One in its present state, for a while after it has ended; None if there is none, or it is another person's.

        The page at `url` asks with whoever is logged in there, so that an id opens nothing for anybody else.
        """
        check_id(id, "a handoff")
        check_decider(decider)
        record = self._desk.find(id)
        if record is None or (decider is not None and not record.may_be_ended_by(decider)):
            return None
        return record.view()

    async def complete(self, id: str, decider: Decider, data: object = None) -> None:
        """Say that the person has done the step; `data` is what the agent is told of it.

        It is of the capability's declared output type (what the method is annotated to return), at most
        `limits.output_bytes`; where none is declared there is none. `decider` is the principal. When this returns it is
        kept as well as the store keeps anything; what a durable store raises instead is raised, and it counts all the
        same, and is written as soon as that can be.
        """
        check_decider(decider, needed=True)
        record = self._open(id, decider)
        self._desk.end(record, HandoffStatus.COMPLETED, decider, self._checked(record.asked.plan, data))
        await self._desk.kept()

    async def decline(self, id: str, decider: Decider) -> None:
        """Say that the person will not do the step; `decider` is the principal."""
        check_decider(decider, needed=True)
        self._desk.end(self._open(id, decider), HandoffStatus.DECLINED, decider)
        await self._desk.kept()

    def subscribe(self, listener: Callable[[HandoffView], None]) -> Callable[[], None]:
        """Hear of every handoff that is opened or ends; return what ends it."""
        return self._desk.listeners.add(listener)

    def _open(self, id: str, decider: Decider) -> HandoffRecord:
        check_id(id, "a handoff")
        record = self._desk.find(id)
        if record is None:
            raise UnknownHandoff
        if not record.may_be_ended_by(decider):
            raise NotTheDecider
        if record.status is not HandoffStatus.PENDING:
            raise HandoffEnded(record.status)
        return record

    def _checked(self, plan: Plan, data: object) -> bytes:
        if plan.output is None:
            if data is not None:
                raise WrongData("no output type is declared, so there is nothing to tell")
            return b"null"
        try:
            value, form = plan.dump(data)
        except (NotJson, OutputRefused) as problem:
            raise WrongData(problem.told) from None
        if not plan.output.is_valid(value):
            first = plan.output.issues(value)[0]
            raise WrongData(f"at `{first.path}`: {first.message}" if first.path else first.message)
        if len(form) > self._limits.output_bytes:
            raise WrongData(f"it has {len(form)} bytes, the limit is {self._limits.output_bytes}")
        return form
