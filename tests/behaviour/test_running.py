"""Concurrency, deadlines, navigation, what a handler is given, and `within` (SPEC 6.6 to 6.10, 4.0, 5.6)."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, Literal

import pytest

from remit import (
    Approved,
    Component,
    ConfirmationView,
    Consumer,
    Context,
    Event,
    EventType,
    Failed,
    Limits,
    ManualClock,
    Ok,
    Outcome,
    Principal,
    Procedures,
    Retry,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Deny, Policy, PolicyContext, ReviewContext
from tests.behaviour.conftest import AGENT, OPERATOR, Timers, authority_of, failed, journal, output, turns


class Desk(Component, type="desk"):
    """A desk that logs what runs and waits until it is told to go on."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.inside = 0
        self.most = 0
        self.gate = asyncio.Semaphore(0)

    async def _run(self, name: str) -> str:
        self.log.append(name)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gate.acquire()
        finally:
            self.inside -= 1
        return name

    @action
    async def act(self, name: str = "x") -> str:
        """Act."""
        return await self._run(name)

    @observation
    async def read(self, name: str = "x") -> str:
        """Read."""
        return await self._run(name)

    def let(self, count: int = 100) -> None:
        for _ in range(count):
            self.gate.release()


def start(surface: Surface, who: str, capability: Any, name: str, **more: Any) -> "asyncio.Task[Outcome]":
    agent = surface.connect(Consumer(who, kind="test"))
    return asyncio.create_task(agent.call(capability, {"name": name}, **more))


@pytest.mark.requirement("6.6-one-action-at-a-time")
async def test_actions_of_one_instance_run_one_at_a_time_first_come_first_served() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk, other = Desk(), Desk()
    surface.mount(desk, "a")
    surface.mount(other, "b")
    tasks = [start(surface, "one", Desk.act, name, instance="a") for name in ("1", "2", "3")]
    tasks.append(start(surface, "one", Desk.act, "other", instance="b"))
    await turns()
    assert desk.log == ["1"] and other.log == ["other"]
    for _ in range(3):
        desk.let(1)
        await turns()
    other.let(1)
    assert [output(await task) for task in tasks] == ["1", "2", "3", "other"]
    assert desk.log == ["1", "2", "3"] and desk.most == 1


@pytest.mark.requirement("6.6-round-robin")
async def test_waiting_consumers_take_turns() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    tasks = [start(surface, "a", Desk.act, name) for name in ("a1", "a2", "a3")]
    await turns()
    tasks += [start(surface, "b", Desk.act, name) for name in ("b1", "b2")]
    tasks += [start(surface, "c", Desk.act, "c1")]
    await turns()
    for _ in range(6):
        desk.let(1)
        await turns()
    for task in tasks:
        output(await task)
    assert desk.log == ["a1", "a2", "b1", "c1", "a3", "b2"]


@pytest.mark.requirement("6.6-two-waiting")
async def test_two_of_a_consumer_may_wait_and_a_refused_call_reserves_nothing() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    tasks = [start(surface, "a", Desk.act, name) for name in ("1", "2", "3")]
    await turns()
    error = failed(await start(surface, "a", Desk.act, "refused"), "RATE_LIMITED")
    assert error.details == {"reason": "queue-full", "retry_after_ms": 1_000} and error.retry == "after-delay"
    tasks.append(start(surface, "b", Desk.act, "b"))
    await turns()
    desk.let(2)
    await turns()
    tasks.append(start(surface, "a", Desk.act, "4"))
    await turns()
    desk.let()
    for task in tasks:
        output(await task)
    assert "refused" not in desk.log and len(desk.log) == 5


@pytest.mark.requirement("6.6-admission-time")
async def test_a_call_waits_for_its_turn_at_most_five_seconds() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    desk = Desk()
    surface.mount(desk)
    first = start(surface, "a", Desk.act, "first")
    await turns()
    second = start(surface, "a", Desk.act, "second")
    await turns()
    clock.advance(4.9)
    await turns()
    assert not second.done()
    clock.advance(0.2)
    assert failed(await second, "RATE_LIMITED").details == {"reason": "queue-full", "retry_after_ms": 1_000}
    third, fourth = (start(surface, "a", Desk.act, name) for name in ("third", "fourth"))
    await turns()
    desk.let()
    output(await first)
    output(await third)
    output(await fourth)  # who waited in vain takes no place of the two that wait
    assert desk.log == ["first", "third", "fourth"]


@pytest.mark.requirement("6.6-observations")
async def test_observations_run_8_at_once_per_consumer_32_in_all_and_8_wait() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    tasks = [start(surface, "a", Desk.read, f"a{n}") for n in range(16)]
    await turns()
    assert len(desk.log) == 8
    assert failed(await start(surface, "a", Desk.read, "17th"), "RATE_LIMITED").details["reason"] == "queue-full"
    tasks += [start(surface, who, Desk.read, f"{who}{n}") for who in "bcde" for n in range(8)]
    await turns()
    assert len(desk.log) == desk.most == 32 + 1, "the fifth consumer gets its one slot"
    act = start(surface, "a", Desk.act, "act")
    await turns()
    assert desk.log[-1] == "act"
    desk.let()
    for task in [*tasks, act]:
        output(await task)
    assert len(desk.log) == 16 + 32 + 1


@pytest.mark.requirement("6.6-references")
async def test_references_queue_per_procedure_and_registration() -> None:
    backend = Procedures()
    log: list[str] = []
    gate = asyncio.Semaphore(0)

    @backend.operation("one", effect="server-mutation")
    async def one(name: str) -> str:
        """One."""
        log.append(name)
        await gate.acquire()
        return name

    @backend.operation("two", effect="server-mutation")
    async def two(name: str) -> str:
        """Two."""
        log.append(name)
        await gate.acquire()
        return name

    class Page(Component, type="page"):
        """A page."""

        one = reference("domain:one")
        two = reference("domain:two")

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Page(), "a")
    surface.mount(Page(), "b")
    tasks = [
        start(surface, "c", id, f"{id[7:]}-{instance}-{n}", instance=f"page/{instance}")
        for id in ("domain:one", "domain:two")
        for instance in "ab"
        for n in (1, 2)
    ]
    await turns()
    assert sorted(log) == ["one-a-1", "one-b-1", "two-a-1", "two-b-1"]
    for _ in range(8):
        gate.release()
    for task in tasks:
        output(await task)
    assert len(log) == 8


@pytest.mark.requirement("6.7-deadlines")
async def test_the_deadlines_are_5_s_for_observations_10_s_for_actions_and_30_s_for_procedures() -> None:
    backend = Procedures()

    @backend.operation("save", effect="server-mutation", idempotent=True)
    async def save() -> None:
        """Save."""
        await asyncio.Event().wait()

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

        @action(timeout=3)
        async def short(self) -> None:
            """Short."""
            await asyncio.Event().wait()

    clock = ManualClock()
    surface = Surface(
        authority_of(Desk, Page, procedures=backend), principal="operator", procedures=backend, clock=clock
    )
    surface.mount(Desk())
    surface.mount(Page())
    agent = surface.connect(AGENT)
    for capability, seconds, idempotent, happened, retry in (
        ("view:desk.read", 5, True, "none", "yes"),
        ("view:desk.act", 10, False, "unknown", "no"),
        ("domain:save", 30, True, "unknown", "yes"),
        ("view:page.short", 3, False, "unknown", "no"),
    ):
        running = asyncio.create_task(agent.call(capability))
        await turns()
        clock.advance(seconds - 0.1)
        await turns()
        assert not running.done()
        clock.advance(0.2)
        error = failed(await running, "TIMEOUT")
        assert error.details == {"timeout_ms": seconds * 1_000, "idempotent": idempotent, "outcome": happened}
        assert error.retry == retry


@pytest.mark.requirement("6.7-deadline-of-a-call")
async def test_the_host_may_give_a_call_its_own_deadline_of_at_most_ten_minutes() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    for asked, given in ((1.5, 1.5), (60, 60), (3_600, 600)):
        running = asyncio.create_task(agent.call(Desk.act, timeout=asked))
        await turns()
        clock.advance(given - 0.1)
        await turns()
        assert not running.done()
        clock.advance(0.1)
        assert failed(await running, "TIMEOUT").details["timeout_ms"] == given * 1_000


@pytest.mark.requirement("5.6-one-deadline-over-all-steps")
@pytest.mark.parametrize("where", ["authorize", "review", "precondition", "around", "handler"])
async def test_whatever_hangs_ends_as_timeout_with_the_right_outcome(where: str) -> None:
    async def maybe(name: str) -> None:
        if name == where:
            await asyncio.Event().wait()

    class Hang(Policy, name="hang"):
        async def authorize(self, ctx: PolicyContext) -> None:
            await maybe("authorize")

        async def review(self, ctx: ReviewContext) -> None:
            await maybe("review")

        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            await maybe("around")
            return await call_next()

    class Table(Component, type="table"):
        """A table."""

        @action
        async def put(self) -> None:
            """Put."""
            await maybe("handler")

        @put.precondition
        async def _(self) -> None:
            await maybe("precondition")

    clock = ManualClock()
    surface = Surface(authority_of(Table), principal="operator", policies=[Hang()], clock=clock)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Table.put, id="i"))
    await turns()
    clock.advance(10)
    error = failed(await running, "TIMEOUT")
    started = where in ("around", "handler")
    assert error.details["outcome"] == ("unknown" if started else "none")
    assert error.retry == ("no" if started else "yes")
    again = asyncio.create_task(agent.call(Table.put, id="i"))
    await turns()
    assert again.done() is started
    clock.advance(10)
    assert failed(await again, "TIMEOUT") == error


@pytest.mark.requirement("5.6-waiting-counts")
async def test_the_deadline_counts_from_the_beginning_of_the_call() -> None:
    class Slow(Policy, name="slow"):
        async def authorize(self, ctx: PolicyContext) -> None:
            if first:
                first.clear()
                clock.advance(6)

    clock = ManualClock()
    first = [True]
    surface = Surface(authority_of(Desk), principal="operator", clock=clock, policies=[Slow()])
    desk = Desk()
    surface.mount(desk)
    running = start(surface, "a", Desk.act, "x")
    await turns()
    assert desk.log == ["x"]
    clock.advance(3.9)
    await turns()
    assert not running.done()
    clock.advance(0.2)
    failed(await running, "TIMEOUT")


@pytest.mark.requirement("6.7-late-result")
async def test_a_late_result_is_ignored_and_journalled_and_the_cancel_signal_is_set() -> None:
    signals: list[bool] = []
    let_go = asyncio.Event()

    class Stubborn(Component, type="stubborn"):
        """Stubborn."""

        @action
        async def act(self, context: Context) -> str:
            """Act."""
            try:
                await context.cancelled.wait()
            except asyncio.CancelledError:
                pass
            signals.append(context.cancelled.is_set())
            await let_go.wait()
            return "late"

    clock = ManualClock()
    surface = Surface(authority_of(Stubborn), principal="operator", clock=clock)
    surface.mount(Stubborn())
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Stubborn.act, id="i"))
    await turns()
    clock.advance(10)
    outcome = await running
    failed(outcome, "TIMEOUT")
    let_go.set()
    await turns()
    assert signals == [True]
    assert await agent.call(Stubborn.act, id="i") == outcome
    kinds = [(entry.type.value, entry.code) for entry in journal(surface)]
    assert kinds == [("invocation", "TIMEOUT"), ("late-result", None)]


class Frozen:
    """A clock whose timers never fire, as those of a loop that inline code holds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._real = ManualClock()

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return self._real.now()

    def local_hour(self) -> int:
        return self._real.local_hour()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Any:
        return self._real.call_later(delay, callback)


@pytest.mark.requirement("6.7-inline-code-over-its-deadline")
async def test_inline_code_that_runs_over_its_deadline_answers_timeout_when_it_returns() -> None:
    clock = Frozen()

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, seconds: float) -> str:
            """Put."""
            clock.seconds += seconds
            return "done"

        @observation
        def read(self, seconds: float) -> str:
            """Read."""
            clock.seconds += seconds
            return "done"

    surface = Surface(authority_of(Table), principal="operator", clock=clock)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Table.put, {"seconds": 9.0})) == "done"
    error = failed(await agent.call(Table.put, {"seconds": 11.0}), "TIMEOUT")
    assert error.details == {"timeout_ms": 10_000, "idempotent": False, "outcome": "done"}
    assert failed(await agent.call(Table.read, {"seconds": 6.0}), "TIMEOUT").details["outcome"] == "none"


@pytest.mark.requirement("6.8-navigation-settles-by-itself")
async def test_a_navigation_settles_when_its_handler_settles_even_if_its_owner_unmounts() -> None:
    class Menu(Component, type="menu"):
        """A menu."""

        @action(effect="navigation")
        async def go(self) -> str:
            """Go."""
            mount.unmount()
            await turns(3)
            return "/reports"

        @action
        async def stay(self) -> str:
            """Stay."""
            mount.unmount()
            await turns(3)
            return "never"

    surface = Surface(authority_of(Menu), principal="operator")
    agent = surface.connect(AGENT)
    mount = surface.mount(Menu())
    assert output(await agent.call(Menu.go)) == "/reports"
    mount = surface.mount(Menu())
    failed(await agent.call(Menu.stay), "COMPONENT_UNMOUNTED")


@pytest.mark.requirement("6.10-context-and-principal")
async def test_context_and_principal_are_recognised_by_annotation_never_by_name() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, context: str, who: Principal, call: Context) -> list[Any]:
            """Put."""
            seen.append(call)
            return [context, who.id, sorted(who.grants)]

    seen: list[Context] = []
    host = object()
    principal = Principal("operator", tenant="acme", grants={"g"})
    surface = Surface(authority_of(Table), principal=principal, host=host)
    mount = surface.mount(Table())
    agent = surface.connect(AGENT)
    schema: Any = agent.capabilities()[0].descriptor.input_schema
    assert list(schema["properties"]) == ["context"]
    assert output(await agent.call(Table.put, {"context": "plain"}, id="i-1")) == ["plain", "operator", ["g"]]
    (call,) = seen
    assert (call.capability, call.registration, call.invocation) == ("view:table.put", mount.registration_id, "i-1")
    assert (call.consumer, call.principal, call.host) == (AGENT, principal, host)
    assert call.evidence is None and not call.cancelled.is_set()
    for injected in ("who", "call"):
        failed(await agent.call(Table.put, {"context": "x", injected: {"id": "admin"}}), "INVALID_INPUT")


@pytest.mark.requirement("6.10-evidence")
async def test_a_context_carries_the_evidence_that_this_run_spends() -> None:
    seen: list[object] = []

    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def clear(self, call: Context) -> None:
            """Clear."""
            seen.append(call.evidence)

    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Table.clear)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    output(await agent.call(Table.clear, confirmation=asked))
    assert seen == [asked]


@pytest.mark.requirement("4.0-within")
@pytest.mark.parametrize("asynchronous", [True, False])
async def test_within_is_entered_around_every_piece_of_application_code_in_the_task_that_runs_it(  # noqa: C901
    asynchronous: bool,
) -> None:
    entered: list[object] = []
    missed: list[str] = []
    ran: list[str] = []

    @contextmanager
    def within() -> Iterator[None]:
        task = asyncio.current_task()
        entered.append(task)
        try:
            yield
        finally:
            assert entered.pop() is task is asyncio.current_task()

    def here(name: str) -> None:
        ran.append(name)
        if not entered or entered[-1] is not asyncio.current_task():
            missed.append(name)

    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe(ids: list[str]) -> int:
        """Wipe."""
        here("operation")
        await turns(2)
        here("operation after waiting")
        return len(ids)

    class Table(Component, type="table"):
        """A table."""

        wipe = reference("domain:wipe")

        @wipe.bind("ids")
        def _(self) -> list[str]:
            here("binding")
            return ["a"]

        @wipe.available
        def _(self) -> Literal[True] | Unavailable:
            here("predicate")
            return True

        @wipe.note
        def _(self) -> str:
            here("note")
            return "note"

        @wipe.summary
        def _(self) -> str:
            here("summary")
            return "summary"

        @action
        async def slow(self) -> None:
            """Slow."""
            here("async handler")
            await turns(2)
            here("async handler after waiting")

        @slow.precondition
        async def _(self) -> None:
            here("async precondition")
            await turns(2)
            here("async precondition after waiting")

        @action
        def quick(self) -> None:
            """Quick."""
            here("handler")

        @quick.precondition
        def _(self) -> None:
            here("precondition")

    async def decide(view: ConfirmationView) -> Approved:
        here("decide")
        await turns(2)
        here("decide after waiting")
        return Approved(by=OPERATOR)

    def principal() -> Principal:
        here("principal")
        return Principal("operator")

    def host() -> object:
        here("host")
        return None

    surface = Surface(
        authority_of(Table, procedures=backend),
        principal=principal,
        host=host,
        procedures=backend,
        decide=decide,
        within=within,
    )
    surface.mount(Table())
    agent = surface.connect(AGENT)
    agent.capabilities()
    if asynchronous:
        output(await agent.call(Table.slow))
    output(await agent.call(Table.quick))
    asked = str(failed(await agent.call("domain:wipe")).details["confirmation_id"])
    await surface.confirmations.wait(asked)
    output(await agent.call("domain:wipe", confirmation=asked))
    assert missed == [] and entered == []
    expected = {"predicate", "note", "binding", "summary", "handler", "precondition", "operation", "principal", "host"}
    assert expected | {"decide", "decide after waiting", "operation after waiting"} <= set(ran)


@pytest.mark.requirement("4.0-within-decides-nothing")
async def test_within_is_left_when_application_code_raises_and_changes_no_answer() -> None:
    depth: list[int] = []

    class Enter(AbstractContextManager[None]):
        def __enter__(self) -> None:
            depth.append(1)

        def __exit__(self, *raised: object) -> None:
            depth.pop()

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, bad: bool) -> str:
            """Put."""
            assert depth
            if bad:
                raise RuntimeError("secret-4711")
            return "put"

    plain = Surface(authority_of(Table), principal="operator")
    wrapped = Surface(authority_of(Table), principal="operator", within=Enter)
    answers = []
    for surface in (plain, wrapped):
        depth[:] = [1] if surface is plain else []
        surface.mount(Table())
        agent = surface.connect(AGENT)
        assert output(await agent.call(Table.put, {"bad": False})) == "put"
        error = failed(await agent.call(Table.put, {"bad": True}))
        answers.append((error.code, error.message, error.details["outcome"]))
        assert depth == ([1] if surface is plain else [])
    assert answers[0] == answers[1]


@pytest.mark.requirement("6.6-limits-are-settable")
async def test_the_limits_of_waiting_and_of_deadlines_are_settable() -> None:
    clock = ManualClock()
    limits = Limits(waiting_per_consumer=1, action_s=2.0, admission_s=1.0)
    surface = Surface(authority_of(Desk), principal="operator", clock=clock, limits=limits)
    surface.mount(Desk())
    first, second = start(surface, "a", Desk.act, "1"), start(surface, "a", Desk.act, "2")
    await turns()
    failed(await start(surface, "a", Desk.act, "3"), "RATE_LIMITED")
    clock.advance(1)
    failed(await second, "RATE_LIMITED")
    clock.advance(1)
    failed(await first, "TIMEOUT")


@pytest.mark.requirement("6.6-a-place-is-given-back")
@pytest.mark.parametrize("how", ["cancel", "timeout", "raise", "deny at the gate"])
async def test_a_place_is_given_back_however_a_call_ends(how: str) -> None:
    allowed: list[bool] = [True]

    class May(Policy, name="may"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            return None if allowed[0] else Deny()

    class Table(Component, type="table"):
        """A table."""

        @action
        async def run(self, name: str) -> str:
            """Run."""
            if name == "raise":
                raise RuntimeError
            if name == "hang":
                await gate.wait()
            return name

    gate = asyncio.Event()
    clock = ManualClock()
    surface = Surface(authority_of(Table), principal="operator", clock=clock, policies=[May()])
    surface.mount(Table())
    for round_ in range(4):
        first = start(surface, "a", Table.run, "raise" if how == "raise" else "hang", id=f"first{round_}")
        await turns()
        second = start(surface, "b", Table.run, "second")
        await turns()
        match how:
            case "cancel":
                assert surface.cancel(f"first{round_}", Consumer("a", kind="test"))
            case "timeout":
                clock.advance(4)
                fresh = start(surface, "c", Table.run, "fresh")
                await turns()
                clock.advance(6)
                assert isinstance(await fresh, Failed | Ok)
            case "deny at the gate":
                allowed[0] = False
                gate.set()
                output(await first)
                failed(await second, "NOT_AUTHORIZED")
                allowed[0] = True
                gate.clear()
            case _:
                pass
        await asyncio.wait({first, second})
        assert output(await start(surface, "c", Table.run, "third")) == "third"


@pytest.mark.requirement("6.6-a-place-is-given-back")
async def test_a_call_whose_task_is_cancelled_from_outside_while_it_waits_is_cancelled() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    first = start(surface, "a", Desk.act, "1")
    await turns()
    before = asyncio.all_tasks()
    second = start(surface, "b", Desk.act, "2")
    await turns()
    (waiting,) = asyncio.all_tasks() - before - {second}
    waiting.cancel()  # as whoever runs the loop does at its end
    assert failed(await second, "CANCELLED").details["outcome"] == "none"
    desk.let()
    output(await first)
    output(await start(surface, "b", Desk.act, "3"))
    assert desk.log == ["1", "3"]


@pytest.mark.requirement("6.6-one-action-at-a-time")
async def test_a_call_that_comes_in_the_turn_in_which_the_place_is_given_back_runs_next() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    first = start(surface, "a", Desk.act, "1")
    await turns()
    second = start(surface, "b", Desk.act, "2")
    desk.let()
    assert [output(await task) for task in (first, second)] == ["1", "2"]
    assert desk.log == ["1", "2"] and desk.most == 1


@pytest.mark.requirement("6.14-the-gate-looks-again")
async def test_what_is_disabled_while_a_call_waits_for_its_turn_does_not_run() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    mount = surface.mount(desk)
    first, second = start(surface, "a", Desk.act, "1"), start(surface, "a", Desk.act, "2")
    await turns()
    mount.update(enabled=False, reason="closing")
    desk.let()
    assert output(await first) == "1"
    assert failed(await second, "CAPABILITY_NOT_AVAILABLE").details["reason"] == "closing"
    assert desk.log == ["1"]


@pytest.mark.requirement("6.14-the-gate-looks-again")
async def test_a_policy_that_unmounts_at_the_last_look_lets_nothing_start() -> None:
    asked: list[int] = []

    class Leaves(Policy, name="leaves"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            asked.append(1)
            if len(asked) == 2:
                mount.unmount()
            return None

    surface = Surface(authority_of(Desk), principal="operator", policies=[Leaves()])
    desk = Desk()
    mount = surface.mount(desk)
    heard: list[Event] = []
    surface.subscribe(heard.append, types={EventType.INVOCATION_STARTED, EventType.INVOCATION_SETTLED})
    error = failed(await start(surface, "a", Desk.act, "1"), "COMPONENT_UNMOUNTED")
    assert error.details == {"phase": "mid-flight", "outcome": "none"} and len(asked) == 2
    assert desk.log == [] and [event.type for event in heard] == [EventType.INVOCATION_SETTLED]


@pytest.mark.requirement("4.0-another-principal-ends-the-surface")
async def test_a_precondition_that_finds_the_person_gone_lets_nothing_run() -> None:
    class Drawer(Component, type="drawer"):
        """A drawer."""

        @action
        def open(self) -> None:
            """Open it."""
            ran.append(1)

        @open.precondition
        def _(self) -> None:
            person[0] = None
            surface.snapshot(AGENT)

    ran: list[int] = []
    person: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Drawer), principal=lambda: person[0])
    surface.mount(Drawer())
    error = failed(await surface.connect(AGENT).call(Drawer.open), "COMPONENT_UNMOUNTED")
    assert error.details == {"phase": "mid-flight", "outcome": "none"} and ran == []


@pytest.mark.requirement("9.1-one-settled-per-started")
async def test_a_listener_that_ends_the_surface_while_it_ends_settles_each_call_once() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    mount = surface.mount(Desk())
    surface.subscribe(lambda event: surface.dispose(), types={EventType.INVOCATION_SETTLED})
    tasks = [start(surface, name, Desk.read, name, id=name) for name in ("a", "b", "c")]
    await turns()
    mount.unmount()
    errors = [failed(await task).code for task in tasks]
    assert errors == ["COMPONENT_UNMOUNTED", "CANCELLED", "CANCELLED"]
    settled = [str(entry.invocation) for entry in journal(surface) if entry.type == "invocation"]
    assert sorted(settled) == ["a", "b", "c"]


@pytest.mark.requirement("4.11-dispose")
def test_a_surface_that_is_disposed_outside_its_loop_ends_what_runs() -> None:
    loop = asyncio.new_event_loop()
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)

    async def begin() -> "asyncio.Task[Outcome]":
        running = start(surface, "a", Desk.act, "1")
        await turns()
        return running

    running = loop.run_until_complete(begin())
    assert desk.inside == 1
    surface.dispose()
    failed(loop.run_until_complete(running), "CANCELLED")
    loop.run_until_complete(turns())
    loop.close()
    assert desk.inside == 0


@pytest.mark.requirement("4.0-another-principal-ends-the-surface")
async def test_a_handler_that_finds_the_person_gone_is_answered_as_cancelled() -> None:
    class Drawer(Component, type="drawer"):
        """A drawer."""

        @action
        async def open(self) -> None:
            """Open it."""
            person[0] = None
            surface.snapshot(AGENT)

    person: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Drawer), principal=lambda: person[0])
    surface.mount(Drawer())
    error = failed(await surface.connect(AGENT).call(Drawer.open), "CANCELLED")
    assert error.details == {"outcome": "unknown"}


@pytest.mark.requirement("6.7-deadline-of-a-call")
async def test_the_deadline_counts_what_plain_code_took_before_anything_had_to_wait() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        async def run(self) -> None:
            """Run."""
            await asyncio.Event().wait()

        @run.available
        def _(self) -> Literal[True]:
            if slow:
                clock.advance(slow.pop())
            return True

    clock = ManualClock()
    clock.advance(100)
    slow: list[int] = [4]
    surface = Surface(authority_of(Table), principal="operator", clock=clock)
    surface.mount(Table())
    running = asyncio.create_task(surface.connect(AGENT).call(Table.run))
    await turns()
    clock.advance(5.9)
    await turns()
    assert not running.done()
    clock.advance(0.1)
    failed(await running, "TIMEOUT")


@pytest.mark.requirement("6.14-the-gate-looks-again")
async def test_what_is_disabled_before_a_call_has_begun_to_run_does_not_run() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        async def run(self) -> None:
            """Run."""
            began.append(list(disabled))

    began: list[list[int]] = []
    disabled: list[int] = []
    surface = Surface(authority_of(Table), principal="operator")
    mount = surface.mount(Table())

    async def disable() -> None:
        mount.update(enabled=False)
        disabled.append(1)

    running = asyncio.create_task(surface.connect(AGENT).call(Table.run))
    await asyncio.create_task(disable())  # in the same turn, after the call
    outcome = await running
    assert began == ([[]] if isinstance(outcome, Ok) else [])


@pytest.mark.requirement("6.1-cancel-by-id")
async def test_a_handler_that_ends_its_own_call_is_not_interrupted_where_it_stands() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        async def run(self) -> None:
            """Run."""
            assert surface.cancel("own", AGENT)
            await asyncio.sleep(0)
            log.append("after")

    log: list[str] = []
    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    failed(await surface.connect(AGENT).call(Table.run, id="own"), "CANCELLED")
    await turns()
    assert log == ["after"]


@pytest.mark.requirement("6.7-late-result")
async def test_who_leaves_in_the_turn_in_which_the_call_ends_makes_no_late_result_of_it() -> None:
    surface = Surface(authority_of(Desk), principal="operator", clock=ManualClock())
    desk = Desk()
    surface.mount(desk)
    call = start(surface, "a", Desk.act, "1", id="i")

    def leave(event: Event) -> None:
        call.cancel()

    surface.subscribe(leave, types={EventType.INVOCATION_SETTLED})
    await turns()
    desk.let()
    with pytest.raises(asyncio.CancelledError):
        await call
    await turns()
    assert [(entry.type, entry.invocation, entry.code) for entry in journal(surface)] == [("invocation", "i", None)]


@pytest.mark.requirement("6.6-a-place-is-given-back")
async def test_calls_that_have_ended_leave_no_timer() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation(retry=Retry(2, backoff=1, jitter=0))
        async def look(self) -> int:
            """Look."""
            raise OSError

    clock = Timers()
    surface = Surface(authority_of(Desk, Table), principal="operator", clock=clock)
    desk = Desk()
    surface.mount(desk)
    surface.mount(Table())
    idle = clock.waiting
    calls = [start(surface, name, Desk.act, name) for name in ("a", "b")]
    await turns()
    assert clock.waiting == idle + 3, "two deadlines, and how long the second waits for its turn"
    desk.let()
    for call in calls:
        output(await call)
    assert clock.waiting == idle
    looking = asyncio.create_task(surface.connect(AGENT).call(Table.look, id="look"))
    await turns()
    assert clock.waiting == idle + 2, "the deadline and the pause"
    assert surface.cancel("look", AGENT)
    failed(await looking, "CANCELLED")
    await turns()
    assert clock.waiting == idle
