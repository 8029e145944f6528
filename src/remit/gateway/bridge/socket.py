"""The socket of one page: what it says, what it is told, and how either side ends it (SPEC 11.17, 15.3)."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, Never

import orjson
from starlette.requests import Request
from starlette.types import Receive, Send

from remit._model.consumer import Principal
from remit.gateway.bridge.calls import Frame
from remit.gateway.bridge.messages import (
    FRAME_BYTES,
    Bind,
    Given,
    Left,
    Message,
    Odd,
    Pong,
    Route,
    Unbind,
    hello_of,
    message_of,
)
from remit.gateway.bridge.page import BridgePage, Outbox
from remit.gateway.bridge.pages import Pages
from remit.gateway.bridge.tokens import Tokens

HELLO_S: Final = 10.0
"""Seconds in which the first message has to come."""

SILENT: Final = 4
"""Pings without a word from the page after which it counts as lost."""

BURST: Final = 1_000
PER_S: Final = 200
"""Messages of one socket: so many at once, and so many a second."""

GOING_AWAY: Final = 1001
NOT_ALLOWED: Final = 1008
TOO_BIG: Final = 1009
TRY_LATER: Final = 1013
SIGNED_OUT: Final = 4401
ELSEWHERE: Final = 4409

_LOG: Final = logging.getLogger("remit.gateway.bridge")

End = tuple[int, str]


class Gone(Exception):
    """The page's side of the socket has gone."""


class Ended(Exception):
    """The socket is to be closed, with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Flow:
    """How many messages a page may still send; more come with time."""

    __slots__ = ("_at", "_left")

    def __init__(self, now: float) -> None:
        self._left = float(BURST)
        self._at = now

    def one(self, now: float) -> None:
        """Count one; Odd when it is one too many."""
        self._left = min(BURST, self._left + (now - self._at) * PER_S)
        self._at = now
        if self._left < 1:
            raise Odd("a flood of messages")
        self._left -= 1


class Socket:
    """One connection, from its first message to its close.

    A page that says what the module never says is ended at once, with everything that it bound; so is one whose person
    is not signed in any more. A connection that is merely lost leaves the page in its gap.
    """

    def __init__(self, pages: Pages, tokens: Tokens, stopping: asyncio.Event) -> None:
        self._pages = pages
        self._tokens = tokens
        self._stopping = stopping
        self._clock = pages.gateway.clock
        self._flow = Flow(self._clock.monotonic())
        self._silent = 0

    async def serve(self, request: Request, person: Principal, receive: Receive, send: Send) -> None:
        """Serve a connection that has been let in."""
        await receive()
        try:
            await send({"type": "websocket.accept"})
            entered = await self._entered(request, person, receive)
            await self._served(*entered, receive, send)
        except (Gone, OSError):
            return
        except Ended as end:
            await _close(send, end)

    async def _entered(self, request: Request, person: Principal, receive: Receive) -> tuple[BridgePage, Outbox]:
        try:
            async with asyncio.timeout(HELLO_S):
                hello = hello_of(await self._text(receive))
        except (TimeoutError, Odd) as problem:
            raise Ended(NOT_ALLOWED, "no first message") from problem
        if not self._tokens.holds(hello.token, person):
            raise Ended(SIGNED_OUT, "token")
        entered = self._pages.enter(hello, request, person)
        if entered is None:
            raise Ended(TRY_LATER, "too many pages")
        page, outbox = entered
        try:
            again = page.calls.again(hello.last if page.id == hello.page else 0)
        except Odd as problem:
            self._pages.close(page)
            raise Ended(NOT_ALLOWED, "not understood") from problem
        welcome = {"page": page.id, "resumed": page.id == hello.page, "most": FRAME_BYTES, "open": page.calls.open}
        outbox.put({**welcome, "bound": page.bound, "ping_ms": round(self._pages.gateway.limits.ping_s * 1_000)})
        for frame in again:
            outbox.put(frame)
        return page, outbox

    async def _served(self, page: BridgePage, outbox: Outbox, receive: Receive, send: Send) -> None:
        works = (
            self._read(page, receive),
            self._write(outbox, send),
            self._watch(page, outbox),
            _when(outbox.over, Ended(ELSEWHERE, "this socket is not the page's any more")),
            _when(self._stopping, Ended(GOING_AWAY, "stopping")),
        )
        try:
            await _first(works)
        finally:
            self._pages.leave(page, outbox)

    async def _read(self, page: BridgePage, receive: Receive) -> Never:
        """Take what the page says."""
        while True:
            try:
                text = await self._text(receive)
                self._flow.one(self._clock.monotonic())
                self._silent = 0
                self._take(page, message_of(text))
            except Odd as problem:
                _LOG.warning("a page is ended: %s", problem)
                self._pages.close(page)
                raise Ended(NOT_ALLOWED, "not understood") from problem
            except Ended:
                self._pages.close(page)
                raise

    def _take(self, page: BridgePage, message: Message) -> None:
        if page.closed:  # its view has ended, and this came before the socket did
            raise Gone
        match message:
            case Given():
                page.calls.take(message)
                if page.outbox is not None:
                    page.outbox.put({"ack": message.call})
            case Bind():
                page.bind(message)
            case Unbind(number=number):
                page.unbind(number)
            case Route(path=path, title=title):
                self._pages.goes_to(page, path, title)
            case Left():
                page.unbind_all()
                raise Gone
            case Pong():
                pass

    async def _write(self, outbox: Outbox, send: Send) -> Never:
        """Tell the page what there is to tell."""
        while True:
            await _send(send, await outbox.next())

    async def _watch(self, page: BridgePage, outbox: Outbox) -> Never:
        """Ask whether the page is there, and whether its person still is."""
        while True:
            await asyncio.sleep(self._pages.gateway.limits.ping_s)
            if not await page.recheck(self._clock.monotonic()):
                self._pages.close(page)
                raise Ended(SIGNED_OUT, "signed out")
            self._silent += 1
            if self._silent > SILENT:
                raise Gone
            outbox.put({"ping": 1})

    async def _text(self, receive: Receive) -> str:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            raise Gone
        text = message.get("text")
        if text is None:
            raise Odd("no text")
        if len(text) > FRAME_BYTES or len(text.encode("utf-8", "surrogatepass")) > FRAME_BYTES:
            raise Ended(TOO_BIG, f"more than {FRAME_BYTES} bytes")
        return str(text)


async def _when(event: asyncio.Event, end: Ended) -> Never:
    await event.wait()
    raise end


async def _first(works: tuple[Coroutine[Any, Any, Never], ...]) -> None:
    """Run all until one ends, which each does by raising; the others are stopped."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:  # in their order: what the page said counts before what follows from it
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(send: Send, frame: Frame) -> None:
    try:
        await send({"type": "websocket.send", "text": orjson.dumps(frame).decode()})
    except OSError as problem:
        raise Gone from problem


async def _close(send: Send, end: Ended) -> None:
    try:
        await send({"type": "websocket.close", "code": end.code, "reason": end.reason})
    except OSError:
        pass  # whoever is to be told has gone
