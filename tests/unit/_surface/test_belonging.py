"""What another thread may do to a surface whose loop does not run: nothing that would be lost or wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from remit import Component, Surface, observation
from remit._surface.belonging import Belonging
from remit._surface.from_thread import SurfaceFromThread
from tests.behaviour.conftest import AGENT, authority_of


class Lamp(Component, type="lamp"):
    """A lamp."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1


def elsewhere(use: Callable[[], object]) -> BaseException | None:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(use).exception(20)


def test_another_thread_does_not_settle_which_loop_a_surface_belongs_to() -> None:
    belongs = Belonging()

    async def settling() -> None:
        belongs.settle()

    assert elsewhere(lambda: asyncio.run(settling())) is None
    raised = elsewhere(belongs.from_elsewhere)
    assert "does not run" in str(raised)


def test_what_is_told_from_another_thread_while_no_loop_runs_is_not_done_there() -> None:
    done: list[int] = []
    belongs = Belonging()
    assert elsewhere(lambda: belongs.in_own(lambda: done.append(1))) is None
    assert done == []
    belongs.in_own(lambda: done.append(2))
    assert done == [2]


@pytest.mark.requirement("4.0-from-thread-never-deadlocks")
def test_a_loop_that_was_closed_since_it_was_looked_at_lets_nobody_wait() -> None:
    closed = asyncio.new_event_loop()
    closed.close()

    class Late(Belonging):
        """Looks a moment before the loop is closed."""

        def from_elsewhere(self) -> asyncio.AbstractEventLoop:
            return closed

    threads = SurfaceFromThread(Surface(authority_of(Lamp), principal="operator"), Late())
    with pytest.raises(RuntimeError, match="closed"):
        threads.snapshot(AGENT)
