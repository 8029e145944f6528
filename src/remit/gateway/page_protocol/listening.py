"""What a listener hears: its own calls and requests, and what moves in the views it reaches (SPEC 9.1, 11.1)."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import orjson

from remit._model.event import Event, EventType
from remit._session.identity import Identity
from remit._session.session import Session
from remit.gateway.page_protocol.callers import Caller
from remit.gateway.page_protocol.schemas import PROTOCOL

LISTENING: Final = "listening"
"""The first event of every stream: what happens from now on is told."""

Told = Mapping[str, object]


class Stream:
    """The events of one listener, waiting to be sent, at most `backlog` of them.

    One more, and the stream says `lost` after what already waits, and ends: its listener describes anew. So it does in
    place of an event that holds the token or a cookie of the request that listens (SPEC 11.10). Everything comes from
    the surfaces' own subscriptions, so that nobody hears of what they may not see.
    """

    def __init__(self, caller: Caller, backlog: int, identity: Identity) -> None:
        self._caller = caller
        self._identity = identity
        self._end_following: Callable[[], None] | None = None
        self._backlog = backlog
        self._waiting: deque[Told] = deque()
        self._arrived = asyncio.Event()
        self._over = False
        self._open: dict[str, Session] = {}
        self._put(_event(LISTENING, {"views": [dict(row) for row in caller.reach.told()]}))
        self._open = self._opened()
        if not self._over:
            self._end_following = caller.reach.follow(self._views_changed, self._hear)

    def end(self) -> None:
        """Tell nothing more; what waits is still told."""
        self._over = True
        self._arrived.set()
        if self._end_following is not None:
            self._end_following()
            self._end_following = None

    async def next(self, timeout: float | None) -> Told | None:
        """The next event; None when the stream is over. TimeoutError when there was none for so many seconds."""
        if not self._waiting and not self._over:
            async with asyncio.timeout(timeout):
                await self._arrived.wait()
        if self._waiting:
            event = self._waiting.popleft()
            if not self._waiting and not self._over:
                self._arrived.clear()
            return event
        return None

    def _put(self, event: Told) -> None:
        if self._over:
            return
        if len(self._waiting) >= self._backlog or self._gives_away(event):
            self._waiting.append(_event(EventType.LOST, {}))
            self.end()
            return
        self._waiting.append(event)
        self._arrived.set()

    def _gives_away(self, event: Told) -> bool:
        if not self._identity.given_away(orjson.dumps(event).decode()):
            return False
        session = self._caller.reach.looks_at()
        if session is not None:
            session.withheld(self._caller.consumer, None)
        return True

    def _hear(self, session: Session) -> Callable[[], None]:
        def heard(event: Event) -> None:
            data = dict(event.data)
            if event.type is EventType.SURFACE_CHANGED:
                data["version"] = session.surface.snapshot(self._caller.consumer).surface_version
            self._put(_event(event.type, data, session))
            if event.type is EventType.LOST:
                self.end()

        end = session.surface.subscribe(heard, consumer=self._caller.consumer)
        loop = asyncio.get_running_loop()

        def end_soon() -> None:
            # A view that is closed ends its requests after it has left the sight of agents: they still hear of that.
            loop.call_soon(end)

        return end_soon

    def _views_changed(self) -> None:
        before, now = self._open, self._opened()
        self._open = now
        for view in [view for view in before if view not in now]:
            self._put(_event(EventType.SESSION_CLOSED, {"title": before[view].title}, before[view]))
        for view in [view for view in now if view not in before]:
            self._put(_event(EventType.SESSION_OPENED, {"title": now[view].title}, now[view]))

    def _opened(self) -> dict[str, Session]:
        return {session.id: session for session in self._caller.reach.opened()}


def _event(name: str, data: Mapping[str, object], session: Session | None = None) -> Told:
    form: dict[str, object] = {"protocol": PROTOCOL, "event": str(name)}
    if session is not None:
        form |= {"view": session.id, "surface": session.surface.surface_id}
    return {**form, "data": data}
