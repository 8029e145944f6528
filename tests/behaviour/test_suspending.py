"""The kill switch: `suspend` and `reinstate` (SPEC 4.13)."""

import asyncio
from typing import Any, cast

import pytest

from remit import (
    Component,
    Consumer,
    Event,
    EventType,
    ManualClock,
    Surface,
    action,
    observation,
)
from remit.explain import explain
from remit.policies import Policy, PolicyContext, require_confirmation
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns

OTHER = Consumer("other", kind="test")
MADE_UP = "view:valve.madeUp"


class Valve(Component, type="valve"):
    """A valve."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.ran = 0

    @action
    def turn(self) -> int:
        """Turn."""
        self.ran += 1
        return self.ran

    @action
    async def wait(self) -> int:
        """Wait at the gate."""
        self.ran += 1
        await self.gate.wait()
        return self.ran

    @observation
    def read(self) -> int:
        """Read."""
        return self.ran


def opened(*policies: Policy) -> tuple[Surface, Valve]:
    surface = Surface(authority_of(Valve), principal="operator", policies=policies, clock=ManualClock())
    surface.confirmations.subscribe(lambda view: None)
    valve = Valve()
    surface.mount(valve)
    surface.set_route("/valves")
    return surface, valve


def listed(surface: Surface, consumer: Consumer = AGENT) -> set[str]:
    return {str(each.descriptor.id) for each in surface.connect(consumer).capabilities()}


ALL = {"view:valve.turn", "view:valve.wait", "view:valve.read"}


@pytest.mark.requirement("4.13-suspended-capability")
async def test_a_suspended_capability_is_hidden_from_everybody_until_it_is_reinstated() -> None:
    surface, _ = opened()
    assert listed(surface) == listed(surface, OTHER) == ALL
    surface.suspend(capability=Valve.turn)
    for consumer in (AGENT, OTHER, Consumer("third", kind="embedded")):
        agent = surface.connect(consumer)
        assert listed(surface, consumer) == ALL - {"view:valve.turn"}
        assert failed(await agent.call(Valve.turn)) == failed(await agent.call(MADE_UP), "CAPABILITY_NOT_FOUND")
        assert output(await agent.call(Valve.read)) == 0
    assert explain(surface, AGENT).of("view:valve.turn")[0].why == "the capability is suspended"
    second = surface.mount(Valve(), "second")
    assert listed(surface) == ALL - {"view:valve.turn"}, "whoever mounts it"
    second.unmount()
    surface.reinstate(capability="view:valve.turn")
    assert listed(surface) == ALL
    assert output(await surface.connect(AGENT).call(Valve.turn)) == 1


@pytest.mark.requirement("4.13-suspended-capability")
async def test_a_suspended_capability_that_was_unmounted_answers_like_an_invented_one() -> None:
    surface, _ = opened()
    mount = surface.mount(Valve(), "second")
    assert listed(surface) == ALL
    surface.suspend(capability=Valve.turn)
    mount.unmount()
    agent = surface.connect(AGENT)
    gone = failed(await agent.call(Valve.turn, registration=mount.registration_id))
    assert gone == failed(await agent.call(MADE_UP, registration=mount.registration_id), "CAPABILITY_NOT_FOUND")
    failed(await agent.call(Valve.read, instance="second"), "COMPONENT_UNMOUNTED")


@pytest.mark.requirement("4.13-suspended-consumer")
async def test_a_suspended_consumer_has_an_empty_listing_and_is_not_authorized() -> None:
    surface, _ = opened()
    surface.suspend(consumer=AGENT)
    snapshot = surface.snapshot(AGENT)
    assert (snapshot.components, snapshot.references, snapshot.route) == ((), (), None)
    agent = surface.connect(AGENT)
    answers = {str(failed(await agent.call(id), "NOT_AUTHORIZED")) for id in (*ALL, MADE_UP, "no id at all")}
    assert len(answers) == 1, "every id answers alike"
    assert {each.why for each in explain(surface, AGENT)} == {"the consumer is suspended"}
    assert listed(surface, OTHER) == ALL and output(await surface.connect(OTHER).call(Valve.turn)) == 1
    assert listed(surface, Consumer("agent", kind="embedded")) == ALL, "it is the key that is suspended, not the name"
    assert journal(surface)[-2].why == "the consumer is suspended"
    surface.reinstate(consumer=Consumer("agent", kind="test"))
    assert listed(surface) == ALL and output(await agent.call(Valve.turn)) == 2
    assert surface.snapshot(AGENT).route == "/valves"


@pytest.mark.requirement("4.13-suspended-consumer")
async def test_a_suspended_consumer_hears_that_its_listing_moved_and_no_more_of_the_surface() -> None:
    surface, _ = opened()
    assert listed(surface) == listed(surface, OTHER)
    heard: list[Event] = []
    others: list[Event] = []
    surface.subscribe(heard.append, consumer=AGENT)
    surface.subscribe(others.append, consumer=OTHER)
    surface.suspend(consumer=AGENT)
    await turns()
    surface.set_route("/elsewhere")
    await turns()
    assert [event.type for event in heard] == [EventType.SURFACE_CHANGED]
    assert [event.type for event in others] == [EventType.ROUTE_CHANGED]


@pytest.mark.requirement("4.13-suspension-moves-versions")
async def test_a_suspension_moves_the_version_of_whoever_saw_it_once() -> None:
    surface, _ = opened()

    def versions() -> tuple[int, int]:
        return int(surface.snapshot(AGENT).surface_version), int(surface.snapshot(OTHER).surface_version)

    assert versions() == (0, 0)
    surface.suspend(consumer=AGENT)
    surface.suspend(consumer=AGENT)
    assert versions() == (1, 0)
    surface.suspend(capability=Valve.turn)
    assert versions() == (1, 1)
    surface.reinstate(capability=Valve.turn)
    surface.reinstate(capability=Valve.turn)
    surface.reinstate(consumer=AGENT)
    assert versions() == (2, 2)


@pytest.mark.requirement("4.13-suspension-moves-versions")
async def test_a_call_tells_the_moved_version_without_a_listing_in_between() -> None:
    surface, _ = opened()
    agent = surface.connect(AGENT)
    assert (await agent.call(Valve.read)).surface_version == "0"
    surface.suspend(capability=Valve.turn)
    assert (await agent.call(Valve.read)).surface_version == "1"


@pytest.mark.requirement("4.13-suspension-stops-what-waits")
@pytest.mark.parametrize(("who", "code"), [("consumer", "NOT_AUTHORIZED"), ("capability", "CAPABILITY_NOT_FOUND")])
async def test_a_call_that_waits_in_the_queue_is_stopped_and_one_that_runs_is_not(who: str, code: str) -> None:
    surface, valve = opened()
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call(Valve.wait))
    await turns()
    second = asyncio.create_task(agent.call(Valve.wait))
    await turns()
    if who == "consumer":
        surface.suspend(consumer=AGENT)
    else:
        surface.suspend(capability=Valve.wait)
    valve.gate.set()
    assert output(await first) == 1
    failed(await second, code)
    assert valve.ran == 1


@pytest.mark.requirement("4.13-suspension-stops-what-waits")
async def test_evidence_outlives_a_suspension_and_does_not_run_during_it() -> None:
    surface, valve = opened(require_confirmation())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Valve.turn), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    surface.suspend(consumer=AGENT)
    failed(await agent.call(Valve.turn, confirmation=asked), "NOT_AUTHORIZED")
    failed(await surface.continue_(asked, AGENT), "NOT_AUTHORIZED")
    surface.reinstate(consumer=AGENT)
    assert output(await agent.call(Valve.turn, confirmation=asked)) == 1 and valve.ran == 1


@pytest.mark.requirement("4.13-suspension-stops-what-waits")
async def test_a_stored_result_is_not_handed_to_whom_it_is_switched_off_for() -> None:
    surface, valve = opened()
    agent = surface.connect(AGENT)
    assert output(await agent.call(Valve.turn, id="one")) == 1
    surface.suspend(consumer=AGENT)
    failed(await agent.call(Valve.turn, id="one"), "NOT_AUTHORIZED")
    surface.reinstate(consumer=AGENT)
    surface.suspend(capability=Valve.turn)
    failed(await agent.call(Valve.turn, id="one"), "CAPABILITY_NOT_FOUND")
    surface.reinstate(capability=Valve.turn)
    assert output(await agent.call(Valve.turn, id="one")) == 1 and valve.ran == 1


@pytest.mark.requirement("4.13-suspension-is-journalled")
def test_suspending_is_journalled_and_a_slip_of_the_pen_suspends_nothing_silently() -> None:
    surface, _ = opened()
    surface.suspend(capability="view:valve.turn")
    surface.suspend(capability="view:valve.turn")
    surface.suspend(consumer=AGENT)
    surface.reinstate(consumer=AGENT)
    assert [(entry.type, entry.status, entry.capability, entry.consumer) for entry in journal(surface)] == [
        ("suspension", "suspended", "view:valve.turn", None),
        ("suspension", "suspended", None, AGENT.key),
        ("suspension", "reinstated", None, AGENT.key),
    ]
    for wrong in ("view:valve.trun", "turn", ""):
        with pytest.raises(ValueError, match="knows no capability"):
            surface.suspend(capability=wrong)
    for both in ({}, {"consumer": AGENT, "capability": Valve.turn}):
        with pytest.raises(TypeError, match="name one"):
            surface.suspend(**cast(Any, both))


@pytest.mark.requirement("4.13-suspended-consumer")
async def test_a_consumer_that_is_suspended_before_policies_are_asked_charges_no_meter() -> None:
    counted: list[int] = []

    class Meter(Policy, name="meter"):
        async def authorize(self, ctx: PolicyContext) -> None:
            counted.append(ctx.counter("meter").add())

    surface, _ = opened(Meter())
    surface.suspend(consumer=AGENT)
    failed(await surface.connect(AGENT).call(Valve.turn), "NOT_AUTHORIZED")
    assert counted == []
