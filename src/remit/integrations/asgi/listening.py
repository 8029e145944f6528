"""The door of pages: their script, and the stream whose life is that of a view (SPEC 14.1, 15.4)."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from remit._session.leaving import Left, while_there
from remit._session.port import GatewayPort
from remit.integrations.asgi.page import Page
from remit.integrations.asgi.pages import Pages
from remit.integrations.asgi.telling import GONE

STREAM: Final = "/remit/view"
SCRIPT: Final = "/remit/view.js"
BODY_BYTES: Final = 1_024

_SOURCE: Final = Path(__file__).with_name("view.js").read_bytes()
VERSION: Final = hashlib.sha256(_SOURCE).hexdigest()[:12]
_TAB_CHARACTERS: Final = 64
_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


async def script(_: Request) -> Response:
    """The script that a page loads; its address changes with it."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(_SOURCE, media_type="text/javascript", headers=headers)


class Listening:
    """ASGI: a `POST` with the id of a page opens its view for as long as the answer is read.

    It has to come from a page of this very origin, of the person that the page was built for. Whatever else is wrong
    with it is one answer: 410.
    """

    def __init__(self, gateway: GatewayPort, pages: Pages) -> None:
        self._gateway = gateway
        self._pages = pages
        self._stopping = False

    def stopping(self) -> None:
        """Take no stream any more."""
        self._stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one stream."""
        request = Request(scope, receive)
        refusal = _refusal(request)
        if refusal is None and self._stopping:
            refusal = PlainTextResponse("Not serving", status_code=503, headers={"Retry-After": "1"})
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        try:
            page, tab = await self._named(request)
            if page is None:
                await PlainTextResponse("This page is not open", status_code=410)(scope, receive, send)
            else:
                await self._serve(page, tab, receive, send)
        except (Left, ClientDisconnect):
            pass  # nobody is there who would read an answer

    async def _serve(self, page: Page, tab: str | None, receive: Receive, send: Send) -> None:
        listener = self._pages.connect(page, tab)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
            await while_there(self._tell(page, listener, send), receive)
        finally:
            self._pages.disconnect(page, listener)

    async def _named(self, request: Request) -> tuple[Page | None, str | None]:
        named = await _named(request)
        page = self._pages.get(str(named.get("view")))
        if page is None or not await page.heard_from(request):
            return None, None
        return page, _tab(named.get("tab"))

    async def _tell(self, page: Page, listener: object, send: Send) -> None:
        clock, ping_s = self._gateway.clock, self._gateway.limits.ping_s
        page.checked_at = clock.monotonic()
        await _send(send, b": open\n\n")
        while True:
            await page.telling.some(ping_s)
            if page.listener is not listener:
                break
            if not await page.recheck(clock.monotonic()):
                self._pages.close(page)
                break
            parts = [_event(name, data) for name, data in page.telling.take()]
            # A comment, so that nothing on the way takes the stream for dead.
            await _send(send, b"".join(parts) or b":\n\n")
        if page.closed:
            await _send(send, _event(GONE, {}))
        await send({"type": "http.response.body", "body": b""})


async def _send(send: Send, part: bytes) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": True})


def _event(name: str, data: Mapping[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(data))


def _refusal(request: Request) -> Response | None:
    """Why this is no request of a page's script; None when it is."""
    headers = request.headers
    if request.method != "POST":
        return PlainTextResponse("Method Not Allowed", status_code=405, headers={"Allow": "POST"})
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return PlainTextResponse("A page of another site", status_code=403)
    if urlsplit(headers.get("origin", "")).netloc != headers.get("host"):
        return PlainTextResponse("A page of another origin", status_code=403)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return PlainTextResponse("Unsupported Media Type: send application/json", status_code=415)
    return None


async def _named(request: Request) -> Mapping[str, object]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            return {}
    try:
        named = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return named if isinstance(named, dict) else {}


def _tab(tab: object) -> str | None:
    """The name that the browser gave its tab, where it is one."""
    fits = isinstance(tab, str) and 0 < len(tab) <= _TAB_CHARACTERS and tab.isascii() and tab.isprintable()
    return tab if fits and isinstance(tab, str) else None
