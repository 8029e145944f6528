"""A server-rendered application on a real port, and pages of it as a browser's script opens them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from remit import (
    Authority,
    Component,
    Connection,
    Consumer,
    Failed,
    Handoff,
    Limits,
    ManualClock,
    Outcome,
    Principal,
    Procedures,
    ReadContext,
    RecordSet,
    action,
    observation,
    reference,
)
from remit._contract.manifest import assemble
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit.gateway import Gateway
from remit.integrations.asgi import Agents, View, attach
from tests.adapters.site import PATIENCE_S, _Server

ADA: Final = Principal("ada", grants={"clerk"})
GRACE: Final = Principal("grace")
NOTE: Final = "view:orders.list.note"
READ: Final = "view:orders.list.readNotes"
PAY: Final = "view:orders.list.pay"
CANCEL: Final = "domain:orders.cancel"
FIND: Final = "domain:orders.find"
SCOPE: Final = ["view:**", "domain:**"]


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders on this page."""

    notes: dict[str, str] = field(default_factory=lambda: {"o-1": "", "o-2": ""})

    @observation
    def read_notes(self) -> list[str]:
        """What stands beside the orders."""
        return [f"{order}: {text}" for order, text in self.notes.items()]

    @action(record="order")
    def note(self, order: str, text: str) -> None:
        """Write a note on an order."""
        self.notes[order] = text

    @action(effect="navigation", record="order", handoff=Handoff("Only the customer pays", to="/orders/{order}/pay"))
    def pay(self, order: str) -> None:
        """Pay an order."""

    @note.records
    @pay.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=set(self.notes))

    cancel = reference("domain:orders.cancel")
    find = reference("domain:orders.find")


def backend() -> Procedures:
    """Two operations: one that asks a person, one that only reads."""
    procedures = Procedures()

    @procedures.operation("orders.cancel", effect="destructive")
    async def cancel(order: str) -> None:
        """Cancel an order."""

    @procedures.operation("orders.find", effect="server-query")
    async def find(text: str) -> list[str]:
        """Find orders."""
        return [text]

    return procedures


def authority_of(procedures: Procedures) -> Authority:
    """The contract of this application."""
    operations = {name: procedures.get(name) for name in procedures.names()}
    records = {name: record_of(operation) for name, operation in operations.items() if operation is not None}
    rows = rows_of(OrderList, records)
    return Authority(
        assemble(
            [rows.block],
            [row.block for row in rows.capabilities],
            records,
            exposure={door: ["view:**", "domain:**"] for door in ("mcp", "page")},
            policies=[],
        )
    )


@dataclass
class SignIns:
    """Who is signed in, by the value of a cookie; forgetting a value signs out."""

    people: dict[str, Principal] = field(default_factory=lambda: {"a": ADA, "g": GRACE})
    asked: int = 0

    def principal(self, request: Request) -> Principal | None:
        """A plain login."""
        self.asked += 1
        return self.people.get(request.cookies.get("account", ""))

    async def later(self, request: Request) -> Principal | None:
        """An async one."""
        await asyncio.sleep(0)
        return self.principal(request)


@dataclass
class Site:
    """The application, as it runs."""

    app: Starlette
    gateway: Gateway
    agents: Agents
    sign_ins: SignIns
    clock: ManualClock
    address: str = ""
    views: list[View] = field(default_factory=list)
    """Every view that was built, oldest first."""

    def browser(self, account: str = "a") -> httpx2.AsyncClient:
        """A browser in which somebody is signed in."""
        return httpx2.AsyncClient(
            base_url=self.address, cookies={"account": account}, timeout=PATIENCE_S, trust_env=False
        )

    @asynccontextmanager
    async def page(self, account: str = "a", *, tab: str | None = None, path: str = "/orders") -> AsyncIterator["Tab"]:
        """A page that is open as long as the block: built, and connected."""
        async with self.browser(account) as http:
            page = Tab(self, http, await built(http, path), tab=tab)
            try:
                await page.connect()
                yield page
            finally:
                await page.leave()

    def opened(self) -> list[Any]:
        """The views that agents reach."""
        views = self.gateway.describe()["views"]
        assert isinstance(views, list)
        return views

    def agent(self, view: View) -> Connection:
        """An agent in a view, through a network door."""
        return view.surface.connect(Consumer("agent", kind="mcp", scope=SCOPE))

    async def left(self) -> None:
        """Wait until the server knows that no page of ada's is looked at."""
        changed = asyncio.Event()
        end = self.gateway._views.on_change(ADA.key, changed.set)
        async with asyncio.timeout(PATIENCE_S):
            while self.opened():
                changed.clear()
                await changed.wait()
        end()


async def built(http: httpx2.AsyncClient, path: str = "/orders") -> str:
    """Ask for a page, and return the id it names; empty when it names none."""
    page = await http.get(path)
    assert page.status_code == 200, page.text
    found = re.search(r'<meta name="remit-view" content="([^"]*)">', page.text)
    return "" if found is None else found.group(1)


class Tab:
    """A page in a browser, as its script keeps it."""

    def __init__(self, site: Site, http: httpx2.AsyncClient, id: str, *, tab: str | None = None) -> None:
        self.site = site
        self.http = http
        self.id = id
        self.tab = tab
        self.view = site.views[-1]
        self._socket: ClientConnection | None = None

    async def connect(self, first: str | bytes | None = None, **headers: str) -> int:
        """Open the socket and name the page; 200, or why not: the status of the upgrade, the code of the close."""
        await self.leave()
        usual = {"Origin": self.site.address, "Sec-Fetch-Site": "same-origin", "Cookie": f"account={self.account}"}
        named = {name: value for name, value in {**usual, **headers}.items() if value}
        host = named.pop("Host", "")
        try:
            async with asyncio.timeout(PATIENCE_S):
                self._socket = await connect(
                    f"ws://{host or self.site.address.removeprefix('http://')}/remit/view",
                    host="127.0.0.1",
                    port=int(self.site.address.rpartition(":")[2]),
                    additional_headers=named,
                    compression=None,
                )
        except InvalidStatus as refused:
            return refused.response.status_code
        if first != b"":
            await self._socket.send(json.dumps({"view": self.id, "tab": self.tab}) if first is None else first)
        told = await self.hears()
        return 200 if told == ("open", {}) else int(told[1])

    @property
    def account(self) -> str:
        """The value of the cookie that says who is signed in."""
        return str(self.http.cookies["account"])

    async def leave(self) -> None:
        """Go, as a closed tab does."""
        if self._socket is not None:
            self._socket.transport.abort()
            await self._socket.wait_closed()
            self._socket = None

    async def hears(self) -> tuple[str, Any]:
        """The next event; `("end", code)` when the socket has been closed."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(PATIENCE_S):
                told = json.loads(await self._socket.recv())
        except ConnectionClosed as closed:
            return "end", 0 if closed.rcvd is None else closed.rcvd.code
        return told.pop("event"), told


def detail(outcome: Outcome, name: str) -> str:
    """A detail of a refusal."""
    assert isinstance(outcome, Failed)
    return str(outcome.error.details[name])


@asynccontextmanager
async def serving(
    *, limits: Limits | None = None, login: str = "principal", change: Callable[[Starlette], None] | None = None
) -> AsyncIterator[Site]:
    """The application on a real port, stopped as a server stops; `change` gets it before it is served."""
    procedures, sign_ins, clock = backend(), SignIns(), ManualClock()
    gateway = Gateway(authority_of(procedures), procedures=procedures, limits=limits, clock=clock)

    async def orders(request: Request) -> Response:
        view = await agents.open_view(request)
        view.mount(OrderList())
        site.views.append(view)
        return HTMLResponse(f"<!doctype html><html><head>{view.head('Orders')}</head><body>Orders</body></html>")

    async def rows(request: Request) -> Response:
        view = await agents.current_view(request)
        return HTMLResponse(json.dumps(view.mounted(OrderList).notes))

    app = Starlette(routes=[Route("/orders", orders), Route("/rows", rows)])
    agents = attach(app, gateway, login=getattr(sign_ins, login))
    site = Site(app, gateway, agents, sign_ins, clock)
    if change is not None:
        change(app)
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="on", timeout_graceful_shutdown=30)
    server = _Server(config)
    # Not `serve`: that takes the signals of the test run.
    running = asyncio.create_task(server._serve())
    await server.listens.wait()
    site.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        agents.stopping()
        server.ending.set()
        await running
