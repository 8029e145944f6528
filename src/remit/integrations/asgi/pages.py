"""Every page of this process that has a view: when one opens, is away, comes back, and closes (SPEC 7.12, 11.12)."""

import asyncio
import logging
from contextlib import nullcontext
from functools import partial
from typing import Final

from starlette.requests import Request

from remit._model.consumer import Decider, Principal
from remit._model.request_view import CancelCause, ConfirmationView
from remit._session.open_pages import OpenPages, PrincipalKey
from remit._session.port import GatewayPort
from remit.integrations.asgi.page import Page
from remit.integrations.asgi.signing import SignIn

_LOG: Final = logging.getLogger("remit.integrations.asgi")


class Pages:
    """Owns the pages, by their own ids and by their people.

    A page that nobody connects to is dropped after `limits.view_wait_s`; one whose browser has gone after
    `limits.gap_s`. One person has at most `limits.views_per_principal`: for another one the oldest that nobody is
    connected to goes, and where all are connected the new page has no view.
    """

    def __init__(self, gateway: GatewayPort, sign_in: SignIn, host: object) -> None:
        self._gateway = gateway
        self._sign_in = sign_in
        self._host = host
        self._pages: OpenPages[Page] = OpenPages(gateway.limits.views_per_principal, self.close)
        self._asking: set[Page] = set()
        self._counting = False

    def open(self, request: Request, person: Principal) -> Page | None:
        """Make the view of a page being built; None where this person, or the process, has as many as there may be."""
        if not self._pages.has_room(person.key):
            _LOG.warning("a page has no view: this person has too many open pages")
            return None
        page = Page(self._sign_in, self._host, request, person)
        try:
            port = self._gateway.open_view(
                principal=page.principal, host=page.host, within=nullcontext, title=page.route, route=page.route
            )
        except RuntimeError as problem:
            _LOG.warning("a page has no view: %s", problem)
            return None
        page.opened(port, self._gateway.limits.runtime_text)
        page.at_end(port.surface.confirmations.subscribe(partial(self._asked, page)))
        self._pages.add(page)
        self._end_later(page, self._gateway.limits.view_wait_s)
        return page

    def get(self, page_id: str) -> Page | None:
        """The page with this id."""
        return self._pages.get(page_id)

    def of(self, owner: PrincipalKey) -> tuple[Page, ...]:
        """All pages of one person, oldest first."""
        return self._pages.of(owner)

    def connect(self, page: Page, tab: str | None) -> object:
        """A socket of this page's browser begins: its view is open. Returns what tells the socket from another one."""
        page.stop_waiting()
        self._pages.shown_in(page, tab)
        page.listener = listener = object()
        page.telling.wake()
        page.told_waiting = -1
        self._gateway.connected(page.port.id, tab=page.tab)
        page.refresh()
        self._count_later()
        return listener

    def disconnect(self, page: Page, listener: object) -> None:
        """A socket has ended; if it was the page's own, the page is away, and may come back."""
        if page.closed or page.listener is not listener:
            return
        page.listener = None
        self._gateway.disconnected(page.port.id)
        page.refresh()
        self._end_later(page, self._gateway.limits.gap_s)

    def close(self, page: Page, cause: CancelCause = CancelCause.VIEW_CLOSED) -> None:
        """End the view of a page; closing twice is a no-op."""
        if page.closed:
            return
        page.close()
        self._pages.drop(page)
        self._asking.discard(page)
        self._gateway.close_view(page.port.id, cause=cause)
        self._count_later()

    def stopping(self) -> None:
        """End every socket, so that the server may stop; the gateway closes the views."""
        for page in self._pages.all():
            page.stop_waiting()
            page.listener = None
            page.telling.wake()

    def _end_later(self, page: Page, seconds: float) -> None:
        page.stop_waiting()
        page.timer = self._gateway.clock.call_later(seconds, partial(self.close, page))

    def _asked(self, page: Page, _: ConfirmationView) -> None:
        if page.surface.confirmations.pending():
            self._asking.add(page)
        else:
            self._asking.discard(page)
        self._count_later()

    def _count_later(self) -> None:
        # Once a turn of the loop, however much happens in it.
        if not self._counting:
            self._counting = True
            asyncio.get_running_loop().call_soon(self._count)

    def _count(self) -> None:
        """Tell every open page how many requests its person could decide (SPEC 7.3)."""
        self._counting = False
        for page in self._pages.all():
            if page.listener is None:
                continue
            decider = page.decider() if self._asking else None
            count = 0 if decider is None else sum(_pending(each, decider) for each in self._asking)
            if count != page.told_waiting:
                page.told_waiting = count
                page.telling.waiting(count)


def _pending(page: Page, decider: Decider) -> int:
    return len(page.surface.confirmations.pending(decider))
