"""The fleet's backend over real HTTP, in its own process, with its own database."""

import asyncio
import csv
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from backend.accounts import Account, credential_of, demo_accounts
from backend.client import FleetClient, FleetError, FleetUnreachable
from backend.server import BackendNotStarted, RunningBackend, running_backend
from backend.settings import BackendSettings
from backend.store import FLEET_DATA, prepare_database
from backend.wire import MAX_BATCH, MAX_PAGE, Device, DeviceQuery, Effect

pytestmark = pytest.mark.asyncio(loop_scope="module")

BACKEND_ROOT = FLEET_DATA.parent.parent
PARENT = """
import asyncio, pathlib, sys
from backend.server import running_backend
from backend.settings import BackendSettings
from backend.store import prepare_database

async def main():
    settings = BackendSettings(database=prepare_database(pathlib.Path(sys.argv[1])), accounts={})
    async with running_backend(settings) as running:
        print(running.base_url.rpartition(":")[2], flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
ALONE = {"secret": Account(name="operator", may_write=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The running backend, seen by its client library, by plain HTTP and in its database file."""

    client: FleetClient
    http: httpx2.AsyncClient
    database: Path
    operator: str
    auditor: str

    async def device(self, device_id: str) -> Device:
        found = (await self.client.list(DeviceQuery(q=device_id), credential=self.auditor)).items
        (device,) = [device for device in found if device.id == device_id]
        return device

    async def enabled(self, number: int) -> list[str]:
        every = (await self.client.list(DeviceQuery(limit=MAX_PAGE), credential=self.auditor)).items
        return [device.id for device in every if device.enabled][:number]

    async def effects_under(self, key: str) -> list[Effect]:
        log = await self.client.effects(credential=self.auditor)
        return [effect for effect in log.items if effect.idempotency_key == key]

    async def disable(self, *device_ids: str, key: str) -> list[str]:
        result = await self.client.disable(device_ids, credential=self.operator, idempotency_key=key)
        return result.disabled

    async def send(
        self, method: str, path: str, *, credential: str | None = None, body: bytes | None = None
    ) -> httpx2.Response:
        headers = {b"Content-Type": b"application/json", b"Idempotency-Key": b"raw"}
        if credential is not None:
            headers[b"Authorization"] = b"Bearer " + (
                credential.encode() if isinstance(credential, str) else credential
            )
        return await self.http.request(method, path, headers=headers, content=body)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    accounts = demo_accounts()
    database = prepare_database(tmp_path_factory.mktemp("fleet"))
    settings = BackendSettings(database=database, accounts=accounts, busy_timeout=0.2)
    async with (
        running_backend(settings) as running,
        FleetClient(running.base_url) as client,
        httpx2.AsyncClient(base_url=running.base_url, trust_env=False) as http,
    ):
        yield Fleet(
            client=client,
            http=http,
            database=database,
            operator=credential_of(accounts, "operator"),
            auditor=credential_of(accounts, "auditor"),
        )


async def test_health_needs_no_credential(fleet: Fleet) -> None:
    response = await fleet.send("GET", "/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("credential", [None, "wrong", "operator", "ключ"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/devices"),
        ("GET", "/effects"),
        ("POST", "/devices/disable"),
        ("PATCH", "/devices/d-0001"),
        ("GET", "/x"),
    ],
)
async def test_a_stranger_gets_the_same_answer_everywhere(
    fleet: Fleet, method: str, path: str, credential: str | None
) -> None:
    response = await fleet.send(method, path, credential=credential, body=b"{not json")
    assert response.status_code == 401
    assert response.json()["code"] == "not-authenticated"
    assert response.headers["www-authenticate"] == "Bearer"


async def test_the_auditor_reads_and_may_not_write(fleet: Fleet) -> None:
    assert (await fleet.client.list(DeviceQuery(), credential=fleet.auditor)).total >= 500
    for device_ids in (["d-0003"], ["no such form"]):
        with pytest.raises(FleetError) as refused:
            await fleet.client.disable(device_ids, credential=fleet.auditor, idempotency_key="by-auditor")
        assert (refused.value.status, refused.value.body.code) == (403, "not-authorized")
    assert (await fleet.device("d-0003")).enabled
    assert await fleet.effects_under("by-auditor") == []


async def test_devices_are_filtered_sorted_and_paged(fleet: Fleet) -> None:
    query = DeviceQuery(city="Milan", status="offline", sort="-name", limit=2)
    first = await fleet.client.list(query, credential=fleet.operator)
    rest = await fleet.client.list(query.model_copy(update={"offset": 2, "limit": 50}), credential=fleet.operator)
    items = first.items + rest.items
    assert first.total == rest.total == len(items) >= 3
    assert {(device.city, device.status) for device in items} == {("Milan", "offline")}
    assert [device.name for device in items] == sorted((device.name for device in items), reverse=True)


async def test_an_empty_city_is_a_filter_and_an_absent_one_is_not(fleet: Fleet) -> None:
    without = await fleet.client.list(DeviceQuery(city=""), credential=fleet.operator)
    everything = await fleet.client.list(DeviceQuery(), credential=fleet.operator)
    assert 0 < without.total < everything.total
    assert {device.city for device in without.items} == {""}


@pytest.mark.parametrize(
    ("query", "path"),
    [("status=gone", "status"), ("limit=0", "limit"), ("limit=9999", "limit"), ("sort=owner", "sort"), ("x=1", "x")],
)
async def test_a_wrong_filter_is_named(fleet: Fleet, query: str, path: str) -> None:
    response = await fleet.send("GET", f"/devices?{query}", credential=fleet.auditor)
    assert response.status_code == 422
    assert [issue["path"] for issue in response.json()["issues"]] == [path]


async def test_every_odd_name_survives_being_written_over_http(fleet: Fleet) -> None:
    before = (await fleet.client.list(DeviceQuery(limit=MAX_PAGE), credential=fleet.auditor)).items
    odd = {device.name for device in before if {*device.name} & {*"\"'<%=;,.ß🏭冷مД́"}}
    assert len(odd) > 10 and max(map(len, odd)) == 200
    wanted = dict(zip((device.id for device in reversed(before)), odd, strict=False))
    for device_id, name in wanted.items():
        key = f"named-{device_id}"
        renamed = await fleet.client.rename(device_id, name, credential=fleet.operator, idempotency_key=key)
        assert renamed.name == name
    after = (await fleet.client.list(DeviceQuery(limit=MAX_PAGE), credential=fleet.auditor)).items
    assert {device.id: device.name for device in after if device.id in wanted} == wanted


async def test_a_rename_is_logged_once_with_the_caller_and_the_key(fleet: Fleet) -> None:
    await fleet.client.rename("d-0010", "Lobby", credential=fleet.operator, idempotency_key="rename-1")
    await fleet.client.rename("d-0010", "Lobby", credential=fleet.operator, idempotency_key="rename-1")
    (effect,) = await fleet.effects_under("rename-1")
    assert (effect.principal, effect.operation, effect.device_ids) == ("operator", "devices.rename", ["d-0010"])
    assert len(effect.request_id) == 32


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "\u202eabc", "x" * 201])
async def test_an_unshowable_name_is_an_issue_that_does_not_repeat_it(fleet: Fleet, name: str) -> None:
    response = await fleet.send(
        "PATCH", "/devices/d-0011", credential=fleet.operator, body=json.dumps({"name": name}).encode()
    )
    assert response.status_code == 422
    assert [issue["path"] for issue in response.json()["issues"]] == ["name"]
    assert not name.strip() or name not in response.text


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"{}", "device_ids"),
        (b'{"device_ids": []}', "device_ids"),
        (b'{"device_ids": "d-0001"}', "device_ids"),
        (b'{"device_ids": ["d-0001", "../effects"]}', "device_ids[1]"),
        (b'{"device_ids": ["d-0001", "d-0001"]}', "device_ids"),
        (b'{"device_ids": ["d-0001"], "force": true}', "force"),
        (b'{"device_ids": [NaN]}', "device_ids[0]"),
        (b"not json", "[0]"),
    ],
)
async def test_a_wrong_body_is_named_and_does_nothing(fleet: Fleet, body: bytes, path: str) -> None:
    last = len((await fleet.client.effects(credential=fleet.auditor)).items)
    response = await fleet.send("POST", "/devices/disable", credential=fleet.operator, body=body)
    assert response.status_code == 422
    assert response.json()["issues"][0]["path"] == path
    assert len((await fleet.client.effects(credential=fleet.auditor)).items) == last


async def test_a_body_nested_too_deeply_is_refused_and_the_server_still_answers(fleet: Fleet) -> None:
    deep = await fleet.send("POST", "/devices/disable", credential=fleet.operator, body=b"[" * 100_000)
    assert (deep.status_code, deep.json()["code"]) == (400, "refused")
    assert (await fleet.send("GET", "/healthz")).status_code == 200


async def test_a_batch_over_the_limit_is_refused(fleet: Fleet) -> None:
    with pytest.raises(FleetError) as refused:
        await fleet.disable(*(f"d-{number:04d}" for number in range(MAX_BATCH + 1)), key="too-many")
    assert (refused.value.status, refused.value.body.issues[0].path) == (422, "device_ids")


@pytest.mark.parametrize("key", [None, "", "k" * 201])
async def test_a_change_without_a_usable_key_is_refused(fleet: Fleet, key: str | None) -> None:
    headers = {"Authorization": f"Bearer {fleet.operator}"} | ({} if key is None else {"Idempotency-Key": key})
    response = await fleet.http.patch("/devices/d-0012", headers=headers, json={"name": "Keyless"})
    assert (response.status_code, response.json()["code"]) == (400, "idempotency-key-missing")
    assert (await fleet.device("d-0012")).name != "Keyless"


async def test_an_unknown_device_stops_the_whole_batch(fleet: Fleet) -> None:
    (known,) = await fleet.enabled(1)
    with pytest.raises(FleetError) as refused:
        await fleet.disable(known, "d-9999", key="unknown")
    assert (refused.value.status, refused.value.body.code) == (404, "unknown-device")
    assert refused.value.body.device_ids == ["d-9999"]
    assert (await fleet.device(known)).enabled
    with pytest.raises(FleetError) as renamed:
        await fleet.client.rename("d-9999", "X", credential=fleet.operator, idempotency_key="unknown")
    assert renamed.value.status == 404


async def test_a_device_that_is_disabled_already_stops_the_whole_batch(fleet: Fleet) -> None:
    one, other = await fleet.enabled(2)
    assert await fleet.disable(one, key="first") == [one]
    with pytest.raises(FleetError) as refused:
        await fleet.disable(other, one, key="second")
    assert (refused.value.status, refused.value.body.code) == (409, "already-disabled")
    assert refused.value.body.device_ids == [one]
    assert (await fleet.device(other)).enabled


async def test_a_repeated_key_gets_the_first_answer_and_says_so(fleet: Fleet) -> None:
    headers = {"Authorization": f"Bearer {fleet.operator}", "Idempotency-Key": "again"}
    body = {"device_ids": await fleet.enabled(1)}
    first, second = [await fleet.http.post("/devices/disable", headers=headers, json=body) for _ in range(2)]
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert [r.headers["idempotent-replayed"] for r in (first, second)] == ["false", "true"]
    (effect,) = await fleet.effects_under("again")
    assert effect.request_id == first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_a_key_with_another_body_is_a_conflict(fleet: Fleet) -> None:
    one, other = await fleet.enabled(2)
    await fleet.disable(one, key="mine")
    with pytest.raises(FleetError) as refused:
        await fleet.disable(other, key="mine")
    assert (refused.value.status, refused.value.body.code) == (409, "idempotency-key-reused")
    assert (await fleet.device(other)).enabled


async def test_of_many_requests_at_once_with_one_key_exactly_one_acts(fleet: Fleet) -> None:
    ids = await fleet.enabled(2)
    answers = await asyncio.gather(*(fleet.disable(*ids, key="rush") for _ in range(24)))
    assert answers == [ids] * 24
    assert len(await fleet.effects_under("rush")) == 1


async def test_of_many_requests_at_once_with_other_bodies_one_wins_and_the_rest_conflict(fleet: Fleet) -> None:
    ids = await fleet.enabled(10)
    answers = await asyncio.gather(*(fleet.disable(one, key="race") for one in ids), return_exceptions=True)
    won = [answer for answer in answers if isinstance(answer, list)]
    lost = [answer.body.code for answer in answers if isinstance(answer, FleetError)]
    assert len(won) == 1 and lost == ["idempotency-key-reused"] * 9
    assert [one for one in ids if not (await fleet.device(one)).enabled] == won[0]


async def test_a_locked_database_is_a_503_that_says_when_to_come_back(fleet: Fleet) -> None:
    ids = await fleet.enabled(1)
    with closing(sqlite3.connect(fleet.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(FleetError) as refused:
            await fleet.disable(*ids, key="locked")
        other.execute("ROLLBACK")
    assert (refused.value.status, refused.value.body.code, refused.value.retry_after) == (503, "busy", 1.0)
    assert await fleet.disable(*ids, key="locked") == ids


async def test_an_unknown_path_or_method_is_one_of_the_backends_own_answers(fleet: Fleet) -> None:
    assert (await fleet.send("GET", "/nowhere", credential=fleet.auditor)).json()["code"] == "refused"
    assert (await fleet.send("DELETE", "/effects", credential=fleet.operator)).status_code == 405


async def test_credentials_are_new_in_every_process_and_in_no_argument_or_variable(fleet: Fleet) -> None:
    assert not set(demo_accounts()) & set(demo_accounts())
    assert len(fleet.operator) >= 40 and fleet.operator != fleet.auditor
    assert fleet.operator not in " ".join([*sys.argv, *os.environ.values()])


async def test_every_row_of_the_data_file_reaches_a_client_unchanged_until_the_block_ends(tmp_path: Path) -> None:
    settings = BackendSettings(database=prepare_database(tmp_path), accounts=ALONE)
    async with running_backend(settings) as running, FleetClient(running.base_url) as client:
        page = await client.list(DeviceQuery(limit=MAX_PAGE), credential="secret")
    received = [{**device.model_dump(), "enabled": str(device.enabled).lower()} for device in page.items]
    with FLEET_DATA.open(encoding="utf-8", newline="") as file:
        assert received == list(csv.DictReader(file))
    assert not _alive(running)
    async with FleetClient(running.base_url) as client:
        with pytest.raises(FleetUnreachable) as unreachable:
            await client.list(DeviceQuery(), credential="secret")
    assert not unreachable.value.timed_out


async def test_a_backend_that_was_killed_keeps_what_it_answered(tmp_path: Path) -> None:
    settings = BackendSettings(database=prepare_database(tmp_path), accounts=ALONE)
    async with running_backend(settings) as running, FleetClient(running.base_url) as client:
        await client.disable(["d-0001"], credential="secret", idempotency_key="k")
        os.kill(running.pid, signal.SIGKILL)
    async with running_backend(settings) as running, FleetClient(running.base_url) as client:
        again = await client.disable(["d-0001"], credential="secret", idempotency_key="k")
        assert again.disabled == ["d-0001"]
        assert len((await client.effects(credential="secret")).items) == 1


async def test_a_backend_ends_by_itself_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    prepare_database(tmp_path)
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), cwd=BACKEND_ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    port = int(await parent.stdout.readline())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    parent.kill()
    await parent.wait()
    async with asyncio.timeout(20):
        await reader.read()  # the kept-alive connection ends with the backend
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_backend_that_does_not_get_ready_in_time_is_an_error_and_leaves_no_process(tmp_path: Path) -> None:
    settings = BackendSettings(database=prepare_database(tmp_path), accounts={})
    with pytest.raises(BackendNotStarted, match="not ready"):
        async with running_backend(settings, start_timeout=0.001):
            pytest.fail("it cannot be ready")


async def test_an_answer_that_is_not_the_backends_own_is_still_a_fleet_error() -> None:
    async def teapot(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(teapot, "127.0.0.1", 0)
    async with server, FleetClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
        with pytest.raises(FleetError) as refused:
            await client.list(DeviceQuery(), credential="c")
    assert (refused.value.status, refused.value.body.code, refused.value.retry_after) == (429, "unreadable", 7.0)


async def test_no_answer_in_time_is_told_apart_from_no_connection() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, FleetClient(base_url, timeout=0.1) as client:
        with pytest.raises(FleetUnreachable) as unreachable:
            await client.list(DeviceQuery(), credential="c")
    assert unreachable.value.timed_out


def _alive(running: RunningBackend) -> bool:
    try:
        os.kill(running.pid, 0)
    except ProcessLookupError:
        return False
    return True
