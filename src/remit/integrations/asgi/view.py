"""The view of one page, as the functions that answer for it use it (SPEC 14.1)."""

import threading
from html import escape
from typing import Final, Literal, TypeVar

from starlette.exceptions import HTTPException

from remit._contract.component import Component
from remit._model.handoff_view import HandoffView
from remit._model.ids import DEFAULT_INSTANCE
from remit._session.mounted import Mounted
from remit._surface.surface import Surface
from remit.integrations.asgi.listening import SCRIPT, VERSION
from remit.integrations.asgi.page import Page

C = TypeVar("C", bound=Component)
META: Final = "remit-view"
_CONFLICT: Final = 409


class Head(str):
    """Markup of our own, which templates do not escape again."""

    __slots__ = ()

    def __html__(self) -> str:
        """The markup itself."""
        return str(self)


class View:
    """What a page shows, as agents reach it from its browser's connecting until it has left.

    With nobody signed in, or too many pages open, there is none: mounting does nothing, `head()` and `handoffs()` are
    empty, and `exists` is False. Only `surface` needs one.
    """

    def __init__(self, page: Page | None, base: str) -> None:
        self._page = page
        self._base = base

    @property
    def exists(self) -> bool:
        """Whether this page has a view; without one, and when it has ended, the page is an ordinary one."""
        return self._page is not None and not self._page.closed

    def handoffs(self) -> tuple[HandoffView, ...]:
        """The steps that wait here for their person, oldest first; none on a page without a view (SPEC 7.11)."""
        return () if self._page is None or self._page.closed else self._page.surface.handoffs.pending()

    @property
    def surface(self) -> Surface:
        """The surface of this page, for pages that are sure of it: ask `exists` first.

        PermissionError where there is none: nobody is signed in, or this person has too many pages open.
        """
        if self._page is None:
            raise PermissionError("nobody is signed in, or too many pages are open: this page has no surface")
        return self._page.surface

    def mount(  # noqa: PLR0913 - the keywords of `Surface.mount`
        self,
        component: Component,
        instance: str = DEFAULT_INSTANCE,
        *,
        enabled: bool = True,
        on_duplicate: Literal["reject", "replace"] = "reject",
        priority: int = 0,
        internal: object = None,
        identity: object = None,
    ) -> Mounted:
        """Make a component callable as long as this page is open.

        Nothing can be called before the page's browser has connected, nor in a gap: `client-disconnected`. It works in
        the threads of plain page functions, too; what it returns is used in the loop, or by
        `surface.from_thread().run(…)`. DefinitionError: the class is not what the contract says.
        """
        page = self._page
        if page is None or page.closed:
            return Mounted(None, enabled=enabled, blocked=_never)

        def mount() -> Mounted:
            live = page.surface.mount(
                component,
                instance,
                enabled=False,
                on_duplicate=on_duplicate,
                priority=priority,
                internal=internal,
                identity=identity,
            )
            mounted = Mounted(live, enabled=enabled, blocked=page.away)
            mounted.refresh()
            page.add(component, instance, mounted)
            return mounted

        return mount() if threading.get_ident() == page.thread else page.surface.from_thread().run(mount)

    def mounted(self, kind: type[C], instance: str = DEFAULT_INSTANCE) -> C:
        """The component of this class that is mounted here; 409 when there is none (any more)."""
        for component, name in () if self._page is None else self._page.mounts():
            if name == instance and isinstance(component, kind):
                return component
        raise HTTPException(_CONFLICT, f"no {kind.__name__} is on this page any more: load it again")

    def head(self, title: str | None = None) -> str:
        """What belongs into the page's `<head>`: the name of this view and the script that keeps it open.

        `title` is what people and agents are told of the page; without one its path is. Templates take it as it is.
        """
        if self._page is None or self._page.closed:
            return Head("")
        if title is not None:
            self._page.entitle(title)
        return Head(
            f'<meta name="{META}" content="{escape(self._page.id)}">'
            f'<script src="{escape(self._base)}{SCRIPT}?v={VERSION}" defer></script>'
        )


def _never() -> str | None:
    return None
