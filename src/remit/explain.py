"""Why an agent sees what it sees: for developers and tests; no door may import it (SPEC 4.10)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from remit._journal.audit import stack_of
from remit._model.consumer import Consumer, check_consumer
from remit._model.record import RecordCounts
from remit._policy.chain import Chain, Vote
from remit._registry.snapshot import records_of
from remit._registry.state import Bound
from remit._registry.viewer import Viewer
from remit._registry.visibility import Sight, State, availability, see
from remit._surface.surface import Surface
from remit.errors import Refusal

__all__ = ["Availability", "Explained", "Explanation", "PolicyVote", "explain"]

Level = Literal["surface", "component", "capability"]
Seen = Literal["hidden", "unavailable", "available"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVote:
    """What one policy says of one capability, in the order in which policies are asked, the surface's first.

    `level` is where the policy stands. `decision` is `expose`, `disable` or `hide`; None for a policy without
    `discover`, which has no say in what is seen. `methods` are those it has: one with `review` may ask for a person.
    `reason` is what a `Disable` said, `cause` the stack of what `discover` raised, which hides.
    """

    policy: str
    level: Level
    methods: tuple[str, ...]
    decision: Literal["expose", "disable", "hide"] | None
    reason: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """The state of the view alone: mounted and enabled, pushed, predicate, backend, somebody to confirm (SPEC 4.6).

    It is told whether or not authority hides the capability. `cause` is the stack of a predicate that raised.
    """

    available: bool
    reason: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One capability of one live registration, as this consumer sees it, and why.

    `outcome` and `reason` equal the listing's. `why` is the true reason of what is not available. `region` are the
    types of the components in which it is mounted, the outermost first. `records` counts what this consumer may reach
    of a folded template now, None for everything else; `records_why` says why none can be (SPEC 11.6). The
    component of a `headless` one has no view.
    """

    capability: str
    component: str
    instance: str
    registration: str
    outcome: Seen
    reason: str | None
    why: str | None
    votes: tuple[PolicyVote, ...]
    availability: Availability
    region: tuple[str, ...] = ()
    records: RecordCounts | None = None
    records_why: str | None = None
    headless: bool = False

    @property
    def address(self) -> str:
        """What tells it apart from others of its id: the instance; of a reference, `type/instance` (SPEC 10.10)."""
        return f"{self.component}/{self.instance}" if self.capability.startswith("domain:") else self.instance

    def __str__(self) -> str:
        """One line: `view:panel.put (default)  hidden  hidden by the policy authenticated, of the surface`."""
        told = [f"{self.capability} ({self.address})", self.outcome, self.why, _counted(self)]
        return "  ".join(each for each in told if each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Every capability of every live registration, hidden ones too, in the order of registrations in a listing."""

    surface_id: str
    consumer: str
    capabilities: tuple[Explained, ...]

    def of(self, capability: str) -> tuple[Explained, ...]:
        """What is said of one capability id: one entry for each registration that has it."""
        return tuple(each for each in self if each.capability == capability)

    def __iter__(self) -> Iterator[Explained]:
        return iter(self.capabilities)

    def __str__(self) -> str:
        """One line a capability."""
        return "\n".join(str(each) for each in self)


def explain(surface: Surface, consumer: Consumer) -> Explanation:
    """Say of every mounted capability whether this consumer sees it, and the true reason (SPEC 4.10).

    It asks the same function as listing and calling, so its outcomes equal the listing's; like a listing it runs
    `discover` of policies and predicates, no handler, and does no I/O. It tells what must be hidden from an agent: keep
    its answer in tests, logs of a developer and an operator's page. A surface that has ended is a RuntimeError, what is
    no surface a TypeError.
    """
    if not isinstance(surface, Surface):
        raise TypeError(f"explain(surface, consumer) needs a Surface, not a {type(surface).__name__}")
    check_consumer(consumer)
    parts = surface._explained()
    if parts is None:
        raise RuntimeError("this surface has ended: nothing is mounted on it, and nobody sees anything")
    viewer: Viewer | None = None
    why = ""
    try:
        viewer = parts.viewers.of(consumer)
    except Refusal as refusal:
        why = refusal.why or refusal.error.message
    return Explanation(
        surface_id=surface.surface_id,
        consumer=consumer.id,
        capabilities=tuple(
            _nobody(bound, why) if viewer is None else _explained(bound, viewer)
            for registration in parts.registry.in_order()
            for bound in registration.bounds
        ),
    )


def _explained(bound: Bound, viewer: Viewer) -> Explained:
    sight = see(bound, viewer)
    votes = sight.votes
    if not votes and bound.chain.has_discover:  # it was out of reach, and no policy was asked
        votes = bound.chain.discover(viewer.context(bound, charges=False)).votes
    told = _votes(bound, viewer.site.chain, votes)
    state = availability(bound, viewer)
    return _made(bound, sight, _why(sight, told), told, _state(state), records_of(bound, viewer))


def _nobody(bound: Bound, why: str) -> Explained:
    """Nobody is there to look: the principal or the host's values could not be asked, and the listing is empty."""
    unknown = Availability(available=False, reason=why)
    return _made(bound, Sight(state=State.HIDDEN, why=why), why, (), unknown)


def _made(
    bound: Bound,
    sight: Sight,
    why: str | None,
    votes: tuple[PolicyVote, ...],
    state: Availability,
    records: tuple[RecordCounts | None, str | None] = (None, None),
) -> Explained:
    registration = bound.registration
    return Explained(
        capability=bound.plan.descriptor.id,
        component=registration.sealed.type,
        instance=registration.instance,
        registration=registration.id,
        outcome=_SEEN[sight.state],
        reason=sight.reason,
        why=why,
        votes=votes,
        availability=state,
        region=registration.region,
        records=records[0],
        records_why=records[1],
        headless=registration.sealed.headless,
    )


_SEEN: dict[State, Seen] = {
    State.HIDDEN: "hidden",
    State.UNAVAILABLE: "unavailable",
    State.AVAILABLE: "available",
}


def _votes(bound: Bound, of_surface: Chain, given: tuple[Vote, ...]) -> tuple[PolicyVote, ...]:
    """Every policy of the chain with its level; votes stand in the order of the policies that have `discover`."""
    answers = iter(given)
    surface = len(of_surface.names) + bound.registration.guards
    component = surface + len(bound.registration.sealed.policies)
    told: list[PolicyVote] = []
    for place, (name, methods) in enumerate(zip(bound.chain.names, bound.chain.methods, strict=True)):
        level: Level = "surface" if place < surface else "component" if place < component else "capability"
        vote = next(answers) if "discover" in methods else None
        told.append(
            PolicyVote(
                policy=name,
                level=level,
                methods=tuple(sorted(methods)),
                decision=None if vote is None else _decision(vote),
                reason=None if vote is None else vote.reason,
                cause=None if vote is None or vote.cause is None else stack_of(vote.cause),
            )
        )
    return tuple(told)


def _counted(told: Explained) -> str | None:
    """`48 records, 12 off screen`; and why there are none."""
    if told.records is None:
        return None
    more = " or more" if told.records.more else ""
    text = f"{told.records.total}{more} records, {told.records.offscreen} off screen"
    return text if told.records_why is None else f"{text}: {told.records_why}"


def _decision(vote: Vote) -> Literal["expose", "disable", "hide"]:
    match vote.decision:
        case "expose":
            return "expose"
        case "disable":
            return "disable"
        case _:
            return "hide"


def _why(sight: Sight, votes: tuple[PolicyVote, ...]) -> str | None:
    """The true reason, with the name of the policy that decided where one did."""
    match sight.state:
        case State.AVAILABLE:
            return None
        case State.HIDDEN if sight.votes:
            return _decided("hidden", "hide", votes) or sight.why
        case State.HIDDEN:
            return sight.why
        case State.UNAVAILABLE:
            return _decided("disabled", "disable", votes) or sight.why or sight.reason


def _decided(word: str, decision: str, votes: tuple[PolicyVote, ...]) -> str | None:
    for vote in votes:
        if vote.decision == decision:
            said = "raised" if vote.cause is not None else vote.reason
            name = f"{word} by the policy {vote.policy}, of the {vote.level}"
            return name if said is None else f"{name}: {said}"
    return None


def _state(sight: Sight) -> Availability:
    cause = None if sight.cause is None else stack_of(sight.cause)
    return Availability(available=sight.state is State.AVAILABLE, reason=sight.reason, cause=cause)
