"""The door as an ASGI application: a verified token with every request, one manager for both eras (SPEC 12.5, 15.5)."""

import asyncio
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit._base.boundary import canonical
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._session.identity import Identity, Resolve, decision_link, unauthorized
from remit._session.views import Views
from remit.adapters.mcp.pings import GRACE, outlive_the_signal, ping_every
from remit.adapters.mcp.request_ids import RequestIds
from remit.adapters.mcp.server import IDENTITY, Handlers

PATH: Final = "/remit/mcp"
BODY_BYTES: Final = 1_048_576
"""The largest request body; inputs have a limit of their own, far below (SPEC 17)."""

DecisionPath = Callable[[], str | None]


class McpDoor:
    """Serves the surfaces of open views over MCP.

    `resolve` says who is calling, from a token verified for this very request: None is 401, in one body whatever was
    wrong. `decision_path` says where the application serves decision pages, None where it serves none. With
    `trust_traceparent` a call continues the trace of its request; else it is linked with it (SPEC 6.14). Serves
    `/remit/mcp` as a route of its own, or `/mcp` below a mount at `/remit`.
    """

    def __init__(
        self,
        views: Views,
        resolve: Resolve,
        *,
        decision_path: DecisionPath,
        clock: Clock,
        limits: Limits,
        trust_traceparent: bool = False,
    ) -> None:
        self._resolve = resolve
        self._decision_path = decision_path
        self._limits = limits
        self._handlers = Handlers(views, clock, limits, self._decision_url, trust_traceparent)
        self._manager = StreamableHTTPSessionManager(
            self._handlers.server(_version()),
            max_request_body_size=BODY_BYTES,
            session_idle_timeout=limits.idle_session_s,
            max_sessions=limits.sessions,
        )
        self._requests = RequestIds(self._manager.handle_request, clock, body_bytes=BODY_BYTES)
        self._posts = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._ended = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise TypeError(f"the MCP door serves http, not {scope['type']}")
        await self._answering(scope)(scope, receive, send)

    async def start(self) -> None:
        """Begin to serve; call once, inside the running loop."""
        if self._serving is not None:
            raise RuntimeError("the MCP door has been started before")
        ping_every(self._limits.ping_s)
        outlive_the_signal()
        ready = asyncio.Event()
        self._serving = asyncio.create_task(self._serve(ready))
        await ready.wait()

    def stopping(self) -> None:
        """Answer held calls, end streams, take nothing new; what is running goes on until `stop` or its end."""
        if self._closing:
            return
        self._closing = True
        self._handlers.confirming.stop()
        self._handlers.callers.close()
        if self._serving is not None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    def cut_off(self, has_ended: Callable[[Consumer], bool]) -> None:
        """End the streams of consumers that nobody vouches for any more."""
        self._handlers.callers.cut_off(has_ended)

    async def stop(self) -> None:
        """Stop serving; safe to call twice, and without a start."""
        self.stopping()
        if self._draining is not None:
            await self._draining
        if self._serving is not None:
            await self._serving

    def _answering(self, scope: Scope) -> ASGIApp:
        if not _is_door(scope):
            return PlainTextResponse("Not Found", status_code=404)
        if self._closing or self._serving is None:
            return PlainTextResponse("Not serving", status_code=503, headers={"Retry-After": "1"})
        identity = self._resolve(HTTPConnection(scope))
        if identity is None:
            return unauthorized()
        scope[IDENTITY] = identity
        # What the library compares when a handshake session is used again: the same agent of the same person.
        scope["user"] = AuthenticatedUser(_owner(identity))
        if scope["method"] == "GET":
            return self._streamed
        if scope["method"] != "POST":
            return self._manager.handle_request
        scope[GRACE] = self._limits.stop_s
        return self._counted

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._posts += 1
        self._idle.clear()
        try:
            await self._requests(scope, receive, send)
        finally:
            self._posts -= 1
            if self._posts == 0:
                self._idle.set()

    async def _streamed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A handshake session's own stream, which the library would keep open longer than its token is good."""
        begun, done = False, False

        async def noted(message: Message) -> None:
            nonlocal begun, done
            begun = True
            done = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with self._handlers.callers.of(scope[IDENTITY]).streaming() as over:
            serving = asyncio.ensure_future(self._manager.handle_request(scope, receive, noted))
            ending = asyncio.ensure_future(over.wait())
            try:
                await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    serving.result()
            finally:
                serving.cancel()
                ending.cancel()
                await asyncio.gather(serving, ending, return_exceptions=True)
        if begun and not done:
            await send({"type": "http.response.body", "body": b""})

    async def _serve(self, ready: asyncio.Event) -> None:
        # The manager holds a task group, which one task has to enter and leave.
        async with self._manager.run():
            ready.set()
            await self._ended.wait()

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._limits.stop_s):
                await self._idle.wait()
        except TimeoutError:
            pass
        self._ended.set()

    def _decision_url(self, request: Request, confirmation_id: str) -> str | None:
        path = self._decision_path()
        if path is None:
            return None
        return decision_link(request, own=PATH, pages=path, confirmation_id=confirmation_id)


def _version() -> str:
    try:
        return version("remit")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0"


def _is_door(scope: Scope) -> bool:
    root: str = scope.get("root_path", "")
    path: str = scope["path"]
    inner = path.removeprefix(root) if root else path
    return inner.rstrip("/") in {"", "/mcp", PATH}


def _owner(identity: Identity) -> AccessToken:
    kind, issuer, actors, _ = identity.consumer.key
    return AccessToken(
        token="",
        client_id=canonical([kind, *actors]).decode(),
        scopes=[],
        subject=canonical(list(identity.principal)).decode(),
        claims={"iss": issuer or ""},
    )
