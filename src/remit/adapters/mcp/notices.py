"""Change notices: one per change of what one consumer would be listed, to that consumer's open streams (SPEC 12.5)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ServerEvent
from mcp_types import INTERNAL_ERROR, SubscriptionsListenRequestParams, SubscriptionsListenResult

BACKLOG: Final = 64

logger = logging.getLogger(__name__)


class LegacySession(Protocol):
    """The part of a handshake session that notices need."""

    async def send_tool_list_changed(self) -> None:
        """Tell the client that the list has changed."""
        ...


class _Bus:
    """The synchronous half of a subscription bus; each listener is one listen stream."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    async def publish(self, event: ServerEvent) -> None:
        self.emit(event)

    def emit(self, event: ServerEvent) -> None:
        for listener in tuple(self._listeners.values()):
            listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        token = object()
        self._listeners[token] = listener
        return lambda: self._listeners.pop(token, None) and None


class Notices:
    """The streams of one consumer. While there is none, nothing is watched.

    `seen` says what a listing made now would show (any value that compares); `watch` starts to hear of possible changes
    and returns the end of it. Possible changes are coalesced per turn of the loop, and a notice goes out only when
    `seen` differs from what the consumer was last told. `streams` may listen at a time.
    """

    def __init__(
        self,
        seen: Callable[[], object],
        watch: Callable[[Callable[[], None]], Callable[[], None]],
        *,
        streams: int,
    ) -> None:
        self._seen = seen
        self._most = streams
        self._watch = watch
        self._bus = _Bus()
        self._handler = ListenHandler(self._bus, max_subscriptions=streams, max_buffered_events=BACKLOG)
        self._streams = 0
        self._legacy: dict[object, _Pump] = {}
        self._unwatch: Callable[[], None] | None = None
        self._told: object = None
        self._listed = False
        self._scheduled = False

    def listed(self) -> None:
        """The consumer has just been given a listing; it is what later changes are compared with."""
        if self._unwatch is None:
            self._told, self._listed = self._seen(), True

    def changed(self) -> None:
        """Something may have changed; looked at once per turn of the loop."""
        if self._unwatch is not None and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    async def listen(
        self, ctx: ServerRequestContext[object, object], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one listen stream until its client or `close` ends it; only tool lists are announced.

        More than `limits.streams` of one consumer are refused (SPEC 17).
        """
        if self._streams >= self._most:
            raise MCPError(INTERNAL_ERROR, f"at most {self._most} streams of one client may be open: limits.streams")
        wanted = params.notifications.model_copy(update={"resource_subscriptions": None})
        self._streams += 1
        self._begin()
        try:
            return await self._handler(ctx, params.model_copy(update={"notifications": wanted}))
        finally:
            self._streams -= 1
            self._end_if_alone()

    def join(self, session: LegacySession) -> Callable[[], None]:
        """Announce changes on a handshake session too; returns the end of it."""
        token = object()
        self._legacy[token] = _Pump(session)
        self._begin()

        def leave() -> None:
            pump = self._legacy.pop(token, None)
            if pump is not None:
                pump.end()
                self._end_if_alone()

        return leave

    def close(self) -> None:
        """End every stream gracefully; their clients see that it was deliberate."""
        self._handler.close()
        for pump in tuple(self._legacy.values()):
            pump.end()
        self._legacy.clear()
        self._end_if_alone()

    def _begin(self) -> None:
        if self._unwatch is not None:
            return
        if not self._listed:
            self._told = self._seen()
        self._unwatch = self._watch(self.changed)
        # What moved between the consumer's last listing and this moment is a change it was not told of.
        self.changed()

    def _end_if_alone(self) -> None:
        if self._streams == 0 and not self._legacy and self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def _flush(self) -> None:
        self._scheduled = False
        if self._unwatch is None:
            return
        try:
            now = self._seen()
        except Exception:
            # A listener: what the application's code raises while a listing is looked at is not this loop's matter.
            logger.exception("a change could not be looked at")
            return
        if now == self._told:
            return
        self._told = now
        self._bus.emit(ToolsListChanged())
        for pump in self._legacy.values():
            pump.wake()


class _Pump:
    """Sends to one handshake session from a task of its own: a client that does not read blocks nobody else."""

    def __init__(self, session: LegacySession) -> None:
        self._session = session
        self._dirty = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def wake(self) -> None:
        self._dirty.set()

    def end(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            try:
                await self._session.send_tool_list_changed()
            except Exception:
                # A sink: a broken session of one client is no matter of the others.
                logger.debug("a change notice could not be sent", exc_info=True)
