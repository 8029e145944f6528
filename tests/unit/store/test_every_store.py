"""The one suite that every store passes (SPEC 15.1)."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit._base.clock import ManualClock
from remit.store.memory import MemoryStore
from remit.store.parts import parts_of
from remit.store.postgres import PostgresStore
from remit.store.protocol import ConfirmationChanges, RevocationRow, Store
from remit.store.sql_store import SqlStore
from remit.store.sqlite import SQLiteStore
from tests.unit.store.rows import BOT, asked, call, stands, step, taken_back, token, view

pytestmark = pytest.mark.requirement("15.1-one-protocol-for-every-store")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(clock=clock)
        return
    if request.param == "sqlite":
        kept: SqlStore = SQLiteStore(tmp_path / "state.db", clock=clock)
    else:
        kept = PostgresStore(request.getfixturevalue("postgres").fresh(), clock=clock)
    yield kept
    kept.close()


async def test_a_row_comes_back_as_it_was_put(store: Store) -> None:
    row = asked(spend_by="2026-01-01T12:04:00+00:00", cause="withdrawn", decided_by="ada", reason="no", outcome="done")
    await store.confirmations.put(row)
    assert await store.confirmations.get("cnf_1") == row
    assert await store.confirmations.get("cnf_2") is None


async def test_a_store_is_taken_with_all_its_parts(store: Store) -> None:
    parts = parts_of(store, MemoryStore())
    assert parts.meters is store.meters and parts.calls is store.calls and parts.handoffs is store.handoffs
    assert parts.durable is store.confirmations.durable is isinstance(store, SqlStore)
    assert parts.in_memory is not parts.durable
    await parts.flush()


async def test_an_id_is_taken_once(store: Store) -> None:
    await store.confirmations.put(asked())
    with pytest.raises(ValueError, match="already"):
        await store.confirmations.put(asked(status="approved"))
    assert await store.confirmations.get("cnf_1") == asked()


async def test_a_transition_happens_only_from_the_status_it_names(store: Store) -> None:
    await store.confirmations.put(asked())
    assert not await store.confirmations.transition("cnf_1", "approved", "spent")
    assert not await store.confirmations.transition("cnf_2", "pending", "approved")
    changed: ConfirmationChanges = {"decided_by": "ada", "spend_by": "2026-01-01T12:04:00+00:00"}
    assert await store.confirmations.transition("cnf_1", "pending", "approved", **changed)
    assert not await store.confirmations.transition("cnf_1", "pending", "denied")
    assert await store.confirmations.get("cnf_1") == asked(status="approved", **changed)


async def test_a_request_that_moves_keeps_its_status(store: Store) -> None:
    await store.confirmations.put(asked())
    moved: ConfirmationChanges = {"registration": "reg_2", "digest": "e", "form": "{}"}
    assert await store.confirmations.transition("cnf_1", "pending", "pending", **moved)
    assert await store.confirmations.get("cnf_1") == asked(**moved)


async def test_of_five_hundred_transitions_at_once_exactly_one_wins(store: Store) -> None:
    await store.confirmations.put(asked(status="approved"))
    tries = (store.confirmations.transition("cnf_1", "approved", "spent") for _ in range(500))
    assert sum(await asyncio.gather(*tries)) == 1


async def test_the_list_is_restricted_and_in_order_of_asking(store: Store) -> None:
    late, early = "2026-01-01T12:00:02+00:00", "2026-01-01T12:00:01+00:00"
    rows = [
        asked("b", created_at=late),
        asked("a", created_at=early),
        asked("c", status="denied"),
        asked("d", surface_id="srf_2"),
    ]
    for row in rows:
        await store.confirmations.put(row)
    found = await store.confirmations.list(surface_id="srf_1", statuses={"pending"})
    assert [row.id for row in found] == ["a", "b"]
    assert {row.id for row in await store.confirmations.list()} == {"a", "b", "c", "d"}
    assert list(await store.confirmations.list(statuses=())) == []


async def test_a_bucket_gives_what_it_holds_and_fills_evenly(store: Store, clock: ManualClock) -> None:
    async def take(key: str = "a", charge: bool = True) -> float:
        return await store.meters.take(key, calls=2, per_s=10.0, charge=charge)

    assert [await take(), await take()] == [0.0, 0.0]
    assert await take() == pytest.approx(5.0, abs=1e-3)
    assert await take("b") == 0.0
    clock.advance(5.0)
    assert await take(charge=False) == 0.0
    assert await take() == 0.0
    assert await take() == pytest.approx(5.0, abs=1e-3)


async def test_a_suspension_counts_at_once_and_is_told(store: Store) -> None:
    heard: list[str] = []
    end = store.suspensions.subscribe(heard.append)
    assert [store.suspensions.any] == [False]
    assert store.suspensions.set("x", True)
    assert not store.suspensions.set("x", True)
    assert store.suspensions.any and store.suspensions.holds("x") and not store.suspensions.holds("y")
    assert store.suspensions.set("x", False)
    end()
    store.suspensions.set("y", True)
    assert heard == ["x", "x"]
    assert store.suspensions.any and not store.suspensions.holds("x")


async def test_a_revocation_counts_at_once_and_is_told_once(store: Store) -> None:
    heard: list[RevocationRow] = []
    store.revocations.subscribe(heard.append)
    assert store.revocations.add(taken_back())
    assert not store.revocations.add(taken_back(why="again"))
    assert store.revocations.any and store.revocations.holds("dlg_1") and not store.revocations.holds("dlg_2")
    assert heard == [taken_back()]


async def test_what_stands_is_listed_until_it_has_ended(store: Store) -> None:
    store.standing.put(stands())
    store.standing.put(stands("std_2", principal="bob"))
    store.standing.put(stands(uses_left=9))
    assert list(store.standing.list(tenant="acme", principal="ada")) == [stands(uses_left=9)]
    store.standing.put(stands(uses_left=0, ended="used-up"))
    assert [row.id for row in store.standing.list()] == ["std_2"]
    await store.flush()


async def test_tokens_are_found_by_id_and_listed_while_they_live(store: Store, clock: ManualClock) -> None:
    rows = [token(), token("dlg_2", parents=("dlg_1",), session="vew_1", until="2026-01-01T12:05:00+00:00")]
    for row in rows:
        store.delegations.put(row)
    assert store.delegations.get("dlg_2") == rows[1]
    assert store.delegations.get("dlg_3") is None
    assert list(store.delegations.list(tenant="acme")) == rows
    assert list(store.delegations.list(principal="bob")) == []
    clock.advance(600)
    assert list(store.delegations.list()) == rows[:1]


async def test_views_are_kept_until_they_end(store: Store) -> None:
    store.sessions.put(view())
    store.sessions.put(view("vew_2", tenant=None))
    assert list(store.sessions.list(tenant="acme")) == [view()]
    store.sessions.end("vew_1")
    store.sessions.end("vew_1")
    assert [row.id for row in store.sessions.list()] == ["vew_2"]


async def test_nothing_of_a_process_that_lives_is_lost(store: Store) -> None:
    store.handoffs.put(step())
    assert list(store.handoffs.list("acme", "ada", step().consumer)) == []
    store.sessions.put(view())
    await store.calls.begin(call())
    await store.flush()
    assert list(store.handoffs.lost("acme", "ada", "view:a.b", "default")) == []
    assert store.sessions.lost("acme", "ada", "k") is None
    assert not store.calls.any_lost
    assert await store.calls.lost("acme", "ada", BOT, "c1") is None
    await store.calls.settle("srf_1", BOT, "c1", "{}")
    await store.calls.settle("srf_1", BOT, "never begun", None)


async def test_another_loop_in_another_thread_may_ask_too(store: Store) -> None:
    def elsewhere() -> None:
        asyncio.run(store.confirmations.put(asked()))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert await store.confirmations.get("cnf_1") == asked()
