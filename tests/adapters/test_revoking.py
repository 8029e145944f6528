"""Taking a token back: at once, at every door, with all that were narrowed from it (SPEC 11.11)."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed

from remit import Component, ConfirmationStatus, Decider, Surface, action
from tests.adapters.page_client import READ, SELECT, calling, error_of, output_of, plain_socket, token_for
from tests.adapters.site import AUDITOR, ERAS, OPERATOR, PATIENCE_S, SCOPE, Heard, Site, Table, data_of, serving
from tests.adapters.site import READ as READ_TOOL

PERSON = Decider("operator")
HOLD = "view:more.slow.hold"
NOTE = "view:more.slow.note"
WHY = {"by": "admin", "why": "the laptop is lost"}


class Slow(Component, type="more.slow"):
    """Takes its time."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.held = 0
        self.notes: list[str] = []

    @action
    async def hold(self) -> int:
        """Wait at the gate."""
        self.held += 1
        self.begun.set()
        await self.gate.wait()
        return self.held

    @action(confirmation="required", may_vary=("note",))
    def note(self, note: str) -> int:
        """Write a note."""
        self.notes.append(note)
        return len(self.notes)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(more=(Slow,)) as running:
        yield running


def opened(site: Site) -> tuple[Surface, Slow]:
    surface, slow = site.open().surface, Slow()
    surface.mount(Table())
    surface.mount(slow)
    return surface, slow


async def approve(surface: Surface, *, free: list[str] | None = None) -> None:
    (view,) = surface.confirmations.pending()
    await surface.confirmations.approve(view.id, PERSON, digest=view.digest, standing=free)


@pytest.mark.requirement("11.11-a-revoked-token-is-401")
async def test_a_revoked_token_is_401_in_the_body_of_any_other_and_only_that_one(site: Site) -> None:
    opened(site)
    token, other = token_for(site), token_for(site)
    async with calling(site, token) as client, calling(site, other) as second, calling(site, "nonsense") as third:
        output_of(await client.invoke(READ))
        assert site.gateway.revoke(token, **WHY) is True
        answers = [await each.http.post("/invoke", json={"capability": READ}) for each in (client, third)]
        output_of(await second.invoke(READ))
    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["www-authenticate"] == answers[1].headers["www-authenticate"]
    assert site.gateway.revoke(token, **WHY) is False, "it was revoked before"


@pytest.mark.requirement("11.11-a-revoked-token-is-401")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_revoked_token_is_401_at_the_mcp_door_in_a_session_that_is_open(site: Site, mode: str) -> None:
    opened(site)
    token = site.token()
    async with site.client(mode, token=token) as client:
        data_of(await client.call_tool(READ_TOOL, {}))
        site.gateway.revoke(token, **WHY)
        answer = await site.post(Authorization=f"Bearer {token}")
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid_token"})


@pytest.mark.requirement("11.11-revoking-ends-streams")
async def test_a_listen_stream_ends_with_the_revocation_and_others_go_on(site: Site) -> None:
    token, kept = site.token(), site.token()
    async with (
        site.client("auto", token=token) as client,
        site.client("auto", token=kept) as other,
        client.listen(tools_list_changed=True) as stream,
        other.listen(tools_list_changed=True) as theirs,
    ):
        site.gateway.revoke(token, **WHY)
        assert [event async for event in stream] == []
        opened(site)
        await anext(aiter(theirs))


@pytest.mark.requirement("11.11-revoking-ends-streams")
async def test_the_stream_of_a_handshake_session_ends_with_the_revocation(site: Site) -> None:
    token = site.token()
    start = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
    }
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:
        begun = await http.post(site.door, json=start)
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post(site.door, json=note, headers=session)).status_code == 202
        async with http.stream("GET", site.door, headers=session) as response:
            assert response.status_code == 200
            site.gateway.revoke(token, **WHY)
            async with asyncio.timeout(PATIENCE_S):
                async for _ in response.aiter_bytes():
                    pass


@pytest.mark.requirement("11.11-revoking-ends-streams")
@pytest.mark.parametrize("mode", ["legacy"])
async def test_a_handshake_session_still_hears_of_changes_while_its_token_is_good(site: Site, mode: str) -> None:
    heard = Heard()
    token = site.token()
    async with site.client(mode, token=token, heard=heard):
        await site.streaming.wait()
        site.gateway.revoke(site.token(), **WHY)
        opened(site)
        await heard.until(1)


@pytest.mark.requirement("11.11-revoking-ends-streams")
async def test_a_stream_and_a_socket_of_the_page_protocol_end_with_the_revocation(site: Site) -> None:
    opened(site)
    token = token_for(site)
    async with calling(site, token) as client, client.events() as events, plain_socket(site, token) as socket:
        await socket.send(json.dumps({"ref": "1", "verb": "describe"}))
        assert json.loads(await socket.recv())["body"]["ok"] is True
        site.gateway.revoke(token, **WHY)
        with pytest.raises(StopAsyncIteration):
            await events.next()
        with pytest.raises(ConnectionClosed):
            await socket.recv()
        assert (socket.close_code, socket.close_reason) == (1008, "invalid_token")


@pytest.mark.requirement("11.11-revoking-stops-what-waits")
async def test_a_call_whose_code_runs_comes_to_its_end_and_is_answered(site: Site) -> None:
    _, slow = opened(site)
    token = token_for(site)
    async with calling(site, token) as client:
        running = asyncio.create_task(client.act(HOLD))
        await slow.begun.wait()
        site.gateway.revoke(token, **WHY)
        slow.gate.set()
        assert output_of(await running) == 1


@pytest.mark.requirement("11.11-revoking-ends-requests-and-standing-approvals")
async def test_requests_are_cancelled_and_standing_approvals_end_and_nobody_elses(site: Site) -> None:
    surface, slow = opened(site)
    token, other = token_for(site), token_for(site)
    async with calling(site, token) as client, calling(site, other) as second:
        for each in (client, second):
            asked = error_of(await each.act(NOTE, {"note": "first"}))
            await approve(surface, free=["note"])
            output_of(await each.act(NOTE, {"note": "first"}, confirmation=asked["details"]["confirmation_id"]))
        assert len(surface.confirmations.standing()) == 2
        site.gateway.revoke(token, **WHY)
        assert len(surface.confirmations.standing()) == 1
        output_of(await second.act(NOTE, {"note": "still free"}))
    assert slow.notes == ["first", "first", "still free"]


@pytest.mark.requirement("11.11-revoking-ends-requests-and-standing-approvals")
async def test_a_request_that_waits_for_a_person_is_taken_back(site: Site) -> None:
    surface, slow = opened(site)
    token = token_for(site)
    async with calling(site, token) as client, calling(site) as other:
        id = error_of(await client.act(NOTE, {"note": "mine"}))["details"]["confirmation_id"]
        kept = error_of(await other.act(NOTE, {"note": "theirs"}))["details"]["confirmation_id"]
        site.gateway.revoke(token, **WHY)
    view = surface.confirmations.get(id)
    assert view is not None
    assert (view.status, view.cause) == (ConfirmationStatus.CANCELLED, "withdrawn")
    assert [each.id for each in surface.confirmations.pending()] == [kept]
    assert slow.notes == []


@pytest.mark.requirement("11.11-revoking-a-token-revokes-its-descendants")
async def test_whatever_was_narrowed_from_it_ends_with_it_and_not_the_other_way(site: Site) -> None:
    surface, _ = opened(site)
    token = token_for(site)
    child = site.gateway.attenuate(token, actor="helper", scope=["view:devices.**", "view:more.**"])
    grandchild = site.gateway.attenuate(child, actor="clerk", scope=["view:more.slow.*"])
    sibling = site.gateway.attenuate(token, actor="sibling", scope=["view:devices.**"])
    async with calling(site, grandchild) as client, client.events() as events:
        error_of(await client.act(NOTE, {"note": "mine"}))
        site.gateway.revoke(child, **WHY)
        with pytest.raises(StopAsyncIteration):
            while True:
                await events.next()
        assert (await client.http.post("/describe", json={})).status_code == 401
    assert surface.confirmations.pending() == ()
    for good in (token, sibling):
        async with calling(site, good) as client:
            output_of(await client.invoke(READ))
    with pytest.raises(PermissionError, match="revoked"):
        site.gateway.attenuate(child, actor="late", scope=["view:devices.**"])


@pytest.mark.requirement("11.11-revocations-are-journalled")
async def test_who_and_why_stand_in_the_journal_of_every_view_it_could_reach_and_no_token_does(site: Site) -> None:
    surface, _ = opened(site)
    foreign = site.open(AUDITOR).surface
    token = site.gateway.delegate(OPERATOR, actor="agent", scope=SCOPE, kind="page")
    async with calling(site, token) as client:
        output_of(await client.act(SELECT, {"ids": ["d1"]}))
    (called,) = surface.audit(types=["invocation"])
    assert called.consumer is not None
    id = called.consumer[3]
    assert isinstance(id, str)
    assert site.gateway.revoke(id, by="admin", why="the laptop\n\u202eis lost") is True
    (entry,) = surface.audit(types=["revocation"])
    assert (entry.status, entry.decider, entry.principal) == ("revoked", "admin", "operator")
    assert entry.why is not None
    assert entry.why.startswith(f"{id}: the laptop")
    assert "\n" not in entry.why
    assert foreign.audit(types=["revocation"]) == ()
    assert token not in repr(surface.audit())
