"""The door over real HTTP with the official client, in both eras: what is listed, called, announced and reached."""

import asyncio
from collections.abc import AsyncIterator

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from sse_starlette.sse import AppStatus, EventSourceResponse

from remit import Limits, ManualClock, Surface
from tests.adapters.site import (
    AUDITOR,
    COUNT,
    DISABLE,
    ERAS,
    OPERATOR,
    READ,
    RENAME,
    SELECT,
    Heard,
    Hidden,
    Site,
    Table,
    beside,
    data_of,
    error_of,
    serving,
)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


async def names(client: Client) -> set[str]:
    """The names of a listing."""
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.requirement(
    "12.1-registration-and-surface-travel-along", "12.5-exactly-what-is-exposed-and-mounted", "12.5-annotations"
)
@pytest.mark.parametrize("mode", ERAS)
async def test_exactly_what_is_exposed_and_mounted_is_listed(site: Site, mode: str) -> None:
    surface, _ = site.open_table()
    async with site.client(mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(listed) == {READ, COUNT, SELECT, "view_devices__table__breakDown", DISABLE, RENAME, "surface_continue"}
    disable = listed[DISABLE]
    assert disable.description == "[domain · destructive · requires confirmation] Disable devices."
    assert disable.title == "Disable devices"
    assert "device_ids" not in disable.input_schema.get("properties", {})
    assert disable.annotations == types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    )
    assert disable.meta is not None
    assert disable.meta["remit/surface"] == surface.surface_id
    assert disable.meta["remit/availability"] == {"available": True}
    assert {"remit/registration", "remit/version", "remit/instance"} < set(disable.meta)


@pytest.mark.requirement("12.1-registration-and-surface-travel-along", "12.5-structured-content")
@pytest.mark.parametrize("mode", ERAS)
async def test_outputs_are_structured_and_their_origin_travels_along(site: Site, mode: str) -> None:
    surface, table = site.open_table()
    async with site.client(mode) as client:
        listed = {tool.name: tool.meta for tool in (await client.list_tools()).tools}
        read = await client.call_tool(READ)
        assert read.structured_content == {"ids": ["d1", "d2", "d3"], "selected": []}
        assert read.meta is not None
        meta = listed[READ]
        assert meta is not None
        for key in ("remit/registration", "remit/surface"):
            assert read.meta[key] == meta[key]
        count = await client.call_tool(COUNT)
        assert (count.structured_content, data_of(count)) == ({"result": 3}, 3)
        selected = await client.call_tool(SELECT, {"ids": ["d2"]})
        assert (selected.structured_content, table.selected) == (None, ["d2"])
    assert surface.surface_id == read.meta["remit/surface"]


@pytest.mark.requirement("12.2-live-state-is-apart")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_unavailable_tool_is_listed_with_its_reason_and_refused(site: Site, mode: str) -> None:
    surface = site.open().surface
    mount = surface.mount(Table())
    async with site.client(mode) as client:
        mount.update(available={"select_rows": "still loading"})
        listed = {tool.name: tool.meta for tool in (await client.list_tools()).tools}
        meta = listed[SELECT]
        assert meta is not None
        assert meta["remit/availability"] == {"available": False, "reason": "still loading"}
        error = error_of(await client.call_tool(SELECT, {"ids": []}))
        assert (error["code"], error["details"]) == ("CAPABILITY_NOT_AVAILABLE", {"reason": "still loading"})


@pytest.mark.requirement("6.4-a-json-rpc-id-is-no-invocation-id")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_invocation_id_repeats_a_call_and_a_json_rpc_id_never_does(site: Site, mode: str) -> None:
    site.open_table()
    async with site.client(mode) as client:
        await client.list_tools()
        call = {"device_id": "d1", "name": "new"}
        for _ in range(2):
            await client.call_tool(RENAME, call, meta=beside(invocation="once"))
        assert site.backend.renamed == [("d1", "new")]
        conflict = error_of(await client.call_tool(RENAME, {**call, "name": "x"}, meta=beside(invocation="once")))
        assert conflict["code"] == "INVOCATION_CONFLICT"
    for _ in range(2):  # another connection begins to count its requests anew
        async with site.client(mode) as client:
            await client.list_tools()
            await client.call_tool(RENAME, call)
    assert len(site.backend.renamed) == 3


@pytest.mark.requirement("11.12-no-view-is-open")
@pytest.mark.parametrize("mode", ERAS)
async def test_with_no_view_open_nothing_is_listed_and_a_call_says_so(site: Site, mode: str) -> None:
    site.gateway.open_view(
        principal=lambda: OPERATOR, host=lambda: None, within=_nothing, title="Devices", route="/devices"
    )  # built, but its client never came
    async with site.client(mode) as client:
        assert await names(client) == set()
        error = error_of(await client.call_tool(READ))
        assert error["code"] == "SURFACE_UNREACHABLE"
        assert error["details"] == {"outcome": "none", "reason": "no view is open"}


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def _nothing() -> _Nothing:
    return _Nothing()


@pytest.mark.requirement("11.12-several-and-none-chosen", "11.12-a-chosen-view-that-closed-is-told-once")
@pytest.mark.parametrize("mode", ERAS)
async def test_several_views_are_named_and_one_is_chosen(site: Site, mode: str) -> None:
    _, first = site.open_table()
    _, second = site.open_table()
    async with site.client(mode) as client:
        assert await names(client) == {"surface_views", "surface_use"}
        error = error_of(await client.call_tool(READ))
        assert error["code"] == "AMBIGUOUS_INSTANCE"
        assert [view["title"] for view in error["details"]["views"]] == ["Devices", "Devices (2)"]
        views = (await client.call_tool("surface_views")).structured_content["views"]
        assert [view["in_use"] for view in views] == [False, False]
        used = await client.call_tool("surface_use", {"view": views[1]["view"]})
        assert [view["in_use"] for view in used.structured_content["views"]] == [False, True]
        assert {SELECT, "surface_views", "surface_use"} < await names(client)
        await client.call_tool(SELECT, {"ids": ["d3"]})
        assert (first.selected, second.selected) == ([], ["d3"])
        site.gateway.close_view(views[1]["view"])
        gone = error_of(await client.call_tool(SELECT, {"ids": ["d1"]}))
        assert gone["code"] == "SURFACE_UNREACHABLE"
        assert [view["view"] for view in gone["details"]["views"]] == [views[0]["view"]]
        assert data_of(await client.call_tool(READ))["selected"] == []


@pytest.mark.requirement("11.12-the-only-view-is-chosen-and-sticks")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_view_chosen_by_itself_is_kept_when_a_second_opens(site: Site, mode: str) -> None:
    _, first = site.open_table()
    async with site.client(mode) as client:
        await client.list_tools()
        _, second = site.open_table()
        await client.call_tool(SELECT, {"ids": ["d1"]})
        assert (first.selected, second.selected) == (["d1"], [])


@pytest.mark.requirement(
    "7.12-a-reload-makes-new-registrations",
    "11.12-a-reload-takes-the-choice-along",
    "12.1-the-stale-answer-shows-the-successor",
)
@pytest.mark.parametrize("mode", ERAS)
async def test_a_reload_moves_the_choice_and_a_change_after_it_is_stale_once(site: Site, mode: str) -> None:
    site.open(tab="tab-1").surface.mount(Table())
    async with site.client(mode) as client:
        await client.list_tools()
        table = Table()
        site.open(tab="tab-1").surface.mount(table)
        assert len(site.gateway.describe()["views"]) == 1  # type: ignore[arg-type]
        await client.list_tools()
        stale = error_of(await client.call_tool(SELECT, {"ids": ["d1"]}))
        assert (stale["code"], stale["details"]["present"]["name"]) == ("STALE_CAPABILITY", SELECT)
        assert table.selected == []
        await client.call_tool(SELECT, {"ids": ["d1"]})
        assert table.selected == ["d1"]


class TestNotices:
    """One notice a change, to whom it concerns."""

    @staticmethod
    async def settled(client: Client) -> None:
        """A round trip: what was announced before it has arrived."""
        await client.list_tools()
        await client.list_tools()

    @staticmethod
    def change(surface: Surface) -> None:
        surface.mount(Table(), "one")
        surface.mount(Table(), "two")

    @pytest.mark.requirement("12.5-list-notices-are-coalesced", "12.5-notices-to-whom-they-concern")
    async def test_the_handshake_era_hears_of_opening_mounting_and_closing(self, site: Site) -> None:
        heard = Heard()
        async with site.client("legacy", heard=heard) as client:
            await site.streaming.wait()
            view = site.open()
            await heard.until(1)
            self.change(view.surface)
            await heard.until(2)
            site.open(AUDITOR).surface.mount(Table())
            await self.settled(client)
            assert heard.notices == 2
            site.gateway.close_view(view.id)
            await heard.until(3)

    @pytest.mark.requirement("12.5-list-notices-are-coalesced")
    async def test_the_modern_era_hears_over_its_listen_stream(self, site: Site) -> None:
        async with site.client("auto") as client, client.listen(tools_list_changed=True) as stream:
            events = aiter(stream)
            view = site.open()
            await anext(events)
            self.change(view.surface)
            await anext(events)
            site.open(AUDITOR).surface.mount(Table())
            coming = asyncio.ensure_future(anext(events))
            await self.settled(client)
            assert not coming.done()
            site.gateway.close_view(view.id)
            await coming

    @pytest.mark.requirement("12.5-notices-to-whom-they-concern")
    async def test_what_is_hidden_from_a_consumer_makes_no_notice(self, site: Site) -> None:
        heard = Heard()
        surface, _ = site.open_table()
        token = site.gateway.delegate(OPERATOR, actor="narrow", scope=["domain:devices.rename"])
        async with site.client("legacy", token=token, heard=heard) as client:
            await site.streaming.wait()
            surface.mount(Hidden(), "another")
            await self.settled(client)
            assert heard.notices == 0
            surface.mount(Table(), "second")
            await heard.until(1)

    @pytest.mark.requirement("12.5-ended-sessions-are-let-go")
    async def test_a_handshake_session_that_has_ended_is_not_announced_to(self, site: Site) -> None:
        token = site.token()
        async with site.client("legacy", token=token):
            await site.streaming.wait()
        identity = site.gateway._delegations.verify(token)
        assert identity is not None
        assert site.gateway._door is not None
        # The library has no public way to hear of this end; the one private place that is used is tested here.
        notices = site.gateway._door._handlers.callers._callers[identity.consumer.key].notices
        assert (notices._legacy, notices._unwatch) == ({}, None)

    @pytest.mark.requirement("11.11-a-stream-ends-with-its-token")
    async def test_a_listen_stream_ends_with_its_token(self) -> None:
        clock = ManualClock()
        async with serving(clock=clock) as site:
            token = site.gateway.delegate(OPERATOR, actor="agent", scope=["view:**"], ttl=60)
            async with site.client("auto", token=token) as client, client.listen(tools_list_changed=True) as stream:
                clock.advance(60)
                assert [event async for event in stream] == []

    @pytest.mark.requirement("17-streams")
    async def test_no_more_streams_than_the_limit_listen(self) -> None:
        async with serving(Limits(streams=2)) as site, site.client("auto", token=site.token()) as client:
            async with client.listen(tools_list_changed=True) as first, client.listen(tools_list_changed=True):
                with pytest.raises(MCPError, match=r"at most 2 streams of one client may be open: limits\.streams"):
                    async with client.listen(tools_list_changed=True):
                        pytest.fail("a third stream listens")
                async with site.client("auto") as other, other.listen(tools_list_changed=True) as theirs:
                    site.open()
                    await anext(aiter(first))
                    await anext(aiter(theirs))

    @pytest.mark.requirement("15.5-streams-are-closed")
    async def test_stopping_ends_a_listen_stream_deliberately(self, site: Site) -> None:
        async with site.client("auto") as client, client.listen(tools_list_changed=True) as stream:
            site.gateway.stopping()
            assert [event async for event in stream] == []


@pytest.mark.requirement("12.5-the-token-of-every-request")
async def test_the_official_client_is_told_apart_by_token_not_by_connection(site: Site) -> None:
    _, table = site.open_table(OPERATOR)
    _, other = site.open_table(AUDITOR)
    async with (
        site.client("auto", token=site.token(OPERATOR)) as one,
        site.client("legacy", token=site.token(AUDITOR)) as two,
    ):
        await asyncio.gather(one.list_tools(), two.list_tools())
        for number in range(5):
            await asyncio.gather(
                one.call_tool(SELECT, {"ids": [f"a{number}"]}), two.call_tool(SELECT, {"ids": [f"b{number}"]})
            )
            assert (table.selected, other.selected) == ([f"a{number}"], [f"b{number}"])


@pytest.mark.requirement("15.5-no-new-calls")
async def test_the_door_needs_a_start_and_takes_nothing_after_its_stop(site: Site) -> None:
    site.gateway.stopping()
    answer = await site.post()
    assert answer.status_code == 503
    await site.gateway.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        site.open()


@pytest.mark.requirement("15.5-running-calls-come-to-their-end")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_running_call_comes_to_its_end_and_is_answered_while_the_gateway_stops(site: Site, mode: str) -> None:
    site.open_table()
    site.backend.held = asyncio.Event()
    async with site.client(mode) as client:
        await client.list_tools()
        calling = asyncio.create_task(client.call_tool(RENAME, {"device_id": "d1", "name": "new"}))
        await site.backend.renaming.wait()
        stopping = asyncio.create_task(site.gateway.stop())
        assert (await site.post()).status_code == 503
        assert not stopping.done()
        site.backend.held.set()
        assert data_of(await calling) == "new"
        await stopping
    assert site.backend.renamed == [("d1", "new")]


@pytest.mark.requirement("15.5-running-calls-come-to-their-end")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_running_call_is_answered_although_the_server_has_heard_a_signal(
    site: Site, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.open_table()
    site.backend.held = asyncio.Event()
    async with site.client(mode) as client:
        await client.list_tools()
        calling = asyncio.create_task(client.call_tool(RENAME, {"device_id": "d1", "name": "new"}))
        await site.backend.renaming.wait()
        # What a signal sets: the streaming library hears of it in its own time, and tells all its streams at once.
        told = asyncio.create_task(EventSourceResponse._listen_for_exit_signal())
        await asyncio.sleep(0)
        monkeypatch.setattr(AppStatus, "should_exit", True)
        stopping = asyncio.create_task(site.gateway.stop())
        await told
        assert (await site.post()).status_code == 503
        site.backend.held.set()
        assert data_of(await calling) == "new"
        await stopping
    assert site.backend.renamed == [("d1", "new")]
