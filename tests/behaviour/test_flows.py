"""Flows: declared steps, run in order, each governed by itself (SPEC 11.8)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from remit import (
    Authority,
    Component,
    Consumer,
    Context,
    ErrorCode,
    Happened,
    Invocation,
    Limits,
    ManualClock,
    Ok,
    Outcome,
    Procedures,
    Progress,
    ReadContext,
    RecordSet,
    Refused,
    StepRefused,
    Steps,
    StepsDone,
    Surface,
    Unavailable,
    action,
    flow,
    key,
    observation,
    reference,
)
from remit.policies import rate_limit
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

PICK, LABEL, SHIP = "view:orders.list.pick", "view:orders.list.label", "view:orders.list.ship"

backend = Procedures()


@backend.operation("orders.note", effect="server-mutation")
async def note(order: str, label: str, context: Context) -> str:
    """Write a note on the order."""
    return f"{order}/{label} by {context.invocation}"


@dataclass(eq=False)
class Orders(Component, type="orders.list"):
    """The orders on this page."""

    ran: list[str] = field(default_factory=list)
    left: set[str] = field(default_factory=lambda: {"a", "b"})
    hold: asyncio.Event | None = None
    after: Callable[[], object] = lambda: None

    @action(record="order")
    async def pick(self, order: str) -> str:
        """Pick an order."""
        self.ran.append(f"pick {order}")
        if self.hold is not None:
            await self.hold.wait()
        return f"picked {order}"

    @pick.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.left)

    @pick.available
    def open_now(self) -> Literal[True] | Unavailable:
        return True if self.left else Unavailable("Nothing is left")

    @action
    def label(self, order: str, size: int = 1) -> dict[str, Any]:
        """Print a label."""
        self.ran.append(f"label {order}")
        if size > 5:
            raise Refused("Too large", largest=5)
        return {"label": f"L-{order}", "size": size}

    note = reference("domain:orders.note")

    @flow(steps=[PICK, LABEL, "domain:orders.note"])
    async def ship(self, order: str, steps: Steps, size: int = 1) -> str:
        """Ship an order: pick, label, note."""
        await steps.run({"record": order})
        self.after()
        made = await steps.run({"order": order, "size": size})
        said = await steps.run({"order": order, "label": made["label"]})
        return f"{said}: {steps.done} of {steps.of}"


ORDERS = authority_of(Orders, procedures=backend)


def opened(authority: Authority = ORDERS, **options: Any) -> tuple[Surface, Orders]:
    surface, orders = Surface(authority, principal="operator", procedures=backend, **options), Orders()
    surface.mount(orders)
    return surface, orders


async def ship(surface: Surface, consumer: Consumer = AGENT, **more: Any) -> Outcome:
    return await surface.connect(consumer).call(SHIP, {"order": "a", **more.pop("input", {})}, **more)


@pytest.mark.requirement("11.8-runs-its-steps-in-order")
async def test_a_flow_runs_its_steps_in_order_and_says_how_many_are_done() -> None:
    surface, orders = opened()
    outcome = await ship(surface, id="call-1")
    assert output(outcome) == "a/L-a by call-1/3: 3 of 3"
    assert outcome.steps == StepsDone(3, 3)
    assert orders.ran == ["pick a", "label a"]


@pytest.mark.requirement("11.8-each-step-is-a-call-of-its-own")
async def test_each_step_is_an_invocation_of_its_own_in_events_and_in_the_journal() -> None:
    surface, _ = opened()
    told: list[tuple[str, object, object]] = []
    surface.subscribe(
        lambda event: (
            told.append((event.type.value, event.data.get("invocation"), event.data.get("ok")))
            if event.type.value.startswith("invocation")
            else None
        ),
        consumer=AGENT,
    )
    await surface.connect(AGENT).call(SHIP, {"order": "a"}, id="s1")
    started, settled = "invocation-started", "invocation-settled"
    assert told == [
        (started, "s1", None),
        (started, "s1/1", None),
        (settled, "s1/1", True),
        (started, "s1/2", None),
        (settled, "s1/2", True),
        (started, "s1/3", None),
        (settled, "s1/3", True),
        (settled, "s1", True),
    ]
    assert [(entry.invocation, entry.capability) for entry in journal(surface)] == [
        ("s1/1", PICK),
        ("s1/2", LABEL),
        ("s1/3", "domain:orders.note"),
        ("s1", SHIP),
    ]


@pytest.mark.requirement("11.8-a-failed-step-is-never-success")
async def test_a_refused_step_ends_the_flow_with_its_answer_and_what_is_done() -> None:
    surface, orders = opened()
    outcome = await ship(surface, input={"size": 9})
    error = failed(outcome, "PRECONDITION_FAILED")
    assert outcome.steps == StepsDone(1, 3)
    assert error.details == {"largest": 5, "outcome": "done", "reason": "Too large"}
    assert orders.ran == ["pick a", "label a"]
    entry = journal(surface)[-1]
    assert (entry.why, entry.outcome) == (f"step 2, {LABEL}, answered PRECONDITION_FAILED: 1 of 3", Happened.DONE)


@pytest.mark.requirement("11.8-a-failed-step-is-never-success")
async def test_a_method_that_hides_the_refusal_of_a_step_has_failed_all_the_same() -> None:
    caught: list[StepRefused] = []

    class Quiet(Component, type="quiet"):
        """Hides what happens."""

        @action
        def fail(self) -> None:
            """Fail."""
            raise Refused("no")

        @action
        def fine(self) -> None:
            """Work."""
            caught.clear()

        @flow(steps=["view:quiet.fail", "view:quiet.fine"])
        async def both(self, steps: Steps) -> str:
            """Do both."""
            for _ in range(2):
                try:
                    await steps.run()
                except StepRefused as refused:
                    caught.append(refused)
            return "all is well"

    surface = Surface(authority_of(Quiet), principal="operator")
    surface.mount(Quiet())
    outcome = await surface.connect(AGENT).call("view:quiet.both")
    failed(outcome, "PRECONDITION_FAILED")
    assert outcome.steps == StepsDone(0, 2)
    assert [(each.step, each.error.code, str(each.steps)) for each in caught] == [
        ("view:quiet.fail", ErrorCode.PRECONDITION_FAILED, "0 of 2")
    ] * 2


@pytest.mark.requirement("11.8-k-of-n")
async def test_a_method_that_returns_early_succeeds_and_says_that_not_all_are_done() -> None:
    class Early(Component, type="early"):
        """Stops early."""

        @observation
        def count(self) -> int:
            """How many there are."""
            return 0

        @action
        def send(self) -> None:
            """Send."""

        @flow(steps=["view:early.count", "view:early.send"])
        async def send_if_any(self, steps: Steps) -> str:
            """Send what there is, if there is anything."""
            return "sent" if await steps.run() and not await steps.run() else "nothing to send"

    surface = Surface(authority_of(Early), principal="operator")
    surface.mount(Early())
    outcome = await surface.connect(AGENT).call("view:early.sendIfAny")
    assert (output(outcome), outcome.steps) == ("nothing to send", StepsDone(1, 2))
    tools = surface.connect(AGENT).toolset()
    tools.definitions()
    text = await tools.call("view_early__sendIfAny", {})
    assert '"steps":{"done":1,"of":2}' in text.text


@pytest.mark.requirement("11.8-one-at-a-time-and-no-more")
@pytest.mark.parametrize("way", ["too many", "at once", "later"])
async def test_a_method_that_runs_steps_in_another_way_fails_and_no_further_step_runs(way: str) -> None:
    kept: list[Steps] = []

    class Wild(Component, type="wild"):
        """Runs them otherwise."""

        ran = 0

        @action
        async def one(self) -> None:
            """One."""
            type(self).ran += 1
            await asyncio.sleep(0)

        @flow(steps=["view:wild.one", "view:wild.one"])
        async def run(self, way: str, steps: Steps) -> None:
            """Run."""
            kept.append(steps)
            match way:
                case "too many":
                    for _ in range(3):
                        await steps.run()
                case "at once":
                    await asyncio.gather(steps.run(), steps.run())
                case _:
                    return

    surface = Surface(authority_of(Wild), principal="operator")
    surface.mount(Wild())
    outcome = await surface.connect(AGENT).call("view:wild.run", {"way": way})
    if way == "later":
        assert isinstance(outcome, Ok)
    else:
        assert failed(outcome, "EXECUTION_FAILED").details["reason"] == "handler-error"
    ran = Wild.ran
    with pytest.raises(StepRefused):
        await kept[0].run()
    assert Wild.ran == ran <= 2


@pytest.mark.requirement("11.8-bad-input-of-a-step")
@pytest.mark.parametrize(
    ("input", "path"),
    [({"text": 7}, "text"), ({"txet": "a"}, "text"), (None, "text"), ({"text": object()}, "text"), ("a", "")],
)
async def test_bad_input_of_a_step_names_the_field_and_runs_nothing(input: Any, path: str) -> None:
    ran: list[str] = []

    class Wrong(Component, type="wrong"):
        """Passes what does not fit."""

        @action
        def write(self, text: str) -> None:
            """Write."""
            ran.append(text)

        @flow(steps=["view:wrong.write"])
        async def write_all(self, steps: Steps) -> None:
            """Write."""
            await steps.run(input)

    surface = Surface(authority_of(Wrong), principal="operator")
    surface.mount(Wrong())
    outcome = await surface.connect(AGENT).call("view:wrong.writeAll")
    issues: Any = failed(outcome, "INVALID_INPUT").details["issues"]
    assert path in [issue["path"] for issue in issues]
    assert (ran, outcome.steps) == ([], StepsDone(0, 1))


@pytest.mark.requirement("11.8-own-governance")
async def test_a_record_out_of_reach_and_an_unavailable_step_refuse_as_they_do_by_themselves() -> None:
    surface, orders = opened()
    outcome = await surface.connect(AGENT).call(SHIP, {"order": "z"})
    failed(outcome, "RECORD_UNAVAILABLE")
    assert outcome.steps == StepsDone(0, 3)
    orders.left.clear()
    outcome = await ship(surface)
    assert failed(outcome, "CAPABILITY_NOT_AVAILABLE").details["reason"] == "Nothing is left"
    assert orders.ran == []


@pytest.mark.requirement("11.8-own-governance")
async def test_the_meters_of_policies_count_each_step() -> None:
    class Metered(Component, type="metered"):
        """One step is metered."""

        @action(policies=(rate_limit(2, per_s=60),))
        def one(self) -> None:
            """One."""

        @flow(steps=["view:metered.one", "view:metered.one", "view:metered.one"])
        async def three(self, steps: Steps) -> None:
            """Three times."""
            for _ in range(steps.of):
                await steps.run()

    surface = Surface(authority_of(Metered), principal="operator", clock=ManualClock())
    surface.mount(Metered())
    outcome = await surface.connect(AGENT).call("view:metered.three")
    assert failed(outcome, "RATE_LIMITED").details["reason"] == "rate"
    assert outcome.steps == StepsDone(2, 3)


@pytest.mark.requirement("11.8-own-governance")
async def test_the_limits_of_a_network_door_count_the_flow_and_not_its_steps() -> None:
    authority = authority_of(Orders, procedures=backend, exposure={"page": ["view:**", "domain:**"]})
    surface, _ = opened(authority, limits=Limits(network_writes=2), clock=ManualClock())
    page = Consumer("page", kind="page", scope=("view:**", "domain:**"))
    assert [isinstance(await ship(surface, page), Ok) for _ in range(2)] == [True, True]
    failed(await ship(surface, page), "RATE_LIMITED")


@pytest.mark.requirement("11.8-repeats-are-answered-once")
async def test_a_repeat_of_the_invocation_runs_nothing_twice_after_success_and_after_a_refusal() -> None:
    surface, orders = opened()
    first = await ship(surface, id="once")
    assert await ship(surface, id="once") == first
    assert orders.ran == ["pick a", "label a"]
    orders.ran.clear()
    refused = await ship(surface, id="twice", input={"size": 9})
    assert await ship(surface, id="twice", input={"size": 9}) == refused
    assert orders.ran == ["pick a", "label a"]


@pytest.mark.requirement("11.8-repeats-are-answered-once")
async def test_after_a_refusal_that_is_not_kept_a_repeat_goes_on_where_it_stopped() -> None:
    surface, orders = opened()
    surface.suspend(capability="view:orders.list.label")
    failed(await ship(surface), "CAPABILITY_NOT_FOUND")
    surface.reinstate(capability=LABEL)
    orders.after = lambda: surface.suspend(capability=LABEL)
    outcome = await ship(surface, id="again")
    failed(outcome, "CAPABILITY_NOT_FOUND")
    assert outcome.steps == StepsDone(1, 3)
    orders.after = lambda: None
    surface.reinstate(capability=LABEL)
    assert isinstance(await ship(surface, id="again"), Ok)
    assert orders.ran == ["pick a", "label a"]  # the first step was answered from what is kept


@pytest.mark.requirement("11.8-takes-no-turn")
async def test_flows_of_one_instance_take_no_turn_and_their_steps_do() -> None:
    surface, orders = opened()
    orders.hold = asyncio.Event()
    both = [asyncio.create_task(ship(surface, id=name)) for name in ("x", "y")]
    await turns()
    assert orders.ran == ["pick a"]  # both flows run; of their first steps one has the turn
    orders.hold.set()
    for outcome in await asyncio.gather(*both):
        assert isinstance(outcome, Ok)


@pytest.mark.requirement("11.8-takes-no-turn")
async def test_flows_over_the_same_two_turns_in_opposite_order_never_wait_for_each_other_for_good() -> None:
    class Crossing(Component, type="crossing"):
        """Two turns."""

        @action(concurrency=key("left"))
        async def left(self) -> None:
            """Left."""
            await asyncio.sleep(0)

        @action(concurrency=key("right"))
        async def right(self) -> None:
            """Right."""
            await asyncio.sleep(0)

        @flow(steps=["view:crossing.left", "view:crossing.right", "view:crossing.left"])
        async def there(self, steps: Steps) -> None:
            """There."""
            for _ in range(steps.of):
                await steps.run()

        @flow(steps=["view:crossing.right", "view:crossing.left", "view:crossing.right"])
        async def back(self, steps: Steps) -> None:
            """Back."""
            for _ in range(steps.of):
                await steps.run()

    surface = Surface(authority_of(Crossing), principal="operator", limits=Limits(waiting_per_consumer=20))
    surface.mount(Crossing())
    agent = surface.connect(AGENT)
    outcomes = await asyncio.gather(
        *(agent.call(f"view:crossing.{name}") for name in ("there", "back") for _ in range(6))
    )
    assert [outcome.steps for outcome in outcomes] == [StepsDone(3, 3)] * 12


@pytest.mark.requirement("11.8-progress")
async def test_whoever_made_the_call_hears_how_many_steps_are_done() -> None:
    surface, _ = opened(clock=(clock := ManualClock()), limits=Limits(progress_s=0.001))
    heard: list[tuple[float, float | None]] = []

    def listen(progress: Progress) -> None:
        heard.append((progress.done, progress.total))
        clock.advance(1)

    await surface.invoke(Invocation(SHIP, {"order": "a"}), AGENT, progress=listen)
    assert heard == [(1, 3), (2, 3), (3, 3)]
