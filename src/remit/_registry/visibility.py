"""The one function that decides what a consumer may see, and whether it is available now (SPEC 4.6 to 4.8).

Listing, calling and the dispatch gate call it; an import rule lets nobody else do so.
"""

from collections.abc import Iterable
from enum import Enum

from remit._base.text import clean_line
from remit._model.answers import Unavailable
from remit._model.consumer import Consumer
from remit._model.effects import Confirmation
from remit._model.pattern import Patterns
from remit._policy.chain import Vote
from remit._policy.decision import Disable, Hide
from remit._policy.nowhere import NOWHERE
from remit._registry.entered import Raised
from remit._registry.state import Bound, Offers
from remit._registry.viewer import Viewer


class State(Enum):
    """The three states of a capability for one consumer (SPEC 4.7)."""

    HIDDEN = "hidden"
    UNAVAILABLE = "unavailable"
    AVAILABLE = "available"


class Sight:
    """What one consumer gets to see of one capability; `why` is the true reason, for the journal only.

    `settled` is false when only lazily evaluated state (a predicate) made it unavailable: that moves no version.
    Never changed; made for many calls, so no dataclass with slow frozen fields.
    """

    __slots__ = ("cause", "reason", "settled", "state", "votes", "why")

    def __init__(
        self,
        *,
        state: State,
        reason: str | None = None,
        why: str | None = None,
        settled: bool = True,
        votes: tuple[Vote, ...] = (),
        cause: BaseException | None = None,
    ) -> None:
        self.state = state
        self.reason = reason
        self.why = why
        self.settled = settled
        self.votes = votes
        self.cause = cause


AVAILABLE = Sight(state=State.AVAILABLE)
_NOT_AT_THIS_DOOR = Sight(state=State.HIDDEN, why="not exposed at this door")
_DERIVED = Sight(state=State.HIDDEN, why="derived, and the site does not expose it")
_NOWHERE: frozenset[str] = frozenset()
_SUSPENDED_CONSUMER = Sight(state=State.HIDDEN, why="the consumer is suspended")
_SUSPENDED = Sight(state=State.HIDDEN, why="the capability is suspended")
_OUT_OF_SCOPE = Sight(state=State.HIDDEN, why="outside the consumer's scope")


def see(bound: Bound, viewer: Viewer, *, charges: bool = True) -> Sight:
    """Decide what this consumer may see of this live capability now (SPEC 4.6, 4.7).

    The kill switch and the consumer's end hide before all else. Authority hides: door, exposure, scope, policies. State
    discloses: enabled, pushed, predicate, a policy's disable. With `charges=False` meters of policies only look: the
    call was charged before. What can change without the registrar or another viewer makes a registration unsteady
    (`state`).
    """
    if viewer.site.suspended.any and viewer.site.suspended.has_consumer(viewer.consumer.key):
        return _SUSPENDED_CONSUMER
    if viewer.consumer.until is not None and viewer.expired:
        return Sight(state=State.HIDDEN, why=viewer.ended)
    off = _out_of_reach(bound.plan.descriptor.id, _doors(bound, viewer), viewer)
    if off is _OUT_OF_SCOPE and _in_region(bound.registration.place, viewer):
        off = None
    return _judged(bound, viewer, charges) if off is None else off


Found = tuple[list[tuple[Bound, Sight]], Sight | None, bool]
"""Who is visible; the last that is not; and whether policies have been asked, so that meters count a call once."""


def find(capability_id: str, bounds: Iterable[Bound], offers: Offers, viewer: Viewer, *, asked: bool = False) -> Found:
    """Judge those of `offers` that a call may mean, as `see` does; its consumer is not suspended.

    What is hidden takes the way of what was never there: reach is decided by the id alone, whoever offers it, and where
    nobody is left to be judged the surface's own policies run over an empty target (`see_nothing`). So for both the
    same is done (SPEC 4.7).
    """
    visible: list[tuple[Bound, Sight]] = []
    off = _out_of_reach(capability_id, None, viewer)
    if off is not None and not offers.doored and not _may_be_in_region(off, viewer):
        return visible, off, asked
    hidden: Sight | None = None
    for bound in bounds:
        doors = _doors(bound, viewer)
        sight = off if doors is None else _out_of_reach(capability_id, doors, viewer)
        if sight is _OUT_OF_SCOPE and _in_region(bound.registration.place, viewer):
            sight = None
        if sight is None:
            sight = _judged(bound, viewer, not asked)
            asked = asked or bool(sight.votes)
        if sight.state is State.HIDDEN:
            hidden = sight
        else:
            visible.append((bound, sight))
    return visible, hidden, asked


def _judged(bound: Bound, viewer: Viewer, charges: bool) -> Sight:
    votes: tuple[Vote, ...] = ()
    disabled: Disable | None = None
    if bound.chain.has_discover:
        verdict = bound.chain.discover(viewer.context(bound, charges=charges))
        votes = verdict.votes
        match verdict.decision:
            case Hide():
                return Sight(state=State.HIDDEN, why="hidden by policy", votes=votes)
            case Disable() as disabled:
                pass
            case _:
                pass
    if bound.steps and (hidden := _hidden_step(bound, viewer)) is not None:
        return Sight(state=State.HIDDEN, why=f"its step {hidden} is hidden", votes=votes)
    return _availability(bound, viewer, votes) if disabled is None else _unavailable(disabled.reason, viewer, votes)


def _hidden_step(flow: Bound, viewer: Viewer) -> str | None:
    """The first step of a flow that this consumer may not see: then it may not see the flow (SPEC 11.8).

    Meters only look: each step is charged when it is called.
    """
    for step in flow.steps:
        off = _out_of_reach(step.plan.descriptor.id, _doors(step, viewer), viewer)
        if off is _OUT_OF_SCOPE and _in_region(step.registration.place, viewer):
            off = None
        if off is None and step.chain.has_discover:
            if isinstance(step.chain.discover(viewer.context(step, charges=False)).decision, Hide):
                return step.plan.id
        if off is not None:
            return step.plan.id
    return None


def availability(bound: Bound, viewer: Viewer) -> Sight:
    """The state of this live capability by itself, whatever authority and policies say; for developers (SPEC 4.10)."""
    return _availability(bound, viewer, ())


def see_nothing(viewer: Viewer) -> Sight:
    """Judge an id that does not exist: the surface's own policies run over an empty target (SPEC 4.7).

    After them stand some that hide, as over a component that is hidden, so that both take as long; they have no vote.
    """
    votes = viewer.site.nothing.discover(viewer.context(None)).votes[: -len(NOWHERE)]
    return Sight(state=State.HIDDEN, why="no such capability", votes=votes)


def may_reach(capability_id: str, place: str, viewer: Viewer, doors: frozenset[str] | None = None) -> bool:
    """Whether exposure and scope let this consumer reach the id in this place, mounted or not (SPEC 6.5).

    Used for what is no longer mounted; a capability's own `doors` have gone with it, unless who asks has kept them.
    What is suspended is hidden; a suspended consumer has been refused before.
    """
    off = _out_of_reach(capability_id, doors, viewer)
    return off is None or (off is _OUT_OF_SCOPE and _in_region(place, viewer))


_NONE = Patterns(())


def _out_of_reach(capability: str, doors: frozenset[str] | None, viewer: Viewer) -> Sight | None:
    """Why an id cannot be reached, whatever policies say; `doors` are a capability's own.

    What is suspended is held against the rest, too: it takes no less than what is not.
    """
    off = None if viewer.free and doors is None else _closed(capability, doors, viewer)
    suspended = viewer.site.suspended
    return _SUSPENDED if suspended.any and suspended.has_capability(capability) else off


def _doors(bound: Bound, viewer: Viewer) -> frozenset[str] | None:
    """The doors a capability names for itself; what is derived has none unless the site exposes it (SPEC 11.9)."""
    plan = bound.plan
    if plan.descriptor.derived and not all(plan.descriptor.id in each for each in viewer.site.narrowed.derived):
        return _NOWHERE
    return plan.doors


def _closed(capability: str, doors: frozenset[str] | None, viewer: Viewer) -> Sight | None:
    kind = viewer.consumer.kind
    if doors is _NOWHERE:
        return _DERIVED
    if doors is not None:
        open_here = kind.value in doors
    else:
        open_here = kind.in_process or capability in viewer.site.exposure.get(kind.value, _NONE)
    if not open_here or not _narrowed_in(capability, viewer):
        return _NOT_AT_THIS_DOOR
    return None if _in_scope(capability, viewer.consumer) else _OUT_OF_SCOPE


def _narrowed_in(capability: str, viewer: Viewer) -> bool:
    narrowed = viewer.site.narrowed.doors
    if narrowed is None:
        return True
    patterns = narrowed.get(viewer.consumer.kind.value)
    # A door that the narrowing does not name keeps what it had only if no network reaches it.
    return viewer.consumer.kind.in_process if patterns is None else capability in patterns


def _in_scope(capability: str, consumer: Consumer) -> bool:
    if consumer.scope is None:
        return consumer.kind.in_process
    return capability in consumer.scope


def _may_be_in_region(off: Sight, viewer: Viewer) -> bool:
    """Whether an id that the scope does not hold by itself can be held by a region, wherever it is offered.

    A scope of regions takes the time to look into one for what is offered nowhere, too.
    """
    scope = viewer.consumer.scope
    if off is not _OUT_OF_SCOPE or scope is None or not scope.regional:
        return False
    return not scope.holds("")


def _in_region(place: str, viewer: Viewer) -> bool:
    scope = viewer.consumer.scope
    return scope is not None and scope.holds(place)


def _availability(bound: Bound, viewer: Viewer, votes: tuple[Vote, ...]) -> Sight:
    registration, plan = bound.registration, bound.plan
    if registration.blocked is not None:
        return _unavailable(registration.blocked, viewer, votes)
    pushed = registration.pushed.get(plan.attribute)
    if pushed is not None:
        return _unavailable(pushed, viewer, votes)
    if plan.operation is not None and plan.operation in viewer.site.moved:
        return _unavailable("contract-moved", viewer, votes)
    if plan.flow is not None and any(step.operation in viewer.site.moved for step in plan.flow.steps):
        return _unavailable("contract-moved", viewer, votes)
    if plan.descriptor.confirmation.rank >= Confirmation.REQUIRED.rank and not viewer.site.can_confirm():
        if plan.handing is None:  # nobody is asked about what never runs
            return _unavailable("nobody can confirm", viewer, votes)
    if plan.available is not None:
        return _predicate(bound, viewer, votes)
    return Sight(state=State.AVAILABLE, votes=votes) if votes else AVAILABLE


def _predicate(bound: Bound, viewer: Viewer, votes: tuple[Vote, ...]) -> Sight:
    available = bound.plan.available
    assert available is not None
    answer = viewer.site.entered.attempt(available, bound.registration.component)
    if answer is True:
        return Sight(state=State.AVAILABLE, votes=votes) if votes else AVAILABLE
    if isinstance(answer, Raised):
        return Sight(
            state=State.UNAVAILABLE,
            reason="when-error",
            why="the predicate raised",
            settled=False,
            votes=votes,
            cause=answer.cause,
        )
    said = _line(answer.reason if isinstance(answer, Unavailable) else "", viewer)
    return Sight(state=State.UNAVAILABLE, reason=said, settled=False, votes=votes)


def _unavailable(reason: str, viewer: Viewer, votes: tuple[Vote, ...]) -> Sight:
    return Sight(state=State.UNAVAILABLE, reason=_line(reason, viewer), votes=votes)


def _line(reason: str, viewer: Viewer) -> str:
    """The reason as an agent reads it; an empty one is none."""
    return clean_line(reason, viewer.site.limits.runtime_text).strip() or "Not available now"
