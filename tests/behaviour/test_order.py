"""The order of the steps of a call: the first failing step answers (SPEC 6.2)."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal, cast

import pytest

from remit import (
    Component,
    Consumer,
    Decider,
    Failed,
    Invocation,
    ManualClock,
    Refused,
    Surface,
    Unavailable,
    action,
    observation,
)
from remit.policies import Decision, Deny, Expose, Hide, Policy, PolicyContext, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns

Faults = set[str]


class Chaos(Policy, name="chaos"):
    """Objects wherever it is told to."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if "visibility" in self._faults else Expose()

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny("authorize") if "authorization" in self._faults else None

    async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
        if "review" in self._faults:
            return Deny("review")
        return RequireConfirmation() if "confirmation" in self._faults else None

    async def around(self, ctx: PolicyContext, call_next: Any) -> object:
        if "execution" in self._faults:
            raise RuntimeError
        return await call_next()


class Panel(Component, type="panel"):
    """A panel."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.ran = 0

    @action
    def put(self, count: int) -> int:
        """Put."""
        self.ran += 1
        return cast(Any, object()) if "settlement" in self.faults else count

    @put.available
    def _(self) -> Literal[True] | Unavailable:
        return Unavailable("no") if "availability" in self.faults else True

    @put.precondition
    def _(self, count: int) -> Refused | None:
        return Refused("precondition") if "precondition" in self.faults else None


STEPS: tuple[tuple[str, str, Callable[[], dict[str, object]]], ...] = (
    ("envelope", "INVALID_INPUT", lambda: {"id": "not an id"}),
    ("visibility", "CAPABILITY_NOT_FOUND", dict),
    ("target", "STALE_CAPABILITY", lambda: {"registration": "reg_old"}),
    ("availability", "CAPABILITY_NOT_AVAILABLE", dict),
    ("authorization", "NOT_AUTHORIZED", dict),
    ("input", "INVALID_INPUT", lambda: {"input": {"count": "no"}}),
    ("review", "NOT_AUTHORIZED", dict),
    ("precondition", "PRECONDITION_FAILED", dict),
    ("confirmation", "CONFIRMATION_REQUIRED", dict),
    ("execution", "EXECUTION_FAILED", dict),
    ("settlement", "EXECUTION_FAILED", dict),
)
NAMES = [name for name, _, _ in STEPS]


def told(outcome: object) -> object:
    assert isinstance(outcome, Failed)
    error = outcome.error
    return error.code.value, error.details.get("reason")


@pytest.mark.requirement("6.2-first-failing-step-answers")
@pytest.mark.parametrize("step", NAMES)
async def test_the_first_failing_step_answers_whatever_fails_after_it(step: str) -> None:
    async def answer(steps: list[str]) -> object:
        faults = set(steps)
        surface = Surface(authority_of(Panel), principal="operator", policies=[Chaos(faults)])
        surface.confirmations.subscribe(lambda view: None)
        surface.mount(Panel(faults))
        fields: dict[str, Any] = {"input": {"count": 1}}
        for name, _, more in STEPS:
            if name in faults:
                fields.update(more())
        return told(await surface.invoke(Invocation("view:panel.put", **fields), AGENT))

    alone = await answer([step])
    assert alone == await answer(NAMES[NAMES.index(step) :])
    code = next(code for name, code, _ in STEPS if name == step)
    assert cast("tuple[str, object]", alone)[0] == code


@pytest.mark.requirement("6.2-identity-before-visibility")
async def test_a_conflicting_id_answers_before_visibility_and_a_repeat_only_after_step_6() -> None:
    faults: Faults = set()
    surface = Surface(authority_of(Panel), principal="operator", policies=[Chaos(faults)])
    panel = Panel(faults)
    surface.mount(panel)
    agent = surface.connect(AGENT)
    assert output(await agent.call(Panel.put, {"count": 1}, id="one")) == 1
    assert output(await agent.call(Panel.put, {"count": 1}, id="one")) == 1
    assert panel.ran == 1
    for fault, code in (
        ("visibility", "CAPABILITY_NOT_FOUND"),
        ("availability", "CAPABILITY_NOT_AVAILABLE"),
        ("authorization", "NOT_AUTHORIZED"),
    ):
        faults.clear()
        faults.add(fault)
        failed(await agent.call(Panel.put, {"count": 1}, id="one"), code)
        failed(await agent.call(Panel.put, {"count": 2}, id="one"), "INVOCATION_CONFLICT")
    faults.clear()
    for later in ("review", "precondition", "confirmation", "execution"):
        faults.add(later)
    assert output(await agent.call(Panel.put, {"count": 1}, id="one")) == 1
    assert panel.ran == 1


@pytest.mark.requirement("6.2-envelope")
@pytest.mark.parametrize(
    ("fields", "path", "says"),
    [
        ({"input": cast(Any, [1])}, "", "the input must be an object"),
        ({"input": cast(Any, "text")}, "", "the input must be an object"),
        ({"input": {"count": float("nan")}}, "count", "NaN"),
        ({"input": {"count": 1, "text": "x" * 66_000}}, "", "bytes"),
        ({"input": {"count": {1, 2}}}, "count", "set"),
        ({"id": 5}, "", "`id` must be text"),
        ({"instance": 5}, "", "`instance` must be text"),
        ({"registration": ["x"]}, "", "`registration` must be text"),
        ({"surface_version": 1}, "", "`surface_version` must be text"),
        ({"confirmation": {"id": "x"}}, "", "`confirmation` must be text"),
        ({"correlation_id": "not plain"}, "", "`correlation_id` must be 1 to 128 characters of [A-Za-z0-9._-]"),
        ({"correlation_id": "x" * 129}, "", "`correlation_id` must be 1 to 128 characters of [A-Za-z0-9._-]"),
    ],
)
async def test_the_envelope_refuses_what_is_too_large_no_json_or_no_text_before_anything_is_asked(
    fields: dict[str, Any], path: str, says: str
) -> None:
    asked: list[str] = []

    class Watch(Policy, name="watch"):
        def discover(self, ctx: PolicyContext) -> Decision:
            asked.append("discover")
            return Expose()

    surface = Surface(authority_of(Panel), principal="operator", policies=[Watch()])
    surface.mount(Panel(set()))
    for id in ("view:panel.put", "view:panel.madeUp"):
        outcome = await surface.invoke(Invocation(id, **{"input": {"count": 1}, **fields}), AGENT)
        (issue,) = cast(list[dict[str, str]], failed(outcome, "INVALID_INPUT").details["issues"])
        assert issue["path"] == path and says in issue["message"]
        assert outcome.invocation_id == "", "a call that is none has no id"
    assert asked == []


@pytest.mark.requirement("6.2-envelope")
async def test_the_longest_correlation_id_is_taken() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel(set()))
    request = Invocation("view:panel.put", {"count": 1}, correlation_id="x" * 128)
    output(await surface.invoke(request, AGENT))
    assert journal(surface)[-1].correlation_id == "x" * 128


@pytest.mark.requirement("6.2-own-copy")
async def test_the_input_is_taken_inside_as_an_own_copy() -> None:
    class Slow(Policy, name="slow"):
        async def authorize(self, ctx: PolicyContext) -> None:
            await turns(3)

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, values: list[int]) -> list[int]:
            """Put."""
            values.append(100)
            return values

    surface = Surface(authority_of(Table), principal="operator", policies=[Slow()])
    surface.mount(Table())
    mine = {"values": [1]}
    running = asyncio.create_task(surface.connect(AGENT).call(Table.put, mine))
    await asyncio.sleep(0)
    mine["values"].append(2)
    assert output(await running) == [1, 100]
    assert mine == {"values": [1, 2]}


@pytest.mark.requirement("6.2-target-order")
async def test_the_target_is_judged_by_surface_then_registration_then_instance_then_ambiguity() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel(set()), "a")
    surface.mount(Panel(set()), "b")

    async def ask(**fields: Any) -> object:
        return told(await surface.invoke(Invocation("view:panel.put", {"count": 1}, **fields), AGENT))

    assert await ask() == ("AMBIGUOUS_INSTANCE", None)
    assert await ask(surface_id="srf_x", registration="reg_x") == ("STALE_CAPABILITY", "surface-reloaded")
    assert await ask(registration="reg_x") == ("STALE_CAPABILITY", "registration-replaced")
    assert await ask(instance="c") == ("CAPABILITY_NOT_FOUND", None)
    assert output(await surface.invoke(Invocation("view:panel.put", {"count": 1}, instance="a"), AGENT)) == 1


@pytest.mark.requirement("6.3-evidence-survives", "6.2-spend-comes-last")
@pytest.mark.parametrize("end", ["queue", "availability"])
async def test_evidence_that_was_checked_survives_what_refuses_the_call_while_it_waits_its_turn(end: str) -> None:
    clock = ManualClock()
    faults: Faults = {"confirmation"}

    class Busy(Panel, type="busy"):
        """A panel that can be busy."""

        @action
        async def hold(self) -> None:
            """Hold."""
            await free.wait()

    free = asyncio.Event()
    surface = Surface(authority_of(Busy), principal="operator", policies=[Chaos(faults)], clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    panel = Busy(faults)
    surface.mount(panel)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Busy.put, {"count": 1}), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    faults.clear()
    holding = asyncio.create_task(agent.call(Busy.hold))
    await turns()
    faults.add("confirmation")
    waiting = asyncio.create_task(agent.call(Busy.put, {"count": 1}, confirmation=asked))
    await turns()
    if end == "queue":
        clock.advance(5)
        failed(await waiting, "RATE_LIMITED")
        free.set()
    else:
        faults.add(end)
        free.set()
        failed(await waiting, "CAPABILITY_NOT_AVAILABLE")
        faults.discard(end)
    output(await holding)
    view = surface.confirmations.get(asked)
    assert view is not None and view.status == "approved" and panel.ran == 0
    assert output(await agent.call(Busy.put, {"count": 1}, confirmation=asked)) == 1


@pytest.mark.requirement("6.3-evidence-survives", "6.2-spend-comes-last")
@pytest.mark.parametrize("fault", ["availability", "authorization", "review", "precondition", "visibility"])
async def test_evidence_survives_whatever_refuses_the_call_before_it_runs(fault: str) -> None:
    faults: Faults = {"confirmation"}
    surface = Surface(authority_of(Panel), principal="operator", policies=[Chaos(faults)])
    surface.confirmations.subscribe(lambda view: None)
    panel = Panel(faults)
    surface.mount(panel)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Panel.put, {"count": 1}), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    faults.add(fault)
    assert isinstance(await agent.call(Panel.put, {"count": 1}, confirmation=asked), Failed)
    view = surface.confirmations.get(asked)
    assert view is not None and view.status == "approved" and panel.ran == 0
    faults.discard(fault)
    assert output(await agent.call(Panel.put, {"count": 1}, confirmation=asked)) == 1
    view = surface.confirmations.get(asked)
    assert view is not None and view.status == "spent" and panel.ran == 1


@pytest.mark.requirement("6.3-evidence-survives-a-full-queue")
async def test_evidence_survives_a_full_queue() -> None:
    class Desk(Component, type="desk"):
        """A desk."""

        def __init__(self) -> None:
            self.gate = asyncio.Event()
            self.ran = 0

        @action
        async def hold(self) -> None:
            """Hold."""
            await self.gate.wait()

        @action(confirmation="required")
        def clear(self) -> None:
            """Clear."""
            self.ran += 1

    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Desk.clear)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    holding = [asyncio.create_task(agent.call(Desk.hold)) for _ in range(3)]
    await turns()
    error = failed(await agent.call(Desk.clear, confirmation=asked), "RATE_LIMITED")
    assert error.details["reason"] == "queue-full"
    view = surface.confirmations.get(asked)
    assert view is not None and view.status == "approved" and desk.ran == 0
    desk.gate.set()
    for task in holding:
        output(await task)
    output(await agent.call(Desk.clear, confirmation=asked))
    assert desk.ran == 1


@pytest.mark.requirement("6.3-an-already-cancelled-call-never-runs")
async def test_a_call_that_was_cancelled_while_it_waited_never_runs() -> None:
    class Desk(Component, type="desk"):
        """A desk."""

        def __init__(self) -> None:
            self.gate = asyncio.Event()
            self.ran: list[str] = []

        @action
        async def run(self, name: str) -> None:
            """Run."""
            self.ran.append(name)
            await self.gate.wait()

    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call(Desk.run, {"name": "first"}))
    await turns()
    second = asyncio.create_task(agent.call(Desk.run, {"name": "second"}, id="second"))
    await turns()
    assert surface.cancel("second", AGENT) is True
    assert failed(await second, "CANCELLED").details == {"outcome": "none"}
    third = asyncio.create_task(agent.call(Desk.run, {"name": "third"}))
    await turns()
    desk.gate.set()
    output(await first)
    output(await third)
    assert desk.ran == ["first", "third"]
    assert [entry.code for entry in journal(surface)] == ["CANCELLED", None, None], "what never ran gives nothing late"


@pytest.mark.requirement("6.1-cancelling-the-awaiting-task")
async def test_cancelling_the_awaiting_task_leaves_the_join_and_ends_the_call_when_nobody_is_left() -> None:
    class Desk(Component, type="desk"):
        """A desk."""

        def __init__(self) -> None:
            self.gate = asyncio.Event()
            self.cancelled = 0

        @action
        async def run(self) -> str:
            """Run."""
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "done"

    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    one, two = (asyncio.create_task(agent.call(Desk.run, id="same")) for _ in range(2))
    await turns()
    one.cancel()
    await turns()
    assert desk.cancelled == 0 and not two.done()
    desk.gate.set()
    assert output(await two) == "done"
    desk.gate.clear()
    alone = asyncio.create_task(agent.call(Desk.run, id="other"))
    await turns()
    alone.cancel()
    await turns()
    assert desk.cancelled == 1
    entry = journal(surface)[-2] if journal(surface)[-1].type == "late-result" else journal(surface)[-1]
    assert entry.code == "CANCELLED"


@pytest.mark.requirement("6.1-cancel-by-id")
async def test_cancel_ends_only_the_own_running_call_of_that_id() -> None:
    class Desk(Component, type="desk"):
        """A desk."""

        @action
        async def run(self) -> None:
            """Run."""
            await asyncio.Event().wait()

    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk())
    running = asyncio.create_task(surface.connect(AGENT).call(Desk.run, id="mine"))
    await turns()
    assert surface.cancel("mine", Consumer("other", kind="test")) is False
    assert surface.cancel("other", AGENT) is False
    await turns()
    assert not running.done()
    assert surface.cancel("mine", AGENT) is True
    assert failed(await running, "CANCELLED").details == {"outcome": "unknown"}
    assert surface.cancel("mine", AGENT) is False


@pytest.mark.requirement("6.1-never-raises")
async def test_invoke_never_raises_for_anything_an_agent_can_cause() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel(set()))
    deep: Any = []
    for _ in range(2_000):
        deep = [deep]
    odd: list[Any] = [None, 5, "x", b"x", [], {}, float("nan"), deep, object(), "\ud800", "x" * 200_000, True]
    for value in odd:
        for field in ("capability_id", "input", "id", "instance", "registration", "surface_id", "surface_version"):
            fields: dict[str, Any] = {"capability_id": "view:panel.put", "input": {"count": 1}, field: value}
            await surface.invoke(Invocation(**fields), AGENT)
        for field in ("confirmation", "correlation_id"):
            await surface.invoke(Invocation("view:panel.put", {"count": 1}, **{field: value}), AGENT)
        await surface.invoke(Invocation("view:panel.put", {"count": value}), AGENT)
        assert await surface.decided(value if isinstance(value, str) else "x", AGENT, timeout=0) is None
        failed(await surface.continue_(value if isinstance(value, str) else "x", AGENT), "CONFIRMATION_INVALID")
    assert all(entry.code != "EXECUTION_FAILED" for entry in journal(surface))


@pytest.mark.requirement("6.1-outcome")
async def test_an_outcome_echoes_ids_and_refusals_are_values_with_fixed_messages() -> None:
    class Fixed(Component, type="fixed"):
        """Fixed."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Fixed), principal="operator")
    surface.mount(Fixed())
    fine = await surface.connect(AGENT).call(Fixed.read, id="i-1")
    assert (fine.invocation_id, fine.capability_id) == ("i-1", "view:fixed.read")
    refused = await surface.connect(AGENT).call("view:fixed.made", id="i-2")
    assert (refused.invocation_id, refused.capability_id) == ("i-2", "view:fixed.made")
    assert len(failed(refused).message) <= 300


@pytest.mark.requirement("6.2-lost-evidence-never-runs")
async def test_a_decision_by_somebody_else_is_no_evidence() -> None:
    class Table(Component, type="table"):
        """A table."""

        def __init__(self) -> None:
            self.ran = 0

        @action(confirmation="required")
        def clear(self) -> None:
            """Clear."""
            self.ran += 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    table = Table()
    surface.mount(table)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Table.clear)).details["confirmation_id"])
    with pytest.raises(PermissionError):
        await surface.confirmations.approve(asked, Decider("somebody"))
    failed(await agent.call(Table.clear, confirmation=asked), "CONFIRMATION_REQUIRED")
    assert table.ran == 0
