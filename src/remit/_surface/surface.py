"""`Surface`: the live set of registrations of one session, and the one way to call them (SPEC 4)."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from remit._base.clock import Clock, SystemClock
from remit._base.closed import one_of
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.confirmations import Confirmations
from remit._confirmation.handoff import Handoffs
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.request import DecideFn
from remit._contract.authority import Authority
from remit._contract.component import Component
from remit._invocation.pipeline import LookAhead, Pipeline
from remit._journal.audit import AuditEntry, AuditSink, AuditType
from remit._model.consumer import Consumer, check_consumer
from remit._model.effects import Effect
from remit._model.event import EventListener, EventType
from remit._model.finding import SurfaceFinding
from remit._model.handoff_view import HandoffState
from remit._model.ids import DEFAULT_INSTANCE, SurfaceId, check_id
from remit._model.listing import Snapshot
from remit._model.outcome import Failed, Outcome
from remit._model.preflight import Preflight
from remit._model.progress import ProgressListener, check_listener
from remit._model.request import Invocation, check_invocation
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit._policy.guard import Guard
from remit._policy.policy import Policy
from remit._registry.entered import Within
from remit._registry.wanted import Wanted
from remit._surface.asked import check_kind, check_sink, check_wait, route_of
from remit._surface.audience import audience_of, changed_by, standing_of
from remit._surface.belonging import Belonging
from remit._surface.capturing import filter_of, snapshot_of
from remit._surface.connection import Connection, Named
from remit._surface.continuing import to_continue
from remit._surface.from_thread import SurfaceFromThread
from remit._surface.given import Given, policies_of, procedures_of
from remit._surface.life import Life
from remit._surface.mount import Mount, identity_of, refuse_class, registration_of
from remit._surface.switch import switch, target_of
from remit._surface.viewers import PrincipalSource
from remit._surface.wiring import Wired, wire
from remit.errors import ErrorCode, Happened, cancelled, confirmation_invalid
from remit.procedures.catalogue import Catalogue
from remit.store.memory import MemoryStore
from remit.store.parts import parts_of
from remit.store.protocol import ConfirmationStore, Store

C = TypeVar("C", bound=Component)


class Surface:
    """What one person has open, as agents may see and work it; fits `SurfacePort`.

    It belongs to the thread and the event loop in which it is used first; misuse raises RuntimeError at once.
    `principal` and `host` may be callables, asked per call inside `within`; None, another id or another tenant ends the
    surface. `exposure` may only narrow what the contract opens. `decide` answers confirmation requests inline. Without
    a store, requests live in memory. `guard` is asked about each mount before it is live (SPEC 4.5): it accepts,
    rejects or restricts, and keeps out what it cannot decide. `keys` bind the requests; without them a key of this
    surface alone does, which a store that is durable refuses (SPEC 7.1).
    """

    def __init__(  # noqa: PLR0913 - SPEC 4.0 fixes these keywords
        self,
        authority: Authority,
        *,
        principal: PrincipalSource,
        host: object = None,
        policies: Iterable[Policy] = (),
        procedures: Catalogue | Sequence[Catalogue] | None = None,
        exposure: Mapping[str, Iterable[str]] | None = None,
        decide: DecideFn | None = None,
        within: Within | None = None,
        store: ConfirmationStore | Store | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
        guard: Guard | None = None,
        keys: ConfirmationKeys | None = None,
    ) -> None:
        if not isinstance(authority, Authority):
            raise TypeError("Surface(authority, …) needs an Authority: Authority.load(beside=__file__)")
        if authority.pending:
            raise RuntimeError("the contract is being compiled: guard what runs with `if __name__ == '__main__'`")
        self._id = SurfaceId(new_id("srf_"))
        self._belongs = Belonging()
        self._authority = authority
        at = SystemClock() if clock is None else clock
        given = Given(
            authority=authority,
            principal=principal,
            host=host,
            policies=policies_of(policies),
            procedures=procedures_of(procedures),
            exposure=exposure,
            decide=decide,
            within=within,
            store=parts_of(store, MemoryStore(clock=at)),
            clock=at,
            limits=Limits() if limits is None else limits,
            guard=guard,
            keys=keys,
        )
        self._parts = wire(given, self._id, self._gone)
        self._pipeline = Pipeline(self._parts.parts)
        self._ahead = LookAhead(self._parts.ahead)
        self._life = Life(self._parts, self._pipeline, given.policies, self._belongs)

    @property
    def surface_id(self) -> str:
        """The opaque id of this surface."""
        return self._id

    @property
    def confirmations(self) -> Confirmations:
        """What waits for a person, and the only way to decide it."""
        return self._parts.broker.confirmations

    @property
    def handoffs(self) -> Handoffs:
        """The steps that wait for the person to do them, and the only way to say how they ended (SPEC 11.7)."""
        return self._parts.desk.handoffs

    def mount(  # noqa: PLR0913 - SPEC 4.1 fixes these keywords
        self,
        component: Component,
        instance: str = DEFAULT_INSTANCE,
        *,
        parent: Mount | None = None,
        enabled: bool = True,
        on_duplicate: Literal["reject", "replace"] = "reject",
        origin: str = "first-party",
        priority: int = 0,
        internal: object = None,
        identity: object = None,
    ) -> Mount:
        """Make an instance callable until its mount ends.

        The class is verified against the contract; a difference is a DefinitionError that names the field. A second
        live mount of one type and name is rejected (a dead Mount) or replaces the first. What the guard keeps out is
        rejected too. An argument that makes no sense is a TypeError or a DefinitionError that names it.

        `identity`, a JSON value that names the data shown, lets pending confirmation requests move to the next mount of
        this type and instance with the same identity, if their effective input is the same there (SPEC 7.12).
        """
        self._belongs.check_thread()
        refuse_class(component)
        sealed = self._authority.seal(type(component))
        below = None if parent is None else registration_of(parent, self._life.registrar)
        if parent is not None and below is None:  # a dead mount has dead children
            return Mount(self._life.registrar, None, self._belongs)
        wanted = Wanted(
            component=component,
            sealed=sealed,
            instance=instance,
            parent=below,
            enabled=enabled,
            on_duplicate=on_duplicate,
            origin=origin if sealed.origin is None else sealed.origin,
            priority=priority,
            internal=internal,
            identity=identity_of(identity),
        )
        return Mount(self._life.registrar, self._life.mount(wanted), self._belongs)

    def mounted(self, kind: type[C]) -> tuple[C, ...]:
        """The live instances of a component class, in the order of a listing."""
        self._belongs.check_thread()
        check_kind(kind)
        found = (registration.component for registration in self._parts.registry.in_order())
        return tuple(component for component in found if isinstance(component, kind))

    def connect(self, consumer: Consumer) -> Connection:
        """Say once who is asking."""
        return Connection(self, consumer)

    def from_thread(self) -> SurfaceFromThread:
        """The same for other threads: each use waits for this surface's loop, and raises where that is a deadlock."""
        self._belongs.settle()
        return SurfaceFromThread(self, self._belongs)

    def snapshot(
        self,
        consumer: Consumer,
        *,
        prefixes: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        effects: Collection[Effect | str] | None = None,
        include_unavailable: bool = True,
        budget: int | None = None,
    ) -> Snapshot:
        """Capture what this consumer may see now; runs no handler and does no I/O (SPEC 4.9).

        `prefixes` match whole segments: with a plane they are held against ids, without against component types. A
        `budget` in bytes of JSON leaves out whole components, lowest priority first, and `dropped` says how many
        capabilities. The version is that of the whole listing, whatever was asked for.
        """
        self._belongs.check_thread()
        check_consumer(consumer)
        wanted = filter_of(prefixes, tags, effects, include_unavailable, budget)
        return snapshot_of(self._parts, consumer, wanted, surface_id=self._id, ended=self._life.ended)

    async def invoke(
        self,
        invocation: Invocation,
        consumer: Consumer,
        *,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> Outcome:
        """Run one call through every step; returns Ok or Failed, never raises for what an agent can cause.

        `timeout` is the host's own deadline for this call in seconds, at most 600 (SPEC 6.7). `progress` is called, in
        the task of the code that runs, with what that reports by `Context.progress`; it must be quick (SPEC 6.10).
        """
        self._belongs.check_loop()
        check_invocation(invocation)
        check_consumer(consumer)
        if progress is not None:
            check_listener(progress)
        if self._life.ended:
            return self._life.no_call(invocation, cancelled(Happened.NONE), consumer)
        return await self._pipeline.invoke(invocation, consumer, timeout, progress)

    async def preflight(self, invocation: Invocation, consumer: Consumer) -> Preflight:
        """Say what a call would come to, up to its precondition, with nothing created, charged or stored (SPEC 6.11).

        Policies, predicates, bindings and the precondition are asked as for a call; no handler runs, no person is
        asked, there are no events, and the journal hears only of what application code raises. For the host only: it
        tells the effective input and what a person would be shown. What is hidden is CAPABILITY_NOT_FOUND as always.
        """
        self._belongs.check_loop()
        check_invocation(invocation)
        check_consumer(consumer)
        seen = None if self._life.ended else await self._ahead.look(invocation, consumer)
        if seen is None or self._life.ended:
            return Preflight(capability_id=invocation.capability_id, error=cancelled(Happened.NONE))
        return seen

    async def continue_(
        self, confirmation_id: str, consumer: Consumer, *, progress: ProgressListener | None = None
    ) -> Outcome:
        """Run the stored exact call of a request again under its own invocation id, with the request as evidence.

        It decides nothing. Somebody else's id is an unknown id (SPEC 7.6, 7.7).
        """
        check_id(confirmation_id, "a request")
        check_consumer(consumer)
        stored = await to_continue(confirmation_id, consumer, self._parts, self._life)
        return stored if isinstance(stored, Failed) else await self.invoke(stored, consumer, progress=progress)

    async def resume(self, confirmation_id: str) -> Outcome:
        """Do as the requester would with `continue_`: for the host, when nobody comes back for an approved call.

        The stored exact call runs under its own invocation id, as the same consumer with the grants and the scope with
        which this surface last saw it, through every step; the requester's own repeat then gets the stored result. It
        decides nothing: a request that is still pending is answered with CONFIRMATION_REQUIRED. An id that is unknown
        to this surface is CONFIRMATION_INVALID, like an invented one (SPEC 7.6).
        """
        check_id(confirmation_id, "a request")
        requester = self._parts.broker.requester(confirmation_id)
        if requester is None:
            return self._life.no_call(None, confirmation_invalid("mismatch"), None)
        return await self.continue_(confirmation_id, self._parts.versions.newest(requester))

    async def decided(self, confirmation_id: str, consumer: Consumer, *, timeout: float) -> ConfirmationStatus | None:
        """Wait at most `timeout` seconds until a request of this consumer is no longer pending."""
        check_id(confirmation_id, "a request")
        check_consumer(consumer)
        check_wait(timeout)
        return await self._parts.broker.decided(confirmation_id, consumer.key, timeout)

    async def withdraw(self, confirmation_id: str, consumer: Consumer) -> bool:
        """End a pending request of this consumer; not a denial (SPEC 7.5)."""
        check_id(confirmation_id, "a request")
        check_consumer(consumer)
        return await self._parts.broker.withdraw(confirmation_id, consumer.key)

    def handoff(self, handoff_id: str, consumer: Consumer) -> HandoffState | None:
        """How a handoff of this consumer stands; None: unknown id, another's, or out of its reach now (SPEC 11.7)."""
        self._belongs.check_thread()
        check_id(handoff_id, "a handoff")
        check_consumer(consumer)
        return standing_of(handoff_id, consumer, self._parts)

    def cancel(self, invocation_id: str, consumer: Consumer) -> bool:
        """Cancel a running call of this consumer."""
        self._belongs.check_thread()
        check_id(invocation_id, "a call")
        check_consumer(consumer)
        return self._pipeline.cancel(invocation_id, consumer.key)

    def subscribe(
        self,
        listener: EventListener,
        *,
        types: Collection[EventType] | None = None,
        consumer: Consumer | None = None,
    ) -> Callable[[], None]:
        """Hear events after they happened, in order; with `consumer` only what it may hear. Returns the end of it."""
        self._belongs.check_thread()
        if consumer is not None:
            check_consumer(consumer)
        audience = None if consumer is None else audience_of(consumer, self._parts)
        return self._parts.hub.subscribe(listener, types, audience)

    @property
    def route(self) -> str | None:
        """Where in the application the view is, as `set_route` last said."""
        return self._parts.registry.route

    def set_route(self, path: str | None) -> None:
        """Say where in the application the view is; agents are told it as one line (SPEC 3.12)."""
        self._belongs.check_thread()
        route = route_of(path, self._parts.registry.reason_characters)
        if route == self._parts.registry.route:
            return
        self._parts.registry.route = route
        self._parts.hub.emit(EventType.ROUTE_CHANGED, {"route": route})

    def suspend(self, *, consumer: Consumer | None = None, capability: str | Named | None = None) -> None:
        """Switch one consumer or one capability off, as of the next call: the kill switch (SPEC 4.13).

        A suspended capability is hidden from everybody, whoever mounts it. A suspended consumer has an empty listing,
        and each of its calls is NOT_AUTHORIZED. A call that still waits is stopped before it runs; code that runs is
        not interrupted, and evidence is kept. It is held in the store until `reinstate`, for every surface of this
        tenant over that store, open now or later. A capability that the contract does not know is a ValueError; twice
        is a no-op; more than 10,000 at a time are an OverflowError.
        """
        self._switch(consumer, capability, suspended=True)

    def reinstate(self, *, consumer: Consumer | None = None, capability: str | Named | None = None) -> None:
        """Take a suspension back; what is not suspended is left as it is."""
        self._switch(consumer, capability, suspended=False)

    def policies_changed(self) -> None:
        """Say that what policies decide from host values may have changed: versions are computed anew."""
        self._belongs.check_thread()
        self._parts.registry.moved()
        self._parts.hub.surface_changed()

    def _explained(self) -> Wired | None:
        """The parts that `remit.explain` and `remit._session` read, nobody else; None once the surface has ended."""
        self._belongs.check_thread()
        return None if self._life.ended else self._parts

    def _session(self, type: EventType, data: Mapping[str, object]) -> None:
        """Tell listeners of this surface's session, as `remit._session` says and nobody else."""
        self._parts.hub.emit(type, data)

    def _changed_by(self, capability: str) -> tuple[str, ...]:
        """The component types whose part of a page a call may change, for `remit.integrations` and nobody else."""
        return changed_by(capability, self._parts)

    def _withheld(self, consumer: Consumer, invocation: str | None, why: str) -> None:
        """Journal that a door did not hand an answer out, as `remit._session` says and nobody else."""
        self._parts.audit.append(
            AuditType.FAULT, consumer=consumer.key, invocation=invocation, code=ErrorCode.EXECUTION_FAILED, why=why
        )

    def audit(
        self, *, types: Collection[AuditType | str] | None = None, invocation: str | None = None
    ) -> tuple[AuditEntry, ...]:
        """The journal in memory, oldest first, of some `types` or one invocation; for operators, never for agents."""
        return self._parts.audit.entries(types, invocation)

    def audit_to(self, sink: AuditSink) -> Callable[[], None]:
        """Give every later entry to `sink`, too; returns the end of it.

        No sink fails a call, and an async one delays none: see `AuditSink.write` (SPEC 9.2).
        """
        check_sink(sink)
        return self._parts.audit.sink(sink)

    def findings(self) -> tuple[SurfaceFinding, ...]:
        """What is allowed and probably not meant: look at it when the application starts, and in operation (SPEC 4.13).

        Network doors where something can be changed and nobody decides, exposure that matches nothing, loosened safety
        limits, and synchronous code that took more than 50 ms so far. For operators, never for agents.
        """
        return self._parts.findings.now()

    def dispose(self, cause: CancelCause = CancelCause.VIEW_CLOSED) -> None:
        """End everything: running work, requests, mounts, listeners; later calls are CANCELLED (SPEC 4.11)."""
        self._belongs.check_thread()
        self._life.end(one_of(CancelCause, cause, "dispose(cause=…)"))

    def _switch(self, consumer: Consumer | None, capability: str | Named | None, *, suspended: bool) -> None:
        self._belongs.check_thread()
        target = target_of(consumer, capability, self._authority)
        switch(target, self._parts.registry.suspended, self._parts.audit, suspended=suspended)

    def _gone(self) -> None:
        # The call that found out answers NOT_AUTHENTICATED by itself; every other one is cancelled (SPEC 4.0).
        self._life.end(CancelCause.VIEW_CLOSED, but_asking=True)
