"""Something that has to be entered and left in one task, for callers in any task of the loop."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")


class Serving(Generic[T]):
    """Keeps an async context open from the first `get` to `close`, in a task of its own.

    When its loop ends first, as after `asyncio.run`, the loop cancels that task, and the context is left on the way.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[T] | None = None
        self._stop: asyncio.Event | None = None

    async def get(self) -> T:
        """What the context gives; opened by the first call. Raises what opening raised."""
        loop = asyncio.get_running_loop()
        if self._ready is None:
            self._loop, self._stop, self._ready = loop, asyncio.Event(), loop.create_future()
            self._task = loop.create_task(self._keep(self._ready, self._stop))
        elif loop is not self._loop:
            raise RuntimeError("a door is used in one event loop; this is another one")
        if self._task is not None and self._task.done():
            raise RuntimeError("the door has been closed")
        return await asyncio.shield(self._ready)

    def close(self) -> None:
        """Leave it: at once where its loop stands still, else as soon as that goes on."""
        if self._task is None or self._stop is None or self._loop is None or self._loop.is_closed():
            return
        self._stop.set()
        if not self._loop.is_running():
            self._loop.run_until_complete(asyncio.wait({self._task}))

    async def aclose(self) -> None:
        """Leave it and wait for the end; raises what leaving raised."""
        self.close()
        if self._task is not None and asyncio.get_running_loop() is self._loop:
            await self._task

    async def _keep(self, ready: "asyncio.Future[T]", stop: asyncio.Event) -> None:
        try:
            async with self._make() as made:
                ready.set_result(made)
                await stop.wait()
        except BaseException as error:
            if ready.done():
                raise
            if isinstance(error, asyncio.CancelledError):
                ready.cancel()
                raise
            ready.set_exception(error)
