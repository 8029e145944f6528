"""Mounting, updating and unmounting: the only code that changes the registry (SPEC 4.1 to 4.4)."""

from collections.abc import Callable, Mapping
from typing import Literal

from remit._base.ident import new_id
from remit._base.text import clean_line
from remit._contract.plan import Plan, Sealed
from remit._journal.about import Place
from remit._journal.audit import AuditLog, AuditType
from remit._journal.hub import EventHub
from remit._model.answering import Answering
from remit._model.effects import Confirmation, Effect
from remit._model.event import EventType
from remit._model.ids import RegistrationId
from remit._model.request_view import CancelCause
from remit._policy.chain import Chain, Watch
from remit._policy.policy import Policy
from remit._registry.state import DISABLED, Bound, Registration, State
from remit._registry.wanted import Wanted
from remit.errors import DefinitionCode, DefinitionError

Unmounted = Callable[[Registration, CancelCause], None]


class Registrar:
    """Changes the registry of one surface, journals that and says so, after the change, in order.

    `on_unmounted` is told last: it aborts running work and ends confirmation requests of the registration. `watch`
    measures what policies run inline.
    """

    __slots__ = ("_audit", "_chained", "_hub", "_on_unmounted", "_policies", "_registry", "_watch")

    def __init__(
        self,
        registry: State,
        hub: EventHub,
        audit: AuditLog,
        policies: tuple[Policy, ...],
        on_unmounted: Unmounted,
        watch: Watch | None = None,
    ) -> None:
        self._registry = registry
        self._hub = hub
        self._audit = audit
        self._policies = policies
        self._on_unmounted = on_unmounted
        self._watch = watch
        self._chained: dict[str, tuple[Sealed, list[Chain]]] = {}  # by component type, for the class mounted last

    def mount(self, wanted: Wanted, guards: tuple[Policy, ...] = ()) -> Registration | None:
        """Register an instance; None when a live one of the same type and name stands and is not to be replaced.

        `guards` are the policies that a guard put over this mount.
        """
        sealed, instance = wanted.sealed, wanted.instance
        live = self._registry.by_instance.get((sealed.type, instance))
        if live is not None and wanted.on_duplicate == "reject":
            reason = f"{sealed.type}/{instance} is already mounted as {live.id}"
            self._tell(EventType.REJECTED, sealed.type, instance, live.id, reason)
            return None
        chains = self._chains(sealed, guards) if guards else self._chains_of(sealed)
        if live is not None:
            self.unmount(live, CancelCause.UNMOUNTED)
        registration = Registration(
            RegistrationId(new_id("reg_")),
            wanted.component,
            sealed,
            instance=instance,
            parent=wanted.parent,
            priority=wanted.priority,
            origin=wanted.origin,
            internal=wanted.internal,
            identity=wanted.identity,
        )
        registration.enabled = wanted.enabled
        registration.guards = len(guards)
        if wanted.parent is not None:
            wanted.parent.children.append(registration)
        _block(registration)
        marks = self._registry
        self._registry.add(
            registration,
            (
                Bound(plan, registration, chain, marks.next_mark())
                for plan, chain in zip(sealed.plans, chains, strict=True)
            ),
        )
        self._tell(EventType.REGISTERED, sealed.type, instance, registration.id)
        self._hub.surface_changed()
        return registration

    def refuse(self, wanted: Wanted, reason: str) -> None:
        """Say that a guard kept a component out (SPEC 4.5)."""
        self._audit.append(
            AuditType.REGISTRATION,
            status=EventType.REJECTED.value,
            why=f"the guard rejected a component of {wanted.origin}: {reason}",
            about=Place(wanted.sealed.type, wanted.instance),
        )
        self._hub.emit(
            EventType.REJECTED,
            {"type": wanted.sealed.type, "instance": wanted.instance, "origin": wanted.origin, "reason": reason},
        )

    def update(
        self,
        registration: Registration,
        *,
        enabled: bool | None = None,
        reason: str | None = None,
        available: Mapping[str, Literal[True] | str] | None = None,
    ) -> None:
        """Enable or disable, and push availability; a push only lowers, a difference moves versions (SPEC 4.1)."""
        _check_update(enabled, reason, available)
        pushed = dict(registration.pushed)
        for name, state in (available or {}).items():
            attribute = _attribute(registration.sealed, name)
            if state is not True and not isinstance(state, str):
                raise TypeError(f"update(available={{{name!r}: …}}) takes True, or the reason why not as text")
            if state is True:
                pushed.pop(attribute, None)
            else:
                pushed[attribute] = clean_line(state, self._registry.reason_characters)
        before = _states(registration)
        if enabled is not None:
            registration.enabled = enabled
            registration.reason = None
        if reason is not None:
            registration.reason = clean_line(reason, self._registry.reason_characters)
        registration.pushed = pushed
        _block(registration)
        if _states(registration) == before:
            return
        self._registry.moved()
        self._hub.emit(
            EventType.AVAILABILITY_CHANGED,
            {"registration": registration.id, "enabled": registration.blocked is None},
        )
        self._hub.surface_changed()

    def answered(self, registration: Registration, answering: Answering) -> None:
        """From now on a page answers in the place of the component's methods; only where the contract allows it."""
        if not registration.sealed.page:
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                registration.sealed.type,
                "is not declared page=True, so no page may answer for it",
                do="declare it page=True and compile, or mount it with its own methods",
            )
        registration.answering = answering

    def invalidate(self, registration: Registration) -> None:
        """Tell consumers that what they know of this registration is old."""
        for bound in registration.bounds:
            bound.mark = self._registry.next_mark()
        registration.entry = None
        self._registry.moved()
        self._hub.surface_changed()

    def suspended(self) -> None:
        """Something was suspended or reinstated: say that listings may have moved (SPEC 4.13)."""
        self._registry.renew()
        self._hub.surface_changed()

    def unmount(self, registration: Registration, cause: CancelCause) -> None:
        """Take a registration away, children first; twice is a no-op."""
        if not registration.live:
            return
        for child in tuple(registration.children):
            self.unmount(child, cause)
        if registration.parent is not None:
            registration.parent.children.remove(registration)
        self._registry.remove(registration)
        self._tell(
            EventType.UNREGISTERED, registration.sealed.type, registration.instance, registration.id, cause.value
        )
        self._hub.surface_changed()
        self._on_unmounted(registration, cause)

    def _tell(
        self, type: EventType, component: str, instance: str, registration: RegistrationId, why: str | None = None
    ) -> None:
        self._audit.append(
            AuditType.REGISTRATION,
            registration=registration,
            status=type.value,
            why=why,
            about=Place(component, instance),
        )
        data = {"type": component, "instance": instance, "registration": registration}
        self._hub.emit(type, data if type is not EventType.REJECTED else {**data, "reason": why})

    def _chains_of(self, sealed: Sealed) -> list[Chain]:
        known = self._chained.get(sealed.type)
        if known is not None and known[0] is sealed:
            return known[1]
        chains = self._chains(sealed)
        self._chained[sealed.type] = sealed, chains
        return chains

    def _chains(self, sealed: Sealed, guards: tuple[Policy, ...] = ()) -> list[Chain]:
        """One chain per capability: policies of surface and guard first, then declared ones; equal ones are shared."""
        shared: dict[tuple[int, ...], Chain] = {}
        chains: list[Chain] = []
        for plan in sealed.plans:
            policies = (*self._policies, *guards, *sealed.policies, *plan.policies)
            key = tuple(map(id, policies))
            if key not in shared:
                shared[key] = Chain([_policy(policy, plan) for policy in policies], self._watch)
            chain = shared[key]
            _check_lowered(plan, chain)
            chains.append(chain)
        return chains


def _check_update(enabled: object, reason: object, available: object) -> None:
    if enabled is not None and not isinstance(enabled, bool):
        raise TypeError("update(enabled=…) takes True or False")
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"update(reason=…) is text, not {type(reason).__name__}")
    if available is not None and not isinstance(available, Mapping):
        found = type(available).__name__
        raise TypeError(f'update(available=…) takes a mapping, not {found}: write {{"select_rows": "why not"}}')


def _policy(policy: object, plan: Plan) -> Policy:
    if isinstance(policy, Policy):
        return policy
    raise DefinitionError(DefinitionCode.INVALID_DEFINITION, plan.id, f"{policy!r} is not a Policy", place=plan.place)


def _check_lowered(plan: Plan, chain: Chain) -> None:
    descriptor = plan.descriptor
    lowered = descriptor.effect is Effect.DESTRUCTIVE and descriptor.confirmation is Confirmation.OPTIONAL
    lowered = lowered and plan.flow is None  # a flow asks by itself, and the step that was lowered is looked at here
    if lowered and not chain.has_review:
        raise DefinitionError(
            DefinitionCode.INVALID_DEFINITION,
            plan.id,
            "a destructive capability lowered to `optional` needs a policy with `review` in its chain",
            place=plan.place,
            do="add such a policy, or leave its confirmation as it was",
        )


def _attribute(sealed: Sealed, name: str) -> str:
    for plan in sealed.plans:
        if name in (plan.attribute, plan.descriptor.id):
            return plan.attribute
    raise DefinitionError(DefinitionCode.INVALID_DEFINITION, sealed.type, f"it declares no capability named {name!r}")


def _block(registration: Registration) -> None:
    registration.entry = None
    parent = registration.parent
    if parent is not None and parent.blocked is not None:
        registration.blocked = parent.blocked
    elif not registration.enabled:
        registration.blocked = registration.reason or DISABLED
    else:
        registration.blocked = None
    for child in registration.children:
        _block(child)


def _states(registration: Registration) -> tuple[bool, frozenset[str]]:
    """What a version depends on: enabled or not, and which names are pushed down; reasons are state."""
    return registration.blocked is None, frozenset(registration.pushed)
