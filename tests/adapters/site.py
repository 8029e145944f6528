"""A small real application behind the door: a device table, a form, a backend that keeps what it did."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import mcp_types as types
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit import (
    Authority,
    BackendError,
    Component,
    Context,
    Limits,
    ManualClock,
    Principal,
    Procedures,
    Surface,
    action,
    observation,
    reference,
)
from remit._contract.manifest import assemble
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit._session.session import Session
from remit.gateway import Gateway

SECRET = "the-secret-of-the-backend"
SCOPE = ("view:**", "domain:**")
READ = "view_devices__table__readState"
COUNT = "view_devices__table__countRows"
SELECT = "view_devices__table__selectRows"
BREAK = "view_devices__table__breakDown"
DISABLE = "domain_devices__disable"
RENAME = "domain_devices__rename"
ERAS = ("auto", "legacy")
PATIENCE_S = 30.0
"""Longer than any answer takes under load: only a hang comes to it."""


class TableState(BaseModel):
    """What the table shows."""

    ids: list[str]
    selected: list[str]


@dataclass
class Table(Component, type="devices.table"):
    """Table of devices."""

    ids: list[str] = field(default_factory=lambda: ["d1", "d2", "d3"])
    selected: list[str] = field(default_factory=list)

    @observation
    def read_state(self) -> TableState:
        """Visible devices and the selection."""
        return TableState(ids=self.ids, selected=self.selected)

    @observation
    def count_rows(self) -> int:
        """How many devices are visible."""
        return len(self.ids)

    @action
    def select_rows(self, ids: list[str], mode: str = "replace") -> None:
        """Replace the row selection."""
        self.selected = list(ids)

    @action
    def break_down(self) -> None:
        """Fail in a way that would leak."""
        raise RuntimeError(SECRET)

    disable = reference("domain:devices.disable", title="Disable devices")

    @disable.bind("device_ids")
    def _selected(self) -> list[str]:
        return self.selected

    rename = reference("domain:devices.rename")


@dataclass
class Hidden(Component, type="devices.hidden"):
    """Exposed to nobody at network doors."""

    @observation
    def read_it(self) -> str:
        """Never seen from outside."""
        return "hidden"


@dataclass
class Backend:
    """What really happened."""

    disabled: list[list[str]] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    renaming: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event | None = None
    """When given, a rename that has begun waits for it."""
    reports: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    """What a rename reports of its progress before it waits."""
    given_up: int = 0
    """How often a rename that waited was told to stop."""
    wanted: dict[str, object] | None = None
    """When given, a rename wants this approval of the backend's own."""

    def procedures(self) -> Procedures:
        """The operations of this backend."""
        procedures = Procedures()

        @procedures.operation("devices.disable", effect="destructive")
        async def disable_devices(device_ids: list[str], call: Context) -> int:
            """Disable devices."""
            call.progress(1, 1, "disabled")
            self.disabled.append(device_ids)
            return len(device_ids)

        @procedures.operation("devices.rename", effect="server-mutation")
        async def rename_device(device_id: str, name: str, call: Context) -> str:
            """Rename one device."""
            for report in self.reports:
                call.progress(*report)
            self.renaming.set()
            if self.held is not None:
                try:
                    await self.held.wait()
                except asyncio.CancelledError:
                    self.given_up += 1
                    raise
            if self.wanted is not None:
                raise BackendError(403, SECRET, approval=self.wanted)
            self.renamed.append((device_id, name))
            return name

        return procedures


def authority_of(procedures: Procedures, *more: type[Component]) -> Authority:
    """The contract of this application."""
    records = {}
    for name in procedures.names():
        operation = procedures.get(name)
        assert operation is not None
        records[name] = record_of(operation)
    components: tuple[type[Component], ...] = (Table, Hidden, *more)
    rows = [rows_of(component, records) for component in components]
    manifest = assemble(
        [each.block for each in rows],
        [row.block for each in rows for row in each.capabilities],
        records,
        exposure={door: ["view:devices.table.*", "view:more.**", "domain:**"] for door in ("mcp", "page")},
        policies=[],
    )
    return Authority(manifest)


OPERATOR = Principal("operator", grants={"fleet-operator"})
AUDITOR = Principal("auditor")


class Site:
    """A running application: one gateway, its backend, its views, the address of its door."""

    def __init__(self, gateway: Gateway, backend: Backend) -> None:
        self.gateway = gateway
        self.backend = backend
        self.address = ""
        self.streaming = asyncio.Event()

    @property
    def door(self) -> str:
        """The URL of the MCP door."""
        return f"{self.address}/remit/mcp"

    def open(
        self,
        principal: Principal = OPERATOR,
        *,
        title: str = "Devices",
        tab: str | None = None,
        within: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Session:
        """Open a connected view with nothing in it."""
        view = self.gateway.open_view(
            principal=lambda: principal, host=lambda: None, within=within, title=title, route="/devices"
        )
        self.gateway.connected(view.id, tab=tab)
        return view

    def open_table(self, principal: Principal = OPERATOR, *, title: str = "Devices") -> tuple[Surface, Table]:
        """Open a view with a table in it."""
        surface, table = self.open(principal, title=title).surface, Table()
        surface.mount(table)
        surface.mount(Hidden())
        return surface, table

    def token(self, principal: Principal = OPERATOR, *, actor: str = "agent", session: str | None = None) -> str:
        """A token for one agent of a person."""
        return self.gateway.delegate(principal, actor=actor, scope=SCOPE, session=session)

    async def post(self, body: bytes = b"{}", **headers: str) -> httpx2.Response:
        """One raw request to the door, with a good token unless another is given."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        usual = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token()}"}
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            return await http.post(self.door, content=body, headers={**usual, **named})

    @asynccontextmanager
    async def client(
        self,
        mode: str,
        *,
        token: str | None = None,
        asked: "Asked | None" = None,
        heard: "Heard | None" = None,
        read_timeout: float = PATIENCE_S,
        **more: str,
    ) -> AsyncIterator[Client]:
        """The official client, set up the plain way: a header and `more`, and a time limit that only a hang reaches."""
        headers = {"Authorization": f"Bearer {self.token() if token is None else token}", **more}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(PATIENCE_S, read=read_timeout)) as http,
            Client(
                streamable_http_client(self.door, http_client=http),
                mode=mode,
                elicitation_callback=asked,
                message_handler=heard,
            ) as client,
        ):
            yield client


class Asked:
    """An elicitation callback that notes what was asked and answers one thing."""

    def __init__(self, answer: str = "accept") -> None:
        self.answer = answer
        self.urls: list[str] = []
        self.messages: list[str] = []

    async def __call__(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        self.urls.append(params.url)
        self.messages.append(params.message)
        return types.ElicitResult.model_validate({"action": self.answer})


class Heard:
    """A message handler that counts change notices."""

    def __init__(self) -> None:
        self.notices = 0
        self._one_more = asyncio.Event()

    async def __call__(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.notices += 1
            self._one_more.set()

    async def until(self, notices: int) -> None:
        """Wait for exactly so many."""
        while self.notices < notices:
            self._one_more.clear()
            await self._one_more.wait()
        assert self.notices == notices


def signed_in(connection: HTTPConnection) -> Principal | None:
    """The login of the test application: a cookie that names the account."""
    account = connection.cookies.get("account")
    return {"operator": OPERATOR, "auditor": AUDITOR}.get(account or "")


def _watched(app: ASGIApp, streaming: asyncio.Event) -> ASGIApp:
    """Notes that a handshake session's own stream is open: what is announced before is lost, as the protocol has it."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: Message) -> None:
            await send(message)
            if scope.get("method") == "GET" and message["type"] == "http.response.start":
                streaming.set()

        await app(scope, receive, noted)

    return watched


class _Server(uvicorn.Server):
    """Says when it listens, and hears at once that it is to end: the library's own loop looks ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()
        self.ending = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ending.wait()


@asynccontextmanager
async def serving(
    limits: Limits | None = None,
    clock: ManualClock | None = None,
    more: tuple[type[Component], ...] = (),
    **given: Any,
) -> AsyncIterator[Site]:
    """The application on a real port, stopped the way a server stops.

    `more` are components `more.…`, `given` is for the gateway.
    """
    backend = Backend()
    procedures = backend.procedures()
    gateway = Gateway(authority_of(procedures, *more), procedures=procedures, limits=limits, clock=clock, **given)
    site = Site(gateway, backend)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await gateway.start()
        yield
        await gateway.stop()

    app = Starlette(routes=[*gateway.door_routes(), *gateway.routes(signed_in)], lifespan=lifespan)
    config = uvicorn.Config(
        _watched(gateway.guard(app), site.streaming),
        port=0,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    # Not `serve`: that takes the signals of the test run.
    running = asyncio.create_task(server._serve())
    await server.listens.wait()
    site.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        gateway.stopping()
        server.ending.set()
        await running


def error_of(result: types.CallToolResult) -> dict[str, Any]:
    """The error of a refusal; text, structure and flag have to agree."""
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text) == result.structured_content
    error = json.loads(content.text)["error"]
    assert isinstance(error, dict)
    return error


def data_of(result: types.CallToolResult) -> Any:
    """The data of a success."""
    assert not result.is_error, result.content
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return json.loads(content.text)["data"]


def beside(**values: object) -> types.RequestParamsMeta:
    """What is sent beside the arguments: `registration="reg_…"` is `remit/registration`."""
    return cast(types.RequestParamsMeta, {f"remit/{key}": value for key, value in values.items()})
