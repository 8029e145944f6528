"""What ends an approval for the session, one at a time (SPEC 7.9)."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from remit._base.clock import ManualClock, TimerHandle
from remit._base.limits import Limits
from remit._confirmation.moving import Place
from remit._confirmation.refusals import NotStanding, TooManyStanding
from remit._journal.audit import AuditEntry, AuditType
from remit._model.request_view import CancelCause
from remit._model.standing import StandingApproval, StandingOffer
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import Timers
from tests.unit._confirmation.asking import ADA_HERSELF, Desk, asking

OFFER = StandingOffer(may_vary=MappingProxyType({}), uses=10, seconds=600)


async def stands(desk: Desk, number: int, **changes: Any) -> StandingApproval:
    """One that a person has given on a call of this number."""
    record = await desk.broker.ask(asking({"n": number}, standing=OFFER, **changes))
    await desk.host.approve(record.id, ADA_HERSELF, standing=())
    return desk.host.standing()[-1]


def ends(desk: Desk) -> list[tuple[str | None, str | None]]:
    """Which have ended, and why, in this order."""
    entries = desk.audit.entries()
    return [(e.confirmation, e.why) for e in entries if e.type is AuditType.STANDING and e.status == "ended"]


async def test_a_registration_that_goes_takes_its_own_approvals_and_no_others() -> None:
    desk = Desk()
    one, other = await stands(desk, 1), await stands(desk, 2, registration="reg_2")
    desk.broker.standings.end_registration("reg_1")
    assert ends(desk) == [(one.id, "unmounted")]
    assert desk.host.standing() == (other,)


async def test_one_that_ends_while_another_ends_has_ended_once() -> None:
    desk = Desk()
    first, second = await stands(desk, 1), await stands(desk, 2)

    def end_all(entry: AuditEntry) -> None:
        if entry.confirmation == first.id:
            desk.broker.standings.end_registration(None)

    class Watching:
        write = staticmethod(end_all)

    desk.audit.sink(Watching())
    desk.broker.standings.end_registration("reg_1")
    assert ends(desk) == [(first.id, "unmounted"), (second.id, "unmounted")]


async def test_a_timer_that_runs_early_is_set_again() -> None:
    class Hasty(ManualClock):
        """Runs timers a little before their time, as an event loop may."""

        def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
            return super().call_later(delay * 0.999, callback)

    desk = Desk(clock=Hasty())
    standing = await stands(desk, 1)
    seconds = (standing.until - standing.given_at).total_seconds()
    desk.clock.advance(seconds * 0.9995)
    assert desk.host.standing() == (standing,)
    desk.clock.advance(seconds * 0.001)
    assert ends(desk) == [(standing.id, "expired")]


async def test_the_end_of_all_ends_what_stands_and_leaves_no_timer() -> None:
    clock = Timers()
    desk = Desk(clock=clock)
    one = await stands(desk, 1)
    left = await desk.broker.ask(asking({"n": 2}, registration="reg_2"))
    desk.broker.end_registration("reg_2", CancelCause.UNMOUNTED, Place("table", "default", b"1"))
    assert left.homeless and left.open
    desk.broker.end_all(CancelCause.VIEW_CLOSED)
    assert ends(desk) == [(one.id, "unmounted")]
    assert (left.cause, left.homeless, clock.waiting) == (CancelCause.VIEW_CLOSED, False, 0)


async def test_what_may_not_be_left_free_is_told_with_what_may() -> None:
    desk = Desk()
    offer = replace(OFFER, may_vary=MappingProxyType({"b": {}, "a": {}}))
    nothing = await desk.broker.ask(asking({"n": 1}, standing=OFFER))
    some = await desk.broker.ask(asking({"n": 2}, standing=offer))
    for record, allowed in ((nothing, r"\(none\)"), (some, "a, b")):
        with pytest.raises(NotStanding, match=f"'n' is not one of the fields that may vary: {allowed}$"):
            await desk.host.approve(record.id, ADA_HERSELF, standing=["n"])


async def test_a_place_that_is_promised_while_the_store_is_asked_is_taken() -> None:
    class Slow(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.gate = asyncio.Event()

        async def transition(self, *args: Any, **changes: Any) -> bool:
            await self.gate.wait()
            return await super().transition(*args, **changes)

    store = Slow()
    desk = Desk(store=store, limits=Limits(standing_per_session=1))
    first, second = [await desk.broker.ask(asking({"n": number}, standing=OFFER)) for number in range(2)]
    giving = asyncio.ensure_future(desk.host.approve(first.id, ADA_HERSELF, standing=()))
    await asyncio.sleep(0)
    with pytest.raises(TooManyStanding):
        await desk.host.approve(second.id, ADA_HERSELF, standing=())
    store.gate.set()
    await giving
    assert len(desk.host.standing()) == 1


async def test_one_ends_at_the_very_end_of_its_time_and_leaves_no_timer() -> None:
    clock = Timers()
    desk = Desk(clock=clock)
    standing, revoked = await stands(desk, 1), await stands(desk, 2)
    await desk.host.revoke(revoked.id, ADA_HERSELF)
    clock.advance((standing.until - standing.given_at).total_seconds())
    assert ends(desk) == [(revoked.id, "revoked"), (standing.id, "expired")]
    assert clock.waiting == 0
