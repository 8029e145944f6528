"""`attach`: one gateway for a Starlette or FastAPI application, and what its pages use (SPEC 14.1)."""

import logging
import signal
from collections.abc import Iterable, Mapping
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route, WebSocketRoute

from remit._contract.component import Component
from remit._contract.development import report
from remit._model.consumer import Principal
from remit._session.port import GatewayPort
from remit._session.serving import check_not_served, guard, live_with, release_at_shutdown
from remit.integrations.asgi.listening import SCRIPT, SOCKET, Listening, script
from remit.integrations.asgi.pages import Pages
from remit.integrations.asgi.signing import Login, SignIn
from remit.integrations.asgi.view import View

HEADER: Final = "Remit-View"
"""In which a page's script names the page, on every request that htmx makes."""

_LOG: Final = logging.getLogger("remit.integrations.asgi")
_CONFLICT: Final = 409
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})


def attach(
    app: Starlette,
    gateway: GatewayPort,
    *,
    login: Login,
    host: object = None,
    pages: Mapping[str, Iterable[type[Component]]] | None = None,
) -> "Agents":
    """Serve a gateway with this application, and return what its pages open their views with.

    Call it once, before the application is served. `login` takes a request and says who is signed in; it may be async.
    A plain one is asked for every call of an agent, with the request by which the page's browser connected, so it must
    be quick. `host` (a value, or a function of that request) reaches policies and functions as the host context.
    `pages` says which components declared `page=True` a page's own code may answer for, by the page's path (a pattern
    as in routes): `pages={"/cart": [Cart]}` serves the browser module at `/remit/browser.js` (SPEC 11.17, 14.2).
    Doors, decision pages and the script of pages are routes of `app`, inside its middleware; foreign Host and Origin
    headers are refused around the whole application.
    """
    if not isinstance(app, Starlette):
        raise TypeError(f"attach(app, …) takes a Starlette or FastAPI application, not {type(app).__name__}")
    if not isinstance(gateway, GatewayPort):
        raise TypeError(
            f"attach(app, gateway, …) takes a Gateway, not {type(gateway).__name__}\n"
            "  do  attach(app, Gateway(authority), …)"
        )
    if not callable(login) or isinstance(login, type):
        raise TypeError(
            "attach(login=…) takes a function of a request that says who is signed in: a Principal, or None"
        )
    check_not_served(app)
    agents = Agents(gateway, SignIn(login), host)
    app.router.routes[:0] = [
        *gateway.door_routes(),
        *gateway.routes(agents._sign_in.of),
        *([] if pages is None else gateway.bridge(agents._sign_in, host, pages)),
        Route(SCRIPT, script, methods=["GET"], name="remit-view-script"),
        WebSocketRoute(SOCKET, agents._listening, name="remit-view"),
    ]
    guard(app, gateway)
    live_with(app, agents._start, agents._stop)
    return agents


class Agents:
    """What pages use: `open_view` for a whole page, `current_view` for a part of one; both fit FastAPI's `Depends`."""

    def __init__(self, gateway: GatewayPort, sign_in: SignIn, host: object) -> None:
        self._gateway = gateway
        self._sign_in = sign_in
        self._pages = Pages(gateway, sign_in, host)
        self._listening = Listening(gateway, self._pages, sign_in)

    async def open_view(self, request: Request) -> View:
        """Start the view of the whole page that answers this request.

        It is open to agents from its browser's connecting (the page needs `view.head()`) until that has left.
        """
        person = await self._sign_in.now(request)
        page = None if person is None else self._pages.open(request, person)
        return View(page, str(request.scope.get("root_path", "")))

    async def current_view(self, request: Request) -> View:
        """The view of the page that a part, or a form of it, belongs to; HTTPException 409 when it has gone.

        The page's script names it in a header of every request that htmx makes. Only the person that the page was
        built for finds it.
        """
        page = self._pages.get(request.headers.get(HEADER, ""))
        person = None if page is None else await self._sign_in.now(request)
        if page is None or person is None or person.key != page.owner:
            raise HTTPException(_CONFLICT, "the page this belongs to is not open any more: load it again")
        return View(page, str(request.scope.get("root_path", "")))

    def views(self, principal: Principal) -> tuple[View, ...]:
        """The views of all pages of one person that are open now, oldest first: for what a page of its own ends there.

        A handoff belongs to the page in which an agent opened it, and is completed on another one.
        """
        return tuple(View(page, "") for page in self._pages.of(principal.key) if page.listener is not None)

    def stopping(self) -> None:
        """Answer held calls and end what pages and agents hold open, before the server drains; safe to call twice.

        With uvicorn, as it is run from the command line or by `uvicorn.run`, that happens by itself.
        """
        self._listening.stopping()
        self._pages.stopping()
        self._gateway.stopping()

    async def _start(self) -> None:
        await self._gateway.start()
        # The server that takes the signals of this process serves this application.
        server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
        if not isinstance(server, uvicorn.Server):
            _LOG.info("no uvicorn server found: call agents.stopping() before yours drains, or open pages delay it")
            return
        release_at_shutdown(server, self.stopping)
        config = server.config
        if config.port and not config.uds:
            name = "127.0.0.1" if config.host in _ANY_ADDRESS else config.host
            report({"serving": f"{'https' if config.is_ssl else 'http'}://{name}:{config.port}"})

    async def _stop(self) -> None:
        self.stopping()
        await self._gateway.stop()
