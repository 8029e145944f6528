"""How a flow ends before its method does: at its step, and nothing runs afterwards (SPEC 11.8, 6.7, 6.8)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from remit import (
    Component,
    ErrorCode,
    Failed,
    ManualClock,
    Outcome,
    Steps,
    StepsDone,
    Surface,
    action,
    flow,
)
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

SHIP = "view:orders.list.ship"


@dataclass(eq=False)
class Orders(Component, type="orders.list"):
    """The orders on this page."""

    ran: list[str] = field(default_factory=list)
    hold: asyncio.Event = field(default_factory=asyncio.Event)

    @action
    async def pick(self, order: str) -> None:
        """Pick an order."""
        self.ran.append(f"pick {order}")
        await self.hold.wait()

    @action
    def label(self, order: str) -> None:
        """Print a label."""
        self.ran.append(f"label {order}")

    @flow(steps=["view:orders.list.pick", "view:orders.list.label"])
    async def ship(self, order: str, steps: Steps) -> None:
        """Ship an order."""
        try:
            await steps.run({"order": order})
        finally:
            await steps.run({"order": order})  # a method that does not want to stop


ORDERS = authority_of(Orders)


async def ship(surface: Surface, id: str | None = None) -> Outcome:
    return await surface.connect(AGENT).call(SHIP, {"order": "a"}, id=id)


Ending = Callable[[Surface, ManualClock], object]
ENDINGS: Mapping[str, tuple[Ending, str]] = {
    "the deadline": (lambda surface, clock: clock.advance(601), "TIMEOUT"),
    "a cancel": (lambda surface, clock: surface.cancel("f", AGENT), "CANCELLED"),
    "a dispose": (lambda surface, clock: surface.dispose(), "CANCELLED"),
}


@pytest.mark.requirement("11.8-ends-at-the-step")
@pytest.mark.parametrize("ending", ENDINGS)
async def test_what_ends_a_flow_ends_it_at_the_step_and_nothing_runs_afterwards(ending: str) -> None:
    ends, code = ENDINGS[ending]
    clock, orders = ManualClock(), Orders()
    surface = Surface(ORDERS, principal="operator", clock=clock)
    surface.mount(orders)
    running = asyncio.create_task(ship(surface, id="f"))
    await turns()
    assert orders.ran == ["pick a"]
    ends(surface, clock)
    outcome = await running
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.steps) == (code, StepsDone(0, 2))
    orders.hold.set()
    await turns()
    assert orders.ran == ["pick a"]


@pytest.mark.requirement("11.8-ends-at-the-step")
async def test_an_unmount_ends_a_flow_at_its_step() -> None:
    surface, orders = Surface(ORDERS, principal="operator"), Orders()
    mount = surface.mount(orders)
    running = asyncio.create_task(ship(surface))
    await turns()
    mount.unmount()
    outcome = await running
    assert failed(outcome, "COMPONENT_UNMOUNTED").details["phase"] == "mid-flight"
    await turns()
    assert orders.ran == ["pick a"]


@pytest.mark.requirement("11.8-ends-at-the-step")
async def test_a_step_that_navigates_settles_although_the_view_of_its_flow_goes() -> None:
    class Wizard(Component, type="wizard"):
        """Leaves its page."""

        def __init__(self) -> None:
            self.ran = ran

        @action
        def fill(self) -> None:
            """Fill."""
            self.ran.append("fill")

        @action(effect="navigation")
        async def leave(self) -> str:
            """Leave the page."""
            self.ran.append("leave")
            mount.unmount()
            await asyncio.sleep(0)
            return "left"

        @flow(steps=["view:wizard.fill", "view:wizard.leave"])
        async def finish(self, steps: Steps) -> str:
            """Fill, then leave."""
            await steps.run()
            return str(await steps.run())

        @flow(steps=["view:wizard.leave", "view:wizard.fill"])
        async def backwards(self, steps: Steps) -> None:
            """Leave, then fill."""
            await steps.run()
            await steps.run()

    surface, ran = Surface(authority_of(Wizard), principal="operator"), list[str]()
    mount = surface.mount(Wizard())
    assert output(await surface.connect(AGENT).call("view:wizard.finish")) == "left"
    mount = surface.mount(Wizard())
    outcome = await surface.connect(AGENT).call("view:wizard.backwards")
    failed(outcome)
    assert outcome.steps == StepsDone(1, 2)
    assert ran == ["fill", "leave", "leave"]


@pytest.mark.requirement("11.8-ends-at-the-step")
async def test_a_caller_that_goes_away_ends_the_flow_and_its_step() -> None:
    surface, orders = Surface(ORDERS, principal="operator"), Orders()
    surface.mount(orders)
    running = asyncio.create_task(ship(surface))
    await turns()
    running.cancel()
    await turns()
    orders.hold.set()
    await turns()
    assert orders.ran == ["pick a"]
    assert {entry.code for entry in journal(surface)} == {ErrorCode.CANCELLED}
