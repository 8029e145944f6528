"""What a call is told that is refused while the flow of its invocation id waits for a person (SPEC 8.1, 11.8)."""

from dataclasses import dataclass, field

import pytest

from remit import (
    Component,
    Happened,
    Outcome,
    ReadContext,
    RecordSet,
    Steps,
    StepsDone,
    Surface,
    action,
    flow,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output

SHIP = "view:orders.list.ship"


@dataclass(eq=False)
class Orders(Component, type="orders.list"):
    """The orders on this page."""

    left: set[str] = field(default_factory=lambda: {"a", "b"})
    ran: list[str] = field(default_factory=list)

    @action
    def pick(self, order: str) -> None:
        """Pick an order."""
        self.ran.append(f"pick {order}")

    @action(confirmation="required")
    def send(self, order: str) -> str:
        """Send an order."""
        self.ran.append(f"send {order}")
        return order

    @flow(record="order", confirmation="required", steps=["view:orders.list.pick", "view:orders.list.send"])
    async def ship(self, order: str, steps: Steps) -> str:
        """Pick, then send."""
        self.ran.append(f"begin {order}")
        await steps.run({"order": order})
        return str(await steps.run({"order": order}))

    @ship.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.left)


ORDERS = authority_of(Orders)


async def ship(surface: Surface, order: str, confirmation: str | None = None) -> Outcome:
    return await surface.connect(AGENT).call(SHIP, {"record": order}, id="f", confirmation=confirmation)


async def approved(surface: Surface, outcome: Outcome) -> str:
    id = str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(id, OPERATOR)
    return id


async def at_the_second_step() -> tuple[Surface, Orders, str]:
    surface, orders = Surface(ORDERS, principal="operator"), Orders()
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(orders)
    outcome = await ship(surface, "a", await approved(surface, await ship(surface, "a")))
    assert outcome.steps == StepsDone(1, 2)
    return surface, orders, await approved(surface, outcome)


@pytest.mark.requirement("11.8-a-refusal-says-how-far")
async def test_a_flow_whose_record_has_gone_while_it_waited_says_how_many_steps_are_done() -> None:
    surface, orders, evidence = await at_the_second_step()
    orders.left.remove("a")
    outcome = await ship(surface, "a", evidence)
    failed(outcome, "RECORD_UNAVAILABLE")
    assert outcome.steps == StepsDone(1, 2)
    assert journal(surface)[-1].outcome is Happened.DONE
    assert orders.ran == ["begin a", "pick a"]
    orders.left.add("a")
    assert output(await ship(surface, "a", evidence)) == "a"
    assert orders.ran == ["begin a", "pick a", "send a"]


@pytest.mark.requirement("11.8-a-refusal-says-how-far")
async def test_the_id_of_a_flow_that_waits_is_refused_for_another_call_and_nothing_is_said_of_steps() -> None:
    surface, orders, evidence = await at_the_second_step()
    outcome = await ship(surface, "b")
    failed(outcome, "INVOCATION_CONFLICT")
    assert outcome.steps is None
    assert orders.ran == ["begin a", "pick a"]
    assert output(await ship(surface, "a", evidence)) == "a"
