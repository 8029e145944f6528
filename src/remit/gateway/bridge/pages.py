"""Every page of this process that has a socket, or had one a moment ago (SPEC 7.12, 11.12, 15.3)."""

import logging
from contextlib import nullcontext
from functools import partial
from typing import Final

from starlette.requests import Request

from remit._model.consumer import Principal
from remit._model.request_view import CancelCause
from remit._session.open_pages import OpenPages
from remit._session.port import GatewayPort, SignIns
from remit.gateway.bridge.listed import Listed
from remit.gateway.bridge.messages import Hello
from remit.gateway.bridge.page import BridgePage, Outbox

_LOG: Final = logging.getLogger("remit.gateway.bridge")


class Pages:
    """Owns the pages, by their own ids and by their people.

    A page whose socket has gone is dropped after `limits.gap_s`. One person has at most `limits.views_per_principal`:
    for another one the oldest that is away goes, and where all are there the new one is refused.
    """

    def __init__(self, gateway: GatewayPort, sign_in: SignIns, host: object, listed: Listed) -> None:
        self.gateway = gateway
        self.sign_in = sign_in
        self._host = host
        self._listed = listed
        self._pages: OpenPages[BridgePage] = OpenPages(gateway.limits.views_per_principal, self.close)

    def enter(self, hello: Hello, request: Request, person: Principal) -> tuple[BridgePage, Outbox] | None:
        """The page that a socket belongs to: the one it names, if it is this person's, else a new one.

        None: this person, or the process, has as many as there may be.
        """
        page = self._pages.get(hello.page or "")
        if page is None or page.owner != person.key:
            page = self._open(hello, request, person)
        if page is None:
            return None
        page.stop_waiting()
        self._pages.shown_in(page, hello.tab)
        outbox = page.connected(request, person, self.gateway.clock.monotonic())
        self.goes_to(page, hello.route, hello.title)
        self.gateway.connected(page.port.id, tab=page.tab)
        page.refresh()
        return page, outbox

    def goes_to(self, page: BridgePage, route: str, title: str) -> None:
        """A page stands at this path now."""
        page.goes_to(route, title, self._listed.of(route), self.gateway.limits.runtime_text)

    def leave(self, page: BridgePage, outbox: Outbox) -> None:
        """A socket has ended; if it was the page's own, the page is away, and may come back."""
        if page.closed or page.outbox is not outbox:
            return
        page.outbox = None
        self.gateway.disconnected(page.port.id)
        page.refresh()
        page.timer = self.gateway.clock.call_later(self.gateway.limits.gap_s, partial(self.close, page))

    def close(self, page: BridgePage, cause: CancelCause = CancelCause.VIEW_CLOSED) -> None:
        """End the view of a page; closing twice is a no-op."""
        if page.closed:
            return
        page.close()
        self._pages.drop(page)
        self.gateway.close_view(page.port.id, cause=cause)
        page.calls.end()

    def _open(self, hello: Hello, request: Request, person: Principal) -> BridgePage | None:
        if not self._pages.has_room(person.key):
            _LOG.warning("a page has no view: this person has too many open pages")
            return None
        page = BridgePage(self.sign_in, self._host, request, person)
        try:
            port = self.gateway.open_view(
                principal=page.principal,
                host=page.host,
                within=nullcontext,
                title=hello.title or hello.route,
                route=hello.route,
            )
        except RuntimeError as problem:
            _LOG.warning("a page has no view: %s", problem)
            return None
        page.opened(port)
        self._pages.add(page)
        return page
