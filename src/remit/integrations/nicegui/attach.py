"""`attach`: one gateway for a NiceGUI application, and what its pages use (SPEC 14.1)."""

import asyncio
from collections.abc import Callable
from typing import Literal

from nicegui import Client, app, ui
from starlette.applications import Starlette

from remit._contract.component import Component
from remit._model.consumer import Decider, Principal
from remit._model.ids import DEFAULT_INSTANCE
from remit._model.request_view import CancelCause, ConfirmationView
from remit._session.port import GatewayPort
from remit._surface.surface import Surface
from remit.integrations.nicegui.desk import Desk
from remit.integrations.nicegui.inside import inside, session_id, session_of
from remit.integrations.nicegui.mounted import Anchor, Mounted
from remit.integrations.nicegui.serving import serve
from remit.integrations.nicegui.sockets import protect_sockets
from remit.integrations.nicegui.style import CSS
from remit.integrations.nicegui.view import View, route_of

Login = Callable[[], Principal | None]
"""Who is signed in at the current client; a plain function that may read `app.storage.user`."""


def attach(
    gateway: GatewayPort,
    *,
    login: Login,
    host: object = None,
    outer: Starlette | None = None,
) -> "Agents":
    """Serve a gateway with this NiceGUI application, and return what its pages mount components with.

    Call it once, before the application is served. `login` is asked at every call, inside the client it is about;
    `host` (a value, or a function asked the same way) reaches policies and functions as the host context. Decision
    pages are routes of NiceGUI's own app; the door `/remit/mcp` is on `outer` when there is one (`ui.run_with(outer)`),
    else beside them. Foreign Host and Origin headers are refused around the whole application. Pages need NiceGUI's
    session: `storage_secret=…`.
    """
    if not isinstance(gateway, GatewayPort):
        raise TypeError(
            f"attach(gateway, …) takes a Gateway, not {type(gateway).__name__}\n  do  attach(Gateway(authority), …)"
        )
    if not callable(login) or isinstance(login, type):
        raise TypeError("attach(login=…) takes a function that says who is signed in: a Principal, or None")
    agents = Agents(gateway, login, host)
    serve(gateway, lambda _: login(), outer)
    protect_sockets(agents._is_stranger)
    app.on_connect(agents._connected)
    app.on_disconnect(agents._disconnected)
    app.on_delete(agents._deleted)
    ui.add_css(CSS, shared=True)
    return agents


class Agents:
    """What pages use: `mount` a component, `navigate`, and the `surface` of the page."""

    def __init__(self, gateway: GatewayPort, login: Login, host: object) -> None:
        self._gateway = gateway
        self._login = login
        self._host = host
        self._views: dict[str, View] = {}

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
        """Make a component callable as long as the element in which this is called.

        That is the page, a dialog, a tab panel, a sub page or a `@ui.refreshable`. A closed tab, dialog or drawer, a
        hidden element and a lost socket disable it with the reason; deletion unmounts it. With nobody signed in
        nothing is mounted. With `identity`, a JSON value that names the data shown, a request that waits for a person
        goes on when the part is drawn anew in this page (SPEC 7.12). DefinitionError: the class is not what the
        contract says.
        """
        slot = ui.context.slot
        view = self._view(ui.context.client)
        if view is None or view.closed:
            return Mounted(None, None, enabled=enabled, connected=_never)
        mount = view.surface.mount(
            component,
            instance,
            enabled=False,
            on_duplicate=on_duplicate,
            priority=priority,
            internal=internal,
            identity=identity,
        )
        mounted = Mounted(mount, slot.parent, enabled=enabled, connected=lambda: view.connected)
        with slot:
            Anchor(mounted.deleted)
        mounted.refresh()
        view.add(mounted)
        return mounted

    async def navigate(self, path: str) -> None:
        """Go to another sub page of this application and return after the next component was mounted in this view.

        It waits 2 seconds at most (`limits.navigation_s`), so a listing made after the answer shows the new part
        (SPEC 6.8). A path that is shown already returns at once; an address of another host is a `ValueError`.
        """
        if not path.startswith("/") or path.startswith(("//", "/\\")):
            raise ValueError("navigate(path) takes a path of this application, like /reports")
        client = ui.context.client
        if client.sub_pages_router.current_path == path:
            return
        view = self._views.get(client.id)
        mounted = None if view is None else view.next_mount()
        ui.navigate.to(path)
        if mounted is not None:
            await asyncio.wait([mounted], timeout=self._gateway.limits.navigation_s)

    def surface(self) -> Surface:
        """The surface of the current page, for a panel that shows what agents do; opened when it is not open yet.

        PermissionError: nobody is signed in.
        """
        view = self._view(ui.context.client)
        if view is None:
            raise PermissionError("nobody is signed in: this page has no surface")
        return view.surface

    def _view(self, client: Client) -> View | None:
        known = self._views.get(client.id)
        if known is not None:
            return known
        with inside(client):
            principal = self._login()
        if principal is None:
            return None
        return self._open(client, principal)

    def _open(self, client: Client, principal: Principal) -> View:
        if session_of(client) is None:
            raise RuntimeError("agents need NiceGUI's session: give ui.run or ui.run_with a storage_secret")
        port = self._gateway.open_view(
            principal=self._login,
            host=self._host if callable(self._host) else lambda: self._host,
            within=lambda: inside(client),
            title=client.resolve_title(),
            route=route_of(client.sub_pages_router.current_path),
        )
        desk = Desk(client, port.surface, lambda: self._decider(client), self._refresh_desks)
        view = View(client, principal, port, desk)
        self._views[client.id] = view

        def heard(request: ConfirmationView) -> None:
            desk.heard(request)
            self._refresh_desks()

        view.at_end(port.surface.confirmations.subscribe(heard))
        if client.has_socket_connection:
            self._connected(client)
        return view

    def _connected(self, client: Client) -> None:
        for other in tuple(self._views.values()):
            # The same tab shows another page now, so nobody can see the old one any more.
            if other.client is not client and client.tab_id is not None and _tab_of(other.client) == client.tab_id:
                self._close(other, CancelCause.VIEW_RELOADED)
        view = self._views.get(client.id)
        if view is not None and not view.closed:
            self._gateway.connected(view.port.id, tab=client.tab_id)
            view.refresh()
            view.desk.connected()
            self._refresh_desks()

    def _disconnected(self, client: Client) -> None:
        view = self._views.get(client.id)
        # Another socket of the same client may have come first.
        if view is not None and not view.closed and not client.has_socket_connection:
            view.refresh()
            self._gateway.disconnected(view.port.id)

    def _deleted(self, client: Client) -> None:
        view = self._views.pop(client.id, None)
        if view is not None:
            self._close(view, CancelCause.VIEW_CLOSED)

    def _close(self, view: View, cause: CancelCause) -> None:
        if view.close():
            self._gateway.close_view(view.port.id, cause=cause)
            self._refresh_desks()

    def _refresh_desks(self) -> None:
        opened = [view for view in self._views.values() if not view.closed]
        for view in opened:
            view.desk.refresh(each.surface for each in opened)

    def _decider(self, client: Client) -> Decider | None:
        with inside(client):
            principal = self._login()
        return None if principal is None else Decider(principal.id, principal.grants, tenant=principal.tenant)

    def _is_stranger(self, client: Client, scope: object) -> bool:
        view = self._views.get(client.id)
        if view is None:
            return False
        with inside(client):
            principal = self._login()
        return not view.belongs_to(principal, session_id(scope))


def _never() -> bool:
    return False


def _tab_of(client: Client) -> str | None:
    # `tab_id` is forgotten while a client is away; the tab it was opened in stays the same.
    return client._pinned_tab_id
