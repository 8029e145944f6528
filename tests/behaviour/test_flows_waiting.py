"""Flows that wait for a person: paused at a confirmation or a handoff, resumed, ended honestly (SPEC 11.8)."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from remit import (
    AgentError,
    Authority,
    CancelCause,
    Component,
    Consumer,
    Decider,
    Failed,
    Handoff,
    Happened,
    Limits,
    ManualClock,
    Ok,
    Outcome,
    Procedures,
    Steps,
    StepsDone,
    Surface,
    action,
    flow,
    reference,
)
from remit._journal.audit import AuditType
from tests.behaviour.conftest import AGENT, OPERATOR, Timers, authority_of, failed, journal, output, turns

PICK, SIGN, SHIP, SEND = "view:orders.list.pick", "view:orders.list.sign", "view:orders.list.ship", "domain:orders.send"
BOTH = "view:orders.list.both"
OTHER = Consumer("other", kind="test")

backend = Procedures()
sent: list[str] = []


@backend.operation("orders.send", effect="server-mutation", confirmation="required")
async def send(order: str) -> int:
    """Send a parcel."""
    sent.append(order)
    return len(sent)


@dataclass(eq=False)
class Orders(Component, type="orders.list"):
    """The orders on this page."""

    ran: list[str] = field(default_factory=list)

    @action
    def pick(self, order: str) -> None:
        """Pick an order."""
        self.ran.append(f"pick {order}")

    @action(handoff=Handoff("Customers sign by themselves", to="/sign"))
    def sign(self, order: str) -> str:
        """Sign for an order."""
        raise NotImplementedError

    send = reference(SEND, approver="lead")

    @flow(steps=[PICK, SIGN, PICK])
    async def ship(self, order: str, steps: Steps) -> str:
        """Pick, sign, pick."""
        self.ran.append("begin")
        await steps.run({"order": order})
        name = await steps.run({"order": order})
        await steps.run({"order": f"{order} for {name}"})
        return str(name)

    @flow(steps=[PICK, SEND, SEND])
    async def both(self, order: str, steps: Steps) -> int:
        """Pick, then send twice."""
        self.ran.append("begin")
        await steps.run({"order": order})
        await steps.run({"order": f"{order} one"})
        return int(await steps.run({"order": f"{order} two"}))


ORDERS = authority_of(Orders, procedures=backend)
LEAD = Decider("lead", grants={"lead"})


@pytest.fixture(autouse=True)
def nothing_is_sent_yet() -> None:
    sent.clear()


def opened(authority: Authority = ORDERS, **options: Any) -> tuple[Surface, Orders]:
    surface, orders = Surface(authority, principal="operator", procedures=backend, **options), Orders()
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(orders)
    return surface, orders


async def call(surface: Surface, capability: str, consumer: Consumer = AGENT, **more: Any) -> Outcome:
    return await surface.connect(consumer).call(capability, {"order": "a"}, **more)


def handoff_of(outcome: Outcome) -> str:
    return str(failed(outcome, "HANDOFF_REQUIRED").details["handoff_id"])


def asked_of(outcome: Outcome) -> str:
    return str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])


@pytest.mark.requirement("11.8-a-handoff-pauses")
async def test_a_handoff_step_pauses_the_flow_and_it_goes_on_by_itself_when_the_person_has_done_it() -> None:
    surface, orders = opened()
    outcome = await call(surface, SHIP, id="f")
    handoff = handoff_of(outcome)
    assert outcome.steps == StepsDone(1, 3)
    assert handoff_of(await call(surface, SHIP, id="f")) == handoff
    assert handoff_of(await call(surface, SHIP)) == handoff
    await surface.handoffs.complete(handoff, OPERATOR, "Ada")
    await turns()
    assert orders.ran == ["begin", "pick a", "pick a for Ada"]
    outcome = await call(surface, SHIP, id="f")
    assert (output(outcome), outcome.steps) == ("Ada", StepsDone(3, 3))
    assert handoff_of(await call(surface, SHIP)) != handoff  # told once; this one is another


@pytest.mark.requirement("11.8-a-handoff-pauses")
async def test_what_came_of_a_flow_that_went_on_by_itself_is_told_to_the_next_identical_call_once() -> None:
    surface, orders = opened()
    handoff = handoff_of(await call(surface, SHIP, id="first"))
    await surface.handoffs.complete(handoff, OPERATOR, "Ada")
    await turns()
    other = await surface.connect(AGENT).call(SHIP, {"order": "b"})
    assert handoff_of(other) != handoff  # another input is another flow
    assert output(await call(surface, SHIP, id="second")) == "Ada"
    assert orders.ran.count("begin") == 2
    failed(await call(surface, SHIP, id="third"), "HANDOFF_REQUIRED")
    assert orders.ran.count("begin") == 3


@pytest.mark.requirement("11.8-a-handoff-pauses")
async def test_an_identical_call_that_comes_while_a_flow_goes_on_waits_for_its_end() -> None:
    surface, _ = opened()
    handoff = handoff_of(await call(surface, SHIP, id="f"))
    await surface.handoffs.complete(handoff, OPERATOR, "Ada")
    both = await asyncio.gather(call(surface, SHIP, id="f"), call(surface, SHIP, id="g"))
    assert [output(each) for each in both] == ["Ada", "Ada"]


@pytest.mark.requirement("11.8-a-handoff-pauses")
@pytest.mark.parametrize("ending", ["declined", "expired"])
async def test_a_handoff_that_is_declined_or_expires_ends_the_flow_as_a_failure(ending: str) -> None:
    clock = ManualClock()
    surface, orders = opened(clock=clock)
    handoff = handoff_of(await call(surface, SHIP, id="f"))
    if ending == "declined":
        await surface.handoffs.decline(handoff, OPERATOR)
    else:
        clock.advance(1_801)
    await turns()
    outcome = await call(surface, SHIP)
    error = failed(outcome, "PRECONDITION_FAILED")
    assert error.details == {"reason": f"handoff-{ending}", "outcome": "done"}
    assert outcome.steps == StepsDone(1, 3)
    assert orders.ran == ["begin", "pick a"]
    assert [entry.invocation for entry in journal(surface) if entry.code == "PRECONDITION_FAILED"][:1] == ["f"]


@pytest.mark.requirement("11.8-each-step-asks")
async def test_the_flow_asks_and_each_of_its_steps_asks_by_itself_and_the_method_runs_once() -> None:
    surface, orders = opened()
    whole = asked_of(await call(surface, BOTH))
    assert orders.ran == []
    await surface.confirmations.approve(whole, LEAD)
    outcome = await call(surface, BOTH, confirmation=whole)
    one = asked_of(outcome)
    assert outcome.steps == StepsDone(1, 3)
    view = surface.confirmations.get(one)
    assert view is not None and (view.capability, dict(view.input)) == (SEND, {"order": "a one"})
    assert asked_of(await call(surface, BOTH, confirmation=one)) == one
    assert sent == []
    await surface.confirmations.approve(one, LEAD)
    two = asked_of(await call(surface, BOTH, confirmation=one))
    await surface.confirmations.approve(two, LEAD)
    outcome = await call(surface, BOTH)  # an approval nobody waited for: the next identical call spends it
    assert (output(outcome), outcome.steps) == (2, StepsDone(3, 3))
    assert (orders.ran, sent) == (["begin", "pick a"], ["a one", "a two"])


@pytest.mark.requirement("11.8-each-step-asks")
async def test_evidence_of_a_step_is_spent_once_and_lets_no_flow_begin_anew() -> None:
    surface, orders = opened()
    whole = asked_of(await call(surface, BOTH, id="f"))
    await surface.confirmations.approve(whole, LEAD)
    one = asked_of(await call(surface, BOTH, id="f", confirmation=whole))
    await surface.confirmations.approve(one, LEAD)
    two = asked_of(await surface.continue_(one, AGENT))
    await surface.confirmations.approve(two, LEAD)
    outcome = await surface.resume(two)
    assert (output(outcome), outcome.invocation_id) == (2, "f")
    assert await call(surface, BOTH, id="f", confirmation=two) == outcome
    error = failed(await call(surface, BOTH, confirmation=two, id="g"), "CONFIRMATION_INVALID")
    assert (error.details["reason"], error.details["outcome"]) == ("spent", "done")
    error = failed(await call(surface, BOTH, confirmation=whole, id="h"), "CONFIRMATION_INVALID")
    assert (error.details["reason"], error.details["outcome"]) == ("spent", "done")
    assert (orders.ran, sent) == (["begin", "pick a"], ["a one", "a two"])


@pytest.mark.requirement("11.8-each-step-asks")
async def test_nobody_but_the_consumer_itself_carries_a_flow_on() -> None:
    surface, orders = opened()
    whole = asked_of(await call(surface, BOTH))
    await surface.confirmations.approve(whole, LEAD)
    one = asked_of(await call(surface, BOTH, confirmation=whole))
    await surface.confirmations.approve(one, LEAD)
    assert failed(await surface.continue_(one, OTHER), "CONFIRMATION_INVALID").details["reason"] == "mismatch"
    assert failed(await call(surface, BOTH, OTHER, confirmation=one)).details["reason"] == "mismatch"
    assert (orders.ran, sent) == (["begin", "pick a"], [])


@pytest.mark.requirement("11.8-each-step-asks")
async def test_a_denied_step_ends_the_flow_as_a_failure() -> None:
    surface, orders = opened()
    whole = asked_of(await call(surface, BOTH))
    await surface.confirmations.approve(whole, LEAD)
    one = asked_of(await call(surface, BOTH, confirmation=whole))
    await surface.confirmations.deny(one, LEAD)
    await turns()
    outcome = await call(surface, BOTH, confirmation=one)
    error = failed(outcome, "CONFIRMATION_INVALID")
    assert (error.details["reason"], error.details["outcome"]) == ("denied", "done")
    assert outcome.steps == StepsDone(1, 3)
    assert (orders.ran, sent) == (["begin", "pick a"], [])


@pytest.mark.requirement("11.8-each-step-asks")
async def test_a_flow_wants_the_approvers_of_its_steps() -> None:
    surface, _ = opened()
    whole = asked_of(await call(surface, BOTH))
    with pytest.raises(PermissionError):
        await surface.confirmations.approve(whole, OPERATOR)
    await surface.confirmations.approve(whole, LEAD)


@pytest.mark.requirement("11.8-embedded-tools-wait")
@pytest.mark.parametrize("answer", ["approve", "deny the second"])
async def test_an_embedded_toolset_waits_for_every_step_and_answers_once(answer: str) -> None:
    surface, orders = opened()
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    tools.definitions()
    waiting = asyncio.create_task(tools.call("view_orders__list__both", {"order": "a"}, call_id="m-1"))
    for count in range(3):
        await turns()
        [view] = surface.confirmations.pending()
        if answer != "approve" and count == 1:
            await surface.confirmations.deny(view.id, LEAD)
            break
        await surface.confirmations.approve(view.id, LEAD)
    result = await waiting
    if answer == "approve":
        assert (output(result.outcome), sent) == (2, ["a one", "a two"])
    else:
        assert failed(result.outcome, "CONFIRMATION_INVALID").details["reason"] == "denied"
        assert (result.outcome.steps, sent) == (StepsDone(1, 3), [])
    assert orders.ran == ["begin", "pick a"]


def _unmount(surface: Surface, orders: Orders) -> None:
    surface.mount(orders, on_duplicate="replace")


def _dispose(surface: Surface, orders: Orders) -> None:
    surface.dispose(CancelCause.VIEW_CLOSED)


def _cancel(surface: Surface, orders: Orders) -> None:
    assert surface.cancel("f", AGENT)


@pytest.mark.requirement("11.8-ends-at-the-step")
@pytest.mark.parametrize("ends", [_unmount, _dispose, _cancel])
async def test_a_flow_that_waits_ends_with_its_view_and_by_a_cancel_and_nothing_runs_afterwards(ends: Any) -> None:
    surface, orders = opened()
    handoff = handoff_of(await call(surface, SHIP, id="f"))
    ends(surface, orders)
    if ends is not _dispose:
        await surface.handoffs.complete(handoff, OPERATOR, "Ada")
    await turns()
    assert orders.ran == ["begin", "pick a"]
    [late] = [entry for entry in surface.audit() if entry.type is AuditType.LATE_RESULT]
    assert (late.invocation, late.why, late.outcome) == ("f", "the flow was not carried on: 1 of 3", Happened.DONE)
    if ends is not _dispose:
        outcome = await call(surface, SHIP, id="f")
        assert isinstance(outcome, Failed)


@pytest.mark.requirement("11.8-ends-at-the-step")
async def test_a_flow_whose_approval_nobody_uses_is_forgotten_and_begins_anew() -> None:
    clock = Timers()
    surface, orders = opened(clock=clock)
    whole = asked_of(await call(surface, BOTH))
    await surface.confirmations.approve(whole, LEAD)
    asked_of(await call(surface, BOTH, confirmation=whole))
    clock.advance(121)
    await turns()
    again = await call(surface, BOTH)
    assert failed(again, "CONFIRMATION_INVALID").details["reason"] == "expired"  # what came of it, told once
    clock.advance(1_000)
    assert asked_of(await call(surface, BOTH)) != whole
    surface.dispose()
    await turns()
    assert clock.waiting == 0
    assert orders.ran == ["begin", "pick a"]


@pytest.mark.requirement("11.8-own-governance")
async def test_a_permission_that_is_lost_while_a_flow_waits_stops_it() -> None:
    surface, orders = opened()
    handoff = handoff_of(await call(surface, SHIP, id="f"))
    surface.suspend(capability=PICK)
    await surface.handoffs.complete(handoff, OPERATOR, "Ada")
    await turns()
    failed(await call(surface, SHIP, id="f"), "CAPABILITY_NOT_FOUND")  # hidden with its step
    surface.reinstate(capability=PICK)
    assert output(await call(surface, SHIP, id="f")) == "Ada"  # and carried on by the next call
    assert orders.ran == ["begin", "pick a", "pick a for Ada"]


@pytest.mark.requirement("11.8-a-handoff-pauses")
async def test_flows_that_wait_are_as_many_as_handoffs_may_be_open() -> None:
    surface, _ = opened(limits=Limits(handoffs_per_consumer=2))
    agent = surface.connect(AGENT)
    outcomes = [await agent.call(SHIP, {"order": order}) for order in "abc"]
    errors: list[AgentError] = [failed(each) for each in outcomes]
    assert [error.code for error in errors] == ["HANDOFF_REQUIRED", "HANDOFF_REQUIRED", "RATE_LIMITED"]
    assert not any(isinstance(each, Ok) for each in outcomes)
