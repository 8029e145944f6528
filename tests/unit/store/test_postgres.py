"""The store in a database of its own: sessions that end, a server that is restarted, versions (SPEC 15.1, 15.6)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from remit._base.clock import ManualClock
from remit.cli import main
from remit.store.failures import (
    StoreBroken,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnreachable,
    StoreVersion,
)
from remit.store.postgres import PostgresEngine, PostgresStore, migrate_database
from remit.store.schema import VERSION
from remit.store.sql_parts import CALLS, CONFIRMATIONS, DELEGATIONS, HANDOFFS, REVOCATIONS, SESSIONS, STANDING
from tests.postgres_server import Server
from tests.unit.store.rows import BOT, asked, call, stands, step, taken_back, token, view

TABLES = (CALLS, CONFIRMATIONS, DELEGATIONS, HANDOFFS, REVOCATIONS, SESSIONS, STANDING)


@contextmanager
def opened(conninfo: str, **options: Any) -> Iterator[PostgresStore]:
    store = PostgresStore(conninfo, **{"clock": ManualClock(), "poll_s": 3_600.0, "grace_s": 0.0, **options})
    try:
        yield store
    finally:
        store.close()


def said(conninfo: str, statement: str) -> list[Any]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(b"SET search_path = remit")
        found = connection.execute(statement.encode())
        return found.fetchall() if found.description else []


def cut(conninfo: str) -> None:
    """End every other session of this database, as the end of their processes would."""
    ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database()"
    said(conninfo, f"{ended} AND pid <> pg_backend_pid()")


@pytest.mark.requirement("15.1-open-requests-of-an-ended-process-are-cancelled", "15.1-the-rest-lives-on")
async def test_a_process_whose_session_has_ended_is_found_out_and_one_that_was_heard_of_lives(
    postgres: Server,
) -> None:
    database = postgres.fresh()
    with opened(database) as first:
        for id, status in (("p", "pending"), ("a", "approved"), ("s", "spent")):
            await first.confirmations.put(asked(id, status=status, outcome="unknown" if id == "s" else None))
        first.revocations.add(taken_back())
        first.suspensions.set("x", True)
        first.delegations.put(token())
        first.sessions.put(view(seen_at=None))
        first.handoffs.put(step())
        first.standing.put(stands())
        await first.calls.begin(call())
        await first.flush()
        with opened(database) as beside:
            assert {row.status for row in await beside.confirmations.list()} == {"pending", "approved", "spent"}
            assert beside.revocations.holds("dlg_1") and beside.suspensions.holds("x")
            assert not beside.calls.any_lost
        cut(database)
        with opened(database, grace_s=3_600.0) as patient:
            assert {row.status for row in await patient.confirmations.list()} == {"pending", "approved", "spent"}
        with opened(database) as second:
            found = {row.id: (row.status, row.cause, row.outcome) for row in await second.confirmations.list()}
            assert found == {
                "p": ("cancelled", "stopping", None),
                "a": ("cancelled", "stopping", None),
                "s": ("spent", None, "unknown"),
            }
            assert second.delegations.get("dlg_1") == token()
            again = second.sessions.lost("acme", "ada", "k")
            assert again is not None and again.seen_at is not None
            assert list(second.handoffs.lost("acme", "ada", "view:a.b", "default")) == [step()]
            assert await second.calls.lost("acme", "ada", BOT, "c1") == call()
            assert list(second.standing.list()) == []
            # Whoever only lost its connection goes on, and hears that what it held has ended.
            assert not await first.confirmations.transition("p", "pending", "approved")


@pytest.mark.requirement("15.1-two-processes-use-one-file")
async def test_of_two_stores_exactly_one_spends_and_a_bucket_gives_no_more_than_it_holds(postgres: Server) -> None:
    database = postgres.fresh()
    with opened(database, busy_s=60.0) as first, opened(database, busy_s=60.0) as second:
        await first.confirmations.put(asked(status="approved"))
        both = (first, second) * 50
        won = await asyncio.gather(*(each.confirmations.transition("cnf_1", "approved", "spent") for each in both))
        assert sum(won) == 1
        taken = await asyncio.gather(*(each.meters.take("m", calls=10, per_s=60.0) for each in both))
        assert sum(wait == 0.0 for wait in taken) == 10
        heard: list[str] = []
        second.suspensions.subscribe(heard.append)
        first.suspensions.set("x", True)
        await first.flush()
        await second.refresh()
        assert heard == ["x"]


async def test_a_store_that_is_closed_leaves_nothing_open_and_no_owner(postgres: Server) -> None:
    database = postgres.fresh()
    with opened(database) as first:
        await first.confirmations.put(asked())
    assert said(database, 'SELECT "status", "owner" FROM "confirmations"') == [("cancelled", None)]
    assert said(database, 'SELECT count(*) FROM "owners"') == [(0,)]
    with pytest.raises(StoreError, match="has been closed"):
        await first.confirmations.put(asked())


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_a_server_that_is_restarted_refuses_meanwhile_and_needs_no_hand(postgres: Server) -> None:
    database = postgres.fresh()
    with opened(database) as store:
        await store.confirmations.put(asked(status="approved"))
        postgres.stop()
        try:
            with pytest.raises(StoreUnreachable, match=r"cannot be reached\n  do  look whether it runs"):
                await store.confirmations.transition("cnf_1", "approved", "spent")
            store.revocations.add(taken_back())
            with pytest.raises(StoreUnreachable):
                await store.flush()
            with pytest.raises(StoreUnreachable):
                PostgresStore(database)
        finally:
            postgres.start()
        await store.flush()
        assert said(database, 'SELECT "id" FROM "revocations"') == [("dlg_1",)]
        assert await store.confirmations.transition("cnf_1", "approved", "spent")


@pytest.mark.requirement("15.1-a-store-that-fails-refuses")
async def test_a_database_that_is_held_or_read_only_is_named_so(postgres: Server) -> None:
    database = postgres.fresh()
    with opened(database, busy_s=0.05) as store:
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(b"SELECT pg_advisory_lock(7236041)")
            with pytest.raises(StoreLocked, match="somebody holds the database"):
                await store.confirmations.put(asked())
            assert await store.confirmations.get("cnf_1") is None
        await store.confirmations.put(asked())
        name = said(database, "SELECT current_database()")[0][0]
        said(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        cut(database)
        with pytest.raises(StoreReadOnly, match="the database is read-only"):
            await store.confirmations.transition("cnf_1", "pending", "approved")
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(b"SET default_transaction_read_only = off")
            other.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
        cut(database)
        assert await store.confirmations.transition("cnf_1", "pending", "approved")


@pytest.mark.requirement("15.6-an-older-file-waits-for-migrate", "15.6-a-newer-file-is-left-alone")
async def test_another_version_is_refused_until_it_is_this_one(postgres: Server) -> None:
    database = postgres.fresh()
    ran = CliRunner().invoke(main, ["migrate", "--database", database])
    assert (ran.exit_code, ran.output) == (0, f"the database has the schema {VERSION}, it had 0\n")
    with opened(database) as store:
        said(database, f"UPDATE remit_schema SET version = {VERSION + 1}")
        await store.confirmations.put(asked())
        said(database, f"UPDATE remit_schema SET oldest = {VERSION + 1}")
        with pytest.raises(StoreVersion, match="update this program"):
            await store.confirmations.get("cnf_1")
    with pytest.raises(StoreVersion, match="update this program"):
        PostgresStore(database)
    assert migrate_database(database) == (VERSION + 1, VERSION + 1)
    said(database, "UPDATE remit_schema SET version = 1, oldest = 1")
    with pytest.raises(StoreVersion, match="remit migrate"):
        PostgresStore(database)
    tables = ", ".join(f'"{table.name}"' for table in (CALLS, DELEGATIONS, HANDOFFS, SESSIONS, STANDING))
    said(database, f"DROP TABLE {tables}")
    assert migrate_database(database) == (1, VERSION)
    with opened(database) as store:
        assert await store.confirmations.get("cnf_1") is not None


async def test_what_else_is_in_the_database_is_left_alone(postgres: Server) -> None:
    database = postgres.fresh()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(b"CREATE TABLE public.sessions (id int)")
    with opened(database):
        tables = said(
            database, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_name = 'sessions'"
        )
        assert sorted(tables) == [("public", "sessions"), ("remit", "sessions")]
        for table in TABLES:
            question = (
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'remit' AND table_name = "
            )
            columns = {name for (name,) in said(database, f"{question}'{table.name}'")}
            assert columns - {"owner"} == set(table._columns)


def test_what_the_database_says_is_named_for_an_operator_and_tells_nothing_of_how_it_is_reached() -> None:
    engine = PostgresEngine("password=hidden-word", 1.0, "own_1")
    for problem, kind in (
        (psycopg.errors.DiskFull("x"), StoreFull),
        (psycopg.errors.DeadlockDetected("x"), StoreLocked),
        (psycopg.errors.UndefinedTable("x"), StoreBroken),
        (psycopg.InterfaceError("x"), StoreUnreachable),
    ):
        told = engine.told(problem)
        assert type(told) is kind and "hidden-word" not in str(told)
    assert engine.told(ValueError("x")) is None
    for nothing in ("", 3):
        with pytest.raises(ValueError, match="takes what libpq does"):
            PostgresStore(nothing)  # type: ignore[arg-type]
