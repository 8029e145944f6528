"""The console's catalogue over the real backend: credentials, keys, and how a refusal is told on."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import catalogue
import pytest
import pytest_asyncio
from backend.accounts import credential_of, demo_accounts
from backend.client import FleetClient
from backend.document import document
from backend.server import running_backend
from backend.settings import BACKEND_URL, BackendSettings
from backend.store import prepare_database
from backend.wire import DeviceQuery, Effect
from catalogue import backend
from host import AppHost

from remit import Consumer, Context, Principal
from remit._base.boundary import take
from remit.procedures import BackendError

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The hosts of the two accounts, and the backend's database."""

    operator: AppHost
    auditor: AppHost
    database: Path

    async def enabled(self, number: int) -> list[str]:
        query = DeviceQuery(status="online", limit=200)
        page = await self.operator.fleet.list(query, credential=self.auditor.credential)
        return [device.id for device in page.items if device.enabled][:number]

    async def effects_under(self, key: str) -> list[Effect]:
        log = await self.auditor.fleet.effects(credential=self.auditor.credential)
        return [effect for effect in log.items if effect.idempotency_key == key]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Console]:
    patch = pytest.MonkeyPatch()
    accounts = demo_accounts()
    database = prepare_database(tmp_path_factory.mktemp("fleet"))
    settings = BackendSettings(database=database, accounts=accounts, busy_timeout=0.2)
    async with running_backend(settings) as running, FleetClient(running.base_url) as fleet, backend:
        patch.setenv(BACKEND_URL, running.base_url)
        operator, auditor = (
            AppHost(fleet=fleet, account=name, credential=credential_of(accounts, name))
            for name in ("operator", "auditor")
        )
        yield Console(operator=operator, auditor=auditor, database=database)
    patch.undo()


def context(host: object, *, principal: str = "operator", key: str = "key") -> Context:
    return Context(
        capability="domain:devices.disable",
        registration="r",
        invocation="i",
        consumer=Consumer("copilot", kind="embedded"),
        principal=Principal(principal),
        host=host,
        cancelled=asyncio.Event(),
        evidence=None,
        idempotency_key=key,
    )


async def run(name: str, input: Mapping[str, object], ctx: Context) -> Mapping[str, object]:
    operation = backend.get(name)
    assert operation is not None
    plain, canonical = take(dict(input))
    assert isinstance(plain, dict)
    output = await operation.run(plain, canonical, ctx)
    assert isinstance(output, Mapping)
    return output


async def refused(name: str, input: Mapping[str, object], ctx: Context) -> BackendError:
    with pytest.raises(BackendError) as caught:
        await run(name, input, ctx)
    return caught.value


async def test_the_offline_devices_of_milan_are_found(console: Console) -> None:
    page = await run(
        "devices.list", {"city": "Milan", "status": "offline"}, context(console.auditor, principal="auditor")
    )
    assert isinstance(page["items"], list) and page["total"] == len(page["items"]) >= 3
    assert all(device["city"] == "Milan" and device["status"] == "offline" for device in page["items"])


async def test_a_change_is_made_by_the_person_under_the_key_of_the_invocation_and_once(console: Console) -> None:
    ids = await console.enabled(2)
    for _ in range(2):
        output = await run("devices.disable", {"device_ids": ids}, context(console.operator, key="disable-1"))
        assert output == {"disabled": ids}
    (effect,) = await console.effects_under("disable-1")
    assert (effect.principal, effect.device_ids) == ("operator", ids)


async def test_a_rename_returns_the_device(console: Console) -> None:
    name = 'Κόμβος "7" 🏭'
    output = await run(
        "devices.rename", {"device_id": "d-0002", "name": name}, context(console.operator, key="rename-1")
    )
    assert (output["id"], output["name"]) == ("d-0002", name)


async def test_the_backend_refuses_the_auditor_whatever_was_approved_here(console: Console) -> None:
    ids = await console.enabled(1)
    ctx = context(console.auditor, principal="auditor", key="auditor-1")
    error = await refused("devices.disable", {"device_ids": ids}, ctx)
    assert (error.status, error.code) == (403, "not-authorized")
    assert await console.effects_under("auditor-1") == []


async def test_a_device_disabled_already_is_named(console: Console) -> None:
    ids = await console.enabled(1)
    await run("devices.disable", {"device_ids": ids}, context(console.operator, key="twice-1"))
    error = await refused("devices.disable", {"device_ids": ids}, context(console.operator, key="twice-2"))
    assert (error.status, error.code, error.data) == (409, "already-disabled", {"device_ids": ids})


async def test_an_unknown_device_is_a_404(console: Console) -> None:
    error = await refused("devices.rename", {"device_id": "d-9999", "name": "X"}, context(console.operator))
    assert (error.status, error.code) == (404, "unknown-device")


async def test_the_backends_field_issues_are_told_on(console: Console) -> None:
    error = await refused("devices.rename", {"device_id": "d-0002", "name": "a\nb"}, context(console.operator))
    assert (error.status, [issue.path for issue in error.issues]) == (422, ["name"])


async def test_a_busy_backend_says_when_to_come_back(console: Console) -> None:
    ids = await console.enabled(1)
    with closing(sqlite3.connect(console.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        error = await refused("devices.disable", {"device_ids": ids}, context(console.operator, key="busy"))
    assert (error.status, error.retry_after) == (503, 1.0)


async def test_a_credential_is_never_lent_to_another_principal(console: Console) -> None:
    ids = await console.enabled(1)
    error = await refused(
        "devices.disable", {"device_ids": ids}, context(console.operator, principal="auditor", key="lent")
    )
    assert error.status == 401
    assert await console.effects_under("lent") == []


async def test_a_host_of_another_kind_sends_nothing_and_is_the_cause_that_the_journal_keeps(console: Console) -> None:
    error = await refused("devices.list", {}, context(None))
    assert isinstance(error.__cause__, TypeError) and "AppHost" in str(error.__cause__)


async def test_no_answer_is_told_as_no_answer(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    monkeypatch.setenv(BACKEND_URL, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server:
        error = await refused("devices.disable", {"device_ids": ["d-0001"]}, context(console.operator))
    assert error.status == 502


async def test_the_document_beside_the_catalogue_is_the_backends_own() -> None:
    written = Path(catalogue.__file__).with_name("backend.openapi.json").read_text(encoding="utf-8")
    assert json.loads(written) == document()
    assert backend.refused() == {}
    listed = {offer.request: offer.name for offer in backend.offers()}
    assert listed == {
        "GET /healthz": None,
        "GET /devices": "devices.list",
        "PATCH /devices/{device_id}": "devices.rename",
        "POST /devices/disable": "devices.disable",
        "GET /effects": None,
    }
