"""What one consumer reaches of its principal's open views, and what a door keeps of it (SPEC 11.12)."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer, ConsumerKey
from remit._session.identity import Identity
from remit._session.session import Session
from remit._session.views import Ambiguous, Chosen, Gone, Nothing, Views
from remit.errors import AgentError, ambiguous_view, surface_unreachable

End = Callable[[], None]


class Reach:
    """The open views that a token reaches, and the one of them its consumer works in."""

    def __init__(self, identity: Identity, views: Views) -> None:
        self.identity = identity
        self._views = views

    def opened(self) -> tuple[Session, ...]:
        """The open views, oldest first."""
        self._let_go()
        only = self.identity.session
        return tuple(s for s in self._views.open_views(self.identity.principal) if only is None or s.id == only)

    def chosen(self) -> Chosen:
        """The view the consumer works in now; a chosen view that has closed is told once."""
        self._let_go()
        return self._views.chosen(self.identity.consumer.key, self.identity.principal, only=self.identity.session)

    def looks_at(self) -> Session | None:
        """Like `chosen`, but changes nothing: the view that a listing made now would show."""
        return self._views.looks_at(self.identity.consumer.key, self.identity.principal, only=self.identity.session)

    def may_choose(self) -> bool:
        """True while several views are open to this consumer."""
        self._let_go()
        return self.identity.session is None and len(self._views.open_views(self.identity.principal)) > 1

    def choose(self, view_id: str) -> Session | None:
        """Choose a view; None, and no change, when this consumer cannot reach such a view."""
        if self.identity.session not in {None, view_id}:
            return None
        self._let_go()
        return self._views.choose(self.identity.consumer.key, self.identity.principal, view_id)

    def told(self) -> tuple[Mapping[str, object], ...]:
        """The open views as this consumer is told about them; `in_use` says in which one it works."""
        self._let_go()
        rows = self._views.told(self.identity.principal)
        used = self.looks_at()
        only = self.identity.session
        return tuple(
            {**row, "in_use": used is not None and row["view"] == used.id}
            for row in rows
            if only in {None, row["view"]}
        )

    def _let_go(self) -> None:
        """Count no view as open whose person is not signed in any more; its home closes it when it hears (SPEC 4.0)."""
        for session in self._views.open_views(self.identity.principal):
            if session.connected and not session.is_its_persons():
                self._views.disconnect(session)

    def follow(self, views_changed: Callable[[], None], hear: Callable[[Session], End]) -> End:
        """Hear that the open views changed, and of each of their surfaces; returns the end of it.

        `hear` is called once for every view as long as it is open, and returns what ends that.
        """
        return _Following(self, views_changed, hear).end

    def on_change(self, listener: Callable[[], None]) -> End:
        """Hear that the open views of the principal changed; returns the end of it."""
        return self._views.on_change(self.identity.principal, listener)


class _Following:
    """The open views of a consumer that somebody listens to."""

    def __init__(self, reach: Reach, views_changed: Callable[[], None], hear: Callable[[Session], End]) -> None:
        self._reach = reach
        self._views_changed = views_changed
        self._hear = hear
        self._heard: dict[str, End] = {}
        self._end_views = reach.on_change(self._changed)
        self._follow()

    def end(self) -> None:
        self._end_views()
        for end in self._heard.values():
            end()
        self._heard.clear()

    def _changed(self) -> None:
        self._follow()
        self._views_changed()

    def _follow(self) -> None:
        opened = {session.id: session for session in self._reach.opened()}
        for view in [view for view in self._heard if view not in opened]:
            self._heard.pop(view)()
        for view, session in opened.items():
            if view not in self._heard:
                self._heard[view] = self._hear(session)


def unreachable(chosen: Nothing | Ambiguous | Gone) -> AgentError:
    """Why there is no view to work in, in the same words at every door."""
    match chosen:
        case Nothing():
            return surface_unreachable("no view is open")
        case Ambiguous(views=views):
            return ambiguous_view(views)
        case Gone(views=views):
            return surface_unreachable("the chosen view is not open", views=[dict(view) for view in views])


def no_such_view() -> AgentError:
    """A view was named that this consumer cannot reach, or that is not there: one answer."""
    return surface_unreachable("there is no such open view")


class Kept(Protocol):
    """What a door keeps of one consumer."""

    @property
    def consumer(self) -> Consumer:
        """The consumer."""
        ...

    def close(self) -> None:
        """End its streams."""
        ...


K = TypeVar("K", bound=Kept)


class Callers(Generic[K]):
    """Every consumer that has called at a door; each is forgotten, and closed, when its token has ended."""

    def __init__(self, make: Callable[[Identity], K], clock: Clock, limits: Limits) -> None:
        self._make = make
        self._clock = clock
        self._limits = limits
        self._callers: dict[ConsumerKey, K] = {}

    def of(self, identity: Identity) -> K:
        """What is kept of this consumer, made at its first request."""
        key = identity.consumer.key
        caller = self._callers.get(key)
        if caller is None:
            if len(self._callers) >= self._limits.sessions:
                self._forget(next(iter(self._callers)))
            caller = self._callers[key] = self._make(identity)
            # A stream outlives the check of its token, so its end is planned here.
            left = identity.expires_at - self._clock.now().timestamp()
            self._clock.call_later(left, lambda: self._forget(key))
        return caller

    def close(self) -> None:
        """End every stream."""
        for caller in self._callers.values():
            caller.close()

    def cut_off(self, has_ended: Callable[[Consumer], bool]) -> None:
        """Forget and close those that nobody vouches for any more."""
        for key in [key for key, caller in self._callers.items() if has_ended(caller.consumer)]:
            self._forget(key)

    def _forget(self, key: ConsumerKey) -> None:
        caller = self._callers.pop(key, None)
        if caller is not None:
            caller.close()
