"""One consumer at the MCP door: its pins, its open requests and its streams, as long as its token lives."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.event import Event, EventType
from remit._session.identity import Identity
from remit._session.reach import Reach
from remit._session.session import Session
from remit._session.views import Chosen, Gone, Views
from remit._toolset.direct import Toolset
from remit.adapters.mcp.notices import Notices

VIEWS_OF_ONE = 16


class Caller:
    """The state of one consumer. It holds what was listed and asked, never a permission: those come per request."""

    def __init__(self, identity: Identity, views: Views, clock: Clock, limits: Limits) -> None:
        self.identity = identity
        self.reach = Reach(identity, views)
        self._views = views
        self._clock = clock
        self._limits = limits
        self._toolsets: Bounded[str, Toolset] = Bounded(VIEWS_OF_ONE, None, clock)
        self._latest: Toolset | None = None
        lifetime = limits.decide_s + limits.spend_s
        self._unasked: Bounded[str, bool] = Bounded(limits.confirmations_per_surface, lifetime, clock)
        self._streams: set[asyncio.Event] = set()
        self.notices = Notices(self._seen, self._watch, streams=limits.streams)

    @property
    def consumer(self) -> Consumer:
        """The consumer its token stands for."""
        return self.identity.consumer

    def chosen(self) -> Chosen:
        """The view this consumer works in now."""
        found = self.reach.chosen()
        if isinstance(found, Gone):
            # The choice has ended, so the next listing may be that of another view.
            self.notices.changed()
        return found

    def choose(self, view_id: str) -> Session | None:
        """Choose a view; None when this consumer cannot reach such a view."""
        found = self.reach.choose(view_id)
        if found is not None:
            self._latest = None
        self.notices.changed()
        return found

    def close(self) -> None:
        """End every stream."""
        self.notices.close()
        for over in self._streams:
            over.set()

    @contextmanager
    def streaming(self) -> Iterator[asyncio.Event]:
        """A handshake session's own stream is open as long as this; it is to end when the event is set."""
        over = asyncio.Event()
        self._streams.add(over)
        try:
            yield over
        finally:
            self._streams.discard(over)

    def toolset(self, session: Session) -> Toolset:
        """The tools of one view, with this consumer's pins in it."""
        found = self._toolsets.get(session.id)
        if found is None:
            for view in [view for view, _ in self._toolsets.items() if self._views.get(view) is None]:
                self._toolsets.pop(view)
            found = Toolset(session.surface, self.consumer, waits=False, limits=self._limits, clock=self._clock)
            # A view that came in place of another, unasked, is nothing the agent has seen: old names keep their pins.
            if self._latest is not None:
                found.succeed(self._latest)
            self._toolsets.put(session.id, found)
        self._latest = found
        return found

    def told_plainly(self, confirmation_id: str) -> None:
        """A request was answered as an ordinary result: from now on `surface_continue` is listed (SPEC 12.5)."""
        self._unasked.put(confirmation_id, True)
        self.notices.changed()

    def settled(self, confirmation_id: str) -> None:
        """A request told plainly has been answered."""
        if self._unasked.pop(confirmation_id):
            self.notices.changed()

    def needs_continue(self) -> bool:
        """True while a request that was told plainly may still be continued."""
        return len(self._unasked) > 0

    def _seen(self) -> object:
        session = self.reach.looks_at()
        where = None if session is None else (session.id, session.surface.snapshot(self.consumer).surface_version)
        opened = self._views.open_views(self.identity.principal)
        return (len(opened) > 1, bool(opened), where, self.needs_continue())

    def _watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        def moved(event: Event) -> None:
            changed()

        def hear(session: Session) -> Callable[[], None]:
            return session.surface.subscribe(moved, types={EventType.SURFACE_CHANGED})

        return self.reach.follow(changed, hear)
