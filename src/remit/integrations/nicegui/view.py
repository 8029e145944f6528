"""One page of one person as a view: opened at its first mount, counted while its browser is there (SPEC 14.1)."""

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

from nicegui import Client

from remit._model.consumer import Principal
from remit._session.port import ViewPort
from remit._surface.surface import Surface
from remit.integrations.nicegui.desk import Desk
from remit.integrations.nicegui.inside import session_of
from remit.integrations.nicegui.mounted import Mounted


class View:
    """What the integration keeps of one client, until the client is deleted or its tab shows another page."""

    def __init__(self, client: Client, principal: Principal, port: ViewPort, desk: Desk) -> None:
        self.client = client
        self.port = port
        self.desk = desk
        self.closed = False
        self._principal = principal.key
        self._session = session_of(client)
        self._mounts: list[Mounted] = []
        self._awaited: list[asyncio.Future[None]] = []
        self._endings: list[Callable[[], None]] = []
        client.sub_pages_router.on_path_changed(lambda path: self.surface.set_route(route_of(path)))

    @property
    def surface(self) -> Surface:
        """The surface of this page."""
        return self.port.surface

    @property
    def connected(self) -> bool:
        """True while the person's browser is there."""
        return not self.closed and bool(self.client.has_socket_connection)

    def belongs_to(self, principal: Principal | None, session: str | None) -> bool:
        """Say whether a connection of this person and browser session may speak for the page."""
        return principal is not None and principal.key == self._principal and session == self._session

    def add(self, mounted: Mounted) -> None:
        """Remember a mount, and tell who waits for one."""
        self._mounts = [each for each in self._mounts if each.status == "mounted"]
        self._mounts.append(mounted)
        for waiting in self._awaited:
            if not waiting.done():
                waiting.set_result(None)
        self._awaited.clear()

    def next_mount(self) -> asyncio.Future[None]:
        """Done when the next component was mounted in this page."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited.append(waiting)
        return waiting

    def refresh(self) -> None:
        """Compare every mount with what is presented now."""
        for mounted in self._mounts:
            mounted.refresh()

    def at_end(self, ending: Callable[[], None]) -> None:
        """Run something once, when the view closes."""
        self._endings.append(ending)

    def close(self) -> bool:
        """Take remit's elements off the page; False when that was done before."""
        if self.closed:
            return False
        self.closed = True
        self.desk.close()
        for ending in self._endings:
            ending()
        self._endings.clear()
        return True


def route_of(path: str) -> str:
    """The path of an address; what follows it may hold what was typed, and is nobody's business."""
    return urlsplit(path).path or "/"
