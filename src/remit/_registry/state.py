"""The registrations of one surface, indexed for calls and kept in order for listings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._contract.plan import Plan, Sealed
from remit._model.answering import Answering
from remit._model.consumer import ConsumerKey
from remit._model.effects import Confirmation, Kind
from remit._model.ids import RegistrationId
from remit._model.listing import Listed, ListedComponent
from remit._policy.chain import Chain
from remit._registry.suspended import Suspended

SHOWN_TO = 256
REASON_CHARACTERS = 200
DISABLED = "This part of the view is disabled"


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """What a listing holds of one registration for one viewer; `told` once that viewer has been shown it."""

    viewer: object
    component: ListedComponent | None
    references: tuple[Listed, ...]
    marks: tuple[int, ...]
    told: bool = False


class Registration:
    """One mount lifetime of one instance; never reused (SPEC 1).

    `blocked` is the reason why nothing of it is available (own or an ancestor's), None when it is enabled. `shown`
    holds, by consumer, the ids it has been shown of it. `component` is dropped at unmount, so that nothing executable
    outlives the mount (SPEC 4.4). `identity` is the canonical JSON that names the data shown, None when none was given.
    `region` are the types of the components it is mounted in, the outermost first, and `place` the same with its own,
    joined by `/`. `answering` is the page that answers in the place of its methods, dropped as `component` is. `guards`
    counts the policies that a guard put over this mount. `entry` is the entry of the last
    viewer, as long as no change made it None; only a `steady` registration has one: one whose capabilities no policy,
    predicate, note, channel or set of records can change by itself.
    """

    __slots__ = (
        "answering",
        "blocked",
        "bounds",
        "children",
        "component",
        "enabled",
        "entry",
        "guards",
        "id",
        "identity",
        "instance",
        "internal",
        "origin",
        "parent",
        "place",
        "priority",
        "pushed",
        "reason",
        "region",
        "sealed",
        "shown",
        "steady",
    )

    def __init__(  # noqa: PLR0913 - one keyword an argument of `mount`
        self,
        registration_id: RegistrationId,
        component: object,
        sealed: Sealed,
        *,
        instance: str,
        parent: "Registration | None",
        priority: int,
        origin: str,
        internal: object,
        identity: bytes | None = None,
    ) -> None:
        self.id = registration_id
        self.component: object | None = component
        self.sealed = sealed
        self.instance = instance
        self.parent = parent
        self.region: tuple[str, ...] = () if parent is None else (*parent.region, parent.sealed.type)
        self.place: str = sealed.type if parent is None else f"{parent.place}/{sealed.type}"
        self.priority = priority
        self.origin = origin
        self.internal = internal
        self.identity = identity
        self.enabled = True
        self.guards = 0
        self.reason: str | None = None
        self.blocked: str | None = None
        self.answering: Answering | None = None
        self.pushed: dict[str, str] = {}
        self.children: list[Registration] = []
        self.bounds: tuple[Bound, ...] = ()
        self.shown: dict[ConsumerKey, frozenset[str]] = {}
        self.entry: Entry | None = None
        self.steady = False

    @property
    def live(self) -> bool:
        """True until it is unmounted."""
        return self.component is not None

    def show_to(self, key: ConsumerKey, capabilities: frozenset[str]) -> None:
        """Remember what of it this consumer has been shown; whoever was shown it first is forgotten first."""
        known = self.shown.get(key)
        if known is not None:
            if not capabilities <= known:
                self.shown[key] = known | capabilities
            return
        if len(self.shown) >= SHOWN_TO:  # a bearer of each new token is a consumer of its own
            del self.shown[next(iter(self.shown))]
        self.shown[key] = capabilities


class Bound:
    """One capability of one live registration, ready to be listed and called.

    `mark` is a number that no other bound ever has and that moves on `invalidate`; versions are compared by it.
    `listed` is the ready entry of the usual case: available, nothing to add. `inline` says that its code never waits: a
    synchronous handler that runs here and once, which no page may take the place of, and no `around`. `steps` are the
    steps of a flow, in the same registration.
    """

    __slots__ = ("address", "chain", "inline", "listed", "mark", "plan", "registration", "steps")

    @property
    def names(self) -> Iterable[str]:
        """What a call may name as its instance."""
        instance = self.registration.instance
        return (instance,) if self.address == instance else (instance, self.address)

    def __init__(self, plan: Plan, registration: Registration, chain: Chain, mark: int) -> None:
        self.plan = plan
        self.registration = registration
        self.chain = chain
        self.mark = mark
        self.steps: tuple[Bound, ...] = ()
        self.inline = not (plan.is_async or plan.blocking or plan.page or plan.retry is not None or chain.has_around)
        self.address = (
            f"{registration.sealed.type}/{registration.instance}"
            if plan.descriptor.kind is Kind.REFERENCE
            else registration.instance
        )
        self.listed = Listed(
            descriptor=plan.descriptor,
            registration=registration.id,
            instance=registration.instance,
            priority=registration.priority,
            scope_path=registration.region,
        )


class Offers:
    """Who offers one capability now: by registration, and by each name a call may give.

    `doored` counts those that name doors of their own.
    """

    __slots__ = ("_named", "doored", "of")

    def __init__(self) -> None:
        self.of: dict[str, Bound] = {}
        self.doored = 0
        self._named: dict[str, tuple[Bound, ...]] = {}

    def named(self, instance: str | None) -> Collection[Bound]:
        """Those that bear this name, all without one; nothing is disclosed by this: each is judged by itself."""
        return self.of.values() if instance is None else self._named.get(instance, ())

    def add(self, bound: Bound) -> None:
        """One more offers it."""
        self.of[bound.registration.id] = bound
        self.doored += bound.plan.doors is not None
        for name in bound.names:
            self._named[name] = (*self._named.get(name, ()), bound)

    def remove(self, bound: Bound) -> None:
        """One no longer does."""
        del self.of[bound.registration.id]
        self.doored -= bound.plan.doors is not None
        for name in bound.names:
            left = tuple(other for other in self._named[name] if other is not bound)
            if left:
                self._named[name] = left
            else:
                del self._named[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What stays of a registration after it has gone: its names, and who had been shown what of it (SPEC 4.4)."""

    registration: RegistrationId
    type: str
    instance: str
    place: str
    shown: Mapping[ConsumerKey, frozenset[str]]


class State:
    """The mutable heart of a surface: what is mounted, by id and in order. Only `register` changes it."""

    __slots__ = (
        "_marks",
        "_nobody",
        "_offers",
        "_order",
        "by_instance",
        "by_registration",
        "generation",
        "reason_characters",
        "route",
        "suspended",
        "tombstones",
    )

    def __init__(self, limits: Limits, clock: Clock, suspended: Suspended) -> None:
        self._offers: dict[str, Offers] = {}
        self._nobody = Offers()
        self.by_instance: dict[tuple[str, str], Registration] = {}
        self.by_registration: dict[RegistrationId, Registration] = {}
        self.tombstones: Bounded[str, Tombstone] = Bounded(limits.tombstones, limits.tombstone_s, clock)
        self.reason_characters = limits.runtime_text
        self.generation = 0
        self.route: str | None = None
        self.suspended = suspended
        self._marks = count(1)
        self._order: tuple[Registration, ...] | None = None

    def offers(self, capability_id: object) -> Offers:
        """Who offers this capability; what is not there is offered by nobody, and takes as long to find out.

        What was mounted is well formed, so that a malformed id, whatever it is, is simply not there (SPEC 2.3).
        """
        return self._offers.get(capability_id, self._nobody) if isinstance(capability_id, str) else self._nobody

    def moved(self) -> None:
        """Something that a listing may show has changed."""
        self.generation += 1

    def renew(self) -> None:
        """Drop what was made ready for listings: something was suspended or reinstated, here or over the same store."""
        self.suspended.moved = False
        for registration in self.by_registration.values():
            registration.entry = None
        self.moved()

    def next_mark(self) -> int:
        """A number that was never given before."""
        return next(self._marks)

    def add(self, registration: Registration, bounds: Iterable[Bound]) -> None:
        """Index a registration and its capabilities."""
        registration.bounds = tuple(bounds)
        for bound in registration.bounds:
            if bound.plan.flow is not None:
                own = {other.plan.id: other for other in registration.bounds}
                bound.steps = tuple(own[step.id] for step in bound.plan.flow.steps)
        registration.steady = all(_is_steady(bound) for bound in registration.bounds)
        self.by_instance[registration.sealed.type, registration.instance] = registration
        self.by_registration[registration.id] = registration
        for bound in registration.bounds:
            id = bound.plan.descriptor.id
            offers = self._offers.get(id)
            if offers is None:
                offers = self._offers[id] = Offers()
            offers.add(bound)
        self._order = None
        self.moved()

    def remove(self, registration: Registration) -> Tombstone:
        """Take a registration out of every index, drop what is executable, and keep its tombstone."""
        del self.by_instance[registration.sealed.type, registration.instance]
        del self.by_registration[registration.id]
        for bound in registration.bounds:
            id = bound.plan.descriptor.id
            offers = self._offers[id]
            offers.remove(bound)
            if not offers.of:
                del self._offers[id]
        stone = Tombstone(
            registration=registration.id,
            type=registration.sealed.type,
            instance=registration.instance,
            place=registration.place,
            shown=dict(registration.shown),
        )
        self.tombstones.put(registration.id, stone)
        registration.component = None
        registration.answering = None
        registration.bounds = ()
        registration.entry = None
        self._order = None
        self.moved()
        return stone

    def in_order(self) -> tuple[Registration, ...]:
        """Live registrations by priority (descending), then type, then instance (SPEC 4.9)."""
        if self.suspended.moved:
            self.renew()
        if self._order is None:
            self._order = tuple(
                sorted(self.by_registration.values(), key=lambda r: (-r.priority, r.sealed.type, r.instance))
            )
        return self._order


def _is_steady(bound: Bound) -> bool:
    """Whether no application code and no channel has a say in what one viewer sees of it (see `visibility.see`).

    The steps of a flow are judged beside it: they are of the same registration.
    """
    plan = bound.plan
    return (
        plan.available is None
        and plan.note is None
        and plan.template is None
        and not bound.chain.has_discover
        and plan.descriptor.confirmation.rank < Confirmation.REQUIRED.rank
    )
