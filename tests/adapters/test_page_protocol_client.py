"""The caller library before a real door: what it sends, what it refuses, when it stops (SPEC 11.13)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import jwt
import pytest

from remit import Consumer, Decider, Failed, Ok, Outcome
from remit.client import AsyncClient, Client, Described, DoorError
from tests.adapters.page_client import COUNT, DISABLE, READ, SELECT, token_for
from tests.adapters.site import PATIENCE_S, Site, Table, serving

PERSON = Decider("operator")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@asynccontextmanager
async def calling(site: Site) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(f"{site.address}/remit/page", token_for(site)) as client:
        yield client


def error(answer: object, code: str) -> dict[str, object]:
    """The details of a refusal with this code."""
    assert isinstance(answer, Failed) and answer.error.code == code, answer
    return dict(answer.error.details)


def output(answer: Outcome) -> object:
    assert isinstance(answer, Ok), answer
    return answer.output


async def until(holds: Callable[[], bool], look: Callable[[], Awaitable[object]]) -> None:
    """Look again until it holds; only a hang comes to the end of the time."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await look()


@pytest.mark.requirement("11.13-only-what-is-described")
async def test_an_id_that_the_latest_describe_does_not_hold_is_refused_and_nothing_is_sent(site: Site) -> None:
    session, table = site.open(), Table()
    mounted = session.surface.mount(table)
    async with calling(site) as client:
        error(await client.call(READ), "STALE_CAPABILITY")
        described = await client.describe()
        assert isinstance(described, Described) and described == client.latest
        assert {each.id for each in described.capabilities} >= {READ, COUNT, SELECT, DISABLE}
        before = len(session.surface.audit())
        for id in (
            "view:devices.table.selectrows",
            "view:devices.table",
            "selectRows",
            f"{SELECT} ",
            "",
            DISABLE + "x",
        ):
            error(await client.call(id, {"ids": ["d1"]}), "CAPABILITY_NOT_FOUND")
        assert len(session.surface.audit()) == before
        assert output(await client.call(SELECT, {"ids": ["d1"]})) is None
        assert (table.selected, output(await client.call(COUNT))) == (["d1"], 3)
        assert isinstance(client.latest, Described)
        mounted.unmount()
        error(await client.call(SELECT, {"ids": ["d2"]}), "COMPONENT_UNMOUNTED")
        assert table.selected == ["d1"]


@pytest.mark.requirement("11.13-the-registration-goes-along")
async def test_a_component_that_was_replaced_is_never_called_in_its_successors_place(site: Site) -> None:
    session, first, second = site.open(), Table(), Table()
    mounted = session.surface.mount(first)
    async with calling(site) as client:
        await client.describe()
        mounted.unmount()
        session.surface.mount(second)
        assert error(await client.call(SELECT, {"ids": ["d1"]}), "STALE_CAPABILITY")["present"]
        error(await client.call(SELECT, {"ids": ["d1"]}), "STALE_CAPABILITY")
        assert (first.selected, second.selected) == ([], [])
        await client.describe()
        output(await client.call(SELECT, {"ids": ["d1"]}))
        assert second.selected == ["d1"]


@pytest.mark.requirement("11.13-lists-are-dropped")
@pytest.mark.parametrize("change", ["route", "scope", "view"])
async def test_the_list_is_dropped_when_route_or_scope_change_or_the_view_closes(site: Site, change: str) -> None:
    session, table = site.open(), Table()
    session.surface.mount(table)
    token = token_for(site)
    async with AsyncClient(f"{site.address}/remit/page", token) as client, client.events() as events:
        assert isinstance(await client.describe(), Described)
        match change:
            case "route":
                session.surface.set_route("/elsewhere")
            case "scope":
                session.surface.snapshot(_narrowed(token))
            case _:
                site.gateway.close_view(session.id)
        await until(lambda: client.latest is None, lambda: anext(events))
        error(await client.call(SELECT, {"ids": ["d1"]}), "STALE_CAPABILITY")
        assert table.selected == []


def _narrowed(token: str) -> Consumer:
    """Who this token stands for, with less to reach."""
    grant = jwt.decode(token, options={"verify_signature": False})["jti"]
    return Consumer("agent", kind="page", issuer="remit", actors=("agent",), grant=grant, scope=[COUNT])


@pytest.mark.requirement("11.13-a-denial-stops")
async def test_after_a_persons_no_nothing_more_is_called_until_the_host_says_so(site: Site) -> None:
    session, table = site.open(), Table()
    session.surface.confirmations.attach_page()
    table.selected = ["d1"]
    session.surface.mount(table)
    async with calling(site) as client:
        await client.describe()
        asked = error(await client.call(DISABLE), "CONFIRMATION_REQUIRED")["confirmation_id"]
        assert isinstance(asked, str)
        await session.surface.confirmations.deny(asked, PERSON)
        assert error(await client.call(DISABLE, confirmation=asked), "CONFIRMATION_INVALID")["reason"] == "denied"
        before = len(session.surface.audit())
        for id in (DISABLE, READ, "view:made.up"):
            assert error(await client.call(id), "CONFIRMATION_INVALID")["reason"] == "denied"
        assert (client.denial is not None, len(session.surface.audit())) == (True, before)
        client.resume()
        error(await client.call(READ), "STALE_CAPABILITY")
        await client.describe()
        assert isinstance(await client.call(READ), Ok)
        assert site.backend.disabled == []


@pytest.mark.requirement("11.13-a-denial-stops")
async def test_a_no_that_arrives_as_an_event_stops_the_caller_too(site: Site) -> None:
    session, table = site.open(), Table()
    session.surface.confirmations.attach_page()
    table.selected = ["d1"]
    session.surface.mount(table)
    async with calling(site) as client, client.events() as events:
        await client.describe()
        asked = error(await client.call(DISABLE), "CONFIRMATION_REQUIRED")["confirmation_id"]
        assert isinstance(asked, str)
        await session.surface.confirmations.deny(asked, PERSON)
        await until(lambda: client.denial is not None, lambda: anext(events))
        error(await client.call(COUNT), "CONFIRMATION_INVALID")


@pytest.mark.requirement("11.13-outcomes-and-faults")
async def test_an_approved_call_runs_once_and_a_handoff_that_nobody_opened_is_refused(site: Site) -> None:
    session, table = site.open(), Table()
    session.surface.confirmations.attach_page()
    table.selected = ["d1"]
    session.surface.mount(table)
    async with calling(site) as client:
        await client.describe()
        asked = error(await client.call(DISABLE, invocation="call-1"), "CONFIRMATION_REQUIRED")["confirmation_id"]
        assert isinstance(asked, str)
        view = session.surface.confirmations.get(asked)
        assert view is not None
        await session.surface.confirmations.approve(asked, PERSON, digest=view.digest)
        for _ in range(2):
            done = await client.call(DISABLE, invocation="call-1", confirmation=asked)
            assert isinstance(done, Ok) and (done.invocation_id, done.output) == ("call-1", 1)
        assert site.backend.disabled == [["d1"]]
        error(await client.handoff("hnd_invented"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.13-outcomes-and-faults")
async def test_several_views_are_told_and_one_is_chosen(site: Site) -> None:
    first, second = site.open(title="First"), site.open(title="Second")
    for each in (first, second):
        each.surface.mount(Table())
    async with calling(site) as client:
        views = error(await client.describe(), "AMBIGUOUS_INSTANCE")["views"]
        assert isinstance(views, list) and [row["view"] for row in views] == [first.id, second.id]
        described = await client.describe(view=second.id)
        assert isinstance(described, Described) and described.title == "Second"


@pytest.mark.requirement("11.13-outcomes-and-faults")
async def test_what_is_no_outcome_is_raised_and_a_token_that_is_not_good_is_one_of_it(site: Site) -> None:
    async with AsyncClient(f"{site.address}/remit/page", "no-token") as client:
        with pytest.raises(DoorError) as problem:
            await client.describe()
        assert problem.value.status == 401
    async with AsyncClient(f"{site.address}/elsewhere", token_for(site)) as client:
        with pytest.raises(DoorError):
            await client.describe()
    for odd in ("http://localhost/remit/page?token=x", "http://me:you@localhost/remit/page"):
        with pytest.raises(ValueError):
            AsyncClient(odd, "token")


@pytest.mark.requirement("11.13-outcomes-and-faults")
async def test_code_that_blocks_has_the_same_caller(site: Site) -> None:
    session, table = site.open(), Table()
    session.surface.mount(table)
    loop, token = asyncio.get_running_loop(), token_for(site)

    def work() -> None:
        with Client(f"{site.address}/remit/page", token) as client, client.events() as events:
            error(client.call(READ), "STALE_CAPABILITY")
            assert isinstance(client.describe(), Described)
            error(client.call("view:devices.table.clear"), "CAPABILITY_NOT_FOUND")
            assert output(client.call(SELECT, {"ids": ["d2"]})) is None
            loop.call_soon_threadsafe(session.surface.set_route, "/elsewhere")
            for event in events:
                if event.name == "route-changed":
                    break
            assert client.latest is None and client.denial is None
            error(client.handoff("hnd_invented"), "CAPABILITY_NOT_FOUND")
            client.resume()
        client.close()
        with pytest.raises(RuntimeError, match="closed"):
            client.describe()

    await asyncio.to_thread(work)
    assert table.selected == ["d2"]
