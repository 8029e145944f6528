import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from remit._base.clock import Clock, ManualClock, SystemClock


def test_time_stands_still_until_it_is_advanced() -> None:
    clock: Clock = ManualClock()
    assert clock.now() == clock.now() == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert clock.monotonic() == 0.0


def test_timers_run_in_order_of_time_then_of_asking_each_at_its_own_time() -> None:
    clock = ManualClock()
    ran: list[tuple[str, float]] = []
    clock.call_later(2, lambda: ran.append(("b", clock.monotonic())))
    clock.call_later(1, lambda: ran.append(("a", clock.monotonic())))
    clock.call_later(2, lambda: ran.append(("c", clock.monotonic())))
    clock.call_later(9, lambda: ran.append(("late", clock.monotonic())))
    clock.advance(5)
    assert ran == [("a", 1.0), ("b", 2.0), ("c", 2.0)]
    assert clock.monotonic() == 5.0


def test_a_timer_set_by_a_timer_runs_in_the_same_advance() -> None:
    clock = ManualClock()
    ran: list[float] = []

    def first() -> None:
        clock.call_later(1, lambda: ran.append(clock.monotonic()))

    clock.call_later(1, first)
    clock.advance(2)
    assert ran == [2.0]


def test_a_cancelled_timer_never_runs() -> None:
    clock = ManualClock()
    ran: list[int] = []
    timer = clock.call_later(1, lambda: ran.append(1))
    timer.cancel()
    timer.cancel()
    clock.advance(2)
    assert ran == []


def test_a_delay_below_zero_is_due_at_once_and_never_turns_time_back() -> None:
    clock = ManualClock()
    clock.advance(3)
    ran: list[float] = []
    clock.call_later(-1, lambda: ran.append(clock.monotonic()))
    clock.advance(0)
    assert ran == [3.0]


def test_local_hour_follows_the_zone() -> None:
    start = datetime(2026, 6, 1, 23, 30, tzinfo=UTC)
    assert ManualClock(start).local_hour() == 23
    assert ManualClock(start, zone=timezone(timedelta(hours=2))).local_hour() == 1


def test_a_naive_start_and_a_step_backwards_are_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        ManualClock(datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)


async def test_the_system_clock_uses_the_running_loop() -> None:
    clock: Clock = SystemClock()
    done = asyncio.Event()
    before = clock.monotonic()
    clock.call_later(0, done.set)
    await done.wait()
    assert clock.monotonic() >= before
    assert clock.now().utcoffset() == timedelta(0)
    assert 0 <= clock.local_hour() <= 23
