"""Waiting for code that may never come back, and for no longer than told."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

from remit._base.clock import Clock

T = TypeVar("T")


async def awaited_within(
    work: Coroutine[Any, Any, T], seconds: float, clock: Clock, context: Context | None = None
) -> "asyncio.Task[T] | None":
    """Run it as a task; return that when it is done, None when it was not in time: then it is told and left alone.

    Cancelling this cancels the work. `context` is where it runs, a copy of the present one unless given.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timer = clock.call_later(seconds, lambda: None if over.done() else over.set_result(None))
    task = loop.create_task(work, context=context)
    watched: set[asyncio.Future[Any]] = {task, over}
    try:
        await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
        task.cancel()
    return task if task.done() else None


def current_task() -> "asyncio.Task[object] | None":
    """The task that runs, None outside of one and outside of a loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def in_a_loop() -> bool:
    """Whether this runs inside an event loop, so that tasks can be made."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
