"""Step 12: who runs next; a refused call reserves nothing (SPEC 6.6)."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._invocation.call import Call, Later
from remit._model.consumer import ConsumerKey
from remit.errors import Refusal, rate_limited

Ticket = asyncio.Future[bool]


class Lane:
    """Places to run, and who waits for one: round-robin between consumers, first come first served within one.

    `places` run at once in all, `each` per consumer, and `waiting` more of one consumer may wait. With `one_always` a
    consumer of which nothing runs gets a place although all are taken.
    """

    __slots__ = ("_each", "_of", "_one_always", "_places", "_queues", "_running", "_waiting")

    def __init__(self, places: int, each: int, waiting: int, *, one_always: bool = False) -> None:
        self._places = places
        self._one_always = one_always
        self._each = each
        self._waiting = waiting
        self._running = 0
        self._of: dict[ConsumerKey, int] = {}
        self._queues: OrderedDict[ConsumerKey, deque[Ticket]] = OrderedDict()

    @property
    def idle(self) -> bool:
        """True when nothing runs or waits: the lane may be forgotten."""
        return self._running == 0 and not self._queues

    def enter(self, key: ConsumerKey) -> bool:
        """Take a place at once, if one is free and nobody of this consumer waits."""
        if key in self._queues or not self._free(key):
            return False
        self._take(key)
        return True

    def queue(self, key: ConsumerKey) -> Ticket | None:
        """Wait for a place; None when this consumer already has as many waiting as it may."""
        queue = self._queues.get(key)
        if queue is not None and len(queue) >= self._waiting:
            return None
        if queue is None:
            queue = self._queues[key] = deque()
        ticket: Ticket = asyncio.get_running_loop().create_future()
        queue.append(ticket)
        return ticket

    def give_up(self, key: ConsumerKey, ticket: Ticket) -> None:
        """Leave the queue; a place that was given meanwhile goes to the next."""
        queue = self._queues.get(key)
        if queue is not None and ticket in queue:
            queue.remove(ticket)
            if not queue:
                del self._queues[key]
        elif ticket.done() and not ticket.cancelled() and ticket.result():
            self.leave(key)

    def leave(self, key: ConsumerKey) -> None:
        """Give the place back, to the next in turn."""
        self._running -= 1
        left = self._of[key] - 1
        if left:
            self._of[key] = left
        else:
            del self._of[key]
        self._call_next()

    def _free(self, key: ConsumerKey) -> bool:
        own = self._of.get(key, 0)
        return own < self._each and (self._running < self._places or (self._one_always and own == 0))

    def _take(self, key: ConsumerKey) -> None:
        self._running += 1
        self._of[key] = self._of.get(key, 0) + 1

    def _call_next(self) -> None:
        for key in tuple(self._queues):
            if not self._free(key):
                continue
            queue = self._queues[key]
            while queue:
                ticket = queue.popleft()
                if not ticket.done():
                    self._take(key)
                    ticket.set_result(True)
                    break
            if queue:
                self._queues.move_to_end(key)
            else:
                del self._queues[key]


class Lanes:
    """The lanes of one surface: one for reads, the others as capabilities declare their turns."""

    __slots__ = ("_limits", "_of", "_reads")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._reads = Lane(
            limits.observations, limits.observations_per_consumer, limits.observations_waiting, one_always=True
        )
        self._of: dict[tuple[str, str], Lane] = {}

    def of(self, call: Call) -> tuple[Lane, Callable[[], None]]:
        """The lane of this call, and how to forget it once it is idle."""
        turn = call.live.plan.turn
        if turn is None:
            return self._reads, _keep
        key = ("" if turn.everywhere else call.live.registration.id, turn.name)
        lane = self._of.get(key)
        if lane is None:
            lane = self._of[key] = Lane(turn.places, turn.places, self._limits.waiting_per_consumer)
        found = lane

        def forget() -> None:
            if found.idle and self._of.get(key) is found:
                del self._of[key]

        return found, forget


def _keep() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    lanes: Lanes
    clock: Clock
    limits: Limits


def admit(call: Call, part: Part) -> Later | None:
    """Take a place in the lane of this call, or wait for one, at most the admission limit.

    A flow takes none: its steps do, one after the other, so that none waits for a place that another holds (SPEC 11.8).
    """
    if call.run is not None:
        return None
    lane, forget = part.lanes.of(call)
    if not lane.enter(call.key):
        return partial(_wait, call, part)
    _admitted(call, lane, forget)
    return None


def _admitted(call: Call, lane: Lane, forget: Callable[[], None]) -> None:
    key = call.key

    def release() -> None:
        lane.leave(key)
        forget()

    call.release = release


async def _wait(call: Call, part: Part) -> None:
    lane, forget = part.lanes.of(call)  # asked again, as is for a place: a turn of the loop may have passed
    if not lane.enter(call.key):
        try:
            await _queue(call, lane, part)
        except BaseException:
            forget()  # whoever ran here may have left before: then nobody else would
            raise
    _admitted(call, lane, forget)


async def _queue(call: Call, lane: Lane, part: Part) -> None:
    ticket = lane.queue(call.key)
    if ticket is None:
        raise Refusal(rate_limited("queue-full", 1_000))
    call.waited = True
    begun = part.clock.monotonic()
    timer = part.clock.call_later(part.limits.admission_s, lambda: None if ticket.done() else ticket.set_result(False))
    try:
        admitted = await ticket
    except asyncio.CancelledError:
        lane.give_up(call.key, ticket)
        raise
    finally:
        timer.cancel()
        call.queue_s += part.clock.monotonic() - begun
    if not admitted:
        lane.give_up(call.key, ticket)
        raise Refusal(rate_limited("queue-full", 1_000))
