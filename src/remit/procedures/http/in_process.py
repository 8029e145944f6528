"""An application of this process, called as a server would call it, without a network (SPEC 10.1)."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias

import httpx2

from remit.procedures.http.address import Origin
from remit.procedures.http.connections import Broken, Heads, Reply

_FAILED: Final = 500

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

    def __init__(self, app: App) -> None:
        self._transport = httpx2.ASGITransport(app=_AsServed(app))

    @asynccontextmanager
    async def exchange(
        self, origin: Origin, method: str, target: bytes, heads: Heads, content: bytes | None
    ) -> AsyncIterator[Reply]:
        """Call the application and hand out its answer; Broken for half of one."""
        request = httpx2.Request(
            method,
            httpx2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=target),
            headers=heads,
            stream=httpx2.ByteStream(content or b""),
        )
        response = await self._transport.handle_async_request(request)
        yield Reply(status=response.status_code, headers=response.headers.raw, chunks=_body(response))


async def _body(response: httpx2.Response) -> AsyncGenerator[bytes]:
    async for chunk in response.aiter_raw():
        yield chunk


class _AsServed:
    """An application as a server would serve it: 500 where it answers nothing, and half an answer is none."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        begun = ended = False

        async def noted(message: _Message) -> None:
            nonlocal begun, ended
            await send(message)
            begun = begun or message["type"] == "http.response.start"
            ended = ended or (message["type"] == "http.response.body" and not message.get("more_body", False))

        problem: Exception | None = None
        try:
            await self._app(scope, receive, noted)
        except Exception as raised:  # noqa: BLE001 - over a network, too, nobody would hear of it
            problem = raised
        if not begun:
            await send({"type": "http.response.start", "status": _FAILED, "headers": []})
            await send({"type": "http.response.body"})
        elif not ended:
            raise Broken("the application ended before its answer did") from problem
