"""The door of pages: their script, and the socket whose life is that of a view (SPEC 11.17, 14.1, 15.4)."""

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from remit._session.leaving import Left, while_there
from remit._session.port import GatewayPort
from remit.integrations.asgi.page import Page
from remit.integrations.asgi.pages import Pages
from remit.integrations.asgi.signing import SignIn

SOCKET: Final = "/remit/view"
SCRIPT: Final = "/remit/view.js"
FIRST_CHARACTERS: Final = 1_024
OPEN: Final = "open"
GONE: Final = 4410
"""The close code that says: there is no such page of yours (any more); do not come back."""

_SOURCE: Final = Path(__file__).with_name("view.js").read_bytes()
VERSION: Final = hashlib.sha256(_SOURCE).hexdigest()[:12]
_TAB_CHARACTERS: Final = 64
_POLICY_VIOLATION: Final = 1008
_COME_BACK: Final = 1012


async def script(_: Request) -> Response:
    """The script that a page loads; its address changes with it."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(_SOURCE, media_type="text/javascript", headers=headers)


class Listening:
    """ASGI: a socket whose first message names a page opens the view of that page for as long as it lasts.

    It is opened for a page of this very origin in which somebody is signed in; else the upgrade is refused. Then a page
    that is not open, not theirs, or not named at once is one answer: the close code 4410.
    """

    def __init__(self, gateway: GatewayPort, pages: Pages, sign_in: SignIn) -> None:
        self._gateway = gateway
        self._pages = pages
        self._sign_in = sign_in
        self._stopping = False

    def stopping(self) -> None:
        """Take no socket any more."""
        self._stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one socket."""
        await receive()
        # An upgrade is a GET, so the login is asked about a request here, too.
        request = Request({**scope, "type": "http", "method": "GET"})
        if self._stopping or _foreign(request) or await self._sign_in.now(request) is None:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        with suppress(Left, OSError):  # nobody is there who would hear of anything
            await send({"type": "websocket.accept"})
            named = await self._first(receive)
            page = self._pages.get(str(named.get("view")))
            if page is None or not await page.heard_from(request):
                await send({"type": "websocket.close", "code": GONE})
            else:
                await self._serve(page, _tab(named.get("tab")), receive, send)

    async def _serve(self, page: Page, tab: str | None, receive: Receive, send: Send) -> None:
        listener = self._pages.connect(page, tab)
        try:
            await while_there(self._tell(page, listener, send), receive)
        finally:
            self._pages.disconnect(page, listener)

    async def _first(self, receive: Receive) -> Mapping[str, object]:
        """What the first message says; nothing when it does not come soon, or is none of ours."""
        try:
            async with asyncio.timeout(self._gateway.limits.admission_s):
                message = await receive()
        except TimeoutError:
            return {}
        if message["type"] == "websocket.disconnect":
            raise Left
        text = message.get("text")
        if not isinstance(text, str) or len(text) > FIRST_CHARACTERS:
            return {}
        try:
            named = orjson.loads(text)
        except orjson.JSONDecodeError:
            return {}
        return named if isinstance(named, dict) else {}

    async def _tell(self, page: Page, listener: object, send: Send) -> None:
        clock, ping_s = self._gateway.clock, self._gateway.limits.ping_s
        page.checked_at = clock.monotonic()
        await _say(send, OPEN, {})
        while True:
            await page.telling.some(ping_s)
            if page.listener is not listener:
                break
            if not await page.recheck(clock.monotonic()):
                self._pages.close(page)
                break
            for name, data in page.telling.take():
                await _say(send, name, data)
        await send({"type": "websocket.close", "code": GONE if page.closed else _COME_BACK})


async def _say(send: Send, name: str, data: Mapping[str, object]) -> None:
    await send({"type": "websocket.send", "text": orjson.dumps({"event": name, **data}).decode()})


def _foreign(request: Request) -> bool:
    """Whether this comes from another page than one of this very origin."""
    headers = request.headers
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return True
    return urlsplit(headers.get("origin", "")).netloc != headers.get("host")


def _tab(tab: object) -> str | None:
    """The name that the browser gave its tab, where it is one."""
    fits = isinstance(tab, str) and 0 < len(tab) <= _TAB_CHARACTERS and tab.isascii() and tab.isprintable()
    return tab if fits and isinstance(tab, str) else None
