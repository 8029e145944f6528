"""Steps 3 to 5: is it visible, which one is meant, is it available now (SPEC 6.2, 6.5)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from remit._base.limits import Limits
from remit._confirmation.standing import Standings
from remit._contract.plan import Plan
from remit._invocation.call import Call
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.effects import Effect, Kind
from remit._model.ids import parse_capability_id
from remit._model.request import Invocation
from remit._registry.state import Bound, Tombstone
from remit._registry.state import State as Registry
from remit._registry.viewer import Viewer
from remit._registry.visibility import Sight, State, find, may_reach, see_nothing
from remit.errors import (
    Refusal,
    ambiguous_instance,
    capability_not_available,
    capability_not_found,
    component_unmounted,
    not_authenticated,
    not_authorized,
    rate_limited,
    stale_capability,
)

Missed = Callable[[ConsumerKey, object], int | None]


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs.

    `viewer` asks for principal and host now, `version` is the consumer's own; `missed` counts an id that is not there,
    and says for how many milliseconds the consumer gets no such answer (SPEC 11.14); `standings` hears who calls, a
    look ahead has none. `moved` says for which registration a request asks now that asked for another one.
    """

    registry: Registry
    viewer: Callable[[Consumer], Viewer]
    version: Callable[[Viewer], str]
    surface_id: str
    limits: Limits
    missed: Missed
    standings: Standings | None = None
    moved: Callable[[str, ConsumerKey, str], str | None] | None = None


def resolve(call: Call, part: Part) -> None:
    """Find the one live capability that is meant, or say why there is none."""
    if part.standings is not None and part.standings.held:
        part.standings.seen(call.consumer)
    viewer = part.viewer(call.consumer)
    call.viewer = viewer
    call.version_before = part.version(viewer)
    if viewer.site.suspended.has_consumer(call.key):  # told alike for every id, so it discloses nothing
        raise Refusal(not_authorized(), why="the consumer is suspended")
    if call.consumer.until is not None and viewer.expired:
        raise Refusal(not_authenticated(), why=viewer.ended)
    request = _as_moved(call, part)
    visible, hidden = _visible(request, part, viewer)
    if not visible:
        raise _not_there(call, part, viewer, hidden)
    bound, sight = _meant(call, request, part, visible)
    call.bound = bound
    call.votes = sight.votes
    call.timeout_s = _timeout(call, bound, part.limits)
    if sight.state is State.UNAVAILABLE:
        raise Refusal(
            capability_not_available(sight.reason or "", most=part.limits.runtime_text),
            why=sight.why,
            cause=sight.cause,
        )


def _as_moved(call: Call, part: Part) -> Invocation:
    """The request as it is, or with the registration to which the request it has evidence of has moved (SPEC 7.12)."""
    request = call.request
    if part.moved is None or not isinstance(request.confirmation, str) or not isinstance(request.registration, str):
        return request
    now = part.moved(request.confirmation, call.key, request.registration)
    return request if now is None else replace(request, registration=now)


def _visible(request: Invocation, part: Part, viewer: Viewer) -> tuple[list[tuple[Bound, Sight]], Sight | None]:
    given: object = request.capability_id
    id, offers = given if isinstance(given, str) else "", part.registry.offers(given)
    bounds = offers.named(request.instance)
    named = None if request.registration is None else offers.of.get(request.registration)
    if named is not None and request.instance not in (None, *named.names):
        named = None  # the registration of another instance is not the live one of this (SPEC 6.5)
    if named is None:
        visible, hidden, asked = find(id, bounds, offers, viewer)
    else:
        visible, hidden, asked = find(id, (named,), offers, viewer)
        if not visible and len(offers.of) > 1:  # a hidden registration answers like one that never was
            others = [bound for bound in bounds if bound is not named]
            visible, _, asked = find(id, others, offers, viewer, asked=asked)
    if not visible and not asked:  # meters of policies count it like a made-up id (SPEC 4.7)
        nothing = see_nothing(viewer)
        hidden = hidden if offers.of else nothing
    return visible, hidden


def _not_there(call: Call, part: Part, viewer: Viewer, hidden: Sight | None) -> Refusal:
    if any(may_reach(call.request.capability_id, stone.place, viewer) for stone in _shown_once(call, part)):
        return Refusal(component_unmounted("resolve"))
    call.votes = () if hidden is None else hidden.votes
    why = None if hidden is None else hidden.why
    wait_ms = part.missed(call.key, call.request.capability_id)
    if wait_ms is not None:
        return Refusal(rate_limited("probing", wait_ms), why=f"too many ids that are not there; this one: {why}")
    return Refusal(capability_not_found(), why=why)


def _shown_once(call: Call, part: Part) -> Iterator[Tombstone]:
    """The registrations that have gone of which this consumer had been shown this capability, not long ago."""
    request = call.request
    if parse_capability_id(request.capability_id) is None:
        return
    for _, stone in part.registry.tombstones.items():
        if (
            request.capability_id in stone.shown.get(call.key, ())
            and request.registration in (None, stone.registration)
            and request.instance in _told_by(stone, request.capability_id)
        ):
            yield stone


def _told_by(stone: Tombstone, capability_id: str) -> tuple[str | None, ...]:
    """The names under which an instance that has gone was addressed: a reference also by `type/instance` (10.10)."""
    if capability_id.startswith("domain:"):
        return None, stone.instance, f"{stone.type}/{stone.instance}"
    return None, stone.instance


def _meant(call: Call, request: Invocation, part: Part, visible: list[tuple[Bound, Sight]]) -> tuple[Bound, Sight]:
    if request.surface_id is not None and request.surface_id != part.surface_id:
        raise Refusal(stale_capability("surface-reloaded"))
    if request.registration is not None:
        found = [pair for pair in visible if pair[0].registration.id == request.registration]
        if not found:
            raise Refusal(stale_capability("registration-replaced"))
        visible = found
    if request.instance is not None:
        found = [pair for pair in visible if request.instance in pair[0].names]
        if not found:
            raise Refusal(capability_not_found(), why="no visible instance of that name")
        visible = found
    if len(visible) > 1:
        raise Refusal(ambiguous_instance(sorted(pair[0].address for pair in visible)))
    bound, sight = visible[0]
    if (
        request.surface_version is not None
        and not call.evidence_fits
        and bound.plan.descriptor.effect.grave
        and request.surface_version != call.version_before
    ):
        raise Refusal(stale_capability("surface-version-mismatch"))
    return bound, sight


def _timeout(call: Call, bound: Bound, limits: Limits) -> float:
    """Seconds until the deadline: the host's own for this call, the capability's, or the kind's (SPEC 6.7)."""
    if call.host_timeout is not None:
        return min(call.host_timeout, limits.call_max_s)
    if bound.plan.flow is not None and bound.plan.timeout_s is None:  # what its steps may take, and its own code
        seconds = limits.action_s + sum(_usual(step, limits) for step in bound.plan.flow.steps)
        return min(seconds, limits.call_max_s)
    return _usual(bound.plan, limits)


def _usual(plan: Plan, limits: Limits) -> float:
    """Seconds that one call may take where the host says nothing."""
    if plan.timeout_s is not None:
        return plan.timeout_s
    descriptor = plan.descriptor
    if descriptor.kind is Kind.REFERENCE:
        return limits.procedure_s
    return limits.observation_s if descriptor.effect is Effect.READ else limits.action_s
