"""How far a running call has come: `Context.progress` (SPEC 6.10)."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from remit import Component, Context, Limits, ManualClock, Procedures, Progress, Surface, action, observation, reference
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

backend = Procedures()


@backend.operation("sync.run", effect="server-mutation")
async def run(call: Context) -> int:
    """Run."""
    call.progress(1, 4, "a quarter")
    return 4


class Copier(Component, type="copier"):
    """A copier."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.step: Callable[[Context], None] = lambda call: None
        self.kept: Context | None = None

    @action
    async def copy(self, call: Context) -> str:
        """Copy."""
        self.kept = call
        self.step(call)
        await self.gate.wait()
        self.step(call)
        return "copied"

    @observation
    def peek(self, call: Context) -> int:
        """Peek."""
        self.step(call)
        return 1

    run = reference("domain:sync.run")


def surface_of(**more: Any) -> tuple[Surface, Copier, ManualClock]:
    clock = ManualClock()
    authority = authority_of(Copier, procedures=backend)
    surface = Surface(authority, principal="operator", procedures=backend, clock=clock, **more)
    copier = Copier()
    surface.mount(copier)
    return surface, copier, clock


@pytest.mark.requirement("6.10-progress")
async def test_what_the_code_reports_reaches_whoever_called_while_it_runs() -> None:
    surface, copier, clock = surface_of()
    heard: list[Progress] = []
    copier.step = lambda call: call.progress(1, 2, "half\u202e of\nit ")
    running = asyncio.create_task(surface.connect(AGENT).call(Copier.copy, id="mine", progress=heard.append))
    await turns()
    assert heard == [Progress(invocation="mine", done=1, total=2, text="half of it")]
    copier.step = lambda call: call.progress(7)
    clock.advance(1)
    copier.gate.set()
    assert output(await running) == "copied"
    assert heard[1:] == [Progress(invocation="mine", done=7, total=None, text=None)]


@pytest.mark.requirement("6.10-progress")
async def test_progress_comes_from_inline_code_and_from_the_backend_too() -> None:
    surface, copier, _ = surface_of()
    heard: list[Progress] = []
    copier.step = lambda call: call.progress(0.5, text="x" * 300)
    agent = surface.connect(AGENT)
    output(await agent.call(Copier.peek, progress=heard.append))
    assert len(heard[0].text or "") == 200 and heard[0].done == 0.5
    output(await agent.call("domain:sync.run", progress=heard.append))
    assert [(each.done, each.total, each.text) for each in heard[1:]] == [(1, 4, "a quarter")]


@pytest.mark.requirement("6.10-progress")
async def test_nobody_else_hears_of_progress_and_it_is_no_event() -> None:
    surface, copier, _ = surface_of()
    copier.step = lambda call: call.progress(1, 2)
    await turns()
    plain: list[str] = []
    surface.subscribe(lambda event: plain.append(event.type))
    other: list[Progress] = []
    output(await surface.connect(AGENT).call(Copier.peek))
    output(await surface.connect(AGENT).call("domain:sync.run", progress=other.append))
    assert plain == ["invocation-started", "invocation-settled"] * 2
    assert [each.total for each in other] == [4]
    assert [entry.type for entry in journal(surface)] == ["invocation"], "of the mutation; a read leaves none"


@pytest.mark.requirement("6.10-progress")
async def test_who_joins_a_call_hears_the_rest_and_who_leaves_hears_no_more() -> None:
    surface, copier, clock = surface_of()
    agent = surface.connect(AGENT)
    first: list[float] = []
    second: list[float] = []
    third: list[float] = []

    def call(heard: list[float]) -> "asyncio.Task[Any]":
        def listener(report: Progress) -> None:
            heard.append(report.done)

        return asyncio.create_task(agent.call(Copier.copy, id="one", progress=listener))

    starter = call(first)
    await turns()
    joined, leaving = call(second), call(third)
    await turns()
    assert copier.kept is not None
    for done in (1, 2, 3):
        copier.kept.progress(done)
        clock.advance(0.1)
        if done == 1:
            leaving.cancel()
        if done == 2:
            starter.cancel()
        await turns()
    copier.gate.set()
    assert output(await joined) == "copied"
    assert (first, second, third) == ([1, 2], [1, 2, 3], [1])


@pytest.mark.requirement("6.10-progress-bounded")
async def test_at_most_ten_reports_a_second_are_passed_on_and_that_all_is_done_besides() -> None:
    surface, copier, clock = surface_of()
    heard: list[float] = []

    def step(call: Context) -> None:
        for done in range(1_001):
            call.progress(done, 1_000)
            clock.advance(0.001)
        for _ in range(50):
            call.progress(1_000, 1_000)

    copier.step = step
    output(await surface.connect(AGENT).call(Copier.peek, progress=lambda report: heard.append(report.done)))
    assert heard[-1] == 1_000 and heard[0] == 0
    assert 10 <= len(heard) <= 12


@pytest.mark.requirement("6.10-progress-bounded")
async def test_the_time_between_two_reports_is_a_limit() -> None:
    surface, copier, clock = surface_of(limits=Limits(progress_s=1))
    heard: list[float] = []

    def step(call: Context) -> None:
        for done in range(4):
            call.progress(done)
            clock.advance(0.5)

    copier.step = step
    output(await surface.connect(AGENT).call(Copier.peek, progress=lambda report: heard.append(report.done)))
    assert heard == [0, 2]


@pytest.mark.requirement("6.10-progress-bounded")
async def test_after_the_answer_there_is_no_progress() -> None:
    surface, copier, clock = surface_of()
    heard: list[Progress] = []
    running = asyncio.create_task(surface.connect(AGENT).call(Copier.copy, progress=heard.append))
    await turns()
    clock.advance(11)
    failed(await running, "TIMEOUT")
    assert copier.kept is not None
    copier.kept.progress(1, 1, "late")
    assert heard == []


@pytest.mark.requirement("6.10-progress-isolated")
@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
async def test_a_raising_listener_is_journalled_and_the_handler_goes_on(kind: type[BaseException]) -> None:
    surface, copier, _ = surface_of()

    def listener(report: Progress) -> None:
        raise kind("secret-4711")

    copier.step = lambda call: call.progress(1)
    output(await surface.connect(AGENT).call(Copier.peek, progress=listener))
    (fault,) = [entry for entry in journal(surface) if entry.type == "fault"]
    assert fault.why == "a listener to progress raised" and "secret-4711" in str(fault.cause)


@pytest.mark.requirement("6.10-progress-isolated")
@pytest.mark.parametrize("numbers", [(-1,), (1, -2), (float("nan"),), (1, float("inf")), (True,), ("1",), (1, "2")])
async def test_numbers_that_are_none_are_refused_where_they_are_written(numbers: Any) -> None:
    surface, copier, _ = surface_of()
    raised: list[str] = []

    def step(call: Context) -> None:
        try:
            call.progress(*cast(Any, numbers))
        except ValueError as error:
            raised.append(str(error))

    copier.step = step
    output(await surface.connect(AGENT).call(Copier.peek))
    assert raised == ["progress(done, total): finite numbers that are not negative"]
