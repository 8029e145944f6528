"""Bad input at the door: the right code, no trace of internals, nothing executed, and the server still answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from remit import Decider, ManualClock, Surface
from tests.adapters.site import (
    AUDITOR,
    BREAK,
    DISABLE,
    ERAS,
    OPERATOR,
    PATIENCE_S,
    READ,
    RENAME,
    SECRET,
    SELECT,
    Site,
    Table,
    beside,
    data_of,
    error_of,
    serving,
)

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Desk:
    """A client on a table, and what must not have happened."""

    def __init__(self, site: Site, client: Client, surface: Surface, table: Table) -> None:
        self.site = site
        self.client = client
        self.surface = surface
        self.table = table

    async def refused(self, name: str, arguments: dict[str, Any] | None = None, **meta: str) -> dict[str, Any]:
        """Call, and have it refused without a trace."""
        result = await self.client.call_tool(name, arguments, meta=beside(**meta) if meta else None)
        await self.unharmed(result.model_dump_json())
        return error_of(result)

    async def unharmed(self, answer: str) -> None:
        """Nothing ran, nothing leaked, and the next call is served."""
        for trace in (SECRET, "Traceback", ".py", "RuntimeError", "pydantic"):
            assert trace not in answer
        assert self.table.selected == ["d1"]
        assert (self.site.backend.disabled, self.site.backend.renamed) == ([], [])
        assert data_of(await self.client.call_tool(READ))["ids"] == ["d1", "d2", "d3"]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.fixture(params=ERAS)
async def desk(request: pytest.FixtureRequest, site: Site) -> AsyncIterator[Desk]:
    surface, table = site.open_table()
    table.selected = ["d1"]
    connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        # The client's task groups are left by the task that entered them, which is not so for a fixture's two halves.
        async with site.client(request.param) as client:
            await client.list_tools()
            connected.set_result(client)
            await done.wait()

    holding = asyncio.create_task(hold())
    yield Desk(site, await connected, surface, table)
    done.set()
    await holding


@pytest.mark.requirement("12.5-refusals-are-tool-results")
async def test_a_value_of_the_wrong_type_is_invalid_input(desk: Desk) -> None:
    error = await desk.refused(SELECT, {"ids": "device-two"})
    assert (error["code"], error["retry"]) == ("INVALID_INPUT", "with-changes")
    assert error["details"]["issues"][0]["path"] == "ids"
    assert "device-two" not in json.dumps(error)


@pytest.mark.requirement("12.5-refusals-are-tool-results")
async def test_an_unknown_key_is_invalid_input(desk: Desk) -> None:
    assert (await desk.refused(SELECT, {"ids": ["d2"], "force": True}))["code"] == "INVALID_INPUT"


@pytest.mark.requirement("12.5-refusals-are-tool-results")
async def test_a_missing_field_is_invalid_input(desk: Desk) -> None:
    error = await desk.refused(RENAME, {"device_id": "d1"})
    assert error["code"] == "INVALID_INPUT"
    assert "name" in json.dumps(error["details"]["issues"])


@pytest.mark.requirement("10.3-bound-paths-are-locked")
async def test_a_locked_field_cannot_be_supplied(desk: Desk) -> None:
    error = await desk.refused(DISABLE, {"device_ids": ["d3"]})
    assert error["code"] == "INVALID_INPUT"
    assert error["details"]["locked_fields"] == ["device_ids"]
    assert desk.surface.confirmations.pending() == ()


@pytest.mark.requirement("12.1-resolved-through-the-listing")
async def test_an_unknown_and_a_hidden_tool_are_one_answer(desk: Desk) -> None:
    answers = [
        (await desk.client.call_tool(name, arguments, meta=beside(invocation="mine"))).model_dump()
        for name, arguments in [
            ("view_devices__table__deleteAll", {}),
            ("view_devices__hidden__readIt", {}),
            ("view:devices.table.readState", {}),
            ("view:devices.hidden.readIt", {"bad": 1}),
            ("x" * 300, {}),
        ]
    ]
    assert all(answer == answers[0] for answer in answers)
    error = await desk.refused("view_devices__hidden__readIt")
    assert error["code"] == "CAPABILITY_NOT_FOUND"
    assert "details" not in error


@pytest.mark.requirement("6.5-unmounted-is-told-to-those-who-were-shown-it")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_tool_of_an_unmounted_component_says_that_its_part_of_the_view_has_gone(site: Site, mode: str) -> None:
    surface, table = site.open().surface, Table()
    mount = surface.mount(table)
    async with site.client(mode) as client:
        await client.list_tools()
        mount.unmount()
        for meta in (None, beside(registration=mount.registration_id)):
            for name, arguments in [(READ, {}), (SELECT, {"ids": ["d1"]})]:
                error = error_of(await client.call_tool(name, arguments, meta=meta))
                assert (error["code"], error["details"]["phase"]) == ("COMPONENT_UNMOUNTED", "resolve")
        assert table.selected == []
        surface.mount(Table())
        stale = error_of(await client.call_tool(SELECT, {"ids": ["d1"]}))
        assert (stale["code"], stale["details"]["reason"]) == ("STALE_CAPABILITY", "registration-replaced")
        assert data_of(await client.call_tool(READ)) == {"ids": ["d1", "d2", "d3"], "selected": []}


@pytest.mark.requirement("6.5-unmounted-is-told-to-those-who-were-shown-it")
async def test_a_tool_that_was_never_shown_to_this_agent_is_unknown_after_its_unmount(site: Site) -> None:
    surface = site.open().surface
    mount = surface.mount(Table())
    async with site.client("auto") as client:
        await client.list_tools()
    mount.unmount()
    async with site.client("auto", token=site.token(actor="other")) as client:
        error = error_of(await client.call_tool(SELECT, {"ids": []}))
        assert error["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("6.5-registration-replaced")
async def test_a_stale_registration_runs_nothing(desk: Desk) -> None:
    error = await desk.refused(SELECT, {"ids": ["d2"]}, registration="reg_of-an-earlier-mount")
    assert (error["code"], error["details"]["reason"]) == ("STALE_CAPABILITY", "registration-replaced")


@pytest.mark.requirement("12.5-refusals-are-tool-results")
async def test_beside_arguments_only_text_is_understood(desk: Desk) -> None:
    result = await desk.client.call_tool(SELECT, {"ids": ["d2"]}, meta=beside(registration=7))
    await desk.unharmed(result.model_dump_json())
    assert error_of(result)["code"] == "INVALID_INPUT"


@pytest.mark.requirement("17-input-and-output-bytes")
async def test_a_text_of_300_kilobytes_is_invalid_input(desk: Desk) -> None:
    error = await desk.refused(RENAME, {"device_id": "d1", "name": "x" * 300_000})
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.requirement("7.5-what-evidence-answers")
async def test_evidence_that_was_never_issued_is_a_mismatch(desk: Desk) -> None:
    error = await desk.refused(DISABLE, {}, confirmation="cnf_made-up")
    assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "mismatch")


@pytest.mark.requirement("7.5-what-evidence-answers", "7.7-surface-continue")
async def test_evidence_of_another_consumer_is_a_mismatch(desk: Desk) -> None:
    async with desk.site.client("auto", token=desk.site.token(actor="other")) as other:
        await other.list_tools()
        error = error_of(await other.call_tool(DISABLE))
        request = error["details"]["confirmation_id"]
        await desk.surface.confirmations.approve(request, Decider("operator"))
    for name, arguments in [(DISABLE, {}), ("surface_continue", {"confirmation_id": request})]:
        error = await desk.refused(name, arguments, confirmation=request)
        assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "mismatch")


@pytest.mark.requirement("7.1-bound-to-bound-values")
async def test_evidence_for_other_input_is_a_mismatch(desk: Desk) -> None:
    request = error_of(await desk.client.call_tool(DISABLE))["details"]["confirmation_id"]
    await desk.surface.confirmations.approve(request, Decider("operator"))
    desk.table.selected = ["d2"]
    result = await desk.client.call_tool(DISABLE, meta=beside(confirmation=request))
    desk.table.selected = ["d1"]
    await desk.unharmed(result.model_dump_json())
    error = error_of(result)
    assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "mismatch")


@pytest.mark.requirement("7.5-spent-says-the-outcome")
async def test_evidence_is_spent_once(desk: Desk) -> None:
    request = error_of(await desk.client.call_tool(DISABLE))["details"]["confirmation_id"]
    await desk.surface.confirmations.approve(request, Decider("operator"))
    meta = beside(confirmation=request, invocation="first")
    assert data_of(await desk.client.call_tool(DISABLE, meta=meta)) == 1
    again = await desk.client.call_tool(DISABLE, meta=beside(confirmation=request, invocation="second"))
    error = error_of(again)
    assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "spent")
    assert error["details"]["outcome"] == "done"
    assert data_of(await desk.client.call_tool(DISABLE, meta=meta)) == 1
    assert desk.site.backend.disabled == [["d1"]]


@pytest.mark.requirement("8.2-unknown-exception")
async def test_an_exception_of_a_handler_tells_nothing_but_where_to_ask(desk: Desk) -> None:
    error = await desk.refused(BREAK)
    assert (error["code"], error["details"]["reason"]) == ("EXECUTION_FAILED", "handler-error")
    assert error["details"]["correlation_id"]


@pytest.mark.requirement("3.6-no-json-number-at-the-door", "3.6-lone-surrogates-at-the-door")
@pytest.mark.parametrize(
    "arguments",
    [
        {"device_id": "d1", "name": float("nan")},
        {"device_id": "d1", "name": "a\ud800"},
        {"device_id": "\udfff", "name": "a"},
        {"device_id": "d1", "name": "a", "\ud800": "b"},
        {"device_id": "d1", "name": ["\ud800"]},
    ],
    ids=["no number", "in a value", "a whole value", "in a key", "inside"],
)
async def test_what_is_no_json_is_invalid_input_in_both_eras(site: Site, arguments: dict[str, object]) -> None:
    site.open_table()
    headers = {
        "Authorization": f"Bearer {site.token()}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    async with httpx2.AsyncClient(headers=headers) as http:
        call = {"name": RENAME, "arguments": arguments}
        modern = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**call, "_meta": MODERN}}
        answer = await http.post(
            site.door,
            content=json.dumps(modern),
            headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": RENAME},
        )
        assert json.loads(answer.text)["result"]["structuredContent"]["error"]["code"] == "INVALID_INPUT"
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        opened = await http.post(site.door, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        session = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
        await http.post(site.door, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        legacy = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        answer = await http.post(site.door, content=json.dumps(legacy), headers=session)
        assert '"INVALID_INPUT"' in answer.text
        await http.delete(site.door, headers=session)
    assert site.backend.renamed == []


@pytest.mark.requirement("11.11-no-token-is-401")
@pytest.mark.parametrize("token", ["", "Bearer", "Bearer x", "Basic eDp5", "Bearer a.b.c"])
async def test_no_token_and_a_senseless_one_are_401(site: Site, token: str) -> None:
    answer = await site.post(Authorization=token)
    assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.requirement("11.11-no-token-is-401")
async def test_a_tampered_token_is_401(site: Site) -> None:
    head, body, mark = site.token().split(".")
    for forged in (f"{head}.{body[:-2]}xx.{mark}", f"{head}.{body}.{mark[::-1]}", f"{head}.{body}."):
        answer = await site.post(Authorization=f"Bearer {forged}")
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})


@pytest.mark.requirement("11.11-an-expired-token-is-401")
async def test_an_expired_token_is_401_in_an_open_session_too() -> None:
    clock = ManualClock()
    async with serving(clock=clock) as site:
        site.open_table()
        token = site.gateway.delegate(OPERATOR, actor="agent", scope=["view:**"], ttl=60)
        async with site.client("auto", token=token) as client:
            assert (await client.list_tools()).tools
        clock.advance(59)
        assert (await site.post(Authorization=f"Bearer {token}")).status_code != 401
        clock.advance(1)
        answer = await site.post(Authorization=f"Bearer {token}")
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})


@pytest.mark.requirement("11.12-one-person-never-reaches-anothers-view")
@pytest.mark.parametrize("mode", ERAS)
async def test_one_accounts_token_does_not_reach_the_others_view(site: Site, mode: str) -> None:
    site.open_table(OPERATOR)
    view = site.gateway.describe()["views"][0]["view"]  # type: ignore[index]
    for token in (site.token(AUDITOR), site.token(AUDITOR, session=view)):
        async with site.client(mode, token=token) as client:
            assert (await client.list_tools()).tools == []
            for name, arguments in [(READ, {}), ("surface_use", {"view": view}), ("surface_use", {"view": "vew_no"})]:
                error = error_of(await client.call_tool(name, arguments))
                assert (error["code"], error["details"]["outcome"]) == ("SURFACE_UNREACHABLE", "none")
                assert view not in json.dumps(error)


@pytest.mark.requirement("12.5-the-token-of-every-request")
async def test_another_accounts_handshake_session_does_not_exist(site: Site) -> None:
    site.open_table()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    accept = "application/json, text/event-stream"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    opened = await site.post(body, Authorization=f"Bearer {site.token()}", Accept=accept)
    session = opened.headers["Mcp-Session-Id"]
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
    stolen = await site.post(ping, Authorization=f"Bearer {site.token(AUDITOR)}", Accept=accept, Mcp_Session_Id=session)
    assert stolen.status_code == 404


@pytest.mark.requirement("15.4-hosts", "15.4-loopback-by-default", "15.4-a-refusal-names-the-value")
async def test_a_foreign_host_is_421_and_named(site: Site) -> None:
    answer = await site.post(Host="evil.example")
    assert (answer.status_code, answer.text) == (421, "Host not allowed: evil.example")


@pytest.mark.requirement("15.4-origins", "15.4-a-refusal-names-the-value")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example"])
async def test_a_foreign_origin_is_403_and_named(site: Site, origin: str) -> None:
    answer = await site.post(Origin=origin)
    assert (answer.status_code, answer.text) == (403, f"Origin not allowed: {origin}")


@pytest.mark.requirement("15.4-body-limits")
async def test_a_body_over_the_limit_is_413(site: Site) -> None:
    answer = await site.post(b" " * 1_100_000)
    assert answer.status_code == 413


@pytest.mark.requirement("15.4-no-foreign-page-reads-the-door")
@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
async def test_the_door_opens_itself_to_no_page_elsewhere(site: Site, origin: str) -> None:
    asking = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
        answers = [await http.request(method, site.door, headers=asking) for method in ("OPTIONS", "POST", "GET")]
    assert not [name for answer in answers for name in answer.headers if name.startswith("access-control-")]
    assert {answer.status_code for answer in answers} == {403}
