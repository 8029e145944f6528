"""One consumer at the MCP door: its pins, its open requests and its streams, as long as its token lives."""

from collections.abc import Callable
from dataclasses import dataclass

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.event import Event, EventType
from remit._session.session import PrincipalKey, Session
from remit._session.views import Chosen, Gone, Views
from remit._toolset.direct import Toolset
from remit.adapters.mcp.notices import Notices

VIEWS_OF_ONE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is calling, from a token verified for this very request; `expires_at` is in epoch seconds.

    `session` is the one view the token reaches, None for any view its principal has open.
    """

    principal: PrincipalKey
    consumer: Consumer
    session: str | None
    expires_at: float


class Caller:
    """The state of one consumer. It holds what was listed and asked, never a permission: those come per request."""

    def __init__(self, identity: Identity, views: Views, clock: Clock, limits: Limits) -> None:
        self.identity = identity
        self._views = views
        self._clock = clock
        self._limits = limits
        self._toolsets: Bounded[str, Toolset] = Bounded(VIEWS_OF_ONE, None, clock)
        self._latest: Toolset | None = None
        lifetime = limits.decide_s + limits.spend_s
        self._unasked: Bounded[str, bool] = Bounded(limits.confirmations_per_surface, lifetime, clock)
        self.notices = Notices(self._seen, self._watch)

    @property
    def consumer(self) -> Consumer:
        """The consumer its token stands for."""
        return self.identity.consumer

    def chosen(self) -> Chosen:
        """The view this consumer works in now."""
        found = self._views.chosen(self.consumer.key, self.identity.principal, only=self.identity.session)
        if isinstance(found, Gone):
            # The choice has ended, so the next listing may be that of another view.
            self.notices.changed()
        return found

    def may_choose(self) -> bool:
        """True while several views are open to this consumer."""
        return self.identity.session is None and len(self._views.open_views(self.identity.principal)) > 1

    def choose(self, view_id: str) -> Session | None:
        """Choose a view; None when this consumer cannot reach such a view."""
        if self.identity.session not in {None, view_id}:
            return None
        found = self._views.choose(self.consumer.key, self.identity.principal, view_id)
        if found is not None:
            self._latest = None
        self.notices.changed()
        return found

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
        opened = self._views.open_views(self.identity.principal)
        session = self._views.looks_at(self.consumer.key, self.identity.principal, only=self.identity.session)
        where = None if session is None else (session.id, session.surface.snapshot(self.consumer).surface_version)
        return (len(opened) > 1, bool(opened), where, self.needs_continue())

    def _watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        return _Watch(self._views, self.identity.principal, changed).end


class _Watch:
    """Hears of the open views of a principal, and of each of their surfaces."""

    def __init__(self, views: Views, principal: PrincipalKey, changed: Callable[[], None]) -> None:
        self._views = views
        self._principal = principal
        self._changed = changed
        self._surfaces: dict[str, Callable[[], None]] = {}
        self._end_views = views.on_change(principal, self._views_changed)
        self._follow()

    def end(self) -> None:
        self._end_views()
        for end in self._surfaces.values():
            end()
        self._surfaces.clear()

    def _views_changed(self) -> None:
        self._follow()
        self._changed()

    def _follow(self) -> None:
        opened = {session.id: session for session in self._views.open_views(self._principal)}
        for view in [view for view in self._surfaces if view not in opened]:
            self._surfaces.pop(view)()
        for view, session in opened.items():
            if view not in self._surfaces:
                self._surfaces[view] = session.surface.subscribe(self._moved, types={EventType.SURFACE_CHANGED})

    def _moved(self, event: Event) -> None:
        self._changed()


class Callers:
    """Every consumer that has called; each is forgotten when its token has expired."""

    def __init__(self, views: Views, clock: Clock, limits: Limits) -> None:
        self._views = views
        self._clock = clock
        self._limits = limits
        self._callers: dict[ConsumerKey, Caller] = {}

    def of(self, identity: Identity) -> Caller:
        """The state of this consumer, made at its first request."""
        caller = self._callers.get(identity.consumer.key)
        if caller is None:
            if len(self._callers) >= self._limits.sessions:
                self._forget(next(iter(self._callers)))
            caller = self._callers[identity.consumer.key] = Caller(identity, self._views, self._clock, self._limits)
            # A stream outlives the check of its token, so its end is planned here.
            left = identity.expires_at - self._clock.now().timestamp()
            self._clock.call_later(left, lambda: self._forget(identity.consumer.key))
        return caller

    def close(self) -> None:
        """End every stream."""
        for caller in self._callers.values():
            caller.notices.close()

    def _forget(self, key: ConsumerKey) -> None:
        caller = self._callers.pop(key, None)
        if caller is not None:
            caller.notices.close()
