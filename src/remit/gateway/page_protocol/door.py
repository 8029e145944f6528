"""The door of the page protocol as an ASGI application: transport first, then the token, then the verb (SPEC 11.1)."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import orjson
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.trace import TRACEPARENT, Trace
from remit._session.identity import Identity, Resolve, decision_link, unauthorized
from remit._session.leaving import Left, while_there
from remit._session.views import Views
from remit.errors import AgentError, Issue, invalid_input
from remit.gateway.guard import refuse_socket
from remit.gateway.page_protocol.carried import TooLarge, body_of, is_json, json_response
from remit.gateway.page_protocol.listening import Stream
from remit.gateway.page_protocol.openapi import DESCRIBED
from remit.gateway.page_protocol.schemas import VERBS
from remit.gateway.page_protocol.socket import Socket
from remit.gateway.page_protocol.verbs import Verbs, refused

PATH: Final = "/remit/page"
SOCKET: Final = "/socket"
EVENTS: Final = "/events"
DOCUMENT: Final = "/openapi.json"
"""What the door serves beside one path a verb."""

_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_METHODS: Final = {
    **{f"/{verb}": "POST" for verb in VERBS},
    EVENTS: "GET",
    SOCKET: "GET",
    DOCUMENT: "GET",
}


Pages = Callable[[], "str | None"]


class PageDoor:
    """Serves the surfaces of open views over the page protocol, below a mount at `/remit/page`.

    `resolve` says who is calling, from the bearer token of this very request: None is 401, in one body whatever was
    wrong. `pages` is the path of decision pages, asked per request; None where the application serves none. Outcomes,
    refusals included, are 200 with the outcome as body. A request's `traceparent` is a link, or, trusted, what its call
    continues; that of an upgrade is read by nobody, for it belongs to no call (SPEC 6.14).
    """

    def __init__(
        self,
        views: Views,
        resolve: Resolve,
        *,
        pages: Pages,
        clock: Clock,
        limits: Limits,
        trust_traceparent: bool = False,
    ) -> None:
        self._resolve = resolve
        self._pages = pages
        self._limits = limits
        self._trusts = trust_traceparent
        self._verbs = Verbs(views, clock, limits)
        self._stopping = asyncio.Event()
        self._serving = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one socket."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            raise TypeError(f"the page protocol is served over http and websocket, not {scope['type']}")

    def stopping(self) -> None:
        """End streams, take nothing new; what is running goes on until `stop` or its end. Safe to call twice."""
        self._stopping.set()
        self._verbs.callers.close()

    def cut_off(self, has_ended: Callable[[Consumer], bool]) -> None:
        """End the streams and sockets of consumers that nobody vouches for any more."""
        self._verbs.callers.cut_off(has_ended)

    async def stop(self) -> None:
        """Wait for running calls, at most `limits.stop_s`; safe to call twice."""
        self.stopping()
        try:
            async with asyncio.timeout(self._limits.stop_s):
                await self._idle.wait()
        except TimeoutError:
            pass

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = _path(scope)
        answer = self._before_the_token(path, scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        identity = self._resolve(HTTPConnection(scope))
        if identity is None:
            await unauthorized()(scope, receive, send)
            return
        self._begun()
        try:
            serve = self._events if path == EVENTS else self._verb
            await serve(identity, scope, receive, send)
        except Left:
            pass  # nobody is there who would read an answer
        finally:
            self._ended()

    def _before_the_token(self, path: str, scope: Scope) -> Response | None:
        """What is said of the transport, to anybody; None when the request has come to where a token is needed."""
        method = _METHODS.get(path)
        if method is None:
            return PlainTextResponse("Not Found", status_code=404)
        if scope["method"] != method:
            return PlainTextResponse("Method Not Allowed", status_code=405, headers={"Allow": method})
        if path == SOCKET:
            headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
            return PlainTextResponse("Upgrade Required", status_code=426, headers=headers)
        if path == DOCUMENT:
            return json_response(DESCRIBED)
        return self._not_serving()

    def _not_serving(self) -> Response | None:
        if not self._stopping.is_set():
            return None
        return PlainTextResponse("Not serving", status_code=503, headers={"Retry-After": "1"})

    async def _verb(self, identity: Identity, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response
        if not is_json(scope):
            response = PlainTextResponse("Unsupported Media Type: send application/json", status_code=415)
        else:
            try:
                response = await self._answered(await body_of(receive), identity, scope, receive)
            except TooLarge:
                response = PlainTextResponse("Content Too Large", status_code=413)
        await response(scope, receive, send)

    async def _answered(self, body: bytes, identity: Identity, scope: Scope, receive: Receive) -> Response:
        parsed = _no_query(scope) or self._verbs.requests.parsed(body)
        if isinstance(parsed, AgentError):
            return json_response(refused(parsed))
        verb = _path(scope)[1:]
        trace = Trace.carried(Headers(scope=scope).getlist(TRACEPARENT), linked=not self._trusts)
        work = self._verbs.answer(verb, parsed, identity, partial(self._link, HTTPConnection(scope)), trace)
        return json_response(await while_there(work, receive))

    async def _events(self, identity: Identity, scope: Scope, receive: Receive, send: Send) -> None:
        begun = _no_query(scope) or self._verbs.stream(identity)
        if isinstance(begun, AgentError):
            await json_response(refused(begun))(scope, receive, send)
            return
        caller, stream = begun
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
            await while_there(self._tell(stream, send), receive)
        finally:
            stream.end()
            caller.leave(stream)

    async def _tell(self, stream: Stream, send: Send) -> None:
        while True:
            try:
                event = await stream.next(self._limits.ping_s)
            except TimeoutError:
                part = b":\n\n"  # a comment, so that nothing on the way takes the stream for dead
            else:
                if event is None:
                    break
                part = b"event: %b\ndata: %b\n\n" % (str(event["event"]).encode(), orjson.dumps(event))
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        there = _path(scope) == SOCKET
        refusal = self._not_serving() if there else PlainTextResponse("Not Found", status_code=404)
        identity = self._resolve(connection)
        if refusal is None and identity is None:
            refusal = unauthorized()
        if refusal is not None or identity is None:
            await refuse_socket(refusal or unauthorized(), scope, receive, send)
            return
        self._begun()
        try:
            link = partial(self._link, connection)
            identify = partial(self._resolve, connection)
            socket = Socket(self._verbs, identify, link, self._limits, self._stopping)
            await receive()
            await socket.serve(identity, receive, send)
        finally:
            self._ended()

    def _link(self, connection: HTTPConnection, confirmation_id: str) -> str | None:
        pages = self._pages()
        if pages is None:
            return None
        return decision_link(connection, own=PATH, pages=pages, confirmation_id=confirmation_id)

    def _begun(self) -> None:
        self._serving += 1
        self._idle.clear()

    def _ended(self) -> None:
        self._serving -= 1
        if self._serving == 0:
            self._idle.set()


def _path(scope: Scope) -> str:
    """The path below the mount."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _no_query(scope: Scope) -> AgentError | None:
    """Nothing is asked in an address, a token least of all."""
    if not scope["query_string"]:
        return None
    return invalid_input([Issue(path="", message="nothing is read from the query of an address")])
