"""The thread and the event loop that a surface belongs to (SPEC 4.0)."""

import asyncio
import threading


class Belonging:
    """The thread that made a surface, and the loop of its first call; used elsewhere, it raises at once."""

    __slots__ = ("_loop", "_thread")

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None

    def check_thread(self) -> None:
        """Raise RuntimeError in any other thread than the one that made the surface."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("a surface is used in the thread that made it")

    def check_loop(self) -> None:
        """Raise RuntimeError in another event loop than that of the first call."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("a surface is used in one event loop; this is another one")
