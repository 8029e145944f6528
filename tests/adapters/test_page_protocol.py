"""The page protocol over real HTTP: what is described, what is called, and what is refused alike (SPEC 11)."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import httpx2
import jsonschema_rs
import pytest

from remit import EventType, ManualClock
from remit._model.consumer import ConsumerKind
from remit.gateway.page_protocol.messages import BODY_BYTES
from remit.gateway.page_protocol.schemas import document
from tests.adapters.page_client import (
    BREAK,
    COUNT,
    DISABLE,
    HIDDEN,
    READ,
    RENAME,
    SELECT,
    SPEC,
    calling,
    error_of,
    output_of,
    token_for,
)
from tests.adapters.site import OPERATOR, PATIENCE_S, SCOPE, SECRET, Hidden, Site, Table, serving

VERBS = ("describe", "invoke", "propose", "handoff")
NEW = {"device_id": "d1", "name": "new"}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.mark.requirement("11.1-five-verbs", "11.3-a-descriptor", "11.4-effects-and-approvals")
async def test_describe_tells_exactly_what_is_exposed_mounted_and_in_scope(site: Site) -> None:
    surface, _ = site.open_table()
    async with calling(site) as client:
        described = await client.describe()
    assert (described["protocol"], described["title"], described["route"]) == ("remit/1", "Devices", "/devices")
    assert described["surface"] == surface.surface_id
    listed = {each["id"]: each for each in described["capabilities"]}
    assert set(listed) == {READ, COUNT, SELECT, BREAK, DISABLE, RENAME}
    assert {id: each["effect"] for id, each in listed.items()} == {
        READ: "read",
        COUNT: "read",
        SELECT: "write",
        BREAK: "write",
        DISABLE: "destructive",
        RENAME: "write",
    }
    assert {id: each.get("approval", "none") for id, each in listed.items()} == {
        **dict.fromkeys((READ, COUNT, SELECT, BREAK, RENAME), "none"),
        DISABLE: "always",
    }
    # `device_ids` is bound by the view, so nothing is left to fill.
    assert {id for id, each in listed.items() if "inputSchema" not in each} == {READ, COUNT, BREAK, DISABLE}
    assert listed[DISABLE]["title"] == "Disable devices"
    assert listed[DISABLE]["description"] == "Disable devices."


@pytest.mark.requirement("11.1-outcomes-are-200", "11.5-a-write-carries-its-registration")
async def test_a_read_needs_no_registration_and_a_write_the_one_that_was_described(site: Site) -> None:
    _, table = site.open_table()
    async with calling(site) as client:
        read = await client.invoke(READ)
        assert output_of(read) == {"ids": ["d1", "d2", "d3"], "selected": []}
        listed = await client.listed()
        stale = await client.invoke(SELECT, {"ids": ["d2"]})
        error = error_of(stale)
        assert (error["code"], error["details"]["reason"]) == ("STALE_CAPABILITY", "registration-replaced")
        assert error["details"]["present"] == listed[SELECT]
        assert table.selected == []
        registration = listed[SELECT]["registration"]
        done = await client.invoke(SELECT, {"ids": ["d2"]}, registration=registration)
        assert (output_of(done), done["registration"], table.selected) == (None, registration, ["d2"])


@pytest.mark.requirement("11.5-a-write-carries-its-registration")
async def test_no_call_goes_to_what_has_come_in_the_place_of_what_was_described(site: Site) -> None:
    surface = site.open().surface
    first = surface.mount(Table())
    async with calling(site) as client:
        described = (await client.listed())[SELECT]["registration"]
        first.unmount()
        second = Table()
        surface.mount(second)
        error = error_of(await client.invoke(SELECT, {"ids": ["d1"]}, registration=described))
        assert (error["code"], second.selected) == ("STALE_CAPABILITY", [])
        output_of(await client.act(SELECT, {"ids": ["d1"]}))
        assert second.selected == ["d1"]


@pytest.mark.requirement("11.5-a-bare-id-while-unique")
async def test_a_bare_id_is_valid_while_it_is_unique_and_ambiguous_after(site: Site) -> None:
    surface = site.open().surface
    left, right = Table(), Table()
    surface.mount(left, "left")
    async with calling(site) as client:
        alone = (await client.listed())[SELECT]
        surface.mount(right, "right")
        listed = await client.listed()
        assert SELECT not in listed
        for more in ({}, {"registration": alone["registration"]}):
            error = error_of(await client.invoke(SELECT, {"ids": ["d1"]}, **more))
            assert (error["code"], error["details"]["instances"]) == ("AMBIGUOUS_INSTANCE", ["left", "right"])
        assert (left.selected, right.selected) == ([], [])
        output_of(await client.act(f"{SELECT}#right", {"ids": ["d3"]}))
        # A reference is told apart by type and instance.
        output_of(await client.act(f"{RENAME}#devices.table/left", NEW))
        assert (left.selected, right.selected, site.backend.renamed) == ([], ["d3"], [("d1", "new")])
        unknown = error_of(await client.invoke(f"{SELECT}#middle", {"ids": ["d1"]}))
        assert unknown["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("11.2-hidden-like-made-up")
async def test_what_is_hidden_answers_like_an_invented_id_byte_for_byte(site: Site) -> None:
    surface, _ = site.open_table()
    async with calling(site) as client:
        mounted = next(each for each in surface.mounted(Hidden))
        assert mounted is not None
        for more in (
            {},
            {"input": {"x": 1}},
            {"registration": "reg_invented"},
            {"surface": "srf_invented", "version": "9"},
            {"confirmation": "cnf_invented"},
        ):
            answers = []
            for capability in (HIDDEN, "view:devices.hidden.writeIt"):
                body = {"capability": capability, "invocation": "same", **more}
                response = await client.http.post("/invoke", json=body)
                answers.append((response.status_code, response.content.replace(capability.encode(), b"ID")))
            assert answers[0] == answers[1]
            assert b"CAPABILITY_NOT_FOUND" in answers[0][1]
        for spelling in (f"{HIDDEN}#default", f"{HIDDEN}#other", HIDDEN.upper(), "", "view:", "\u0000"):
            assert error_of(await client.invoke(spelling))["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("11.1-unknown-fields-are-refused")
@pytest.mark.parametrize(
    ("verb", "body", "path"),
    [
        ("describe", {"approved": True}, "approved"),
        ("invoke", {"capability": READ, "approved": True}, "approved"),
        ("invoke", {"capability": READ, "role": "admin"}, "role"),
        ("invoke", {"capability": SELECT, "effect": "read"}, "effect"),
        ("invoke", {"capability": SELECT, "input": []}, "input"),
        ("invoke", {"capability": SELECT, "registration": None}, "registration"),
        ("invoke", {"capability": 7}, "capability"),
        ("invoke", {}, "capability"),
        ("invoke", {"capability": READ, "protocol": "remit/2"}, "protocol"),
        ("propose", {"steps": []}, "steps"),
        ("propose", {"steps": [{"capability": READ, "approved": True}]}, "steps[0].approved"),
        ("handoff", {"handoff": "hnd_1", "complete": True}, "complete"),
        ("describe", [], ""),
    ],
)
async def test_a_field_that_is_not_in_the_spec_is_refused_by_name(
    site: Site, verb: str, body: object, path: str
) -> None:
    _, table = site.open_table()
    async with calling(site) as client:
        error = error_of(await client.ask(verb, body))
    assert (error["code"], [issue["path"] for issue in error["details"]["issues"]]) == ("INVALID_INPUT", [path])
    assert table.selected == []


@pytest.mark.requirement("11.1-outcomes-are-200")
@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"capability": "\\ud800"}', b'{"capability": 1e999}', b"[" * 5_000])
async def test_a_body_that_is_no_json_is_an_outcome_too(site: Site, body: bytes) -> None:
    site.open_table()
    async with calling(site) as client:
        response = await client.http.post("/invoke", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == 200
        assert error_of(response.json())["code"] == "INVALID_INPUT"
        assert len(output_of(await client.invoke(READ))["ids"]) == 3


@pytest.mark.requirement("11.1-outcomes-are-200")
async def test_a_refusal_of_the_pipeline_and_a_fault_of_the_code_are_outcomes(site: Site) -> None:
    surface = site.open().surface
    mount = surface.mount(Table())
    async with calling(site) as client:
        wrong = error_of(await client.act(SELECT, {"ids": "d1", "mod": "x"}))
        assert wrong["code"] == "INVALID_INPUT"
        broken = await client.act(BREAK)
        assert error_of(broken)["code"] == "EXECUTION_FAILED"
        assert SECRET not in json.dumps(broken)
        mount.update(available={"select_rows": "still loading"})
        told = (await client.listed())[SELECT]
        assert (told["available"], told["reason"]) == (False, "still loading")
        error = error_of(await client.act(SELECT, {"ids": []}))
        assert (error["code"], error["details"]) == ("CAPABILITY_NOT_AVAILABLE", {"reason": "still loading"})
        mount.unmount()
        assert error_of(await client.invoke(READ))["code"] == "COMPONENT_UNMOUNTED"


@pytest.mark.requirement("11.1-one-401")
async def test_every_token_that_is_not_good_here_is_401_in_one_body() -> None:
    clock = ManualClock()
    async with serving(clock=clock) as site:
        site.open_table()
        expired = token_for(site, ttl=10)
        clock.advance(10)
        good = token_for(site)
        tampered = good[:-6] + ("AAAAAA" if good[-6:] != "AAAAAA" else "BBBBBB")
        foreign = site.gateway.delegate(OPERATOR, actor="agent", scope=SCOPE, kind="mcp")
        basic = base64.b64encode(b"operator:secret").decode()
        headers: list[list[tuple[str, str]]] = [
            [],
            [("Authorization", "Bearer nonsense")],
            [("Authorization", "Bearer")],
            [("Authorization", f"Bearer {tampered}")],
            [("Authorization", f"Bearer {expired}")],
            [("Authorization", f"Bearer {foreign}")],
            [("Authorization", f"Basic {basic}")],
            [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")],
            [("Cookie", f"token={good}; account=operator")],
            [("X-Token", good)],
        ]
        answers = set()
        async with httpx2.AsyncClient(base_url=f"{site.address}/remit/page", timeout=PATIENCE_S) as http:
            for sent in headers:
                for verb in VERBS:
                    answer = await http.post(f"/{verb}", json={}, headers=sent)
                    answers.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
                answer = await http.get("/events", headers=sent)
                answers.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
            answer = await http.post(f"/describe?access_token={good}&token={good}", json={})
            answers.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
        assert answers == {(401, b'{"error":"invalid_token"}', 'Bearer error="invalid_token"')}


@pytest.mark.requirement("11.1-one-401")
async def test_a_token_for_this_door_opens_no_other_one(site: Site) -> None:
    site.open_table()
    answer = await site.post(Authorization=f"Bearer {token_for(site)}")
    assert answer.status_code == 401


@pytest.mark.requirement("11.1-transport-only")
async def test_what_is_wrong_with_the_transport_has_a_status_of_its_own(site: Site) -> None:
    site.open_table()
    async with calling(site) as client:
        http = client.http
        for path in ("/approve", "/describe/", "/", "/invoke/x", "/Describe"):
            assert (await http.post(path, json={})).status_code == 404
        for verb in VERBS:
            refused = await http.get(f"/{verb}")
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert (await http.post("/events", json={})).status_code == 405
        upgrade = await http.get("/socket")
        assert (upgrade.status_code, upgrade.headers["upgrade"]) == (426, "websocket")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"):
            answer = await http.post("/describe", content=b"{}", headers={"Content-Type": kind})
            assert answer.status_code == 415
        for kind in ("application/json", 'Application/JSON; charset="UTF-8"'):
            answer = await http.post("/describe", content=b"{}", headers={"Content-Type": kind})
            assert answer.status_code == 200
        long = json.dumps({"capability": READ, "input": {"x": "a" * BODY_BYTES}}).encode()
        answer = await http.post("/invoke", content=long, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert (await client.describe())["ok"]


@pytest.mark.requirement("11.1-nothing-in-an-address")
async def test_nothing_is_read_from_an_address(site: Site) -> None:
    site.open_table()
    async with calling(site) as client:
        for request in (client.http.post("/describe?view=vew_1", json={}), client.http.get("/events?since=1")):
            answer = await request
            assert (answer.status_code, error_of(answer.json())["code"]) == (200, "INVALID_INPUT")


@pytest.mark.requirement("11.1-hosts-and-origins")
async def test_foreign_hosts_and_origins_are_refused_before_anything_else(site: Site) -> None:
    site.open_table()
    async with calling(site) as client:
        host = await client.http.post("/describe", json={}, headers={"Host": "evil.test"})
        origin = await client.http.post("/describe", json={}, headers={"Origin": "http://evil.test"})
        assert [(host.status_code, host.text), (origin.status_code, origin.text)] == [
            (421, "Host not allowed: evil.test"),
            (403, "Origin not allowed: http://evil.test"),
        ]


@pytest.mark.requirement("11.1-propose-and-handoff")
async def test_plans_are_not_offered_and_no_handoff_was_opened(site: Site) -> None:
    async with calling(site) as client:
        steps = [{"capability": SELECT, "input": {"ids": ["d1"]}}]
        assert error_of(await client.ask("propose", {"steps": steps}))["code"] == "SURFACE_UNREACHABLE"
        _, table = site.open_table()
        refused = error_of(await client.ask("propose", {"steps": steps}))
        assert (refused["code"], refused["details"]) == ("CAPABILITY_NOT_AVAILABLE", {"reason": "not offered"})
        assert table.selected == []
        answers = [await client.ask("handoff", {"handoff": id}) for id in ("hnd_invented", "", "x")]
        assert answers[0] == answers[1] == answers[2]
        assert error_of(answers[0])["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("6.4-an-invocation-id-at-the-page-protocol")
async def test_a_repeat_with_the_callers_own_id_runs_once(site: Site) -> None:
    site.open_table()
    async with calling(site) as client:
        first = await client.act(RENAME, NEW, invocation="once")
        again = await client.act(RENAME, NEW, invocation="once")
        assert (output_of(first), output_of(again), first["invocation"]) == ("new", "new", "once")
        assert site.backend.renamed == [("d1", "new")]
        conflict = error_of(await client.act(RENAME, {**NEW, "name": "other"}, invocation="once"))
        assert conflict["code"] == "INVOCATION_CONFLICT"


@pytest.mark.requirement("11.2-what-was-described-grants-nothing")
async def test_what_was_described_before_grants_nothing_once_it_is_taken_back(site: Site) -> None:
    _, table = site.open_table()
    async with calling(site) as client, calling(site, token_for(site, actor="another")) as other:
        registration = (await client.listed())[SELECT]["registration"]
        call = {"input": {"ids": ["d1"]}, "registration": registration}
        site.gateway.suspend(capability=SELECT)
        assert SELECT not in await client.listed()
        assert error_of(await client.ask("invoke", {"capability": SELECT, **call}))["code"] == "CAPABILITY_NOT_FOUND"
        site.gateway.reinstate(capability=SELECT)
        delegation = site.gateway._delegations.verify(
            client.http.headers["Authorization"].removeprefix("Bearer "), kind=ConsumerKind.PAGE
        )
        assert delegation is not None
        site.gateway.suspend(consumer=delegation.consumer)
        assert (await client.describe())["capabilities"] == []
        assert error_of(await client.ask("invoke", {"capability": SELECT, **call}))["code"] == "NOT_AUTHORIZED"
        assert table.selected == []
        output_of(await other.act(SELECT, {"ids": ["d1"]}))
    narrow = site.gateway.delegate(OPERATOR, actor="narrow", scope=[READ], kind="page")
    async with calling(site, narrow) as confined:
        assert set(await confined.listed()) == {READ}
        assert error_of(await confined.ask("invoke", {"capability": SELECT, **call}))["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("11.14-probing-at-the-page-protocol")
async def test_a_caller_that_tries_ids_is_not_told_any_more_what_is_there(site: Site) -> None:
    site.open_table()
    async with calling(site) as client:
        codes = [error_of(await client.invoke(f"view:devices.table.try{n}"))["code"] for n in range(22)]
        assert codes == ["CAPABILITY_NOT_FOUND"] * 20 + ["RATE_LIMITED"] * 2
        assert len(output_of(await client.invoke(READ))["ids"]) == 3
    async with calling(site, token_for(site, actor="another")) as other:
        assert error_of(await other.invoke("view:devices.table.try1"))["code"] == "CAPABILITY_NOT_FOUND"


@pytest.mark.requirement("6.1-a-client-that-leaves-the-page-protocol")
async def test_a_client_that_gives_up_leaves_its_call(site: Site) -> None:
    surface, _ = site.open_table()
    site.backend.held, settled = asyncio.Event(), asyncio.Event()
    surface.subscribe(lambda event: settled.set(), types={EventType.INVOCATION_SETTLED})
    async with calling(site) as client:
        registration = (await client.listed())[RENAME]["registration"]
        call = asyncio.create_task(client.invoke(RENAME, NEW, registration=registration))
        await site.backend.renaming.wait()
        call.cancel()
        await asyncio.wait({call})
        async with asyncio.timeout(PATIENCE_S):
            await settled.wait()
        assert len(output_of(await client.invoke(READ))["ids"]) == 3
    assert (site.backend.given_up, site.backend.renamed) == (1, [])


@pytest.mark.requirement("11.1-message-schemas")
def test_the_schemas_of_the_spec_are_those_that_are_served() -> None:
    assert document() == SPEC
    assert jsonschema_rs.meta.is_valid(SPEC)


@pytest.mark.requirement("11.1-openapi")
async def test_the_door_describes_itself_as_an_openapi_document_to_anybody(site: Site) -> None:
    async with httpx2.AsyncClient(base_url=f"{site.address}/remit/page", timeout=PATIENCE_S) as http:
        served = (await http.get("/openapi.json")).json()
    assert served["openapi"] == "3.1.0"
    assert set(served["paths"]) == {*(f"/{verb}" for verb in VERBS), "/events", "/socket"}
    schemas = served["components"]["schemas"]
    assert schemas.keys() == SPEC["$defs"].keys()
    text = json.dumps(served)
    assert {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]} <= schemas.keys()
    assert "#/$defs/" not in text
