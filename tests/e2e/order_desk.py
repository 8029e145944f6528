"""The order desk, served by a thread of its own: what tests ask of it, of its people and of agents."""

import asyncio
import json
import re
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import uvicorn
from shop.app import Handles, create
from websockets.sync.client import connect

from remit.client import AsyncClient
from remit.integrations.asgi import View

T = TypeVar("T")
PATIENCE_S = 40.0
SCOPE = ["view:**", "domain:**"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDesk:
    """The application as it is served."""

    base: str
    handles: Handles
    loop: asyncio.AbstractEventLoop
    server: uvicorn.Server

    def run(self, work: Callable[[], T] | Coroutine[Any, Any, T]) -> T:
        """Run something where the application runs: surfaces belong to its loop."""

        async def there() -> T:
            return work() if callable(work) else await work

        return asyncio.run_coroutine_threadsafe(there(), self.loop).result(PATIENCE_S)

    def token(self, name: str = "mara", *, kind: str = "page") -> str:
        """A token for an agent of somebody, as the application gives it out."""
        principal = self.handles.person(name).principal()
        return self.handles.gateway.delegate(principal, actor="assistant", scope=SCOPE, kind=kind)

    def client(self, name: str = "mara", *, token: str | None = None) -> AsyncClient:
        """A caller of the page protocol; with the same token it is the same one again."""
        return AsyncClient(f"{self.base}/remit/page", token or self.token(name), timeout=PATIENCE_S)

    def person(self, name: str) -> "Desk":
        """Somebody's browser, signed in."""
        browser = Desk(self.base)
        browser.sign_in(name, self.handles.person(name).password)
        return browser

    def opened(self, name: str = "mara") -> tuple[View, ...]:
        """The open views of somebody."""
        return self.run(lambda: self.handles.agents.views(self.handles.person(name).principal()))


class Desk:
    """Somebody's browser without a browser: cookies, forms with their tokens, and one open page at a time."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.http = httpx2.Client(base_url=base, timeout=PATIENCE_S, trust_env=False)
        self._csrf = ""

    def get(self, path: str) -> httpx2.Response:
        """A page; the token of its forms is remembered."""
        page = self.http.get(path)
        self._csrf = _found(r'name="csrf" value="([^"]*)"', page.text) or self._csrf
        return page

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """A form, with the token of its session."""
        return self.http.post(path, data={"csrf": self._csrf, **fields}, headers={"Origin": self.base})

    def sign_in(self, name: str, password: str) -> None:
        """Sign in, as the form does."""
        self.get("/sign-in")
        answer = self.post("/sign-in", name=name, password=password)
        assert answer.headers["location"] == "/orders"

    @contextmanager
    def page(self, path: str = "/orders") -> Iterator[str]:
        """Have a page open in the block; gives its markup."""
        markup = self.get(path).text
        named = _found(r'name="remit-view" content="([^"]*)"', markup)
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies.jar)
        address = f"{self.base.replace('http', 'ws', 1)}/remit/view"
        headers = {"Origin": self.base, "Cookie": cookies}
        with connect(address, additional_headers=headers, close_timeout=PATIENCE_S) as socket:
            socket.send(json.dumps({"view": named}))
            assert json.loads(socket.recv(PATIENCE_S)) == {"event": "open"}
            yield markup

    def part(self, path: str, markup: str) -> str:
        """A part of an open page, as htmx asks for it."""
        headers = {"Remit-View": _found(r'name="remit-view" content="([^"]*)"', markup)}
        part = self.http.get(path, headers=headers)
        assert part.status_code == 200, part.text
        return part.text

    def close(self) -> None:
        """Forget everything."""
        self.http.close()


@contextmanager
def serving() -> Iterator[OrderDesk]:
    """Serve the application on a free port inside the block."""
    loop: list[asyncio.AbstractEventLoop] = []
    app, handles = create()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=30))
    ready, startup, shutdown = threading.Event(), server.startup, server.shutdown

    async def announced(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        loop.append(asyncio.get_running_loop())
        ready.set()

    async def released(sockets: list[socket.socket] | None = None) -> None:
        # In a thread it takes no signals, so it is not found by itself.
        handles.agents.stopping()
        await shutdown(sockets)

    server.startup, server.shutdown = announced, released  # type: ignore[method-assign]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert ready.wait(PATIENCE_S)
            base = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield OrderDesk(base=base, handles=handles, loop=loop[0], server=server)
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return "" if found is None else found.group(1)
