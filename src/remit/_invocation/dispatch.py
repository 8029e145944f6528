"""Step 13: the last look before anything runs; then `started` is written and evidence spent (SPEC 6.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from remit._confirmation.broker import Broker
from remit._confirmation.request import Ask
from remit._confirmation.standing import Standing
from remit._invocation.call import Call, Later
from remit._invocation.lasting import Lasting
from remit._invocation.ledger import keeps
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer
from remit._model.event import EventType
from remit._model.record import PARAM
from remit._policy.decision import Deny
from remit._registry.records import missing
from remit._registry.viewer import Viewer
from remit._registry.visibility import State, see
from remit.errors import (
    Happened,
    Refusal,
    capability_not_available,
    capability_not_found,
    component_unmounted,
    not_authenticated,
    not_authorized,
    record_unavailable,
)


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs.

    `newest` is a consumer as it was seen last; `refuse` turns a policy's refusal into the agent's terms; `lasting`
    keeps calls that must not run twice, where anything outlives the process.
    """

    viewer: Callable[[Consumer], Viewer]
    newest: Callable[[Consumer], Consumer]
    broker: Broker
    hub: EventHub
    refuse: Callable[[Deny, int], Refusal]
    lasting: Lasting | None = None


def dispatch(call: Call, part: Part) -> Later | None:
    """Look again if anything else could have run meanwhile; write `started`; spend; from here on something happens.

    What awaits afterwards is dispatched where it will run, so that nothing comes between the last look and its code.
    """
    if not call.live.registration.live:
        raise Refusal(component_unmounted("mid-flight", Happened.NONE))
    if call.waited or call.evidence is not None or call.covered is not None or not call.live.inline:
        return partial(_gate, call, part)
    if part.lasting is not None and keeps(call):
        return partial(_gate, call, part)
    _start(call, part)
    call.running = True
    return None


async def _gate(call: Call, part: Part) -> None:
    if call.waited:  # pragma: no branch - before Python 3.12 no task starts at once, so that every call here has waited
        await _look_again(call, part)
    if call.covered is not None:
        call.standing = await _use_up(call, call.covered, part.broker)
    _start(call, part)
    if part.lasting is not None and keeps(call):
        call.recorded = True
        await part.lasting.begin(call)
    if call.evidence is not None:
        await part.broker.spend(call.evidence)
        call.spent = True
        if call.run is not None:
            call.run.evidence = call.evidence
    if not call.live.registration.live:  # gone while the store was busy
        raise Refusal(component_unmounted("mid-flight", Happened.NONE))
    call.running = True


async def _use_up(call: Call, covered: Ask, broker: Broker) -> Standing:
    """Use the standing approval up, the last thing before anything happens; a person is asked when it has ended."""
    standing = broker.standings.use(covered.pins, call.invocation_id)
    if standing is not None:
        return standing
    record = await broker.ask(covered)
    raise Refusal(record.asked(), why="the standing approval ended while the call waited")


def _start(call: Call, part: Part) -> None:
    bound = call.live
    call.started = True
    part.hub.emit(
        EventType.INVOCATION_STARTED,
        {"invocation": call.invocation_id, "capability": bound.plan.descriptor.id},
        call.key,
    )


async def _look_again(call: Call, part: Part) -> None:
    bound = call.live
    viewer = part.viewer(call.consumer)
    _see_again(call, part, viewer)
    if bound.chain.has_authorize:
        deny, votes = await bound.chain.authorize(viewer.context(bound, charges=False))
        call.votes = (*call.votes, *votes)
        if deny is not None:
            raise part.refuse(deny, viewer.site.limits.runtime_text)
        if not bound.registration.live:
            raise Refusal(component_unmounted("mid-flight", Happened.NONE))
    if bound.plan.template is not None:
        absent = missing(bound, bound.plan.template, viewer, call.effective[PARAM])
        if absent is not None:
            raise Refusal(record_unavailable(), why=absent.why, cause=absent.cause)


def _see_again(call: Call, part: Part, viewer: Viewer) -> None:
    sight = see(call.live, viewer, charges=False)
    newest = part.newest(call.consumer)
    if newest.scope != call.consumer.scope and sight.state is State.AVAILABLE:  # it came with another scope meanwhile
        sight = see(call.live, part.viewer(newest), charges=False)
    match sight.state:
        case State.HIDDEN if viewer.site.suspended.has_consumer(call.key):
            raise Refusal(not_authorized(), why=sight.why)
        case State.HIDDEN if viewer.expired:
            raise Refusal(not_authenticated(), why=sight.why)
        case State.HIDDEN:
            raise Refusal(capability_not_found(), why=sight.why)
        case State.UNAVAILABLE:
            error = capability_not_available(sight.reason or "", most=viewer.site.limits.runtime_text)
            raise Refusal(error, why=sight.why, cause=sight.cause)
        case State.AVAILABLE:
            pass
        case _:
            assert_never(sight.state)
