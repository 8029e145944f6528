import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remit._base.clock import ManualClock
from remit._registry.entered import Entered, Raised


def test_without_within_the_function_is_called_plainly() -> None:
    assert Entered(None).call(lambda a, b: a + b, 1, b=2) == 3


async def test_within_is_entered_in_the_task_that_runs_the_code_and_left_after_it_was_awaited() -> None:
    tasks: list[object] = []

    @contextmanager
    def within() -> Iterator[None]:
        tasks.append(asyncio.current_task())
        yield
        tasks.append("left")

    async def handler() -> str:
        await asyncio.sleep(0)
        tasks.append(asyncio.current_task())
        return "done"

    done: str = await Entered(within).run(handler)
    assert done == "done"
    here = asyncio.current_task()
    assert tasks == [here, here, "left"]


def test_a_function_that_held_the_loop_for_more_than_50_ms_is_told_with_its_time() -> None:
    clock = ManualClock()
    slow: list[tuple[object, float]] = []
    entered = Entered(None, clock, lambda function, seconds: slow.append((function, round(seconds, 6))))

    def work(seconds: float) -> None:
        clock.advance(seconds)
        if seconds > 1:
            raise ValueError("no")

    entered.call(work, 0.05)
    assert slow == []
    entered.call(work, 0.051)
    assert isinstance(entered.attempt(work, 2), Raised)
    assert slow == [(work, 0.051), (work, 2)]


def test_what_application_code_raises_is_an_answer() -> None:
    problem = ValueError("no")

    def raising() -> None:
        raise problem

    assert Entered(None).attempt(raising) == Raised(problem)


def test_what_is_no_exception_of_the_application_passes() -> None:
    def stopping() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Entered(None).attempt(stopping)


def test_without_a_clock_nothing_is_measured() -> None:
    def work() -> None: ...

    assert Entered(None).watched(work) is work
