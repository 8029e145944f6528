"""Delivery of entries to sinks: in order, each isolated, and never at the cost of a call (SPEC 9.2, 9.3)."""

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, Generic, TypeVar

from remit._base.awaiting import awaited_within
from remit._base.clock import Clock
from remit._journal.listeners import Listeners

T = TypeVar("T")
Write = Callable[[T], Awaitable[None] | None]
Report = Callable[[str, BaseException], None]

WRITE_S: Final = 10.0
"""Seconds that an async sink may take for one item."""


class NotTaken(Exception):
    """An async sink did not take an item in time, or had too many waiting; says how many it did not get."""


class _Queue(Generic[T]):
    """What one async sink has not taken yet; one task at a time hands it over, in order."""

    def __init__(self, write: Callable[[T], Awaitable[None]], backlog: int, clock: Clock, report: Report) -> None:
        self._write = write
        self._backlog = backlog
        self._clock = clock
        self._report = report
        self._waiting: deque[T] = deque()
        self._missed = 0
        self._task: asyncio.Task[None] | None = None

    def put(self, item: T) -> None:
        """Queue it; without a running loop it waits for the next item that has one."""
        if len(self._waiting) < self._backlog:
            self._waiting.append(item)
        else:
            self._missed += 1
        if self._task is None or self._task.done():
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            self._task = loop.create_task(self._drain(), context=Context())  # no call's own context

    def clear(self) -> None:
        """The sink has gone."""
        self._waiting.clear()
        self._missed = 0

    async def _drain(self) -> None:
        while self._waiting:
            await self._hand_over(self._waiting.popleft())
            if self._missed and not self._waiting:
                missed, self._missed = self._missed, 0
                self._report("an audit sink was too slow", NotTaken(f"{missed} entries were not given to it"))

    async def _hand_over(self, item: T) -> None:
        done = await awaited_within(self._guarded(item), WRITE_S, self._clock)
        if done is None:  # it hangs: what waits would only wait longer
            self._missed += 1 + len(self._waiting)
            self._waiting.clear()

    async def _guarded(self, item: T) -> None:
        try:
            await self._write(item)
        except Exception as raised:  # noqa: BLE001 - a sink's fault is no fault of what it is told
            self._report("an audit sink raised", raised)


class Sinks(Generic[T]):
    """Those who get every item. A plain one is called at once; an async one is never waited for.

    What one raises, and what an async one does not take (`WRITE_S` seconds an item, `backlog` waiting), goes to
    `report`.
    """

    __slots__ = ("_backlog", "_clock", "_plain", "_report")

    def __init__(self, backlog: int, clock: Clock, report: Report) -> None:
        self._backlog = backlog
        self._clock = clock
        self._report = report
        self._plain: Listeners[T] = Listeners(lambda raised: report("an audit sink raised", raised), backlog=backlog)

    @property
    def audience(self) -> bool:
        """False when nobody would get an item."""
        return bool(self._plain.audience)

    def add(self, write: Write[T]) -> Callable[[], None]:
        """Give every later item to `write`, too; return what ends it."""
        if not inspect.iscoroutinefunction(write):
            return self._plain.add(_plainly(write))
        queue = _Queue(write, self._backlog, self._clock, self._report)
        end = self._plain.add(queue.put)

        def ended() -> None:
            end()
            queue.clear()

        return ended

    def send(self, item: T) -> None:
        """Give it to everybody."""
        self._plain.send(item)


def _plainly(write: Write[T]) -> Callable[[T], None]:
    def take(item: T) -> None:
        answer = write(item)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError("a plain write returned something to await; declare it with `async def`")

    return take
