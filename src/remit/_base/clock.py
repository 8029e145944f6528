"""Time as a value that is handed in: the system's clock, and one that moves only when told to."""

import asyncio
import heapq
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol


class TimerHandle(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Forget the callback; after it ran, or twice, this does nothing."""
        ...


class Clock(Protocol):
    """Where every part of remit gets its time from."""

    def monotonic(self) -> float:
        """Return seconds that never go backwards; only differences mean something."""
        ...

    def now(self) -> datetime:
        """Return the present instant, aware and in UTC."""
        ...

    def local_hour(self) -> int:
        """Return the hour of the day, 0 to 23, where the process runs."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` once, `delay` seconds from now; not above zero means at the next turn."""
        ...


class SystemClock:
    """The machine's time; timers belong to the running asyncio loop."""

    __slots__ = ()

    def monotonic(self) -> float:
        """Return seconds that never go backwards."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return the present instant, aware and in UTC."""
        return datetime.now(UTC)

    def local_hour(self) -> int:
        """Return the local hour of the day, 0 to 23."""
        return time.localtime().tm_hour

    def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` through the running loop; without a running loop this is a `RuntimeError`."""
        return asyncio.get_running_loop().call_later(delay, callback)


class _ManualTimer:
    __slots__ = ("_callback", "_order", "due")

    def __init__(self, due: float, order: int, callback: Callable[[], None]) -> None:
        self.due = due
        self._order = order
        self._callback: Callable[[], None] | None = callback

    def __lt__(self, other: "_ManualTimer") -> bool:
        return (self.due, self._order) < (other.due, other._order)

    def cancel(self) -> None:
        self._callback = None

    def run(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class ManualClock:
    """A clock for tests: time stands still until `advance`, and timers run in the order of their times.

    `start` is an aware instant (2026-01-01 12:00 UTC if none is given); `zone` decides `local_hour` (UTC if none is
    given).
    """

    __slots__ = ("_elapsed", "_order", "_start", "_timers", "_zone")

    def __init__(self, start: datetime | None = None, *, zone: tzinfo = UTC) -> None:
        if start is not None and not isinstance(start, datetime):
            raise TypeError(f"ManualClock(start) is an aware datetime, not {type(start).__name__}")
        if start is not None and start.tzinfo is None:
            raise ValueError("start needs a time zone")
        self._start = datetime(2026, 1, 1, 12, tzinfo=UTC) if start is None else start.astimezone(UTC)
        self._zone = zone
        self._elapsed = 0.0
        self._order = 0
        self._timers: list[_ManualTimer] = []

    def monotonic(self) -> float:
        """Return the seconds that `advance` has added up to."""
        return self._elapsed

    def now(self) -> datetime:
        """Return the start plus what `advance` has added, in UTC."""
        return self._start + timedelta(seconds=self._elapsed)

    def local_hour(self) -> int:
        """Return the hour of `now` in the clock's zone."""
        return self.now().astimezone(self._zone).hour

    def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` during the `advance` that reaches its time; equal times run in order of asking."""
        self._order += 1
        timer = _ManualTimer(self._elapsed + max(delay, 0.0), self._order, callback)
        heapq.heappush(self._timers, timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Move time forward, running what becomes due, each at its own time; timers set meanwhile count.

        Negative and infinite seconds are a `ValueError`. What a callback raises leaves through here, with the clock at
        that callback's time.
        """
        if not isinstance(seconds, int | float) or isinstance(seconds, bool):
            raise TypeError(f"advance(seconds) takes a number of seconds, not {type(seconds).__name__}")
        if not 0 <= seconds < math.inf:
            raise ValueError(f"time does not go backwards, nor to no end: {seconds} s")
        end = self._elapsed + seconds
        while self._timers and self._timers[0].due <= end:
            timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, timer.due)
            timer.run()
        self._elapsed = max(self._elapsed, end)
