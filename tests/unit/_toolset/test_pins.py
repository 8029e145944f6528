"""A name means what it meant when it was listed, until its consumer has seen what it means now."""

import pytest

from remit._base.clock import ManualClock
from remit._base.limits import Limits
from remit._toolset.pins import Pin, Pins


def pin(registration: str) -> Pin:
    return Pin(id="view:a.b", instance="default", registration=registration)


@pytest.mark.requirement("12.1-a-listing-moves-no-pin")
def test_a_second_listing_does_not_move_a_pin() -> None:
    pins = Pins(ManualClock(), Limits())
    pins.listed({"a": pin("reg_1")})
    pins.listed({"a": pin("reg_2")})
    assert pins.get("a") == pin("reg_1")


@pytest.mark.requirement("12.1-unlisted")
def test_a_name_that_was_never_listed_has_no_pin() -> None:
    pins = Pins(ManualClock(), Limits())
    pins.observe({"a": pin("reg_1")})
    assert pins.get("a") is None


@pytest.mark.requirement("12.1-the-stale-answer-shows-the-successor")
def test_an_answer_that_shows_the_successor_moves_the_pin() -> None:
    pins = Pins(ManualClock(), Limits())
    pins.listed({"a": pin("reg_1")})
    pins.told("a", pin("reg_2"))
    assert pins.get("a") == pin("reg_2")


@pytest.mark.requirement("12.1-an-observation-renews-pins")
def test_reading_a_component_renews_its_pins_and_no_others() -> None:
    pins = Pins(ManualClock(), Limits())
    pins.listed({"a": pin("reg_1"), "other": pin("reg_8")})
    present = {"a": pin("reg_2"), "never-listed": pin("reg_2"), "other": pin("reg_9")}
    pins.observed("reg_2", present)
    assert pins.get("a") == pin("reg_2")
    assert pins.get("other") == pin("reg_8")
    assert pins.get("never-listed") is None


@pytest.mark.requirement("12.1-pins-outlive-a-listing-by-five-minutes")
def test_a_pin_outlives_its_listing_by_five_minutes() -> None:
    clock = ManualClock()
    pins = Pins(clock, Limits())
    pins.listed({"a": pin("reg_1")})
    clock.advance(10_000)
    pins.observe({})
    clock.advance(299)
    assert pins.get("a") == pin("reg_1")
    clock.advance(2)
    assert pins.get("a") is None


@pytest.mark.requirement("12.1-pins-outlive-a-listing-by-five-minutes")
def test_a_name_that_comes_back_in_time_keeps_its_old_pin() -> None:
    clock = ManualClock()
    pins = Pins(clock, Limits())
    pins.listed({"a": pin("reg_1")})
    pins.observe({})
    clock.advance(200)
    pins.listed({"a": pin("reg_2")})
    clock.advance(200)
    assert pins.get("a") == pin("reg_1")


@pytest.mark.requirement("12.1-pins-are-bounded")
def test_pins_of_unlisted_names_are_bounded() -> None:
    pins = Pins(ManualClock(), Limits(tombstones=3))
    pins.listed({f"n{number}": pin("reg_1") for number in range(10)})
    pins.observe({})
    assert sum(pins.get(f"n{number}") is not None for number in range(10)) == 3


def test_a_view_that_replaces_another_unasked_keeps_what_names_meant() -> None:
    clock = ManualClock()
    earlier, later = Pins(clock, Limits()), Pins(clock, Limits())
    earlier.listed({"a": pin("reg_1")})
    later.succeed(earlier)
    later.listed({"a": pin("reg_2"), "b": pin("reg_2")})
    assert later.get("a") == pin("reg_1")
    assert later.get("b") == pin("reg_2")


def test_a_name_that_a_later_view_has_told_already_is_not_taken_over() -> None:
    clock = ManualClock()
    earlier, later = Pins(clock, Limits()), Pins(clock, Limits())
    earlier.listed({"a": pin("reg_1")})
    later.listed({"a": pin("reg_2")})
    later.succeed(earlier)
    later.observe({})
    assert later.get("a") == pin("reg_2")
