"""A store that is locked, full or read-only: refused clearly, nothing half-done, well again by itself (SPEC 15.1)."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from remit import Component, Consumer, Decider, ManualClock, Principal, Surface, action
from remit._confirmation.keys import ConfirmationKeys
from remit.store.database import Lasts
from remit.store.sqlite import SQLiteStore, StoreFull, StoreLocked, StoreReadOnly
from tests.behaviour.conftest import authority_of, failed, output
from tests.unit.store.rows import asked, taken_back

KEYS = ConfirmationKeys("k1", {"k1": "s" * 32})
AGENT = Consumer("agent", kind="test")
ADA = Decider("ada")


class Safe(Component, type="safe"):
    """A safe."""

    def __init__(self) -> None:
        self.opened = 0
        self.meanwhile: Callable[[], object] = int

    @action(confirmation="required", reversible=False)
    def unlock(self) -> int:
        """Open the safe."""
        self.opened += 1
        self.meanwhile()
        return self.opened

    @action
    def look(self) -> int:
        """Look at it."""
        return self.opened


@contextmanager
def kept(tmp_path: Path, **options: Any) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "state.db", clock=ManualClock(), **{"poll_s": 3_600.0, **options})
    try:
        yield store
    finally:
        store.close()


def opened(store: SQLiteStore) -> tuple[Surface, Safe]:
    surface = Surface(authority_of(Safe), principal=Principal("ada"), store=store, keys=KEYS, clock=ManualClock())
    surface.confirmations.attach_page()
    safe = Safe()
    surface.mount(safe)
    return surface, safe


async def asked_for(surface: Surface) -> str:
    failed(await surface.connect(AGENT).call(Safe.unlock), "CONFIRMATION_REQUIRED")
    return surface.confirmations.pending()[0].id


@contextmanager
def locked(store: SQLiteStore) -> Iterator[None]:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_a_locked_file_refuses_the_call_and_keeps_the_evidence(tmp_path: Path) -> None:
    with kept(tmp_path, busy_s=0.05) as store:
        surface, safe = opened(store)
        id = await asked_for(surface)
        with locked(store):
            with pytest.raises(StoreLocked, match=r"state\.db is locked by another process\n  do  end what holds it"):
                await surface.confirmations.approve(id, ADA)
            assert [view.id for view in surface.confirmations.pending()] == [id]
        await surface.confirmations.approve(id, ADA)
        with locked(store):
            lost = failed(await surface.connect(AGENT).call(Safe.unlock, confirmation=id), "EXECUTION_FAILED")
            assert lost.details["outcome"] == "none"
            assert safe.opened == 0
        assert output(await surface.connect(AGENT).call(Safe.unlock, confirmation=id)) == 1
        surface.dispose()


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_a_file_that_cannot_be_written_refuses_the_call_until_it_can(tmp_path: Path) -> None:
    with kept(tmp_path) as store:
        surface, safe = opened(store)
        id = await asked_for(surface)
        await surface.confirmations.approve(id, ADA)
        # What a mount that has become read-only answers: file modes do not stop an administrator.
        await store._writer.ask(Lasts.READS, lambda db: db.execute("PRAGMA query_only = 1"))
        with pytest.raises(StoreReadOnly, match="mount its folder for writing"):
            await store.confirmations.put(asked())
        failed(await surface.connect(AGENT).call(Safe.unlock, confirmation=id), "EXECUTION_FAILED")
        store.revocations.add(taken_back())
        assert store.revocations.holds("dlg_1")
        with pytest.raises(StoreReadOnly):
            await store.flush()
        await store._writer.ask(Lasts.READS, lambda db: db.execute("PRAGMA query_only = 0"))
        await store.flush()
        assert output(await surface.connect(AGENT).call(Safe.unlock, confirmation=id)) == safe.opened == 1
        surface.dispose()
    with kept(tmp_path) as again:
        assert again.revocations.holds("dlg_1")


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with kept(tmp_path, most_bytes=400_000) as store:
        surface, safe = opened(store)
        id = await asked_for(surface)
        await surface.confirmations.approve(id, ADA)
        fillers = [store.confirmations.put(asked(f"cnf_{n}", form="x" * 20_000)) for n in range(40)]
        answers = await asyncio.gather(*fillers, return_exceptions=True)
        refused = [each for each in answers if each is not None]
        assert refused and all(isinstance(each, StoreFull) for each in refused)
        assert "there is no room for state.db" in str(refused[0])
        held = [row.id for row in await store.confirmations.list() if row.id != id]
        assert len(held) == len(answers) - len(refused)
        for _ in range(200):  # small ones until nothing more fits
            try:
                await store.confirmations.put(asked(f"small_{_}", form="y" * 3_000))
            except StoreFull:
                break
        failed(await surface.connect(AGENT).call(Safe.unlock, {"x": 1}, confirmation=id), "INVALID_INPUT")
        await store._writer.ask(Lasts.SAFELY, lambda db: db.execute("DELETE FROM confirmations WHERE id <> ?", (id,)))
        assert output(await surface.connect(AGENT).call(Safe.unlock, confirmation=id)) == safe.opened == 1
        surface.dispose()


async def test_what_is_owed_is_written_by_itself_once_the_file_is_free(tmp_path: Path) -> None:
    with kept(tmp_path, busy_s=0.01, poll_s=0.01) as store:
        with locked(store):
            store.suspensions.set("x", True)
            with pytest.raises(StoreLocked):
                await store.flush()
        written = threading.Event()
        store._sqlite.connection.set_trace_callback(lambda sql: written.set() if sql == "COMMIT" else None)
        assert await asyncio.to_thread(written.wait, 60)
        await store.flush()
    with kept(tmp_path) as again:
        assert again.suspensions.holds("x")


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_how_a_call_ended_is_written_when_the_store_is_well_again(tmp_path: Path) -> None:
    with kept(tmp_path, busy_s=0.01) as store, closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        surface, safe = opened(store)
        safe.meanwhile = partial(other.execute, "BEGIN IMMEDIATE")
        id = await asked_for(surface)
        await surface.confirmations.approve(id, ADA)
        assert output(await surface.connect(AGENT).call(Safe.unlock, confirmation=id)) == 1
        while not surface.audit(types=["fault"]):
            await store.confirmations.get(id)  # behind what the call left to do
        row = await store.confirmations.get(id)
        assert row is not None and (row.status, row.outcome) == ("spent", "unknown")
        other.execute("ROLLBACK")
        safe.meanwhile = int
        await asked_for(surface)
        row = await store.confirmations.get(id)
        assert row is not None and (row.status, row.outcome) == ("spent", "done")
        surface.dispose()


@pytest.mark.requirement("15.1-no-loop-waits-for-a-disk")
async def test_a_slow_disk_holds_up_only_who_needs_it(tmp_path: Path) -> None:
    gate = threading.Event()
    with kept(tmp_path) as store:
        surface, safe = opened(store)
        id = await asked_for(surface)
        await surface.confirmations.approve(id, ADA)
        writing = asyncio.ensure_future(store._writer.ask(Lasts.SAFELY, lambda _: gate.wait(60)))
        waiting = asyncio.ensure_future(surface.connect(AGENT).call(Safe.unlock, confirmation=id))
        for _ in range(20):
            assert output(await surface.connect(AGENT).call(Safe.look)) == 0
        store.suspensions.set("x", True)
        assert store.suspensions.holds("x") and not waiting.done() and not writing.done()
        gate.set()
        assert output(await waiting) == safe.opened == 1
        await writing
        surface.dispose()
