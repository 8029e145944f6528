"""Delivery to several listeners: in order, never re-entrant, each isolated from the others (SPEC 9.1)."""

import inspect
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Report = Callable[[BaseException], None]


class _Listening(Generic[T]):
    __slots__ = ("active", "hears", "listener")

    def __init__(self, listener: Callable[[T], None], hears: Callable[[T], bool] | None) -> None:
        self.listener = listener
        self.hears = hears
        self.active = True


class Listeners(Generic[T]):
    """Those who hear items of one kind.

    An item sent from within a listener waits until everybody has heard the present one; `backlog` items may wait, then
    `lost(n)` makes the one item that stands for those thrown away. What a listener or its filter raises goes to
    `report`, and the others hear all the same. Who subscribes hears what is sent from then on. `audience` is empty when
    nobody listens, so that a sender can spare itself making the item.
    """

    __slots__ = ("_backlog", "_delivering", "_dropped", "_lost", "_report", "_waiting", "audience")

    def __init__(self, report: Report, *, backlog: int, lost: Callable[[int], T] | None = None) -> None:
        self._report = report
        self._backlog = backlog
        self._lost = lost
        self.audience: tuple[_Listening[T], ...] = ()
        self._waiting: deque[tuple[T, tuple[_Listening[T], ...]]] = deque()
        self._delivering = False
        self._dropped = 0

    def add(self, listener: Callable[[T], None], hears: Callable[[T], bool] | None = None) -> Callable[[], None]:
        """Let `listener` hear what `hears` lets through; return what ends it. A coroutine function is a `TypeError`."""
        if inspect.iscoroutinefunction(listener) or not callable(listener):
            raise TypeError("a listener is a plain function of one argument")
        listening = _Listening(listener, hears)
        self.audience = (*self.audience, listening)

        def end() -> None:
            listening.active = False
            self.audience = tuple(one for one in self.audience if one is not listening)

        return end

    def send(self, item: T) -> None:
        """Deliver to everybody who listens now, before this returns; from within a listener: after the present item."""
        if not self.audience:
            return
        if self._delivering and len(self._waiting) >= self._backlog:
            self._dropped += 1
            return
        self._waiting.append((item, self.audience))
        if self._delivering:
            return
        self._delivering = True
        try:
            self._drain()
        finally:
            self._delivering = False

    def clear(self) -> None:
        """Forget all listeners and what waits."""
        for listening in self.audience:
            listening.active = False
        self.audience = ()
        self._waiting.clear()
        self._dropped = 0

    def _drain(self) -> None:
        while self._waiting:
            item, audience = self._waiting.popleft()
            for listening in audience:
                self._deliver(listening, item)
            if self._dropped and not self._waiting and self._lost is not None:
                dropped, self._dropped = self._dropped, 0
                self._waiting.append((self._lost(dropped), self.audience))

    def _deliver(self, listening: _Listening[T], item: T) -> None:
        try:
            if listening.active and (listening.hears is None or listening.hears(item)):
                listening.listener(item)
        except Exception as raised:  # noqa: BLE001 - one listener's fault is no other listener's, and not the sender's
            self._report(raised)
