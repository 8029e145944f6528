"""An HTTP client and an ASGI application in one process without a socket; answers arrive as they are made."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
from starlette.types import ASGIApp, Message, Scope


class InMemory(httpx2.AsyncBaseTransport):
    """Gives each request to the application in a task of its own; a client that leaves early is a disconnect to it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer when the head of the answer is there; raises what the application raised before."""
        exchange = _Exchange(await request.aread())
        task = asyncio.get_running_loop().create_task(exchange.run(self._app, _scope(request)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            status, headers = await exchange.head
        except asyncio.CancelledError:
            exchange.left.set()
            raise
        return httpx2.Response(status, headers=headers, stream=exchange, request=request)

    async def aclose(self) -> None:
        """End what still runs."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


class _Exchange(httpx2.AsyncByteStream):
    """One request and its answer, seen from both sides."""

    def __init__(self, body: bytes) -> None:
        self.head: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = asyncio.get_running_loop().create_future()
        self.left = asyncio.Event()
        self._sent = [body]
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self.receive, self.send)
        except Exception as error:
            if self.head.done():
                raise
            self.head.set_exception(error)
        finally:
            self._parts.put_nowait(None)
            if not self.head.done():
                self.head.cancel()

    async def receive(self) -> Message:
        if self._sent:
            return {"type": "http.request", "body": self._sent.pop(), "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self.head.done():
            self.head.set_result((message["status"], list(message.get("headers", []))))
        elif message["type"] == "http.response.body":
            self._parts.put_nowait(message.get("body", b""))
            if not message.get("more_body", False):
                self._parts.put_nowait(None)
                self.left.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._parts.get()) is not None:
            yield part

    async def aclose(self) -> None:
        self.left.set()


def _scope(request: httpx2.Request) -> Scope:
    path, _, query = request.url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 1),
        "server": (request.url.host, request.url.port or 80),
    }
