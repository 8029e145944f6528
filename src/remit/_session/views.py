"""Open views, and which of them a consumer works in (SPEC 11.12)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import ConsumerKey
from remit._session.session import PrincipalKey, Session

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No view of this principal is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Several views are open and none is chosen."""

    views: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The view that was chosen by name is not open any more; told once, with what is open now."""

    views: tuple[Mapping[str, object], ...]


Chosen = Session | Nothing | Ambiguous | Gone


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    view: str
    tab: str | None
    explicit: bool


class Views:
    """Every session of this process; sessions are added and removed by the gateway, which owns their surfaces."""

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self._sessions: dict[str, Session] = {}
        self._choices: Bounded[ConsumerKey, _Choice] = Bounded(limits.sessions, None, clock)
        self._listeners: dict[PrincipalKey, dict[object, Listener]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: Session) -> None:
        """Take a session in; nobody sees it before it is connected."""
        self._sessions[session.id] = session

    def get(self, view_id: str) -> Session | None:
        """The session of a view, connected or not."""
        return self._sessions.get(view_id)

    def all(self) -> tuple[Session, ...]:
        """Every session, oldest first."""
        return tuple(self._sessions.values())

    def connect(self, session: Session, tab: str | None) -> tuple[Session, ...]:
        """Show the view to agents; returns the views of the same person and tab that it replaces, still open."""
        replaced = tuple(
            other
            for other in self._sessions.values()
            if tab is not None and other is not session and other.tab == tab and other.principal == session.principal
        )
        for old in replaced:
            old.connected = False
        session.tab = tab if tab is not None else session.tab
        session.connected = True
        session.opened()
        self._changed(session.principal)
        return replaced

    def disconnect(self, session: Session) -> None:
        """Hide the view from agents until it is connected again."""
        if session.connected:
            session.connected = False
            self._changed(session.principal)

    def remove(self, view_id: str) -> Session | None:
        """Forget a session and return it; None when there is none."""
        session = self._sessions.pop(view_id, None)
        if session is None:
            return None
        if session.connected:
            session.connected = False
            self._changed(session.principal)
        session.closed()
        return session

    def open_views(self, principal: PrincipalKey) -> tuple[Session, ...]:
        """The connected views of one principal, oldest first."""
        return tuple(s for s in self._sessions.values() if s.connected and s.principal == principal)

    def told(self, principal: PrincipalKey) -> tuple[Mapping[str, object], ...]:
        """The open views as their principal's agents are told about them, each with a title of its own."""
        opened = self.open_views(principal)
        titles = _unique([session.title for session in opened])
        return tuple(session.to_json(title) for session, title in zip(opened, titles, strict=True))

    def choose(self, consumer: ConsumerKey, principal: PrincipalKey, view_id: str) -> Session | None:
        """Choose an open view by name; None, and no change, when it is not an open view of this principal."""
        session = self._sessions.get(view_id)
        if session is None or not session.connected or session.principal != principal:
            return None
        self._remember(consumer, session, explicit=True)
        return session

    def chosen(self, consumer: ConsumerKey, principal: PrincipalKey, *, only: str | None = None) -> Chosen:
        """The view this consumer works in; `only` is the one view its token reaches, if it names one.

        One open view is chosen by itself and sticks while it is open; after a reload the choice moves to the new view
        of the same tab, else to the only open view. A view chosen by name that is not open any more, because it has
        closed or its client is away, is told once, and the choice has ended with that.
        """
        opened = self.open_views(principal)
        if only is not None:
            return next((session for session in opened if session.id == only), Nothing())
        choice = self._choices.get(consumer)
        if choice is not None:
            kept = self._kept(choice, opened)
            if kept is not None:
                if kept.id != choice.view:
                    self._remember(consumer, kept, explicit=choice.explicit)
                return kept
            # Open means connected: whether its client comes back is not known, so nobody waits for it (SPEC 11.12).
            self._choices.pop(consumer)
            if choice.explicit:
                return Gone(views=self.told(principal))
        if len(opened) > 1:
            return Ambiguous(views=self.told(principal))
        if not opened:
            return Nothing()
        self._remember(consumer, opened[0], explicit=False)
        return opened[0]

    def looks_at(self, consumer: ConsumerKey, principal: PrincipalKey, *, only: str | None = None) -> Session | None:
        """Like `chosen`, but changes nothing: the open view that a listing made now would show, if it is one."""
        opened = self.open_views(principal)
        if only is not None:
            return next((session for session in opened if session.id == only), None)
        choice = self._choices.get(consumer)
        kept = None if choice is None else self._kept(choice, opened)
        if kept is not None or (choice is not None and choice.explicit):
            return kept
        return opened[0] if len(opened) == 1 else None

    def on_change(self, principal: PrincipalKey, listener: Listener) -> Callable[[], None]:
        """Hear that the open views of a principal changed; returns the end of it. Listeners must not raise."""
        token = object()
        self._listeners.setdefault(principal, {})[token] = listener

        def end() -> None:
            listeners = self._listeners.get(principal, {})
            listeners.pop(token, None)
            if not listeners:
                self._listeners.pop(principal, None)

        return end

    def _kept(self, choice: _Choice, opened: tuple[Session, ...]) -> Session | None:
        same = next((session for session in opened if session.id == choice.view), None)
        if same is not None or choice.tab is None:
            return same
        return next((session for session in opened if session.tab == choice.tab), None)

    def _remember(self, consumer: ConsumerKey, session: Session, *, explicit: bool) -> None:
        self._choices.put(consumer, _Choice(view=session.id, tab=session.tab, explicit=explicit))

    def _changed(self, principal: PrincipalKey) -> None:
        for listener in tuple(self._listeners.get(principal, {}).values()):
            listener()


def _unique(titles: list[str]) -> list[str]:
    """The first of equal titles stays as it is, the others get a number with which no title here reads alike."""
    taken, first = set(titles), set[str]()
    numbers: dict[str, int] = {}
    told: list[str] = []
    for title in titles:
        shown = title
        if title in first:
            number = numbers.get(title, 1)
            while shown in taken:
                number += 1
                shown = f"{title} ({number})"
            numbers[title] = number
            taken.add(shown)
        first.add(title)
        told.append(shown)
    return told
