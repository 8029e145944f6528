"""Calls that run for a while, over real HTTP in both eras: progress, cancelling, request ids."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from remit import Decider, Limits, Surface
from tests.adapters.site import DISABLE, ERAS, PATIENCE_S, READ, RENAME, Site, beside, data_of, serving

PERSON = Decider("operator")
NEW = {"device_id": "d1", "name": "new"}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@dataclass
class Told:
    """A progress callback that keeps what it hears."""

    reports: list[tuple[float, float | None, Any]] = field(default_factory=list)
    first: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append((progress, total, None if message is None else json.loads(message)))
        self.first.set()


def renames(surface: Surface) -> list[tuple[str | None, str | None]]:
    """How the renames went, as the journal has it: code and outcome."""
    return [
        (entry.code, entry.outcome)
        for entry in surface.audit()
        if entry.type == "invocation" and entry.capability == "domain:devices.rename"
    ]


@pytest.mark.requirement("12.5-progress")
@pytest.mark.parametrize("mode", ERAS)
async def test_progress_reaches_the_client_that_asked_for_it_while_the_call_runs(site: Site, mode: str) -> None:
    site.open_table()
    site.backend.held = asyncio.Event()
    site.backend.reports = [(1, 4, "a\nquarter")]
    told = Told()
    async with site.client(mode) as client:
        await client.list_tools()
        calling = asyncio.create_task(client.call_tool(RENAME, NEW, progress_callback=told))
        await told.first.wait()
        assert not calling.done()
        assert told.reports == [(1, 4, {"source": RENAME, "data": "a quarter"})]
        site.backend.held.set()
        assert data_of(await calling) == "new"
        assert len(told.reports) == 1


@pytest.mark.requirement("12.5-progress-is-bounded")
@pytest.mark.parametrize("mode", ERAS)
async def test_of_many_reports_the_newest_arrives_before_the_answer_and_none_goes_back(mode: str) -> None:
    async with serving(Limits(progress_s=0.000_001)) as site:
        site.open_table()
        site.backend.reports = [
            *((number, None, None) for number in range(1, 200)),
            (50, None, "back"),
            (200, 200, None),
        ]
        told = Told()
        async with site.client(mode) as client:
            await client.list_tools()
            assert data_of(await client.call_tool(RENAME, NEW, progress_callback=told)) == "new"
            await client.list_tools()
        done = [report[0] for report in told.reports]
        assert done[-1] == 200
        assert done == sorted(set(done))
        assert len(done) < 10  # the code reported all at once, so there was no time to tell more than few


@pytest.mark.requirement("12.5-progress")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_asked_for_no_progress_gets_none_and_a_continued_call_tells_its_own(
    site: Site, mode: str
) -> None:
    surface, table = site.open_table()
    table.selected = ["d1"]
    site.backend.reports = [(1, 2, None)]
    told = Told()
    async with site.client(mode) as client:
        await client.list_tools()
        assert data_of(await client.call_tool(RENAME, NEW)) == "new"
        asked = await client.call_tool(DISABLE)
        assert asked.meta is not None
        await surface.confirmations.approve(asked.meta["remit/confirmation"], PERSON)
        arguments = {"confirmation_id": asked.meta["remit/confirmation"]}
        assert data_of(await client.call_tool("surface_continue", arguments, progress_callback=told)) == 1
    assert told.reports == [(1, 1, {"source": "surface_continue", "data": "disabled"})]


class TestCancelling:
    """A request that its client gives up leaves the call; the last one's leaving ends it (SPEC 6.1)."""

    @pytest.mark.requirement("12.5-a-cancelled-request-leaves-its-call")
    @pytest.mark.parametrize("mode", ERAS)
    async def test_a_call_that_its_only_client_cancels_is_told_to_stop_and_its_outcome_is_unknown(
        self, site: Site, mode: str
    ) -> None:
        surface, _ = site.open_table()
        site.backend.held = asyncio.Event()
        async with site.client(mode) as client:
            await client.list_tools()
            calling = asyncio.create_task(client.call_tool(RENAME, NEW, meta=beside(invocation="once")))
            await site.backend.renaming.wait()
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            await client.call_tool(READ)  # by its answer, the server has heard of the cancel
            assert (site.backend.given_up, site.backend.renamed) == (1, [])
            assert renames(surface) == [("CANCELLED", "unknown")]
            # A repeat is told the same; nothing runs a second time.
            repeated = await client.call_tool(RENAME, NEW, meta=beside(invocation="once"))
            assert repeated.structured_content["error"]["details"] == {"outcome": "unknown"}
        assert site.backend.renamed == []

    @pytest.mark.requirement("12.5-a-cancelled-request-leaves-its-call")
    @pytest.mark.parametrize("mode", ERAS)
    async def test_a_call_that_another_client_waits_for_goes_on(self, site: Site, mode: str) -> None:
        surface, _ = site.open_table()
        site.backend.held = asyncio.Event()
        site.backend.reports = [(1, None, None)]
        told = Told()
        token = site.token()  # one agent with two connections, so one consumer
        async with site.client(mode, token=token) as one, site.client(mode, token=token) as other:
            await one.list_tools()
            await other.list_tools()
            same = beside(invocation="once")
            first = asyncio.create_task(one.call_tool(RENAME, NEW, meta=same, progress_callback=told))
            await site.backend.renaming.wait()
            second = asyncio.create_task(other.call_tool(RENAME, NEW, meta=same))
            await other.call_tool(READ)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await one.call_tool(READ)
            site.backend.held.set()
            assert data_of(await second) == "new"
        assert (site.backend.given_up, site.backend.renamed) == (0, [("d1", "new")])
        assert ("CANCELLED", "none") not in renames(surface)

    @pytest.mark.requirement("12.5-a-lost-connection-of-the-handshake-era-cancels-nothing")
    async def test_a_lost_connection_cancels_in_the_modern_era_and_not_in_the_handshake_era(self, site: Site) -> None:
        site.open_table()
        for mode, renamed in (("auto", []), ("legacy", [("d1", "new")])):
            site.backend.held, site.backend.renaming = asyncio.Event(), asyncio.Event()
            async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
                send = await _connected(http, site, mode)
                calling = asyncio.create_task(send(3, "tools/call", name=RENAME, arguments=NEW))
                await site.backend.renaming.wait()
                calling.cancel()  # the socket is closed, and nothing else is said
                await asyncio.gather(calling, return_exceptions=True)
            async with site.client(mode) as other:
                await other.call_tool(READ)
                site.backend.held.set()
                await other.call_tool(READ)
            assert (site.backend.given_up, site.backend.renamed) == (1, renamed)


Send = Any
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def _connected(http: httpx2.AsyncClient, site: Site, mode: str, token: str | None = None) -> Send:
    """A plain HTTP client of one era; what it sends has the id it is told."""
    headers = {
        "Authorization": f"Bearer {token or site.token()}",
        "Accept": "application/json, text/event-stream",
    }
    if mode == "auto":
        headers["MCP-Protocol-Version"] = "2026-07-28"

    async def send(id: Any, method: str, **params: Any) -> httpx2.Response:
        own = dict(headers)
        if mode == "auto":
            own |= {"Mcp-Method": method} | ({"Mcp-Name": params["name"]} if "name" in params else {})
            params["_meta"] = MODERN_META
        body = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        return await http.post(site.door, json=body, headers=own)

    if mode == "legacy":
        client = {"name": "plain", "version": "1"}
        begun = await send(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        headers |= {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        await send(None, "notifications/initialized")
    await send(2, "tools/list")
    return send


class TestRequestIds:
    """A handshake session and its request ids; the modern era has no session in which they could meet."""

    @pytest.mark.requirement("12.5-one-answer-for-one-request-id")
    @pytest.mark.parametrize("second", [1, "1"])
    async def test_a_second_request_with_an_id_under_way_is_refused_and_the_first_gets_its_own_answer(
        self, site: Site, second: object
    ) -> None:
        site.open_table()
        site.backend.held = asyncio.Event()
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            send = await _connected(http, site, "legacy")
            slow = asyncio.create_task(send(1, "tools/call", name=RENAME, arguments=NEW))
            await site.backend.renaming.wait()
            refused = await send(second, "tools/call", name=READ)
            assert refused.status_code == 409
            error = refused.json()
            assert (error["id"], error["error"]["code"]) == (second, -32600)
            site.backend.held.set()
            assert "new" in (await slow).text
            assert "selected" in (await send(1, "tools/call", name=READ)).text  # free again at once
        assert site.backend.renamed == [("d1", "new")]

    @pytest.mark.requirement("12.5-one-answer-for-one-request-id")
    async def test_an_id_whose_connection_broke_off_stays_taken_while_its_code_runs(self, site: Site) -> None:
        site.open_table()
        site.backend.held = asyncio.Event()
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            send = await _connected(http, site, "legacy")
            lost = asyncio.create_task(send(7, "tools/call", name=RENAME, arguments=NEW))
            await site.backend.renaming.wait()
            lost.cancel()
            await asyncio.gather(lost, return_exceptions=True)
            assert (await send(7, "tools/call", name=READ)).status_code == 409
            assert "selected" in (await send(8, "tools/call", name=READ)).text
            site.backend.held.set()

    @pytest.mark.requirement("12.5-one-answer-for-one-request-id")
    async def test_other_sessions_and_other_messages_are_not_held_up(self, site: Site) -> None:
        site.open_table()
        site.backend.held = asyncio.Event()
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            one, other = await _connected(http, site, "legacy"), await _connected(http, site, "legacy")
            slow = asyncio.create_task(one(5, "tools/call", name=RENAME, arguments=NEW))
            await site.backend.renaming.wait()
            assert "selected" in (await other(5, "tools/call", name=READ)).text
            site.backend.held.set()
            assert "new" in (await slow).text
            assert (await one("_GET_stream", "tools/call", name=READ)).status_code == 409
            assert "Method not found" in (await one(6, "no/such/method")).text
            assert "Method not found" in (await one(6, "no/such/method")).text
            for _ in range(2):
                assert (await one(9, "tools/call", name="x" * 2_000_000)).status_code == 413
