"""The store in a file: what another process finds, and what became of those that have ended (SPEC 15.1, 15.6)."""

import asyncio
import sqlite3
import stat
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from remit._base.clock import ManualClock
from remit._base.limits import Limits
from remit.store.database import Lasts
from remit.store.failures import told
from remit.store.owners import file_of
from remit.store.schema import STEPS, VERSION, Step, check_version, migrate, version_of
from remit.store.sql_parts import CALLS, CONFIRMATIONS, DELEGATIONS, HANDOFFS, REVOCATIONS, SESSIONS, STANDING
from remit.store.sqlite import SQLiteStore, StoreBroken, StoreError, StoreLocked, StoreVersion, migrate_file
from tests.unit.store.rows import BOT, asked, call, stands, step, taken_back, token, view

TABLES = (CALLS, CONFIRMATIONS, DELEGATIONS, HANDOFFS, REVOCATIONS, SESSIONS, STANDING)
EVER_S = 3_600.0
"""So long that no test sees it pass."""


@contextmanager
def opened(file: Path, **options: Any) -> Iterator[SQLiteStore]:
    store = SQLiteStore(file, **{"clock": ManualClock(), "poll_s": EVER_S, **options})
    try:
        yield store
    finally:
        store.close()


def in_file(file: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(question).fetchall()


def locks(folder: Path) -> list[Path]:
    return list(folder.glob("*own_*"))


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir() if file not in locks(folder)}


@pytest.mark.requirement("15.1-open-requests-of-an-ended-process-are-cancelled")
async def test_what_an_ended_process_left_open_is_cancelled_and_what_it_spent_stays_unknown(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with opened(file) as first:
        for id, status in (("p", "pending"), ("a", "approved"), ("s", "approved"), ("t", "approved"), ("d", "denied")):
            await first.confirmations.put(asked(id, status=status))
        for id in ("s", "t"):
            await first.confirmations.transition(id, "approved", "spent", outcome="unknown")
        await first.confirmations.transition("t", "spent", "spent", outcome="done")
    with opened(file) as second:
        found = {row.id: (row.status, row.cause, row.outcome) for row in await second.confirmations.list()}
        why = {row.id: row.reason for row in await second.confirmations.list()}
    assert found == {
        "p": ("cancelled", "stopping", None),
        "a": ("cancelled", "stopping", None),
        "s": ("spent", None, "unknown"),
        "t": ("spent", None, "done"),
        "d": ("denied", None, None),
    }
    assert why == {"p": "the process that asked has ended", "a": why["p"], "s": None, "t": None, "d": None}


@pytest.mark.requirement("15.1-the-rest-lives-on")
async def test_revocations_suspensions_tokens_views_and_handoffs_outlive_the_process(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with opened(file) as first:
        first.revocations.add(taken_back())
        first.suspensions.set("x", True)
        first.suspensions.set("y", True)
        first.suspensions.set("y", False)
        first.delegations.put(token())
        first.sessions.put(view())
        first.sessions.put(view("vew_2", key="other"))
        first.sessions.end("vew_2")
        first.handoffs.put(step())
        first.handoffs.put(step("hnd_2", status="completed", data='{"paid":true}'))
        first.standing.put(stands())
        await first.flush()
    with opened(file) as second:
        assert second.revocations.holds("dlg_1")
        assert (second.suspensions.holds("x"), second.suspensions.holds("y")) == (True, False)
        assert second.delegations.get("dlg_1") == token()
        assert second.sessions.lost("acme", "bob", "k") is second.sessions.lost(None, "ada", "k") is None
        assert second.sessions.lost("acme", "ada", "other") is None
        assert second.sessions.lost("acme", "ada", "k") == view()
        assert second.sessions.lost("acme", "ada", "k") is None
        assert list(second.handoffs.lost("acme", "bob", "view:a.b", "default")) == []
        assert list(second.handoffs.lost("acme", "ada", "view:a.b", "default")) == [step()]
        assert list(second.handoffs.lost("acme", "ada", "view:a.b", "default")) == []
        assert list(second.standing.list()) == []
        paid = step("hnd_2", status="completed", data='{"paid":true}')
        assert list(second.handoffs.list("acme", "ada", step().consumer)) == [paid]
        assert list(second.handoffs.list(None, "ada", step().consumer)) == []
        assert list(second.handoffs.list("acme", "ada", "[]")) == []
        await second.refresh()
        assert second.sessions.lost("acme", "ada", "k") is None
        assert list(second.handoffs.lost("acme", "ada", "view:a.b", "default")) == []
    assert in_file(file, 'SELECT "id", "ended" FROM "standing"') == [("std_1", "unmounted")]


@pytest.mark.requirement("15.1-a-call-is-known-again-after-a-restart")
async def test_a_call_that_was_begun_is_found_again_with_what_is_known_of_it(tmp_path: Path) -> None:
    file, clock = tmp_path / "state.db", ManualClock()
    with opened(file) as first:
        for id in ("c1", "c2", "c3"):
            await first.calls.begin(call(id))
        await first.calls.settle("srf_1", BOT, "c2", '{"ok":1}')
        await first.calls.settle("srf_1", BOT, "c3", None)
    with opened(file, clock=clock) as second:
        assert second.calls.any_lost
        found = [await second.calls.lost("acme", "ada", BOT, id) for id in ("c1", "c2", "c3")]
        assert found == [call("c1"), call("c2", outcome='{"ok":1}'), None]
        assert await second.calls.lost("acme", "bob", BOT, "c1") is None
        assert await second.calls.lost(None, "ada", BOT, "c1") is None
    clock.advance(Limits().replay_s + 1)
    with opened(file, clock=clock) as third:
        assert not third.calls.any_lost
        assert await third.calls.lost("acme", "ada", BOT, "c1") is None


async def test_a_store_that_is_opened_beside_a_living_one_takes_nothing_away(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with opened(file) as first, opened(file) as second:
        await first.confirmations.put(asked())
        await second.confirmations.put(asked("cnf_2"))
        with opened(file):
            pass
        assert [row.status for row in await first.confirmations.list()] == ["pending", "pending"]
        won = await asyncio.gather(
            *(each.confirmations.transition("cnf_1", "pending", "approved") for each in (first, second) * 50)
        )
        assert sum(won) == 1
    assert locks(tmp_path) == []


async def test_what_one_process_changes_the_other_takes_over(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with opened(file) as first, opened(file) as second:
        heard: list[str] = []
        second.suspensions.subscribe(heard.append)
        second.revocations.subscribe(lambda row: heard.append(row.id))
        first.suspensions.set("x", True)
        first.revocations.add(taken_back())
        first.delegations.put(token())
        await first.flush()
        await second.refresh()
        assert heard == ["x", "dlg_1"]
        assert second.suspensions.holds("x") and second.revocations.holds("dlg_1")
        assert second.delegations.get("dlg_1") == token()
        second.suspensions.set("x", False)
        await second.flush()
        await first.refresh()
        assert [first.suspensions.any] == [False]


async def test_a_living_store_finds_out_by_itself_that_another_process_has_ended(tmp_path: Path) -> None:
    file, ended = tmp_path / "state.db", threading.Event()
    with opened(file, poll_s=0.01) as living:
        living._sqlite.connection.set_trace_callback(lambda sql: ended.set() if 'DELETE FROM "owners"' in sql else None)
        with opened(file) as other:
            await other.confirmations.put(asked())
            other.sessions.put(view())
        assert await asyncio.to_thread(ended.wait, 60)
        row = await living.confirmations.get("cnf_1")
        assert row is not None and (row.status, row.cause) == ("cancelled", "stopping")
        assert living.sessions.lost("acme", "ada", "k") == view()


CHILD = """
import asyncio, sys
from remit.store.sqlite import SQLiteStore
async def main():
    store = SQLiteStore(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    tries = [store.confirmations.transition(f"cnf_{n}", "approved", "spent", outcome="unknown") for n in range(200)]
    won = [n for n, each in enumerate(await asyncio.gather(*tries)) if each]
    print(*won, flush=True)
    store.close()
asyncio.run(main())
"""


@pytest.mark.requirement("15.1-two-processes-use-one-file")
async def test_of_two_processes_exactly_one_spends_each_approval(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with opened(file, busy_s=30.0) as store:
        for n in range(200):
            await store.confirmations.put(asked(f"cnf_{n}", status="approved"))
        start = partial(asyncio.create_subprocess_exec, sys.executable, "-c", CHILD, file, stdin=PIPE, stdout=PIPE)
        children = [await start() for _ in range(2)]
        for child in children:
            assert child.stdout is not None and await child.stdout.readline() == b"ready\n"
        outs = [out for out, _ in await asyncio.gather(*(child.communicate(b"go\n") for child in children))]
        assert [child.returncode for child in children] == [0, 0]
        won = [int(n) for out in outs for n in out.split()]
        assert sorted(won) == list(range(200))
        assert {row.status for row in await store.confirmations.list()} == {"spent"}


async def test_what_waits_together_is_written_together(tmp_path: Path) -> None:
    file, gate = tmp_path / "state.db", threading.Event()
    with opened(file) as store:
        commits: list[str] = []
        store._sqlite.connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
        held = asyncio.ensure_future(store._writer.ask(Lasts.READS, lambda _: gate.wait(30)))
        waiting = [asyncio.ensure_future(store.confirmations.put(asked(f"cnf_{n}"))) for n in range(100)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(held, *waiting)
        assert len(await store.confirmations.list()) == 100
    assert 2 <= len(commits) <= 4


async def test_one_that_was_cancelled_before_its_turn_is_not_done(tmp_path: Path) -> None:
    gate = threading.Event()
    with opened(tmp_path / "state.db") as store:
        held = asyncio.ensure_future(store._writer.ask(Lasts.READS, lambda _: gate.wait(30)))
        late = asyncio.ensure_future(store.confirmations.put(asked()))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        gate.set()
        await held
        assert await store.confirmations.get("cnf_1") is None


async def test_a_mistake_of_the_asker_fails_nobody_else(tmp_path: Path) -> None:
    with opened(tmp_path / "state.db") as store:
        puts = (store.confirmations.put(asked(id)) for id in ("a", "a", "b"))
        answers = await asyncio.gather(*puts, return_exceptions=True)
        assert [type(each) for each in answers] == [type(None), ValueError, type(None)]
        with pytest.raises(TypeError, match="a transition changes"):
            await store.confirmations.transition("a", "pending", "approved", owner="x")  # type: ignore[call-arg]
        with pytest.raises(ZeroDivisionError):
            await store._writer.ask(Lasts.READS, lambda _: 1 // 0)
        assert {row.id for row in await store.confirmations.list()} == {"a", "b"}


async def test_a_closed_store_says_so_and_closing_twice_is_closing_once(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "state.db", clock=ManualClock())
    store.close()
    store.close()
    with pytest.raises(StoreError, match="has been closed"):
        await store.confirmations.put(asked())


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "state.db") as store:
        await store.confirmations.put(asked())
        assert modes(tmp_path) == {0o600}
        assert in_file(store.path, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.requirement("15.7-ended-rows-have-their-time")
async def test_what_has_ended_is_forgotten_after_its_time_and_what_is_open_never(tmp_path: Path) -> None:
    file, clock = tmp_path / "state.db", ManualClock()
    with opened(file) as living:
        await living.confirmations.put(asked("open"))
        await living.confirmations.put(asked("ended", status="denied"))
        await living.meters.take("m", calls=1, per_s=1.0)
        living.revocations.add(taken_back(until="2026-01-01T12:15:00+00:00"))
        living.revocations.add(taken_back("dlg_2"))
        living.delegations.put(token())
        await living.flush()
        clock.advance(31 * 86_400)
        with opened(file, clock=clock) as later:
            assert [row.id for row in await later.confirmations.list()] == ["open"]
            assert (later.revocations.holds("dlg_1"), later.revocations.holds("dlg_2")) == (False, True)
        left = [in_file(file, f'SELECT count(*) FROM "{name}"') for name in ("meters", "delegations")]
        assert left == [[(0,)], [(0,)]]


def test_every_field_of_a_row_has_its_column(tmp_path: Path) -> None:
    with opened(tmp_path / "state.db") as store:
        for table in TABLES:
            columns = {row[1] for row in in_file(store.path, f'PRAGMA table_info("{table.name}")')}
            assert columns - {"owner"} == {field.name for field in fields(table._row)}


@pytest.mark.requirement("15.6-an-older-file-waits-for-migrate")
async def test_an_older_file_is_refused_until_it_has_been_migrated_and_keeps_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert migrate(connection, STEPS[:1]) == (0, 1)
        connection.execute(CONFIRMATIONS.put, CONFIRMATIONS.values(asked(status="denied")))
    with pytest.raises(StoreVersion, match=r"schema 1, and this program needs 2\n  do  remit migrate"):
        SQLiteStore(file)
    assert migrate_file(file) == (1, VERSION)
    assert migrate_file(file) == (VERSION, VERSION)
    with opened(file) as store:
        assert await store.confirmations.get("cnf_1") == asked(status="denied")


@pytest.mark.requirement("15.6-a-newer-file-is-left-alone")
async def test_a_newer_file_is_refused_or_used_as_it_says(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    near = (*STEPS, Step('CREATE TABLE "more" ("id" TEXT);\n', oldest=VERSION))
    far = (*near, Step('CREATE TABLE "most" ("id" TEXT);\n', oldest=VERSION + 2))
    with opened(file) as store:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            assert migrate(connection, near) == (VERSION, VERSION + 1)
            await store.confirmations.put(asked())  # the minor beside it goes on
            assert migrate(connection, far) == (VERSION + 1, VERSION + 2)
        with pytest.raises(StoreVersion, match="update this program"):
            await store.confirmations.transition("cnf_1", "pending", "approved")
        with pytest.raises(StoreVersion, match="update this program"):
            await store.confirmations.get("cnf_1")
    with pytest.raises(StoreVersion, match="update this program"):
        SQLiteStore(file)
    assert in_file(file, 'SELECT "status" FROM "confirmations"') == [("pending",)]
    assert migrate_file(file) == (VERSION + 2, VERSION + 2)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, (*STEPS, Step('CREATE TABLE "calls" ("id" TEXT);\n', oldest=1)))
        assert version_of(connection) == (0, 0)
        migrate(connection)
        check_version(connection, "state.db")


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, and long enough to be looked at" * 20)
    with pytest.raises(StoreBroken, match=r"text\.db is no store, or is damaged"):
        SQLiteStore(tmp_path / "text.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE orders (id)")
    with pytest.raises(StoreVersion, match="remit migrate"):
        SQLiteStore(tmp_path / "other.db")
    with pytest.raises(StoreVersion, match="is a database, and no store"):
        migrate_file(tmp_path / "other.db")
    with pytest.raises(StoreBroken, match="there is no folder"):
        SQLiteStore(tmp_path / "nowhere" / "state.db")
    for nothing in (":memory:", "", "file:x?mode=memory"):
        with pytest.raises(ValueError, match="is no path of a file"):
            SQLiteStore(nothing)
    with pytest.raises(TypeError, match="takes the path of a file"):
        SQLiteStore(3)  # type: ignore[arg-type]
    assert not file_of(tmp_path / "text.db", "own_x").exists()
    assert locks(tmp_path) == []


def test_a_file_that_is_locked_when_it_is_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    SQLiteStore(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match=r"state\.db is locked by another process"):
            SQLiteStore(file, busy_s=0.01)
        other.execute("ROLLBACK")
    assert locks(tmp_path) == []
    SQLiteStore(file).close()


async def test_a_look_around_that_fails_is_said_once_and_made_up_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, tries = tmp_path / "state.db", threading.Semaphore(0)
    with opened(file, poll_s=0.01, busy_s=0.001) as living:
        with opened(file) as other:
            await other.confirmations.put(asked())
            holding = sqlite3.connect(file, isolation_level=None)
            holding.execute("BEGIN IMMEDIATE")
        looked = 'FROM "owners" WHERE "id" <>'
        living._sqlite.connection.set_trace_callback(lambda sql: tries.release() if looked in sql else None)
        for _ in range(4):
            assert await asyncio.to_thread(tries.acquire, timeout=60)
        holding.close()
        said = [record.getMessage() for record in caplog.records if "locked" in record.getMessage()]
        assert len(said) == 1 and said[0].startswith("state.db: state.db is locked by another process")
        done = threading.Event()
        ended = 'DELETE FROM "owners"'
        living._sqlite.connection.set_trace_callback(lambda sql: done.set() if ended in sql else None)
        assert await asyncio.to_thread(done.wait, 60)
        row = await living.confirmations.get("cnf_1")
        assert row is not None and row.status == "cancelled"


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (sqlite3.SQLITE_IOERR, StoreBroken, "cannot be read or written"),
        (sqlite3.SQLITE_CANTOPEN, StoreBroken, "cannot be opened"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLocked, "is locked"),
    ],
)
def test_what_the_database_says_is_named_for_an_operator(code: int, kind: type[StoreError], text: str) -> None:
    problem = sqlite3.OperationalError("some words")
    problem.sqlite_errorcode = code
    found = told(problem, Path("state.db"))
    assert type(found) is kind and text in str(found)
