"""The thread and the event loop that a surface belongs to (SPEC 4.0)."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class Belonging:
    """The thread that made a surface, and its loop: the one of its first call; used elsewhere, it raises at once."""

    __slots__ = ("_home", "_loop", "_thread")

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._home = _running()

    def check_thread(self) -> None:
        """Raise RuntimeError in any other thread than the one that made the surface."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("a surface is used in the thread that made it\n  do  surface.from_thread().run(…)")

    def check_loop(self) -> None:
        """Raise RuntimeError in another event loop than that of the first call."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("a surface is used in one event loop; this is another one")

    def settle(self) -> None:
        """In the surface's own thread: remember the loop that runs, in case nobody has called yet."""
        if threading.get_ident() == self._thread:
            self._home = _running() or self._home

    def in_own(self, callback: Callable[[], None]) -> None:
        """Call it in the surface's own thread: now, or as soon as its loop gets to it; never, when no loop runs."""
        loop = self._loop or self._home
        if threading.get_ident() == self._thread:
            callback()
        elif loop is not None and loop.is_running():
            with suppress(RuntimeError):  # closed since it was looked at
                loop.call_soon_threadsafe(callback)

    def from_elsewhere(self) -> asyncio.AbstractEventLoop:
        """The loop to hand work to and to wait for; RuntimeError where waiting would stop a loop, or never end."""
        if threading.get_ident() == self._thread:
            raise RuntimeError(
                "this is the surface's own thread, which would wait for itself: use the surface as it is"
            )
        if _running() is not None:
            raise RuntimeError(
                "this thread runs an event loop, which would stand still meanwhile\n"
                "  do  await asyncio.to_thread(…) with what uses surface.from_thread()"
            )
        loop = self._loop or self._home
        if loop is None or not loop.is_running():
            raise RuntimeError("the event loop of this surface does not run: nobody would answer")
        return loop


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
