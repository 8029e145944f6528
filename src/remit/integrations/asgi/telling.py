"""What one page is yet to be told: which of its parts are old, and what waits for the person."""

import asyncio
from collections.abc import Mapping
from typing import Final

CHANGED: Final = "changed"
HANDOFFS: Final = "handoffs"
WAITING: Final = "waiting"


class Telling:
    """Messages of one page. Equal ones wait once, so a flood of calls is one message for each part it touched.

    They outlive a socket: what happens in a gap is told when the browser is back.
    """

    __slots__ = ("_untold", "_wake")

    def __init__(self) -> None:
        self._untold: dict[str, tuple[str, Mapping[str, object]]] = {}
        self._wake = asyncio.Event()

    def changed(self, type: str) -> None:
        """A call may have changed what components of this type show."""
        self._put(f"{CHANGED} {type}", CHANGED, {"type": type})

    def handoffs(self) -> None:
        """A step for the person was opened, or has ended."""
        self._put(HANDOFFS, HANDOFFS, {})

    def waiting(self, count: int) -> None:
        """So many requests wait for a decision of this person."""
        self._put(WAITING, WAITING, {"count": count})

    def wake(self) -> None:
        """Let every socket look what there is, and whether it is still the page's own."""
        self._wake.set()

    async def some(self, seconds: float) -> None:
        """Wait until there may be something, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def take(self) -> list[tuple[str, Mapping[str, object]]]:
        """What is to be told now, in the order in which it happened first."""
        told, self._untold = list(self._untold.values()), {}
        self._wake.clear()
        return told

    def _put(self, key: str, name: str, data: Mapping[str, object]) -> None:
        self._untold[key] = (name, data)
        self._wake.set()
