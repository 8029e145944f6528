"""An application whose pages answer for components, on a real port; and pages as anything but the module makes them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from remit import Authority, Component, Connection, Consumer, Limits, ManualClock, action, observation
from remit._contract.manifest import assemble
from remit._contract.row import rows_of
from remit._session.session import Session
from remit.gateway import Gateway
from remit.integrations.asgi import Agents, attach
from tests.adapters.asgi_site import ADA, SCOPE, SignIns
from tests.adapters.site import PATIENCE_S, _Server

READ: Final = "view:shop.cart.read"
ADD: Final = "view:shop.cart.addItem"
CLEAR: Final = "view:shop.cart.clear"
GO: Final = "view:shop.cart.go"
PRICES: Final = "view:shop.prices.read"


class Cart(Component, type="shop.cart", page=True):
    """The cart, as the page holds it."""

    @observation
    def read(self) -> list[str]:
        """What is in the cart."""
        return []

    @action
    def add_item(self, sku: str, count: int = 1) -> int:
        """Put an article into the cart."""
        return 0

    @action(reversible=False, confirmation="required")
    def clear(self) -> None:
        """Empty the cart."""

    @action(effect="navigation")
    def go(self, to: str) -> None:
        """Show another part of the shop."""


class Prices(Component, type="shop.prices", page=True):
    """The prices, on a page of their own."""

    @observation
    def read(self) -> list[int]:
        """All prices."""
        return []


class Own(Component, type="shop.own"):
    """What no page answers for."""

    @observation
    def read(self) -> int:
        """One."""
        return 1


HTML: Final = """<!doctype html><html><head><title>Shop</title></head><body><h1>Shop</h1>
<script type="module">
  import { connect, Refused } from "/remit/browser.js";
  globalThis.Refused = Refused;
  globalThis.items = JSON.parse(sessionStorage.items ?? "[]");
  globalThis.ran = [];
  globalThis.handlers = {
    read: () => globalThis.items,
    addItem({ sku, count }) {
      globalThis.ran.push([sku, count]);
      for (let i = 0; i < count; i++) globalThis.items.push(sku);
      return globalThis.items.length;
    },
    clear() { globalThis.items.length = 0; },
    go({ to }) { history.pushState(null, "", to); },
  };
  globalThis.remit = connect();
  globalThis.cart = remit.bind("shop.cart", handlers);
</script></body></html>"""


def authority() -> Authority:
    """The contract of this application."""
    rows = [rows_of(each, {}) for each in (Cart, Prices, Own)]
    return Authority(
        assemble(
            [each.block for each in rows],
            [row.block for each in rows for row in each.capabilities],
            {},
            exposure={"mcp": ["view:**"]},
            policies=[],
        )
    )


@dataclass
class Site:
    """The application, as it runs."""

    gateway: Gateway
    agents: Agents
    sign_ins: SignIns
    clock: ManualClock
    address: str = ""
    html: str = HTML

    def views(self) -> tuple[Session, ...]:
        """The views that agents reach, oldest first."""
        return tuple(each for each in self.gateway._views.all() if each.connected)

    def agent(self, view: Session | None = None) -> Connection:
        """An agent in a view, through a network door; in the only one if none is named."""
        if view is None:
            (view,) = self.views()
        return view.surface.connect(Consumer("agent", kind="mcp", scope=SCOPE))

    async def until(self, count: int) -> tuple[Session, ...]:
        """Wait until so many views are open."""
        changed = asyncio.Event()
        end = self.gateway._views.on_change(ADA.key, changed.set)
        async with asyncio.timeout(PATIENCE_S):
            while len(self.views()) != count:
                changed.clear()
                await changed.wait()
        end()
        return self.views()

    async def available(self, capability: str, *, reason: str | None = "", view: Session | None = None) -> None:
        """Wait until a capability is listed as available, or, with a reason or None, as unavailable or absent."""
        (view,) = (view,) if view is not None else await self.until(1)
        changed = asyncio.Event()
        end = view.surface.subscribe(lambda _: changed.set())
        async with asyncio.timeout(PATIENCE_S):
            while self.state(view, capability) != reason:
                changed.clear()
                await changed.wait()
        end()

    def state(self, view: Session, capability: str) -> str | None:
        """What a listing says: the empty text when available, why not, or None when it is not there."""
        for each in self.agent(view).capabilities():
            if each.id == capability:
                return "" if each.available else each.reason
        return None

    async def token(self, account: str = "a") -> str:
        """A token for a socket, as a page asks for it."""
        async with httpx2.AsyncClient(base_url=self.address, cookies={"account": account}, trust_env=False) as http:
            answer = await http.get("/remit/browser/token", timeout=PATIENCE_S)
        return str(answer.json()["token"])

    @asynccontextmanager
    async def socket(self, account: str = "a", **headers: str) -> AsyncIterator["Raw"]:
        """A socket that has been let in, and has said nothing."""
        address = self.address.replace("http", "ws") + "/remit/browser/socket"
        usual = {"Origin": self.address, "Cookie": f"account={account}", **headers}
        named = {name: value for name, value in usual.items() if value}
        async with connect(address, additional_headers=named, proxy=None, max_size=None) as client:
            yield Raw(client)

    @asynccontextmanager
    async def page(self, **more: object) -> AsyncIterator["Raw"]:
        """A page that has said its first message and bound nothing."""
        async with self.socket() as raw:
            await raw.hello(token=await self.token(), **more)
            yield raw


class Raw:
    """A page's end of a socket, without the module."""

    def __init__(self, client: ClientConnection) -> None:
        self.client = client
        self.welcome: dict[str, Any] = {}

    async def hello(self, **more: object) -> None:
        """Say the first message, and hear the answer."""
        await self.say(route="/cart", title="Shop", **more)
        self.welcome = await self.hear("page")

    async def bind(self, number: int = 1, type: str = "shop.cart", **more: object) -> dict[str, Any]:
        """Bind a component, and hear what comes of it."""
        handlers = ["read", "addItem", "clear", "go"]
        await self.say(**{"bind": number, "type": type, "instance": "default", "handlers": handlers, **more})
        return await self.hear("bound")

    async def say(self, **frame: object) -> None:
        """Send one message."""
        await self.client.send(json.dumps(frame))

    async def hear(self, kind: str) -> dict[str, Any]:
        """The next message of this kind; all others are nothing."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                frame = json.loads(await self.client.recv())
                if kind in frame:
                    return dict(frame)

    async def closed(self) -> int:
        """Wait until the server has closed it; the code."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                while True:
                    await self.client.recv()
            except ConnectionClosed:
                return self.client.close_code or 0


@asynccontextmanager
async def serving(*, limits: Limits | None = None, login: str = "principal") -> AsyncIterator[Site]:
    """The application on a real port, stopped as a server stops."""
    sign_ins, clock = SignIns(), ManualClock()
    gateway = Gateway(authority(), limits=limits, clock=clock)

    async def page(request: Request) -> Response:
        return HTMLResponse(site.html)

    app = Starlette(routes=[Route("/cart", page), Route("/prices", page), Route("/about", page)])
    pages: dict[str, list[type[Component]]] = {"/cart": [Cart], "/prices": [Cart, Prices]}
    agents = attach(app, gateway, login=getattr(sign_ins, login), pages=pages)
    site = Site(gateway, agents, sign_ins, clock)
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
