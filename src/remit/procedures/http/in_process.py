"""An application of this process, called as a server would call it, without a network (SPEC 10.1).

Each call has a task of its own. The answer is whole with its last message; what the application does after that, such
as a task in the background, goes on without a caller.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias

import httpx2

from remit.procedures.http.address import Origin
from remit.procedures.http.connections import PLAIN, Broken, Full, Heads, Reply, Terms

_FAILED: Final = 500
_AHEAD_BYTES: Final = 256 * 1024
"""So much may wait to be read before the application has to."""

_MOST: Final = 1_000
"""Calls at a time, those included that have answered and still work."""

_Message: TypeAlias = MutableMapping[str, Any]


class App(Protocol):
    """An ASGI application."""

    def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> Awaitable[None]:
        """Answer one connection."""
        ...


class InProcess:
    """Where the calls of a catalogue go whose backend is in this process."""

    def __init__(self, app: App, *, most: int = _MOST) -> None:
        self._app = app
        self._most = most
        self._running: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def exchange(
        self, origin: Origin, method: str, target: bytes, heads: Heads, content: bytes | None, terms: Terms = PLAIN
    ) -> AsyncIterator[Reply]:
        """Call the application and hand out its answer as it comes; leaving before its end is said cancels the call.

        Broken for half of an answer, Full where too many calls still run.
        """
        if len(self._running) >= self._most:
            raise Full(f"{self._most} calls of the application still run")
        terms.begin()
        call = _Call(content or b"")
        task = asyncio.create_task(call.run(self._app, _scope(origin, method, target, heads)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            status, headers = await call.head()
            yield Reply(status=status, headers=headers, chunks=call.chunks())
        finally:
            if not call.is_whole:
                task.cancel()

    async def close(self) -> None:
        """Cancel what still runs in this loop, and wait for its end."""
        loop = asyncio.get_running_loop()
        running = [task for task in self._running if task.get_loop() is loop]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _scope(origin: Origin, method: str, target: bytes, heads: Heads) -> _Message:
    url = httpx2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=target)
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "headers": [(name.lower(), value) for name, value in heads],
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.split(b"?")[0],
        "query_string": url.query,
        "server": (url.host, url.port),
        "client": ("127.0.0.1", 123),
        "root_path": "",
    }


class _Call:
    """One call of the application, and what it has said that nobody has read yet."""

    def __init__(self, content: bytes) -> None:
        self._content: bytes | None = content
        self._head: tuple[int, Heads] | None = None
        self._parts: list[bytes] = []
        self._said = asyncio.Event()
        self._read = asyncio.Event()
        self._whole = asyncio.Event()
        self._ended = False
        self._problem: Exception | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the last of the answer was said."""
        return self._whole.is_set()

    async def run(self, app: App, scope: _Message) -> None:
        """Run the application to its end; what it raises is no more than over a network: an answer that is missing."""
        try:
            await app(scope, self._receive, self._send)
        except Exception as problem:  # noqa: BLE001 - over a network, too, nobody would hear of it
            self._problem = problem
        finally:
            self._ended = True
            self._said.set()

    async def head(self) -> tuple[int, Heads]:
        """Status and heads of the answer, 500 where the application ends without any."""
        while self._head is None:
            if self._ended:
                self._whole.set()
                return _FAILED, []
            await self._more()
        return self._head

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it comes."""
        while True:
            while self._parts:
                parts, self._parts = self._parts, []
                self._read.set()
                yield b"".join(parts)
            if self.is_whole:
                return
            if self._ended:
                raise Broken("the application ended before its answer did") from self._problem
            await self._more()

    async def _more(self) -> None:
        self._said.clear()
        await self._said.wait()

    async def _receive(self) -> _Message:
        if self._content is None:
            await self._whole.wait()
            return {"type": "http.disconnect"}
        content, self._content = self._content, None
        return {"type": "http.request", "body": content, "more_body": False}

    async def _send(self, message: _Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body" and not self.is_whole:
            if self._head is None:
                raise RuntimeError("a body before its head")
            if body := message.get("body", b""):
                self._parts.append(body)
            if not message.get("more_body", False):
                self._whole.set()
        self._said.set()
        while not self.is_whole and sum(map(len, self._parts)) > _AHEAD_BYTES:
            self._read.clear()
            await self._read.wait()
