"""What a slow, a failing or a shared store does to a request: an end counts at once, evidence survives (SPEC 7.6)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from remit._base.clock import ManualClock, TimerHandle
from remit._base.limits import Limits
from remit._confirmation.desk import REMEMBERED
from remit._confirmation.refusals import NotPending
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit.errors import ErrorCode
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationRow
from tests.unit._confirmation.asking import ADA_HERSELF, BOT, Desk, asking, refused

PENDING, APPROVED = ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED
SPENT, EXPIRED, CANCELLED = ConfirmationStatus.SPENT, ConfirmationStatus.EXPIRED, ConfirmationStatus.CANCELLED


class Held(MemoryStore):
    """A store that keeps a new request only once the test lets it; it may be made to fail then."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.fails = False

    async def put(self, row: ConfirmationRow) -> None:
        await self.gate.wait()
        if self.fails:
            raise ConnectionError("store down")
        await super().put(row)


async def test_an_unmount_while_the_store_takes_the_request_ends_it_before_anybody_hears_of_it() -> None:
    store = Held()
    desk = Desk(store=store)
    first = asyncio.ensure_future(desk.broker.ask(asking()))
    await asyncio.sleep(0)
    assert desk.host.pending() == ()
    desk.broker.end_all(CancelCause.UNMOUNTED)
    store.gate.set()
    assert (await refused(first)).details == {"reason": "cancelled", "cause": "unmounted"}
    await asyncio.sleep(0)
    assert [row.status for row in await store.list()] == ["cancelled"]
    assert desk.events == [] and desk.seen == []


async def test_whoever_joined_a_request_that_the_store_refused_is_let_go() -> None:
    store = Held()
    desk = Desk(store=store)
    first = asyncio.ensure_future(desk.broker.ask(asking()))
    await asyncio.sleep(0)
    joined = await desk.broker.ask(asking())
    waiting = asyncio.ensure_future(desk.broker.decided(joined.id, BOT.key, 100))
    await asyncio.sleep(0)
    store.fails = True
    store.gate.set()
    with pytest.raises(ConnectionError):
        await first
    assert await waiting is CANCELLED
    assert desk.broker._desk._open == {}
    assert joined.cause is CancelCause.STOPPING and joined.ended().details["cause"] == "stopping"
    assert (await refused(desk.broker.check(joined.id, asking()))).details == {"reason": "mismatch"}


async def test_an_end_that_the_store_could_not_take_is_journalled_and_written_before_the_next_question() -> None:
    class Down(MemoryStore):
        down = False

        async def transition(self, *args: Any, **changes: Any) -> bool:
            if self.down:
                raise ConnectionError("store down")
            return await super().transition(*args, **changes)

    store = Down()
    desk = Desk(store=store)
    record = await desk.broker.ask(asking())
    store.down = True
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED)
    await asyncio.sleep(0)
    assert record.status is CANCELLED
    assert "store down" in (desk.audit.entries()[-1].cause or "")
    store.down = False
    await desk.broker.ask(asking({"n": 1}))
    row = await store.get(record.id)
    assert row is not None and (row.status, row.cause) == ("cancelled", "unmounted")
    await asyncio.sleep(0)
    assert desk.broker._desk._backlog._writing == set(), "nothing is held of what has been written"


async def test_a_timer_that_runs_early_is_set_again() -> None:
    class Hasty(ManualClock):
        """Runs timers a little before their time, as an event loop may."""

        def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
            return super().call_later(delay * 0.999, callback)

    desk = Desk(clock=Hasty())
    record = await desk.broker.ask(asking())
    desk.clock.advance(119.95)
    assert record.status is PENDING
    desk.clock.advance(0.1)
    assert desk.statuses() == ["pending", "expired"]


async def test_what_another_process_did_with_the_row_counts() -> None:
    desk = Desk()
    spent = await desk.approved()
    assert await desk.store.transition(spent.id, "approved", "spent")
    assert (await refused(desk.broker.spend(spent))).details == {"reason": "spent", "outcome": "unknown"}
    denied = await desk.broker.ask(asking({"n": 1}))
    assert await desk.store.transition(denied.id, "pending", "denied")
    with pytest.raises(NotPending) as caught:
        await desk.host.approve(denied.id, ADA_HERSELF)
    assert caught.value.status is ConfirmationStatus.DENIED


async def test_an_unmount_after_the_store_took_an_approval_and_before_it_said_so_ends_the_row_too() -> None:
    class SlowToSay(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.gate = asyncio.Event()

        async def transition(self, *args: Any, **changes: Any) -> bool:
            won = await super().transition(*args, **changes)
            await self.gate.wait()
            return won

    store = SlowToSay()
    desk = Desk(store=store)
    record = await desk.broker.ask(asking())
    approving = asyncio.ensure_future(desk.host.approve(record.id, ADA_HERSELF))
    await asyncio.sleep(0)
    row = await store.get(record.id)
    assert row is not None and row.status == "approved"
    desk.broker.end_all(CancelCause.UNMOUNTED)
    store.gate.set()
    with pytest.raises(NotPending):
        await approving
    for _ in range(3):
        await asyncio.sleep(0)
    row = await store.get(record.id)
    assert row is not None and row.status == "cancelled"


async def test_a_request_that_ended_before_the_store_refused_it_stays_ended() -> None:
    store = Held()
    desk = Desk(store=store)
    first = asyncio.ensure_future(desk.broker.ask(asking()))
    await asyncio.sleep(0)
    desk.broker.end_all(CancelCause.UNMOUNTED)
    second = asyncio.ensure_future(desk.broker.ask(asking()))
    await asyncio.sleep(0)
    store.fails = True
    store.gate.set()
    for asked in (first, second):
        with pytest.raises(ConnectionError):
            await asked
    assert desk.host.pending() == () and desk.seen == []


async def test_requests_that_must_all_be_remembered_leave_no_room_for_one_more() -> None:
    desk = Desk(limits=Limits(confirmations_per_surface=1_000, confirmations_per_consumer=1_000))
    for number in range(REMEMBERED):
        await desk.broker.ask(asking({"n": number}))
    desk.clock.advance(30)
    error = await refused(desk.broker.ask(asking({"n": -1})))
    assert (error.code, error.details) == (ErrorCode.RATE_LIMITED, {"reason": "queue-full", "retry_after_ms": 90_000})
    await desk.host.deny(desk.host.pending()[0].id, ADA_HERSELF)
    assert (await desk.broker.ask(asking({"n": -1}))).open
