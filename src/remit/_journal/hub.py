"""The events of one surface, in the order in which things happened (SPEC 9.1)."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from remit._base.clock import Clock
from remit._base.closed import some_of
from remit._journal.listeners import Listeners, Report
from remit._model.event import Event, EventListener, EventType

_NO_DATA: Mapping[str, object] = MappingProxyType({})


class EventHub:
    """Numbers what happens on a surface and tells listeners, after the fact and never from within each other.

    Call `emit` after the mutation. Listeners run at once, unless one of them caused the event: then after the present
    one. More than `backlog` waiting events are lost: a single `lost` event says how many. What
    listeners raise goes to `report`. Events of a surface without listeners are counted and cost nothing else.
    """

    def __init__(self, surface_id: str, clock: Clock, backlog: int, report: Report) -> None:
        self._surface_id = surface_id
        self._clock = clock
        self._listeners: Listeners[Event] = Listeners(report, backlog=backlog, lost=self._lost)
        self._sequence = 0
        self._changing: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def sequence(self) -> int:
        """The number of the latest event; 0 at first."""
        return self._sequence

    def emit(
        self,
        type: EventType,
        data: Mapping[str, object] | None = None,
        consumer: tuple[object, ...] | None = None,
    ) -> None:
        """Say that something happened; `data` is JSON, `consumer` the key of whom it concerns."""
        if self._closed:
            return
        self._sequence += 1
        if self._listeners.audience:
            self._listeners.send(self._event(type, data or _NO_DATA, consumer))

    def surface_changed(self) -> None:
        """Say that a listing may have moved: one `surface-changed` per turn of the loop; without a loop, at once."""
        if self._closed:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.emit(EventType.SURFACE_CHANGED)
            return
        if self._changing is not loop:  # a notice left behind in a loop that has ended does not silence the next one
            self._changing = loop
            loop.call_soon(self._tell_change)

    def subscribe(
        self,
        listener: EventListener,
        types: Collection[EventType] | None = None,
        hears: Callable[[Event], bool] | None = None,
    ) -> Callable[[], None]:
        """Let `listener` hear events of `types` that `hears` lets through, and every `lost`; return what ends it.

        `hears` is asked when the event is delivered. A coroutine function as listener is a `TypeError`, and so is one
        text instead of a collection; a type that there is not is a `ValueError`.
        """
        wanted = some_of(EventType, types, "subscribe(types=…)")
        if self._closed:
            return _nothing
        return self._listeners.add(listener, _filter(wanted, hears))

    def close(self) -> None:
        """Forget all listeners; later events are not counted."""
        self._closed = True
        self._listeners.clear()

    def _tell_change(self) -> None:
        self._changing = None
        self.emit(EventType.SURFACE_CHANGED)

    def _lost(self, count: int) -> Event:
        self._sequence += 1
        return self._event(EventType.LOST, {"count": count, "at": self._clock.now().isoformat()}, None)

    def _event(self, type: EventType, data: Mapping[str, object], consumer: tuple[object, ...] | None) -> Event:
        return Event(sequence=self._sequence, type=type, surface_id=self._surface_id, data=data, consumer=consumer)


def _filter(
    types: frozenset[EventType] | None, hears: Callable[[Event], bool] | None
) -> Callable[[Event], bool] | None:
    if types is None and hears is None:
        return None

    def passes(event: Event) -> bool:
        if event.type is EventType.LOST:
            return True
        return (types is None or event.type in types) and (hears is None or hears(event))

    return passes


def _nothing() -> None:
    return None
