"""The pages whose views a home or the bridge keeps, by their own ids and by their people (SPEC 7.12, 11.12, 15.3)."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from remit._model.request_view import CancelCause

PrincipalKey = tuple[str | None, str]


class Shown(Protocol):
    """A page of a person's browser; `tab` names the tab that shows it, where the browser says so."""

    id: str
    owner: PrincipalKey
    tab: str | None

    @property
    def there(self) -> bool:
        """True while its browser is connected."""
        ...


P = TypeVar("P", bound=Shown)


class OpenPages(Generic[P]):
    """Every page of one kind that has a view; one person has at most `most`. `close` ends a page, and drops it here."""

    def __init__(self, most: int, close: Callable[[P, CancelCause], None]) -> None:
        self._most = most
        self._close = close
        self._pages: dict[str, P] = {}
        self._of: dict[PrincipalKey, dict[str, P]] = {}

    def get(self, page_id: str) -> P | None:
        """The page with this id."""
        return self._pages.get(page_id)

    def all(self) -> tuple[P, ...]:
        """All pages, oldest first."""
        return tuple(self._pages.values())

    def of(self, owner: PrincipalKey) -> tuple[P, ...]:
        """All pages of one person, oldest first."""
        return tuple(self._of.get(owner, {}).values())

    def has_room(self, owner: PrincipalKey) -> bool:
        """Whether this person may have one more; the oldest that is away makes room, where there is none."""
        own = self.of(owner)
        if len(own) < self._most:
            return True
        unseen = next((page for page in own if not page.there), None)
        if unseen is not None:
            self._close(unseen, CancelCause.VIEW_CLOSED)
        return unseen is not None

    def add(self, page: P) -> None:
        """Keep a page."""
        self._pages[page.id] = page
        self._of.setdefault(page.owner, {})[page.id] = page

    def drop(self, page: P) -> None:
        """Keep it no longer."""
        self._pages.pop(page.id, None)
        own = self._of.get(page.owner, {})
        own.pop(page.id, None)
        if not own:
            self._of.pop(page.owner, None)

    def shown_in(self, page: P, tab: str | None) -> None:
        """A tab shows this page now, so nobody can see the one that it showed before: that is closed."""
        for other in self.of(page.owner):
            if other is not page and tab is not None and other.tab == tab:
                self._close(other, CancelCause.VIEW_RELOADED)
        page.tab = tab if tab is not None else page.tab
