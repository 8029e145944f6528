"""What users expect of clients that share a door. `spec/expectations.toml` names these tests."""

import asyncio

import httpx2
import pytest

from tests.adapters.site import ERAS, OPERATOR, READ, RENAME, data_of, serving

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def test_two_calls_at_the_same_time_with_one_request_id_get_each_their_own_answer() -> None:
    async with serving() as site:
        site.open_table()
        site.backend.held = asyncio.Event()
        usual = {"Authorization": f"Bearer {site.token()}", "Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(headers=usual) as http:

            async def ask(method: str, tool: str = "", **arguments: str) -> str:
                named = {"name": tool, "arguments": arguments} if tool else {}
                body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**named, "_meta": META}}
                headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": tool}
                sent = {name: value for name, value in headers.items() if value}
                return (await http.post(site.door, json=body, headers=sent)).text

            assert RENAME in await ask("tools/list")
            renaming = asyncio.create_task(ask("tools/call", RENAME, device_id="d1", name="renamed"))
            await site.backend.renaming.wait()
            read = await ask("tools/call", READ)
            site.backend.held.set()
            renamed = await renaming
        assert "renamed" in renamed and "selected" not in renamed
        assert "selected" in read and "renamed" not in read


@pytest.mark.parametrize("mode", ERAS)
async def test_two_clients_that_count_their_requests_alike_get_each_their_own_answer(mode: str) -> None:
    async with serving() as site:
        site.open_table()
        site.backend.held = asyncio.Event()
        async with site.client(mode) as one, site.client(mode) as other:
            await one.list_tools()
            await other.list_tools()
            renaming = asyncio.create_task(one.call_tool(RENAME, {"device_id": "d1", "name": "new"}))
            await site.backend.renaming.wait()
            assert data_of(await other.call_tool(READ)) == {"ids": ["d1", "d2", "d3"], "selected": []}
            assert not renaming.done()
            site.backend.held.set()
            assert data_of(await renaming) == "new"


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_drops_off_during_a_call_disturbs_nobody_and_its_call_is_journalled(mode: str) -> None:
    async with serving() as site:
        surface, _ = site.open_table()
        site.backend.held = asyncio.Event()

        async def drops_off() -> None:
            async with site.client(mode) as client:
                await client.list_tools()
                await client.call_tool(RENAME, {"device_id": "d1", "name": "new"})

        async with site.client(mode) as other:
            await other.list_tools()
            dropped = asyncio.create_task(drops_off())
            await site.backend.renaming.wait()
            dropped.cancel()
            await asyncio.gather(dropped, return_exceptions=True)
            assert data_of(await other.call_tool(READ)) == {"ids": ["d1", "d2", "d3"], "selected": []}
            site.backend.held.set()
            assert data_of(await other.call_tool(READ)) == {"ids": ["d1", "d2", "d3"], "selected": []}
        async with site.client(mode) as later:
            assert {tool.name for tool in (await later.list_tools()).tools} >= {READ, RENAME}
        entries = [entry for entry in surface.audit() if entry.capability == "domain:devices.rename"]
        assert [entry.principal for entry in entries if entry.type == "invocation"] == [OPERATOR.id]
