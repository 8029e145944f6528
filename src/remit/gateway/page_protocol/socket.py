"""The same verbs over one WebSocket: text frames, answers by `ref`, events without one (SPEC 11.1)."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from starlette.types import Message, Receive, Send

from remit._base.limits import Limits
from remit._session.identity import Identity
from remit.errors import AgentError, rate_limited
from remit.gateway.page_protocol.listening import Stream
from remit.gateway.page_protocol.messages import BODY_BYTES, Frame
from remit.gateway.page_protocol.schemas import PROTOCOL
from remit.gateway.page_protocol.verbs import RETRY_MS, Link, Verbs, refused

GOING_AWAY: Final = 1001
NO_TEXT: Final = 1003
NOT_ALLOWED: Final = 1008
TOO_BIG: Final = 1009
TRY_LATER: Final = 1013

UNDER_WAY: Final = 32
"""Requests of one socket at a time; one more is RATE_LIMITED."""


logger = logging.getLogger(__name__)


class Socket:
    """One connection, from its first frame to its close.

    `identify` verifies the token anew with every frame; a token that has ended closes the socket. Requests run side by
    side, each with one answer. When the client goes, they are given up like any other whose client has gone.
    """

    def __init__(
        self,
        verbs: Verbs,
        identify: Callable[[], Identity | None],
        link: Link,
        limits: Limits,
        stopping: asyncio.Event,
    ) -> None:
        self._verbs = verbs
        self._identify = identify
        self._link = link
        self._limits = limits
        self._stopping = stopping
        self._ended = asyncio.Event()
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None

    async def serve(self, identity: Identity, receive: Receive, send: Send) -> None:
        """Serve a connection that has been let in."""
        caller = self._verbs.callers.of(identity)
        await send({"type": "websocket.accept"})
        if caller.full:
            await send({"type": "websocket.close", "code": TRY_LATER, "reason": "too many streams"})
            return
        caller.enter(self, self._ended.set)
        try:
            code, reason = await self._read(receive, send)
            if code is not None:
                if code == GOING_AWAY:
                    await asyncio.gather(*self._tasks, return_exceptions=True)
                await self._close(send, code, reason)
        finally:
            caller.leave(self)
            running = {*self._tasks, *([] if self._listening is None else [self._listening])}
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _read(self, receive: Receive, send: Send) -> tuple[int | None, str]:
        """Take frames until the socket is to be closed; None when its client has closed it."""
        while True:
            message = await self._received(receive)
            if message is None:
                return (GOING_AWAY, "stopping") if self._stopping.is_set() else (NOT_ALLOWED, "invalid_token")
            if message["type"] == "websocket.disconnect":
                return None, ""
            if message["type"] != "websocket.receive":
                continue
            text = message.get("text")
            if text is None:
                return NO_TEXT, "text frames only"
            if len(text) > BODY_BYTES or len(text.encode("utf-8", "surrogatepass")) > BODY_BYTES:
                return TOO_BIG, f"more than {BODY_BYTES} bytes"
            identity = self._identify()
            if identity is None:
                return NOT_ALLOWED, "invalid_token"
            await self._begin(text, identity, send)

    async def _received(self, receive: Receive) -> Message | None:
        """The next message; None when the socket is to end first."""
        receiving: asyncio.Future[Message] = asyncio.ensure_future(receive())
        ending = [asyncio.ensure_future(each.wait()) for each in (self._ended, self._stopping)]
        waits: list[asyncio.Future[Any]] = [receiving, *ending]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            over = self._ended.is_set() or self._stopping.is_set()
            return None if over or not receiving.done() else receiving.result()
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _begin(self, text: str, identity: Identity, send: Send) -> None:
        parsed = self._verbs.requests.parsed(text)
        frame = (None, parsed) if isinstance(parsed, AgentError) else self._verbs.requests.frame(parsed)
        if not isinstance(frame, Frame):
            ref, error = frame
            await self._send(send, {"ref": ref, "body": refused(error)})
            return
        if len(self._tasks) >= UNDER_WAY:
            await self._send(send, {"ref": frame.ref, "body": refused(rate_limited("queue-full", RETRY_MS))})
            return
        task = asyncio.get_running_loop().create_task(self._answer(frame, identity, send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, frame: Frame, identity: Identity, send: Send) -> None:
        if frame.verb == "events":
            await self._listen(frame, identity, send)
            return
        body = await self._verbs.answer(frame.verb, frame.body, identity, self._link)
        await self._send(send, {"ref": frame.ref, "body": body})

    async def _listen(self, frame: Frame, identity: Identity, send: Send) -> None:
        """Begin to tell events; asked again while they are told, it changes nothing."""
        request = self._verbs.requests.read(frame.verb, frame.body)
        if isinstance(request, AgentError):
            await self._send(send, {"ref": frame.ref, "body": refused(request)})
            return
        await self._send(send, {"ref": frame.ref, "body": {"protocol": PROTOCOL, "ok": True}})
        if self._listening is None or self._listening.done():
            stream = Stream(self._verbs.callers.of(identity), self._limits.events_backlog, identity)
            self._listening = asyncio.get_running_loop().create_task(self._tell(stream, send))

    async def _tell(self, stream: Stream, send: Send) -> None:
        try:
            while (event := await stream.next(None)) is not None:
                await self._send(send, {"body": event})
        finally:
            stream.end()

    async def _send(self, send: Send, frame: Mapping[str, object]) -> None:
        async with self._sending:
            try:
                await send({"type": "websocket.send", "text": orjson.dumps(frame).decode()})
            except OSError:
                # A sink: a client that has gone hears nothing; that it has, is read where frames are.
                logger.debug("a frame could not be sent", exc_info=True)

    async def _close(self, send: Send, code: int, reason: str) -> None:
        async with self._sending:
            await send({"type": "websocket.close", "code": code, "reason": reason})
