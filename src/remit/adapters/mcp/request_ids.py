"""One answer for one request id: a handshake session under way with an id takes no second one (SPEC 12.5).

The library keeps answers and running requests of a session by the request's id, so a second request with an id that is
still under way would take the first one's place: one of them would wait for ever, or get what is not its own.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import orjson
from mcp.server.streamable_http import GET_STREAM_KEY, MCP_SESSION_ID_HEADER
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit._base.clock import Clock
from remit.adapters.mcp.surrogates import broken_call, invalid

REQUEST: Final = "remit.request"
"""The key in an ASGI scope under which a request of a handshake session has its `Underway`."""

SETTLE_S: Final = 5.0
"""How long an id whose connection broke off is kept after its code has ended: its answer may still be on its way."""


class Underway:
    """One request that has been let in. Its id is free again when it is over for its connection and for its code."""

    def __init__(self, free: Callable[[float], None]) -> None:
        self.answered = False
        self.over = asyncio.Event()
        self._free = free
        self._connected = True
        self._running = False

    def __enter__(self) -> None:
        """Its code runs."""
        self._running = True

    def __exit__(self, *raised: object) -> None:
        """Its code has ended; the answer goes out next."""
        self._running = False
        if not self._connected:
            self._free(SETTLE_S)

    def left(self) -> None:
        """The connection is over: it has been answered, or it broke off."""
        self._connected = False
        self.over.set()
        if not self._running:
            # What has not begun may lie in the queue of its session yet.
            self._free(0.0 if self.answered else SETTLE_S)


class RequestIds:
    """Stands in front of `app` and refuses a request whose id is still under way in its session."""

    def __init__(self, app: ASGIApp, clock: Clock, *, body_bytes: int) -> None:
        self._app = app
        self._clock = clock
        self._body_bytes = body_bytes
        self._underway: dict[tuple[str, str], Underway] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        session = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if scope["method"] != "POST" or session is None:
            await self._app(scope, receive, send)
            return
        read = _Read(receive)
        body = await read.whole(self._body_bytes)
        id = _request_id(body)
        if id is None and (odd := broken_call(body)) is not None:
            await invalid(*odd)(scope, read, send)
            return
        if id is None:
            await self._app(scope, read, send)
            return
        key = (session, str(id))
        before = self._underway.get(key)
        if before is not None and before.answered:
            await before.over.wait()  # its client was faster than the end of its answer here
        if key in self._underway or key[1] == GET_STREAM_KEY:
            await _refusal(id)(scope, read, send)
            return
        request = scope[REQUEST] = self._underway[key] = Underway(lambda after: self._forget(key, after))

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                request.answered = True
            await send(message)

        try:
            await self._app(scope, read, noted)
        finally:
            request.left()

    def _forget(self, key: tuple[str, str], after: float) -> None:
        def forget() -> None:
            self._underway.pop(key, None)

        if after:
            self._clock.call_later(after, forget)
        else:
            forget()


class _Read:
    """A body that was read ahead, given again from its beginning."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ahead: list[Message] = []

    async def __call__(self) -> Message:
        return self._ahead.pop(0) if self._ahead else await self._receive()

    async def whole(self, at_most: int) -> bytes:
        """The body; empty when it is longer than `at_most`, or when its client has gone."""
        parts: list[bytes] = []
        while True:
            message = await self._receive()
            self._ahead.append(message)
            if message["type"] != "http.request":
                return b""
            parts.append(message.get("body", b""))
            if sum(map(len, parts)) > at_most:
                return b""
            if not message.get("more_body", False):
                return b"".join(parts)


def _request_id(body: bytes) -> str | int | None:
    """The id of a JSON-RPC request; None of everything else, which is the library's to answer."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    id = message.get("id") if isinstance(message, dict) and "method" in message else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _refusal(id: str | int) -> Response:
    error = {"code": INVALID_REQUEST, "message": "A request with this id is still under way in this session"}
    body = orjson.dumps({"jsonrpc": "2.0", "id": id, "error": error})
    return Response(body, status_code=409, media_type="application/json")
