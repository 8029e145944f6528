import pytest

from remit._base.bounded import Bounded, Full
from remit._base.clock import ManualClock


def test_the_least_recently_used_entry_goes_first() -> None:
    held: Bounded[str, int] = Bounded(2, None, ManualClock())
    held.put("a", 1)
    held.put("b", 2)
    assert held.get("a") == 1
    held.put("c", 3)
    assert held.items() == (("a", 1), ("c", 3))
    assert held.get("b") is None


def test_an_entry_ends_with_its_time_and_reading_does_not_prolong_it() -> None:
    clock = ManualClock()
    held: Bounded[str, int] = Bounded(9, 10.0, clock)
    held.put("a", 1)
    clock.advance(6)
    held.put("b", 2)
    assert held.get("a") == 1
    clock.advance(4)
    assert held.get("a") is None
    assert len(held) == 1
    assert "b" in held
    assert "a" not in held


def test_touching_gives_the_full_time_again() -> None:
    clock = ManualClock()
    held: Bounded[str, int] = Bounded(9, 10.0, clock)
    held.put("a", 1)
    held.put("b", 2)
    clock.advance(6)
    assert held.touch("a")
    assert not held.touch("none")
    clock.advance(6)
    assert held.items() == (("a", 1),)
    clock.advance(4)
    assert held.items() == ()


def test_expired_entries_make_room_before_live_ones_do() -> None:
    clock = ManualClock()
    held: Bounded[str, int] = Bounded(2, 10.0, clock)
    held.put("old", 1)
    clock.advance(5)
    held.put("young", 2)
    assert held.get("old") == 1
    clock.advance(5)
    held.put("new", 3)
    assert [key for key, _ in held.items()] == ["young", "new"]


def test_a_kept_entry_is_not_evicted_before_its_time() -> None:
    clock = ManualClock()
    held: Bounded[str, str] = Bounded(2, 10.0, clock, keep=lambda _, value: value == "kept")
    held.put("a", "kept")
    held.put("b", "free")
    held.put("c", "kept")
    assert {key for key, _ in held.items()} == {"a", "c"}
    with pytest.raises(Full):
        held.put("d", "free")
    assert not held.evict()
    held.put("a", "kept")  # replacing needs no room
    clock.advance(10)
    held.put("d", "free")
    assert held.items() == (("d", "free"),)


def test_evicting_by_hand_takes_the_oldest_that_is_not_kept() -> None:
    held: Bounded[str, int] = Bounded(5, 1.0, ManualClock(), keep=lambda key, _: key == "a")
    held.put("a", 1)
    held.put("b", 2)
    assert held.evict()
    assert not held.evict()
    assert held.items() == (("a", 1),)
    held.clear()
    assert len(held) == 0


def test_popping_returns_the_value_once() -> None:
    held: Bounded[str, int] = Bounded(5, 1.0, ManualClock())
    held.put("a", 1)
    assert held.pop("a") == 1
    assert held.pop("a") is None


def test_it_never_holds_more_than_its_capacity_nor_forgets_to_clean_up() -> None:
    clock = ManualClock()
    held: Bounded[int, int] = Bounded(10, 3.0, clock)
    for number in range(1000):
        held.put(number, number)
        assert len(held) <= 10
        if number % 7 == 0:
            clock.advance(1)
    clock.advance(3)
    assert len(held) == 0


def test_a_capacity_or_time_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity"):
        Bounded(0, None, ManualClock())
    with pytest.raises(ValueError, match="ttl"):
        Bounded(1, 0.0, ManualClock())
