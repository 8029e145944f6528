"""Evidence: checked, spent once, and how a request ends otherwise (SPEC 7.2, 7.5, 7.6, 4.4)."""

import asyncio
from typing import Any

import pytest

from remit._base.limits import Limits
from remit._confirmation.moving import Place
from remit._confirmation.refusals import NotPending
from remit._model.request import Invocation
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit.errors import ErrorCode, Happened, Refusal
from remit.store.memory import MemoryStore
from tests.unit._confirmation.asking import ADA_HERSELF, BOT, OTHER, Desk, asking, refused

PENDING, APPROVED = ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED
SPENT, EXPIRED, CANCELLED = ConfirmationStatus.SPENT, ConfirmationStatus.EXPIRED, ConfirmationStatus.CANCELLED


async def test_unknown_foreign_and_mismatched_evidence_are_one_answer() -> None:
    desk = Desk()
    record = await desk.approved()
    answers = [
        await refused(desk.broker.check("cnf_never_issued", asking())),
        await refused(desk.broker.check("", asking())),
        await refused(desk.broker.check(None, asking())),
        await refused(desk.broker.check("\ud800" * 3, asking())),
        await refused(desk.broker.check(record.id, asking(consumer=OTHER))),
        await refused(desk.broker.check(record.id, asking({"ids": ["b"], "reason": "old"}))),
    ]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0].details == {"reason": "mismatch"}
    assert await desk.broker.check(record.id, asking()) is record


async def test_the_operator_reads_which_of_them_it_was() -> None:
    desk = Desk()
    record = await desk.approved()
    whys = []
    for id, ask in (("x", asking()), (record.id, asking(consumer=OTHER)), (record.id, asking({"n": 1}))):
        with pytest.raises(Refusal) as caught:
            await desk.broker.check(id, ask)
        whys.append(caught.value.why)
    assert whys == ["no such request", "another consumer's request", "a request for another call"]


async def test_pending_evidence_asks_for_the_same_request() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    error = await refused(desk.broker.check(record.id, asking()))
    assert error.code is ErrorCode.CONFIRMATION_REQUIRED
    assert error.details["confirmation_id"] == record.id


async def test_five_hundred_retries_at_once_spend_once() -> None:
    class Slow(MemoryStore):
        """Lets others in before and after the compare-and-set, like a database would."""

        async def transition(self, *args: Any, **changes: Any) -> bool:
            await asyncio.sleep(0)
            won = await super().transition(*args, **changes)
            await asyncio.sleep(0)
            return won

    for store in (MemoryStore(), Slow()):
        desk = Desk(store=store)
        record = await desk.approved()
        ran = 0

        async def retry(desk: Desk = desk, id: str = record.id) -> None:
            nonlocal ran
            covered = await desk.broker.check(id, asking())
            await asyncio.sleep(0)
            await desk.broker.spend(covered)
            ran += 1

        answers = await asyncio.gather(*(retry() for _ in range(500)), return_exceptions=True)
        assert ran == 1
        lost = [answer.error for answer in answers if isinstance(answer, Refusal)]
        assert len(lost) == 499
        assert {(error.code, error.details["reason"]) for error in lost} == {(ErrorCode.CONFIRMATION_INVALID, "spent")}


async def test_spent_evidence_tells_the_outcome_unknown_until_it_is_settled() -> None:
    desk = Desk()
    record = await desk.approved()
    await desk.broker.spend(record)
    assert (await refused(desk.broker.check(record.id, asking()))).details == {"reason": "spent", "outcome": "unknown"}
    row = await desk.store.get(record.id)
    assert (row.status, row.outcome) == ("spent", "unknown")
    await desk.broker.settled(record, Happened.DONE)
    assert (await refused(desk.broker.check(record.id, asking()))).details == {"reason": "spent", "outcome": "done"}
    assert (await desk.store.get(record.id)).outcome == "done"
    await desk.broker.settled(record, Happened.UNKNOWN)
    await desk.broker.settled(record, Happened.NONE)
    assert record.happened is Happened.DONE


async def test_only_a_spent_request_has_an_outcome() -> None:
    desk = Desk()
    record = await desk.approved()
    await desk.broker.settled(record, Happened.DONE)
    assert record.happened is None
    assert await desk.broker.check(record.id, asking()) is record


async def test_after_spending_the_identical_call_is_a_new_question() -> None:
    desk = Desk()
    record = await desk.approved()
    await desk.broker.spend(record)
    assert (await desk.broker.ask(asking())).id != record.id


@pytest.mark.parametrize("advance", [120, 500])
async def test_a_request_expires_by_itself_and_everybody_hears_it(advance: float) -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    desk.clock.advance(119.9)
    assert record.status is PENDING
    desk.clock.advance(advance - 119.9)
    assert desk.statuses() == ["pending", "expired"]
    assert (await refused(desk.broker.check(record.id, asking()))).details == {"reason": "expired"}
    with pytest.raises(NotPending) as caught:
        await desk.host.approve(record.id, ADA_HERSELF)
    assert caught.value.status is EXPIRED
    assert (await desk.store.get(record.id)).status == "expired"


async def test_a_request_is_over_when_its_time_is_even_if_no_timer_ran() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    assert record.timer is not None
    record.timer.cancel()
    desk.clock.advance(120)
    assert desk.host.pending() == ()
    assert record.status is EXPIRED


async def test_an_approval_has_a_window_of_its_own_to_be_spent() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    desk.clock.advance(119)
    await desk.host.approve(record.id, ADA_HERSELF)
    desk.clock.advance(119)
    assert (await desk.broker.check(record.id, asking())) is record
    desk.clock.advance(1)
    assert record.status is EXPIRED
    assert (await refused(desk.broker.spend(record))).details == {"reason": "expired"}
    assert (await desk.store.get(record.id)).status == "expired"


async def test_both_times_are_settable_by_limits_and_by_capability() -> None:
    desk = Desk(limits=Limits(decide_s=10, spend_s=20))
    record = await desk.approved()
    assert (record.decide_by - record.created_at).total_seconds() == 10
    desk.clock.advance(19)
    assert record.status is APPROVED
    own = await desk.approved(asking({"n": 1}, decide_s=50, spend_s=2))
    assert (own.decide_by - own.created_at).total_seconds() == 50
    desk.clock.advance(2)
    assert own.status is EXPIRED


async def test_the_requester_may_withdraw_and_nobody_else() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    assert not await desk.broker.withdraw(record.id, OTHER.key)
    assert not await desk.broker.withdraw("cnf_x", BOT.key)
    assert record.status is PENDING
    assert await desk.broker.withdraw(record.id, BOT.key)
    assert not await desk.broker.withdraw(record.id, BOT.key)
    error = await refused(desk.broker.check(record.id, asking()))
    assert error.details == {"reason": "cancelled", "cause": "withdrawn"}
    assert (await desk.store.get(record.id)).cause == "withdrawn"
    assert (await desk.broker.ask(asking())).id != record.id


async def test_an_approved_request_cannot_be_withdrawn_any_more() -> None:
    desk = Desk()
    record = await desk.approved()
    assert not await desk.broker.withdraw(record.id, BOT.key)
    assert record.status is APPROVED


async def test_the_end_of_a_registration_ends_its_requests_pending_and_approved_and_no_other() -> None:
    desk = Desk()
    pending = await desk.broker.ask(asking({"n": 1}))
    approved = await desk.approved(asking({"n": 2}))
    other = await desk.broker.ask(asking({"n": 3}, registration="reg_2"))
    desk.broker.end_registration("reg_1", CancelCause.VIEW_RELOADED)
    assert [one.status for one in (pending, approved, other)] == [CANCELLED, CANCELLED, PENDING]
    error = await refused(desk.broker.spend(approved))
    assert error.details == {"reason": "cancelled", "cause": "view-reloaded"}
    desk.broker.end_all(CancelCause.STOPPING)
    assert other.cause is CancelCause.STOPPING
    await asyncio.sleep(0)
    rows = {row.id: (row.status, row.cause) for row in await desk.store.list()}
    assert rows == {
        pending.id: ("cancelled", "view-reloaded"),
        approved.id: ("cancelled", "view-reloaded"),
        other.id: ("cancelled", "stopping"),
    }


class Gated(MemoryStore):
    """A store whose compare-and-set waits until the test lets it go on."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()

    async def transition(self, *args: Any, **changes: Any) -> bool:
        await self.gate.wait()
        return await super().transition(*args, **changes)


async def test_an_unmount_during_the_compare_and_set_of_spending_wins() -> None:
    store = Gated()
    desk = Desk(store=store)
    record = await desk.approved()
    store.gate.clear()
    spending = asyncio.ensure_future(desk.broker.spend(record))
    await asyncio.sleep(0)
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED)
    store.gate.set()
    assert (await refused(spending)).details == {"reason": "cancelled", "cause": "unmounted"}
    assert record.status is CANCELLED


async def test_an_unmount_during_the_compare_and_set_of_an_approval_wins_in_the_store_too() -> None:
    store = Gated()
    desk = Desk(store=store)
    record = await desk.broker.ask(asking())
    store.gate.clear()
    approving = asyncio.ensure_future(desk.host.approve(record.id, ADA_HERSELF))
    await asyncio.sleep(0)
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED)
    store.gate.set()
    with pytest.raises(NotPending) as caught:
        await approving
    assert caught.value.status is CANCELLED
    for _ in range(3):
        await asyncio.sleep(0)
    row = await store.get(record.id)
    assert row is not None and row.status == "cancelled"
    assert desk.statuses() == ["pending", "cancelled"]


async def test_a_store_outage_leaves_the_evidence_intact() -> None:
    class Down(MemoryStore):
        down = False

        async def transition(self, *args: Any, **changes: Any) -> bool:
            if self.down:
                raise ConnectionError("store down")
            return await super().transition(*args, **changes)

    store = Down()
    desk = Desk(store=store)
    record = await desk.approved()
    store.down = True
    with pytest.raises(ConnectionError):
        await desk.broker.spend(record)
    store.down = False
    await desk.broker.spend(await desk.broker.check(record.id, asking()))
    assert record.status is SPENT


def test_a_surface_that_ends_without_a_running_loop_still_ends_its_requests() -> None:
    desk = Desk()
    first = asyncio.new_event_loop()
    record = first.run_until_complete(desk.broker.ask(asking()))
    first.close()
    desk.broker.end_all(CancelCause.VIEW_CLOSED)
    assert record.status is CANCELLED
    assert desk.statuses() == ["pending", "cancelled"]


async def test_waiting_for_a_decision_ends_with_it_with_time_or_not_at_all_for_strangers() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    assert await desk.broker.decided("cnf_x", BOT.key, 20) is None
    assert await desk.broker.decided(record.id, OTHER.key, 20) is None
    assert await desk.broker.decided(record.id, BOT.key, 0) is PENDING

    short = asyncio.ensure_future(desk.broker.decided(record.id, BOT.key, 20))
    long = asyncio.ensure_future(desk.broker.decided(record.id, BOT.key, 100))
    await asyncio.sleep(0)
    desk.clock.advance(20)
    assert await short is PENDING
    assert not long.done()
    await desk.host.approve(record.id, ADA_HERSELF)
    assert await long is APPROVED
    assert record.waiters == []


async def test_waiting_ends_when_the_request_expires_and_a_cancelled_waiter_leaves_it_pending() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    lost = asyncio.ensure_future(desk.broker.decided(record.id, BOT.key, 1000))
    held = asyncio.ensure_future(desk.broker.decided(record.id, BOT.key, 1000))
    await asyncio.sleep(0)
    lost.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lost
    assert record.status is PENDING
    desk.clock.advance(120)
    assert await held is EXPIRED


async def test_the_stored_call_comes_back_with_its_evidence_to_its_requester_only() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    again = desk.broker.stored(record.id, BOT.key)
    assert again == Invocation("domain:devices.disable", {"reason": "old"}, id="inv_1", confirmation=record.id)
    assert desk.broker.stored(record.id, OTHER.key) is None
    assert desk.broker.stored("cnf_x", BOT.key) is None


async def test_ended_requests_are_forgotten_in_the_end_and_open_ones_never() -> None:
    desk = Desk()
    kept = await desk.approved(asking(spend_s=100_000))
    ids = []
    for number in range(300):
        record = await desk.broker.ask(asking({"n": number}))
        ids.append(record.id)
        await desk.broker.withdraw(record.id, BOT.key)
    assert desk.host.get(ids[0]) is None
    assert desk.host.get(ids[-1]) is not None
    assert await desk.broker.check(kept.id, asking()) is kept


async def test_how_a_request_ended_is_told_to_its_requester_unless_it_was_spent() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    assert desk.broker.ended(record.id, BOT.key) is None
    await desk.host.deny(record.id, ADA_HERSELF)
    ended = desk.broker.ended(record.id, BOT.key)
    assert ended is not None and ended.details == {"reason": "denied"}
    assert desk.broker.ended(record.id, OTHER.key) is None
    spent = await desk.approved(asking({"n": 1}))
    await desk.broker.spend(spent)
    assert desk.broker.ended(spent.id, BOT.key) is None


async def test_who_hears_of_the_first_end_may_end_the_others() -> None:
    desk = Desk()
    first, second = await desk.broker.ask(asking()), await desk.broker.ask(asking({"n": 1}))

    def end_the_other(view: ConfirmationView) -> None:
        if view.id == first.id:
            desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED)

    desk.host.subscribe(end_the_other)
    desk.broker.end_all(CancelCause.VIEW_CLOSED)
    assert (first.cause, second.cause) == (CancelCause.VIEW_CLOSED, CancelCause.UNMOUNTED)
    assert desk.statuses() == ["pending", "pending", "cancelled", "cancelled"]


def test_a_request_that_ends_outside_its_loop_ends_the_decision_that_was_asked_for() -> None:
    ended: list[str] = []

    async def decide(view: ConfirmationView) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(view.id)

    loop = asyncio.new_event_loop()
    desk = Desk(options={"decide": decide})
    record = loop.run_until_complete(desk.broker.ask(asking()))
    loop.run_until_complete(asyncio.sleep(0))
    desk.broker.end_all(CancelCause.VIEW_CLOSED)
    assert record.status is CANCELLED and ended == []
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert ended == [record.id]


def test_a_request_that_moves_while_no_loop_runs_is_asked_of_nobody_inline() -> None:
    asked: list[str] = []

    async def decide(view: ConfirmationView) -> None:
        asked.append(view.registration)

    desk = Desk(options={"decide": decide}, subscribed=False)
    loop = asyncio.new_event_loop()
    record = loop.run_until_complete(desk.broker.ask(asking()))
    loop.run_until_complete(asyncio.sleep(0))
    place = Place("devices.table", "default", b"1")
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED, place)
    desk.broker.moving.arrive(place, "reg_2", lambda record: record.ask.canonical)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert (record.status, record.ask.registration, asked) == (PENDING, "reg_2", ["reg_1"])
