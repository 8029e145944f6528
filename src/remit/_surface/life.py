"""The life of one surface: what ends with a mount, and what ends with everything (SPEC 4.4, 4.11)."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from remit._confirmation.handoff_rows import record_of
from remit._confirmation.moving import Place
from remit._confirmation.request import RequestRecord
from remit._invocation.effective_input import again
from remit._journal.audit import AuditType
from remit._model.consumer import Consumer
from remit._model.outcome import Failed
from remit._model.request import Invocation
from remit._model.request_view import CancelCause
from remit._policy.guard import Reject
from remit._policy.policy import Policy
from remit._registry.register import Registrar
from remit._registry.state import Registration
from remit._registry.wanted import Wanted, check
from remit._surface.belonging import Belonging
from remit._surface.wiring import Wired
from remit.errors import AgentError, Happened
from remit.store.protocol import RevocationRow


class Running(Protocol):
    """What runs on a surface, as far as it can be ended."""

    def end_all(self, *, but_asking: bool = False) -> None:
        """End every call; `but_asking` spares one that only asks."""

    def cut_off(self, has_ended: Callable[[Consumer], bool], why: str) -> bool:
        """Stop what waits for consumers that nobody vouches for any more."""
        ...

    def unmounted(self, registration: Registration) -> None:
        """End what runs for a registration that has gone."""


class Life:
    """Owns whether the surface has ended, and the registrar whose every unmount ends work and requests."""

    __slots__ = ("__weakref__", "_belongs", "_parts", "_running", "_unhear", "_unhear_revoked", "ended", "registrar")

    def __init__(self, parts: Wired, running: Running, policies: tuple[Policy, ...], belongs: Belonging) -> None:
        self._parts = parts
        self._belongs = belongs
        self._unhear = parts.registry.suspended.subscribe(self._switched)
        self._unhear_revoked = parts.revoked.subscribe(self._revocation)
        self._running = running
        self.ended = False
        self.registrar = Registrar(parts.registry, parts.hub, parts.audit, policies, self._unmounted, parts.watch)

    def mount(self, wanted: Wanted) -> Registration | None:
        """Let a component in; None where it stays out: surface or parent has ended, guard or a live name forbids."""
        check(wanted)
        if not self._may_mount(wanted):
            return None
        judged = self._parts.guarded.judge(wanted)
        if isinstance(judged, Reject):
            self.registrar.refuse(wanted, judged.reason)
            return None
        # A guard is the application's code: it may have ended what was live before it was asked.
        registration = self.registrar.mount(wanted, judged) if self._may_mount(wanted) else None
        if registration is not None:
            self._arrived(registration)
            self._take_over(registration)
        return registration

    def _take_over(self, registration: Registration) -> None:
        """Go on with the handoffs of this part of the view that an earlier process left waiting (SPEC 15.1)."""
        parts, owner = self._parts, self._parts.viewers.principal_key
        for bound in registration.bounds:
            plan = bound.plan
            if plan.handing is None:
                continue
            for row in parts.kept.handoffs.lost(*owner, plan.id, registration.instance):
                parts.desk.hold(record_of(row, plan, parts.surface_id, parts.parts.clock))

    def _arrived(self, registration: Registration) -> None:
        """Let requests that wait for this part of the view go on there (SPEC 7.12)."""
        place = _place(registration)
        if place is None:
            return

        def anew(record: RequestRecord) -> bytes | None:
            bound = next((b for b in registration.bounds if b.plan.id == record.ask.descriptor.id), None)
            part = self._parts.parts.effective_input
            return None if bound is None else again(bound, record.ask.invocation.input, part)

        self._parts.broker.moving.arrive(place, registration.id, anew)

    def end(self, cause: CancelCause, *, but_asking: bool = False) -> None:
        """End running work, then mounts, requests and listeners; `but_asking` spares a call that only asks."""
        if self.ended:
            return
        self.ended = True
        self._unhear()
        self._unhear_revoked()
        self._running.end_all(but_asking=but_asking)
        self._parts.threads.close()
        for registration in self._parts.registry.in_order():
            self.registrar.unmount(registration, cause)
        self._parts.broker.end_all(cause)
        if cause is CancelCause.STOPPING and self._parts.kept.hands_over:
            self._parts.desk.leave_all()
        else:
            self._parts.desk.end_all()
        self._parts.hub.close()

    def no_call(self, wanted: Invocation | None, error: AgentError, consumer: Consumer | None) -> Failed:
        """The answer where nothing came to be a call; what a consumer asked for in vain is journalled (SPEC 9.2)."""
        if consumer is not None and not self.ended:
            self._parts.audit.append(
                AuditType.INVOCATION,
                capability=None if wanted is None else wanted.capability_id,
                invocation=None if wanted is None else wanted.id,
                consumer=consumer.key,
                code=error.code,
                why="there is nothing to continue",
                outcome=Happened.NONE,
                contract_hash=self._parts.parts.settle.contract_hash,
            )
        return Failed(
            invocation_id="" if wanted is None else wanted.id or "",
            capability_id="" if wanted is None else wanted.capability_id,
            error=error,
            surface_version="0" if consumer is None else self._parts.versions.known(consumer),
            surface_changed=False,
        )

    def _switched(self) -> None:
        self._belongs.in_own(self.registrar.suspended)

    def _revocation(self, row: RevocationRow) -> None:
        self._belongs.in_own(partial(self._cut_off, row))

    def _cut_off(self, row: RevocationRow) -> None:
        """End what waits for whom this grant vouched, or one narrowed from it, and journal that (SPEC 11.11)."""
        if self.ended:
            return
        revoked, broker, own = self._parts.revoked.has, self._parts.broker, self._parts.viewers.principal_key
        waited = self._running.cut_off(revoked, "its grant is revoked")
        if broker.cut_off(revoked) or waited or own == (row.tenant, row.principal):
            self._parts.audit.append(
                AuditType.REVOCATION, principal=own, decider=row.by, status="revoked", why=f"{row.id}: {row.why}"
            )

    def _may_mount(self, wanted: Wanted) -> bool:
        return not self.ended and (wanted.parent is None or wanted.parent.live)

    def _unmounted(self, registration: Registration, cause: CancelCause) -> None:
        if not self.ended:  # what ran has been ended before
            self._running.unmounted(registration)
        place = None if self.ended else _place(registration)
        self._parts.broker.end_registration(registration.id, cause, place)


def _place(registration: Registration) -> Place | None:
    if registration.identity is None:
        return None
    return Place(registration.sealed.type, registration.instance, registration.identity)
