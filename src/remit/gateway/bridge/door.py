"""What the bridge serves: the module, a token for the socket, and the socket (SPEC 11.17, 14.2)."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from remit._contract.component import Component
from remit._session.port import GatewayPort, SignIns
from remit.gateway.bridge.listed import Listed
from remit.gateway.bridge.pages import Pages
from remit.gateway.bridge.socket import Socket
from remit.gateway.bridge.tokens import Tokens
from remit.gateway.guard import refuse_socket

MODULE: Final = "/remit/browser.js"
TYPES: Final = "/remit/browser.d.ts"
TOKEN: Final = "/remit/browser/token"
SOCKET: Final = "/remit/browser/socket"

STATIC: Final = Path(__file__).parent.parent / "static"
_MODULE: Final = (STATIC / "browser.js").read_bytes()
_TYPES: Final = (STATIC / "browser.d.ts").read_bytes()
_PRIVATE: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Bridge:
    """Pages of one application, and their components by path."""

    def __init__(
        self,
        gateway: GatewayPort,
        sign_in: SignIns,
        host: object,
        pages: Mapping[str, Iterable[type[Component]]],
    ) -> None:
        self._sign_in = sign_in
        self._pages = Pages(gateway, sign_in, host, Listed(pages))
        self._tokens = Tokens(gateway.clock)
        self._stopping = asyncio.Event()

    def routes(self) -> list[BaseRoute]:
        """Module, types, token and socket, below `/remit/browser`."""
        return [
            Route(MODULE, _module, methods=["GET"], name="remit-browser-module"),
            Route(TYPES, _types, methods=["GET"], name="remit-browser-types"),
            Route(TOKEN, self._token, methods=["GET"], name="remit-browser-token"),
            WebSocketRoute(SOCKET, endpoint=_Served(self._socket), name="remit-browser-socket"),
        ]

    def stopping(self) -> None:
        """End every socket, so that the server may stop; the gateway closes the views."""
        self._stopping.set()

    async def _token(self, request: Request) -> Response:
        """A token for a page of this very origin, whose person is signed in; another one cannot read it anyway."""
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return PlainTextResponse("A page of another site", status_code=403, headers=_PRIVATE)
        if self._stopping.is_set():
            return PlainTextResponse("Not serving", status_code=503, headers={**_PRIVATE, "Retry-After": "1"})
        person = await self._sign_in.now(request)
        if person is None:
            return PlainTextResponse("Nobody is signed in", status_code=401, headers=_PRIVATE)
        return JSONResponse({"token": self._tokens.mint(person)}, headers=_PRIVATE)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _foreign(HTTPConnection(scope))
        # The application's login reads requests; the upgrade is one.
        request = Request({**scope, "type": "http", "method": "GET"})
        person = None if refusal is not None else await self._sign_in.now(request)
        if refusal is None and self._stopping.is_set():
            refusal = PlainTextResponse("Not serving", status_code=503)
        if refusal is None and person is None:
            refusal = PlainTextResponse("Nobody is signed in", status_code=401)
        if refusal is not None or person is None:
            await refuse_socket(refusal or PlainTextResponse("", status_code=401), scope, receive, send)
            return
        await Socket(self._pages, self._tokens, self._stopping).serve(request, person, receive, send)


class _Served:
    """An ASGI application as Starlette tells one from a function of a WebSocket."""

    def __init__(self, serve: ASGIApp) -> None:
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send)


def _foreign(connection: HTTPConnection) -> Response | None:
    """Why this is no upgrade of a page of this origin; None when it is. Which origins there are, the guard knows."""
    origins = connection.headers.getlist("origin")
    if len(origins) != 1 or urlsplit(origins[0]).netloc != connection.headers.get("host"):
        return PlainTextResponse("A page of another origin", status_code=403)
    return None


async def _module(request: Request) -> Response:
    return _static(request, _MODULE, "text/javascript")


async def _types(request: Request) -> Response:
    return _static(request, _TYPES, "text/plain")


def _static(request: Request, content: bytes, media_type: str) -> Response:
    """A file that keeps its address when it changes: asked for anew each time, and sent only if it is another one."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag, "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
