import asyncio
from collections.abc import Callable

import pytest

from remit._base.clock import ManualClock
from remit._journal.hub import EventHub
from remit._model.event import Event, EventType

ROUTE = EventType.ROUTE_CHANGED
MOUNT = EventType.REGISTERED


def hub_of(*, backlog: int = 10, report: Callable[[BaseException], None] | None = None) -> EventHub:
    def fail(raised: BaseException) -> None:
        raise AssertionError("nobody should raise") from raised

    return EventHub("srf_1", ManualClock(), backlog, report or fail)


def test_events_are_numbered_from_one_and_counted_when_nobody_listens() -> None:
    hub = hub_of()
    hub.emit(MOUNT, {"type": "t"})
    heard: list[Event] = []
    hub.subscribe(heard.append)
    hub.emit(ROUTE, {"route": "/a"}, ("test", None))
    assert heard == [Event(sequence=2, type=ROUTE, surface_id="srf_1", data={"route": "/a"}, consumer=("test", None))]


def test_an_event_emitted_by_a_listener_reaches_everybody_after_the_present_one() -> None:
    hub = hub_of()
    heard: list[tuple[str, int]] = []

    def first(event: Event) -> None:
        heard.append(("first", event.sequence))
        if event.sequence == 1:
            hub.emit(ROUTE)

    hub.subscribe(first)
    hub.subscribe(lambda event: heard.append(("second", event.sequence)))
    hub.emit(MOUNT)
    assert heard == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_a_raising_listener_and_a_raising_filter_are_reported_and_silence_nobody() -> None:
    reported: list[str] = []
    hub = hub_of(report=lambda raised: reported.append(str(raised)))
    heard: list[int] = []

    def raises(event: Event) -> None:
        raise ValueError("listener")

    def filters(event: Event) -> bool:
        raise ValueError("filter")

    hub.subscribe(raises)
    hub.subscribe(lambda event: heard.append(-1), hears=filters)
    hub.subscribe(lambda event: heard.append(event.sequence))
    hub.emit(MOUNT)
    assert heard == [1]
    assert reported == ["listener", "filter"]


def test_a_listener_hears_only_its_types_and_what_its_filter_lets_through() -> None:
    hub = hub_of()
    heard: list[int] = []
    hub.subscribe(lambda event: heard.append(event.sequence), [ROUTE], lambda event: event.consumer == ("me",))
    hub.emit(MOUNT, None, ("me",))
    hub.emit(ROUTE, None, ("you",))
    hub.emit(ROUTE, None, ("me",))
    assert heard == [3]


def test_unsubscribing_works_at_once_even_from_a_listener_and_twice() -> None:
    hub = hub_of()
    heard: list[int] = []
    ends: list[Callable[[], None]] = []

    def ends_the_other(event: Event) -> None:
        ends[0]()
        ends[0]()

    hub.subscribe(ends_the_other)
    ends.append(hub.subscribe(lambda event: heard.append(event.sequence)))
    hub.emit(MOUNT)
    assert heard == []


def test_who_subscribes_from_within_a_listener_hears_later_events_only() -> None:
    hub = hub_of()
    heard: list[int] = []

    def adds(event: Event) -> None:
        if event.sequence == 1:
            hub.emit(ROUTE)
            hub.subscribe(lambda event: heard.append(event.sequence))

    hub.subscribe(adds)
    hub.emit(MOUNT)
    hub.emit(MOUNT)
    assert heard == [3]


def test_more_than_the_backlog_becomes_one_lost_event_for_everybody() -> None:
    hub = hub_of(backlog=2)
    heard: list[tuple[EventType, object]] = []

    def floods(event: Event) -> None:
        if event.type is MOUNT:
            for _ in range(5):
                hub.emit(ROUTE)

    hub.subscribe(floods)
    hub.subscribe(lambda event: heard.append((event.type, event.data.get("count"))), [ROUTE])
    hub.emit(MOUNT)
    assert heard == [(ROUTE, None), (ROUTE, None), (EventType.LOST, 3)]
    hub.emit(ROUTE)
    assert heard[3:] == [(ROUTE, None)]


async def test_a_changed_surface_is_told_once_per_turn_of_the_loop() -> None:
    hub = hub_of()
    heard: list[EventType] = []
    hub.subscribe(lambda event: heard.append(event.type))
    for _ in range(3):
        hub.surface_changed()
    hub.emit(MOUNT)
    assert heard == [MOUNT]
    await asyncio.sleep(0)
    assert heard == [MOUNT, EventType.SURFACE_CHANGED]
    hub.surface_changed()
    await asyncio.sleep(0)
    assert len(heard) == 3


def test_without_a_loop_a_changed_surface_is_told_at_once() -> None:
    hub = hub_of()
    heard: list[EventType] = []
    hub.subscribe(lambda event: heard.append(event.type))
    hub.surface_changed()
    assert heard == [EventType.SURFACE_CHANGED]


def test_a_notice_left_in_a_loop_that_ended_does_not_silence_the_next_loop() -> None:
    hub = hub_of()
    heard: list[EventType] = []
    hub.subscribe(lambda event: heard.append(event.type))

    async def change(*, wait: bool) -> None:
        hub.surface_changed()
        if wait:
            await asyncio.sleep(0)

    first = asyncio.new_event_loop()
    first.run_until_complete(change(wait=False))
    first.close()
    asyncio.run(change(wait=True))
    assert EventType.SURFACE_CHANGED in heard


def test_a_closed_hub_tells_nobody() -> None:
    hub = hub_of()
    heard: list[int] = []
    hub.subscribe(lambda event: heard.append(event.sequence))
    hub.close()
    hub.emit(MOUNT)
    hub.surface_changed()
    hub.subscribe(lambda event: heard.append(event.sequence))()
    hub.emit(MOUNT)
    assert (heard, hub.sequence) == ([], 0)


def test_a_coroutine_function_is_no_listener() -> None:
    async def later(event: Event) -> None:
        return None

    with pytest.raises(TypeError, match="plain function"):
        hub_of().subscribe(later)  # type: ignore[arg-type]
