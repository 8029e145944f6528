import asyncio

from remit._invocation.admit import Lane
from remit._model.consumer import ConsumerKey

A: ConsumerKey = ("test", None, ("a",), None)
B: ConsumerKey = ("test", None, ("b",), None)


async def test_a_free_lane_is_entered_at_once_and_idle_again_after_leaving() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    assert not lane.enter(B)
    lane.leave(A)
    assert lane.idle


async def test_waiting_places_are_counted_per_consumer() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    assert lane.queue(A) is not None
    assert lane.queue(A) is not None
    assert lane.queue(A) is None
    assert lane.queue(B) is not None


async def test_consumers_take_turns_and_one_consumer_is_served_in_order() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    tickets = {"a1": lane.queue(A), "a2": lane.queue(A), "b1": lane.queue(B), "b2": lane.queue(B)}
    order: list[str] = []
    running = A
    for _ in range(4):
        lane.leave(running)
        name = next(n for n, ticket in tickets.items() if ticket is not None and ticket.done() and n not in order)
        order.append(name)
        running = A if name.startswith("a") else B
    assert order == ["a1", "b1", "a2", "b2"]


async def test_a_place_given_to_one_who_has_left_goes_to_the_next() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    first, second = lane.queue(A), lane.queue(B)
    assert first is not None and second is not None
    lane.leave(A)
    assert first.done() and not second.done()
    lane.give_up(A, first)
    assert second.done()


async def test_who_gives_up_waiting_leaves_no_trace() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    ticket = lane.queue(B)
    assert ticket is not None
    lane.give_up(B, ticket)
    lane.leave(A)
    assert lane.idle


async def test_one_consumer_never_takes_more_than_its_places() -> None:
    lane = Lane(32, 8, 8)
    assert [lane.enter(A) for _ in range(9)] == [True] * 8 + [False]
    assert lane.enter(B)


async def test_a_cancelled_ticket_is_passed_over() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    first, second = lane.queue(B), lane.queue(B)
    assert first is not None and second is not None
    first.cancel()
    lane.leave(A)
    await asyncio.wait_for(second, 20)


async def test_a_place_that_was_offered_too_late_is_nobodys_to_give_back() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    late = lane.queue(B)
    assert late is not None
    late.set_result(False)  # its time was over, and the place was given back in the same turn
    lane.leave(A)
    lane.give_up(B, late)
    assert lane.idle and lane.enter(A)


async def test_who_gives_up_takes_nobody_of_its_own_consumer_along() -> None:
    lane = Lane(1, 1, 2)
    assert lane.enter(A)
    first, second = lane.queue(B), lane.queue(B)
    assert first is not None and second is not None
    lane.give_up(B, first)
    lane.leave(A)
    assert second.done()


async def test_a_place_that_another_leaves_is_not_for_a_consumer_at_its_own_limit() -> None:
    lane = Lane(3, 1, 2)
    assert lane.enter(A) and lane.enter(B)
    waiting = lane.queue(A)
    assert waiting is not None
    lane.leave(B)
    assert not waiting.done()
    lane.leave(A)
    assert waiting.done()
