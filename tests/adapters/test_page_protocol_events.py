"""What a caller hears, over a stream and over a socket, and how a socket carries the verbs (SPEC 9.1, 11.1)."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from remit import Decider, EventType, Limits, ManualClock
from remit.gateway.page_protocol.callers import STREAMS
from remit.gateway.page_protocol.messages import BODY_BYTES
from remit.gateway.page_protocol.socket import UNDER_WAY
from tests.adapters.page_client import (
    COUNT,
    DISABLE,
    READ,
    RENAME,
    SELECT,
    Form,
    calling,
    check,
    connected,
    error_of,
    output_of,
    plain_socket,
    token_for,
)
from tests.adapters.site import AUDITOR, OPERATOR, PATIENCE_S, SCOPE, Hidden, Site, Table, serving

PERSON = Decider("operator")
NEW = {"device_id": "d1", "name": "new"}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


def told(event: Form) -> tuple[str, object]:
    """The name of an event and what it tells."""
    return event["event"], event["data"]


@pytest.mark.requirement("11.1-events", "9.1-events-of-the-page-protocol")
async def test_a_listener_hears_what_moves_in_its_view(site: Site) -> None:
    view = site.open()
    surface = view.surface
    surface.mount(Table())
    async with calling(site) as client:
        version = (await client.describe())["version"]
        async with client.events() as events:
            mount = surface.mount(Table(), "second")
            changed = await events.next()
            assert (changed["event"], changed["view"], changed["surface"]) == (
                "surface-changed",
                view.id,
                surface.surface_id,
            )
            described = await client.describe()
            assert changed["data"] == {"version": described["version"]} != {"version": version}
            surface.set_route("/reports")
            assert told(await events.next()) == ("route-changed", {"route": "/reports"})
            # What is hidden moves nothing for it.
            surface.mount(Hidden())
            mount.unmount()
            assert (await events.next())["event"] == "surface-changed"
            other = site.open(title="Reports")
            opened = await events.next()
            assert (told(opened), opened["view"]) == (("session-opened", {"title": "Reports"}), other.id)
            site.open(AUDITOR, title="Secret")
            site.gateway.close_view(other.id)
            assert told(await events.next()) == ("session-closed", {"title": "Reports"})


@pytest.mark.requirement("9.1-events-of-the-page-protocol")
async def test_a_listener_hears_of_its_own_calls_and_requests_and_of_nobody_elses(site: Site) -> None:
    _, table = site.open_table()
    table.selected = ["d1"]
    async with (
        calling(site) as client,
        calling(site, token_for(site, actor="another")) as other,
        client.events() as events,
        other.events() as others,
    ):
        answer = await client.act(DISABLE, invocation="mine")
        confirmation = error_of(answer)["details"]["confirmation_id"]
        asked = await events.until("confirmation-requested")
        assert (asked["data"]["confirmation"], asked["data"]["status"]) == (confirmation, "pending")
        assert (await events.until("invocation-settled"))["data"] == {
            "invocation": "mine",
            "capability": DISABLE,
            "ok": False,
            "code": "CONFIRMATION_REQUIRED",
        }
        assert await site.gateway.decisions.deny(confirmation, PERSON, "not today")
        decided = await events.until("confirmation-resolved")
        assert (decided["data"]["confirmation"], decided["data"]["status"]) == (confirmation, "denied")
        assert "operator" not in json.dumps(decided)
        # Of all this the other one has heard nothing: its next event is one of its own.
        output_of(await other.invoke(READ, invocation="theirs"))
        assert (await others.next())["data"]["invocation"] == "theirs"


@pytest.mark.requirement("9.1-events-of-the-page-protocol")
async def test_the_end_of_a_view_ends_its_requests_and_both_are_heard(site: Site) -> None:
    view = site.open()
    table = Table(selected=["d1"])
    view.surface.mount(table)
    async with calling(site) as client, client.events() as events:
        confirmation = error_of(await client.act(DISABLE))["details"]["confirmation_id"]
        await events.until("invocation-settled")
        site.gateway.close_view(view.id)
        closed, resolved = await events.until("session-closed"), await events.until("confirmation-resolved")
        assert closed["view"] == resolved["view"] == view.id
        assert (resolved["data"]["confirmation"], resolved["data"]["status"]) == (confirmation, "cancelled")


@pytest.mark.requirement("9.1-events-of-the-page-protocol")
async def test_a_token_for_one_view_hears_of_no_other(site: Site) -> None:
    own, other = site.open(), site.open(title="Reports")
    async with calling(site, token_for(site, session=own.id)) as client, client.events() as events:
        other.surface.set_route("/elsewhere")
        site.gateway.close_view(other.id)
        own.surface.set_route("/here")
        assert told(await events.next()) == ("route-changed", {"route": "/here"})


@pytest.mark.requirement("9.1-lost-events-of-the-page-protocol")
async def test_a_listener_that_falls_behind_is_told_once_and_its_stream_ends() -> None:
    async with serving(Limits(events_backlog=3)) as site:
        surface = site.open().surface
        async with calling(site) as client, client.events() as events:
            for number in range(9):  # in one turn of the loop, so that nothing can be sent meanwhile
                surface.set_route(f"/{number}")
            routes = [(await events.next())["data"]["route"] for _ in range(3)]
            assert routes == ["/0", "/1", "/2"]
            assert told(await events.next()) == ("lost", {})
            with pytest.raises(StopAsyncIteration):
                await events.next()
            async with client.events() as again:
                surface.set_route("/again")
                assert told(await again.next()) == ("route-changed", {"route": "/again"})


@pytest.mark.requirement("11.11-a-stream-ends-with-its-token-at-the-page-protocol")
async def test_streams_and_sockets_end_with_their_token() -> None:
    clock = ManualClock()
    async with serving(clock=clock) as site:
        site.open_table()
        token = token_for(site, ttl=60)
        async with calling(site, token) as client, client.events() as events, plain_socket(site, token) as socket:
            await socket.send(json.dumps({"ref": "1", "verb": "describe"}))
            assert json.loads(await socket.recv())["body"]["ok"] is True
            clock.advance(59)
            output_of(await client.invoke(READ))
            await events.until("invocation-settled")
            clock.advance(1)
            with pytest.raises(StopAsyncIteration):
                await events.next()
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert (socket.close_code, socket.close_reason) == (1008, "invalid_token")


@pytest.mark.requirement("17-streams-of-the-page-protocol")
async def test_a_consumer_has_no_more_streams_and_sockets_than_the_limit(site: Site) -> None:
    site.open_table()
    token = token_for(site)
    async with calling(site, token) as client, calling(site) as other, connected(site, token) as socket:
        responses = []
        for _ in range(STREAMS - 1):
            request = client.http.build_request("GET", "/events")
            responses.append(await client.http.send(request, stream=True))
        answer = (await client.http.get("/events")).json()
        check("refusal", answer)
        assert (error_of(answer)["code"], error_of(answer)["details"]["reason"]) == ("RATE_LIMITED", "queue-full")
        async with plain_socket(site, token) as one_more:
            with pytest.raises(ConnectionClosed):
                await one_more.recv()
            assert one_more.close_code == 1013
        assert (await socket.ask("describe", {}))["ok"]
        async with other.events():
            pass
        for response in responses:
            await response.aclose()


@pytest.mark.requirement("11.1-one-socket")
async def test_the_verbs_over_a_socket_answer_with_their_ref_and_events_have_none(site: Site) -> None:
    surface, table = site.open_table()
    async with connected(site) as socket:
        described = await socket.ask("describe", {})
        registration = next(each["registration"] for each in described["capabilities"] if each["id"] == SELECT)
        assert socket.events.empty()
        assert await socket.ask("events", {}) == {"protocol": "remit/1", "ok": True}
        assert (await socket.event())["event"] == "listening"
        call = {"capability": SELECT, "input": {"ids": ["d2"]}, "registration": registration}
        output_of(await socket.ask("invoke", call))
        assert table.selected == ["d2"]
        assert (await socket.until("invocation-settled"))["data"]["ok"] is True
        surface.set_route("/reports")
        assert told(await socket.until("route-changed")) == ("route-changed", {"route": "/reports"})
        assert (await socket.ask("events", {}))["ok"]
        surface.set_route("/again")
        await socket.until("route-changed")
        assert socket.events.empty()
        assert error_of(await socket.ask("propose", {"steps": [call]}))["code"] == "CAPABILITY_NOT_AVAILABLE"
        assert error_of(await socket.ask("handoff", {"handoff": "hnd_1"}))["code"] == "CAPABILITY_NOT_FOUND"
        assert error_of(await socket.ask("invoke", {**call, "approved": True}))["code"] == "INVALID_INPUT"
        assert error_of(await socket.ask("events", {"since": 1}))["code"] == "INVALID_INPUT"


@pytest.mark.requirement("11.1-one-socket")
async def test_a_call_that_waits_holds_up_no_other_and_ends_with_its_socket(site: Site) -> None:
    surface, _ = site.open_table()
    site.backend.held = asyncio.Event()
    async with connected(site) as socket:
        described = await socket.ask("describe", {})
        registration = next(each["registration"] for each in described["capabilities"] if each["id"] == RENAME)
        call = {"capability": RENAME, "input": NEW, "registration": registration}
        slow = asyncio.create_task(socket.ask("invoke", call))
        await site.backend.renaming.wait()
        assert output_of(await socket.ask("invoke", {"capability": COUNT})) == 3
        assert not slow.done()
        site.backend.held.set()
        assert output_of(await slow) == "new"
        site.backend.held, site.backend.renaming = asyncio.Event(), asyncio.Event()
        settled = asyncio.Event()
        surface.subscribe(lambda event: settled.set(), types={EventType.INVOCATION_SETTLED})
        left = asyncio.create_task(socket.ask("invoke", call))
        await site.backend.renaming.wait()
    async with asyncio.timeout(PATIENCE_S):
        await settled.wait()
    left.cancel()
    await asyncio.wait({left})
    assert (site.backend.given_up, site.backend.renamed) == (1, [("d1", "new")])


@pytest.mark.requirement("17-streams-of-the-page-protocol")
async def test_a_socket_carries_so_many_requests_at_a_time_and_says_so() -> None:
    # Without the limits of network doors, which would come first.
    async with serving(Limits(network_calls=0, network_writes=0)) as site:
        site.open_table()
        site.backend.held = asyncio.Event()
        async with connected(site) as socket:
            described = await socket.ask("describe", {})
            registration = next(each["registration"] for each in described["capabilities"] if each["id"] == RENAME)
            call = {"capability": RENAME, "input": NEW, "registration": registration, "invocation": "same"}
            # Tasks begin in the order in which they were made; frames are read in the order in which they were sent.
            joined = [asyncio.create_task(socket.ask("invoke", call)) for _ in range(UNDER_WAY)]
            error = error_of(await asyncio.create_task(socket.ask("describe", {})))
            assert (error["code"], error["details"]["reason"]) == ("RATE_LIMITED", "queue-full")
            site.backend.held.set()
            assert {output_of(await each) for each in joined} == {"new"}
            assert (await socket.ask("describe", {}))["ok"]
        assert site.backend.renamed == [("d1", "new")]


@pytest.mark.requirement("11.1-one-socket", "11.1-unknown-fields-are-refused")
@pytest.mark.parametrize(
    ("frame", "ref"),
    [
        ("{", None),
        ("", None),
        ("[]", None),
        ('{"verb": "describe"}', None),
        ('{"ref": 7, "verb": "describe"}', None),
        ('{"ref": "", "verb": "describe"}', None),
        ('{"ref": "a"}', "a"),
        ('{"ref": "a", "verb": "approve"}', "a"),
        ('{"ref": "a", "verb": "describe", "body": null}', "a"),
        ('{"ref": "a", "verb": "describe", "role": "admin"}', "a"),
    ],
)
async def test_a_frame_that_is_none_is_answered_and_the_socket_goes_on(site: Site, frame: str, ref: str | None) -> None:
    site.open_table()
    async with plain_socket(site) as socket:
        await socket.send(frame)
        answer = json.loads(await socket.recv())
        check("frame.answer", answer)
        assert (answer["ref"], error_of(answer["body"])["code"]) == (ref, "INVALID_INPUT")
        await socket.send('{"ref": "b", "verb": "describe"}')
        answer = json.loads(await socket.recv())
        assert (answer["ref"], answer["body"]["ok"]) == ("b", True)


@pytest.mark.requirement("11.1-one-socket")
async def test_a_frame_above_the_body_limit_closes_with_1009_and_a_binary_one_with_1003(site: Site) -> None:
    site.open_table()
    body = {"capability": READ, "input": {"x": ""}}
    for sent, code in ((json.dumps({"ref": "a", "verb": "invoke", "body": body}).encode(), 1003), ("é", 1009)):
        async with plain_socket(site) as socket:
            await socket.send(sent if isinstance(sent, bytes) else sent * (BODY_BYTES // 2 + 1))
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert socket.close_code == code
    async with connected(site) as again:
        assert (await again.ask("describe", {}))["ok"]


@pytest.mark.requirement("11.1-one-401", "11.1-hosts-and-origins")
async def test_a_socket_opens_only_with_a_token_for_this_door_and_from_an_allowed_origin(site: Site) -> None:
    site.open_table()
    for token in ("nonsense", site.gateway.delegate(OPERATOR, actor="agent", scope=SCOPE)):
        with pytest.raises(InvalidStatus) as refused:
            async with plain_socket(site, token):
                pass
        answer = refused.value.response
        assert (answer.status_code, answer.body) == (401, b'{"error":"invalid_token"}')
    for headers, status in (({"Origin": "http://evil.test"}, 403), ({"Host": "evil.test"}, 421)):
        with pytest.raises(InvalidStatus) as refused:
            async with plain_socket(site, headers=headers):
                pass
        assert refused.value.response.status_code == status
    with pytest.raises(InvalidStatus) as refused:
        async with plain_socket(site, path="/describe"):
            pass
    assert refused.value.response.status_code == 404


@pytest.mark.requirement("15.5-the-page-protocol-stops")
async def test_when_the_process_stops_running_calls_are_answered_and_everything_else_is_closed() -> None:
    async with serving() as site:
        site.open_table()
        site.backend.held, token = asyncio.Event(), token_for(site)
        async with calling(site, token) as client, client.events() as events, connected(site, token) as socket:
            described = await socket.ask("describe", {})
            registration = next(each["registration"] for each in described["capabilities"] if each["id"] == RENAME)
            call = {"capability": RENAME, "input": NEW, "registration": registration}
            running = [
                asyncio.create_task(socket.ask("invoke", {**call, "invocation": "same"})),
                asyncio.create_task(client.invoke(RENAME, NEW, registration=registration, invocation="same")),
            ]
            await site.backend.renaming.wait()
            await events.until("invocation-started")
            site.gateway.stopping()
            assert (await client.http.post("/describe", json={})).status_code == 503
            with pytest.raises(StopAsyncIteration):
                await events.next()
            site.backend.held.set()
            assert {output_of(await each) for each in running} == {"new"}
            async with asyncio.timeout(PATIENCE_S):
                await socket.socket.wait_closed()
            assert socket.socket.close_code == 1001
            with pytest.raises(InvalidStatus):
                async with plain_socket(site):
                    pass
        assert site.backend.renamed == [("d1", "new")]
