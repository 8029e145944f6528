"""A process ends with everything open, and another one goes on over the same file (SPEC 7.6, 11.11, 15.1)."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from remit import (
    Authority,
    CancelCause,
    Component,
    ConfirmationKeys,
    Consumer,
    Decider,
    Handoff,
    HandoffStatus,
    ManualClock,
    Principal,
    Surface,
    action,
    observation,
)
from remit.gateway import Gateway, Keys
from remit.store.memory import MemoryStore
from remit.store.postgres import PostgresStore
from remit.store.sql_store import SqlStore
from remit.store.sqlite import SQLiteStore
from tests.behaviour.conftest import authority_of, failed, output

AGENT = Consumer("agent", kind="test")
OTHER = Consumer("other", kind="test")
ADA = Decider("ada", tenant="acme")
PERSON = Principal("ada", tenant="acme")
SECRET = {"k1": "s" * 32}

Start = Callable[[], SqlStore]


class Till(Component, type="shop.till"):
    """A till."""

    def __init__(self) -> None:
        self.sold: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()

    @action(reversible=False, confirmation="required", may_vary=("amount",))
    async def refund(self, amount: int) -> int:
        """Pay money back."""
        return await self._run(amount)

    @action(reversible=False)
    async def sell(self, amount: int) -> int:
        """Sell."""
        return await self._run(amount)

    @action(handoff=Handoff("Only you may count it", to="/till/count"))
    def count(self) -> int:
        """Count the till."""
        return 0

    @observation
    def read(self) -> int:
        """Read the total."""
        return sum(self.sold)

    async def _run(self, amount: int) -> int:
        self.begun.set()
        await self.gate.wait()
        self.sold.append(amount)
        return sum(self.sold)


AUTHORITY: Authority = authority_of(Till)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite", "postgres"])
def start(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Start]:
    """Begin a process over the same store; the one before it ends with everything open."""
    stores: list[SqlStore] = []
    database = "" if request.param == "sqlite" else request.getfixturevalue("postgres").fresh()

    def started() -> SqlStore:
        for store in stores:
            store.close()
        if request.param == "sqlite":
            stores.append(SQLiteStore(tmp_path / "state.db", clock=clock, poll_s=3_600.0))
        else:
            stores.append(PostgresStore(database, clock=clock, poll_s=3_600.0))
        return stores[-1]

    yield started
    for store in stores:
        store.close()


def opened(store: SqlStore, clock: ManualClock, **options: Any) -> tuple[Surface, Till]:
    given = {"principal": PERSON, "keys": ConfirmationKeys("k1", SECRET), **options}
    surface = Surface(AUTHORITY, store=store, clock=clock, **given)
    surface.confirmations.attach_page()
    till = Till()
    surface.mount(till)
    return surface, till


async def asked(surface: Surface, amount: int = 5) -> str:
    error = failed(await surface.connect(AGENT).call(Till.refund, {"amount": amount}), "CONFIRMATION_REQUIRED")
    return str(error.details["confirmation_id"])


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told")
async def test_a_retry_of_what_was_open_is_cancelled_and_may_be_asked_anew(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    pending, approved = await asked(surface, 5), await asked(surface, 6)
    await surface.confirmations.approve(approved, ADA)
    surface, till = opened(start(), clock)
    agent = surface.connect(AGENT)
    for id, amount in ((pending, 5), (approved, 6)):
        error = failed(await agent.call(Till.refund, {"amount": amount}, confirmation=id), "CONFIRMATION_INVALID")
        assert error.details == {"reason": "cancelled", "cause": "stopping"}
        assert error.retry == "with-confirmation"
        assert failed(await surface.continue_(id, AGENT)).details == error.details
    assert till.sold == []
    again = await asked(surface, 5)
    assert again != pending
    await surface.confirmations.approve(again, ADA)
    assert output(await agent.call(Till.refund, {"amount": 5}, confirmation=again)) == 5


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told", "7.6-unknown-after-a-crash")
async def test_what_was_spent_says_how_it_ended_or_that_nobody_knows(start: Start, clock: ManualClock) -> None:
    surface, till = opened(start(), clock)
    settled, lost = await asked(surface, 5), await asked(surface, 6)
    for id in (settled, lost):
        await surface.confirmations.approve(id, ADA)
    assert output(await surface.connect(AGENT).call(Till.refund, {"amount": 5}, confirmation=settled)) == 5
    till.gate.clear()
    till.begun.clear()
    running = asyncio.create_task(surface.connect(AGENT).call(Till.refund, {"amount": 6}, confirmation=lost))
    await till.begun.wait()
    surface, later = opened(start(), clock)
    for id, amount, outcome in ((settled, 5, "done"), (lost, 6, "unknown")):
        call = surface.connect(AGENT).call(Till.refund, {"amount": amount}, confirmation=id)
        error = failed(await call, "CONFIRMATION_INVALID")
        assert error.details == {"reason": "spent", "outcome": outcome}
        assert error.retry == "no"
        assert failed(await surface.continue_(id, AGENT)).details == error.details
    assert later.sold == []
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told")
async def test_a_request_of_somebody_else_is_an_unknown_id(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    id = await asked(surface, 5)
    store = start()
    surface, _ = opened(store, clock)
    mine = {"reason": "mismatch"}
    call = surface.connect(OTHER).call(Till.refund, {"amount": 5}, confirmation=id)
    assert failed(await call).details == failed(await surface.continue_(id, OTHER)).details == mine
    for person in (Principal("ada"), Principal("bob", tenant="acme")):
        theirs, _ = opened(store, clock, principal=person)
        for made_up in (id, "cnf_made_up", "cnf_" + "x" * 500, "\ud800"):
            call = theirs.connect(AGENT).call(Till.refund, {"amount": 5}, confirmation=made_up)
            assert failed(await call).details == failed(await theirs.continue_(made_up, AGENT)).details == mine
    spent, _ = opened(store, clock)
    paid = await asked(spent, 7)
    await spent.confirmations.approve(paid, ADA)
    output(await spent.connect(AGENT).call(Till.refund, {"amount": 7}, confirmation=paid))
    surface, _ = opened(start(), clock)
    call = surface.connect(AGENT).call(Till.refund, {"amount": 8}, confirmation=paid)
    assert failed(await call, "CONFIRMATION_INVALID").details == mine


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told")
async def test_a_store_that_is_down_answers_nothing_and_runs_nothing(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    id = await asked(surface, 5)
    store = start()
    surface, till = opened(store, clock)
    store.close()
    for outcome in (
        await surface.connect(AGENT).call(Till.refund, {"amount": 5}, confirmation=id),
        await surface.continue_(id, AGENT),
        await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1"),
    ):
        assert failed(outcome, "EXECUTION_FAILED").details["outcome"] == "none"
    assert till.sold == []


@pytest.mark.requirement("15.1-no-call-runs-twice-over-a-restart")
async def test_a_call_of_the_same_id_gets_how_it_ended_and_does_not_run_again(start: Start, clock: ManualClock) -> None:
    surface, till = opened(start(), clock)
    agent = surface.connect(AGENT)
    assert output(await agent.call(Till.sell, {"amount": 5}, id="s1")) == 5
    failed(await agent.call(Till.sell, {"amount": "x"}, id="s2"), "INVALID_INPUT")
    till.gate.clear()
    till.begun.clear()
    running = asyncio.create_task(agent.call(Till.sell, {"amount": 6}, id="s3"))
    await till.begun.wait()
    surface, later = opened(start(), clock)
    agent = surface.connect(AGENT)
    live = surface.snapshot(AGENT).components[0].registration
    assert output(await agent.call(Till.sell, {"amount": 5}, id="s1", registration=live)) == 5
    unknown = failed(await agent.call(Till.sell, {"amount": 6}, id="s3"), "CANCELLED")
    assert (unknown.details, unknown.retry) == ({"outcome": "unknown"}, "no")
    assert later.sold == []
    failed(await agent.call(Till.sell, {"amount": 7}, id="s1"), "INVOCATION_CONFLICT")
    assert output(await agent.call(Till.sell, {"amount": 8}, id="s2")) == 8
    assert output(await surface.connect(OTHER).call(Till.sell, {"amount": 1}, id="s1")) == 9
    assert output(await agent.call(Till.read, id="s1")) == 9
    clock.advance(601)
    assert output(await agent.call(Till.sell, {"amount": 1}, id="s1")) == 10
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.requirement("15.1-no-call-runs-twice-over-a-restart")
async def test_equal_repeats_after_a_restart_join_and_get_the_one_answer(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    assert output(await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1")) == 5
    surface, later = opened(start(), clock)
    calls = (surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1") for _ in range(5))
    assert [output(each) for each in await asyncio.gather(*calls)] == [5] * 5
    assert later.sold == []


@pytest.mark.requirement("15.1-no-call-runs-twice-over-a-restart")
async def test_a_call_whose_key_was_dropped_is_not_run_again_either(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    assert output(await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1")) == 5
    keys = ConfirmationKeys("k1", SECRET)
    keys.rotate("k2", "t" * 32)
    store = start()
    surface, _ = opened(store, clock, keys=keys)
    assert output(await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1")) == 5
    surface, later = opened(store, clock, keys=ConfirmationKeys("k2", {"k2": "t" * 32}))
    failed(await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1"), "INVOCATION_CONFLICT")
    assert later.sold == []


@pytest.mark.requirement("15.1-no-call-runs-twice-over-a-restart")
async def test_what_had_its_time_while_the_process_lives_is_forgotten(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    assert output(await surface.connect(AGENT).call(Till.sell, {"amount": 5}, id="s1")) == 5
    surface, later = opened(start(), clock)
    clock.advance(601)
    assert output(await surface.connect(AGENT).call(Till.sell, {"amount": 7}, id="s1")) == 7
    assert later.sold == [7]


async def test_a_surface_over_a_store_in_memory_keeps_no_calls() -> None:
    memory = Surface(AUTHORITY, principal=PERSON, store=MemoryStore())
    assert memory._parts.parts.dispatch.lasting is None


@pytest.mark.requirement("15.1-the-rest-lives-on")
async def test_what_was_taken_back_and_switched_off_stays_so(start: Start, clock: ManualClock) -> None:
    def served(store: SqlStore) -> Gateway:
        return Gateway(AUTHORITY, store=store, keys=Keys("k1", SECRET), clock=clock)

    store = start()
    gateway = served(store)
    kept, gone, later = (gateway.delegate(PERSON, actor=name, scope=["view:**"]) for name in ("a", "b", "c"))
    assert gateway.revoke(gone, by="admin", why="lost")
    gateway.suspend(capability="view:shop.till.sell")
    ids = {row.actors[0]: row.id for row in store.delegations.list(tenant="acme", principal="ada")}
    await store.flush()
    store = start()
    gateway = served(store)
    verify = gateway._delegations.verify
    assert (verify(kept) is None, verify(gone) is None, verify(later) is None) == (False, True, False)
    assert gateway.revoke(ids["c"], by="admin", why="by its id")
    assert verify(later) is None
    await store.flush()
    surface, _ = opened(start(), clock)
    failed(await surface.connect(AGENT).call(Till.sell, {"amount": 5}), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("15.1-handoffs-go-on")
async def test_a_handoff_waits_for_its_person_over_a_restart(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    first = failed(await surface.connect(AGENT).call(Till.count), "HANDOFF_REQUIRED")
    id = str(first.details["handoff_id"])
    store = start()
    stranger, _ = opened(store, clock, principal=Principal("bob", tenant="acme"))
    assert stranger.handoffs.pending() == ()
    surface, _ = opened(store, clock)
    (view,) = surface.handoffs.pending()
    assert (view.id, view.url, view.surface_id, view.consumer) == (
        id,
        first.details["url"],
        surface.surface_id,
        "agent",
    )
    assert view.expires_at.isoformat() == first.details["expires_at"]
    assert failed(await surface.connect(AGENT).call(Till.count), "HANDOFF_REQUIRED").details == first.details
    assert surface.handoff(id, OTHER) is None
    await surface.handoffs.complete(id, ADA, 12)
    state = surface.handoff(id, AGENT)
    assert state is not None and (state.status, state.data) == (HandoffStatus.COMPLETED, 12)
    surface, _ = opened(start(), clock)
    assert surface.handoffs.pending() == ()


@pytest.mark.requirement("4.4-an-ended-handoff-outlives-its-surface")
@pytest.mark.parametrize("mounted", [True, False])
async def test_what_came_of_a_handoff_is_told_after_a_restart_to_whoever_asked_for_it_alone(
    start: Start, clock: ManualClock, mounted: bool
) -> None:
    store = start()
    surface, _ = opened(store, clock)
    first = failed(await surface.connect(AGENT).call(Till.count), "HANDOFF_REQUIRED").details
    id = str(first["handoff_id"])
    await surface.handoffs.complete(id, ADA, 12)
    before = surface.handoff(id, AGENT)
    assert before is not None and before.to_json()["data"] == 12
    store = start()
    given: dict[str, Any] = {"store": store, "clock": clock, "keys": ConfirmationKeys("k1", SECRET)}
    surface = Surface(AUTHORITY, principal=PERSON, **given)
    if mounted:
        surface.mount(Till())
    assert surface.handoff(id, AGENT) == before
    assert surface.handoff("hnd_invented", AGENT) is None
    assert surface.handoff(id, OTHER) is None
    assert surface.handoff(id, Consumer("agent", kind="test", scope=["view:shop.till.sell"])) is None
    for tenant, name in (("acme", "bob"), ("other", "ada"), (None, "ada")):
        stranger = Surface(AUTHORITY, principal=Principal(name, tenant=tenant), **given)
        assert stranger.handoff(id, AGENT) is None
    surface.suspend(capability="view:shop.till.count")
    assert surface.handoff(id, AGENT) is None
    surface.reinstate(capability="view:shop.till.count")
    surface.suspend(consumer=AGENT)
    assert surface.handoff(id, AGENT) is None
    surface.reinstate(consumer=AGENT)
    assert surface.handoff(id, AGENT) == before
    clock.advance(31 * 86_400)
    assert surface.handoff(id, AGENT) is None


@pytest.mark.requirement("4.4-an-ended-handoff-outlives-its-surface")
@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (None, HandoffStatus.PENDING),
        (CancelCause.STOPPING, HandoffStatus.PENDING),
        (CancelCause.VIEW_RELOADED, HandoffStatus.CANCELLED),
    ],
)
async def test_a_handoff_waits_over_any_end_of_its_process_and_ends_with_its_view(
    start: Start, clock: ManualClock, cause: CancelCause | None, status: HandoffStatus
) -> None:
    surface, _ = opened(start(), clock)
    id = str(failed(await surface.connect(AGENT).call(Till.count), "HANDOFF_REQUIRED").details["handoff_id"])
    if cause is not None:
        surface.dispose(cause)
    later = Surface(AUTHORITY, principal=PERSON, store=start(), clock=clock, keys=ConfirmationKeys("k1", SECRET))
    state = later.handoff(id, AGENT)
    assert state is not None and state.status is status
    later.mount(Till())
    state = later.handoff(id, AGENT)
    assert state is not None and state.status is status
    if status is HandoffStatus.PENDING:
        await later.handoffs.complete(id, ADA, 3)
        state = later.handoff(id, AGENT)
        assert state is not None and state.status is HandoffStatus.COMPLETED


@pytest.mark.requirement("15.1-handoffs-go-on")
async def test_a_handoff_that_nobody_did_in_time_expires_after_a_restart_too(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    failed(await surface.connect(AGENT).call(Till.count), "HANDOFF_REQUIRED")
    clock.advance(1_000)
    surface, _ = opened(start(), clock)
    assert len(surface.handoffs.pending()) == 1
    clock.advance(801)
    assert surface.handoffs.pending() == ()


async def test_an_approval_for_the_session_ends_with_the_process(start: Start, clock: ManualClock) -> None:
    surface, _ = opened(start(), clock)
    await surface.confirmations.approve(await asked(surface, 5), ADA, standing=["amount"])
    assert output(await surface.connect(AGENT).call(Till.refund, {"amount": 5})) == 5
    assert output(await surface.connect(AGENT).call(Till.refund, {"amount": 6})) == 11
    surface, later = opened(start(), clock)
    assert surface.confirmations.standing() == ()
    await asked(surface, 6)
    assert later.sold == []


@pytest.mark.requirement("15.1-a-view-goes-on")
async def test_a_view_of_the_same_name_goes_on_as_the_same_view(start: Start, clock: ManualClock) -> None:
    def served(store: SqlStore) -> Gateway:
        return Gateway(AUTHORITY, store=store, keys=Keys("k1", SECRET), clock=clock)

    def view(gateway: Gateway, key: str | None, person: Principal = PERSON) -> str:
        session = gateway.open_view(
            principal=lambda: person, host=lambda: None, within=nullcontext, title="Till", route="/", key=key
        )
        gateway.connected(session.id)
        return session.id

    gateway = served(start())
    first, nameless, closed = view(gateway, "cookie"), view(gateway, None), view(gateway, "closed")
    gateway.close_view(closed)
    assert view(gateway, "two tabs") != view(gateway, "two tabs")  # the first one lives
    clock.advance(3_600)
    gateway = served(start())
    assert view(gateway, "cookie", Principal("ada", tenant="other")) != first
    assert view(gateway, "cookie", Principal("bob", tenant="acme")) != first
    assert view(gateway, "closed") != closed
    assert view(gateway, "cookie") == first != nameless
    token = gateway.delegate(PERSON, actor="agent", scope=["view:**"], session=first)
    await gateway.stop()
    gateway = served(start())
    assert view(gateway, "cookie") == first
    reached = gateway._delegations.verify(token)
    assert reached is not None and reached.session == first
    gateway.disconnected(first)
    clock.advance(1_801)
    assert view(served(start()), "cookie") != first
    with pytest.raises(TypeError, match="the host's own name"):
        view(gateway, "")
