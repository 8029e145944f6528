"""One page of one person: what it mounted, who looks at it, and what it is told (SPEC 14.1)."""

import threading
from collections.abc import Callable
from typing import Final

from starlette.requests import Request

from remit._base.clock import TimerHandle
from remit._base.ident import new_id
from remit._base.text import clean_line
from remit._contract.component import Component
from remit._model.consumer import Decider, Principal
from remit._model.event import Event, EventType
from remit._session.mounted import DISCONNECTED, Mounted
from remit._session.port import ViewPort
from remit._surface.surface import Surface
from remit.integrations.asgi.signing import SignIn
from remit.integrations.asgi.telling import Telling

PREFIX: Final = "pag_"
"""Ids of pages: known to the page alone, in no address, result or log."""

RECHECK_S: Final = 15.0
"""Seconds after which an open page asks an async login again; a plain one is asked every time."""

HEARD: Final = (
    EventType.INVOCATION_STARTED,
    EventType.INVOCATION_SETTLED,
    EventType.HANDOFF_REQUESTED,
    EventType.HANDOFF_RESOLVED,
)


class Page:
    """What the home keeps of a page from its building until its browser has left it.

    `listener` is the socket that is the page's own now; another one, or None, and a socket has to end.
    """

    def __init__(self, sign_in: SignIn, host: object, request: Request, person: Principal) -> None:
        self.id = new_id(PREFIX)
        self.owner = person.key
        self.closed = False
        self.thread = threading.get_ident()
        self.tab: str | None = None
        self.listener: object = None
        self.timer: TimerHandle | None = None
        self.telling = Telling()
        self.told_waiting = 0
        self.checked_at = 0.0
        self._sign_in = sign_in
        self._host = host
        self._request = request
        self._person: Principal | None = person
        self._port: ViewPort | None = None
        self._title_characters = 0
        self._mounts: list[tuple[Component, str, Mounted]] = []
        self._running: dict[object, tuple[str, ...]] = {}
        self._endings: list[Callable[[], None]] = []

    def opened(self, port: ViewPort, title_characters: int) -> None:
        """Its view is there, which no agent sees yet."""
        self._port = port
        self._title_characters = title_characters
        self.at_end(port.surface.subscribe(self._heard, types=HEARD))

    @property
    def there(self) -> bool:
        """True while its browser is connected."""
        return self.listener is not None

    @property
    def port(self) -> ViewPort:
        """Its view."""
        if self._port is None:
            raise RuntimeError("the view of this page is not open yet")
        return self._port

    @property
    def surface(self) -> Surface:
        """The surface of its view."""
        return self.port.surface

    def entitle(self, title: str) -> None:
        """Say what people and agents are told of this page."""
        self.port.title = clean_line(title, self._title_characters)

    @property
    def route(self) -> str:
        """The path that was asked for; what follows it may hold what was typed, and is nobody's business."""
        return self._request.url.path

    def principal(self) -> Principal | None:
        """Who is signed in at this page now."""
        return self._sign_in.again(self._request, self._person)

    def host(self) -> object:
        """The host context of this page."""
        return self._host(self._request) if callable(self._host) else self._host

    def decider(self) -> Decider | None:
        """The person as one who decides."""
        person = self.principal()
        return None if person is None else Decider(person.id, person.grants, tenant=person.tenant)

    async def recheck(self, now: float) -> bool:
        """Ask the login again, an async one now and then; False when the person of this page is not signed in."""
        if self._sign_in.is_async and now - self.checked_at < RECHECK_S:
            return True
        self.checked_at = now
        self._person = await self._sign_in.now(self._request)
        return self._is_owner(self._person)

    async def heard_from(self, request: Request) -> bool:
        """A request names this page; False when it is not of the person that it was built for."""
        person = await self._sign_in.now(request)
        if not self._is_owner(person) or self.closed:
            return False
        self._request, self._person = request, person
        return True

    def add(self, component: Component, instance: str, mounted: Mounted) -> None:
        """Remember a mount."""
        self._mounts = [each for each in self._mounts if each[2].status == "mounted"]
        self._mounts.append((component, instance, mounted))

    def mounts(self) -> list[tuple[Component, str]]:
        """What is mounted now, with its instance names."""
        return [(component, instance) for component, instance, mounted in self._mounts if mounted.status == "mounted"]

    def away(self) -> str | None:
        """Why nothing here can be used now: the browser is not there; None when it is."""
        return DISCONNECTED if self.listener is None else None

    def refresh(self) -> None:
        """Compare every mount with what is presented now."""
        for _, _, mounted in self._mounts:
            mounted.refresh()

    def at_end(self, ending: Callable[[], None]) -> None:
        """Run something once, when the page closes."""
        self._endings.append(ending)

    def stop_waiting(self) -> None:
        """Nothing ends this page by time any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def close(self) -> None:
        """End its socket and what it listens to."""
        self.closed = True
        self.stop_waiting()
        self.listener = None
        self.telling.wake()
        for ending in self._endings:
            ending()
        self._endings.clear()
        self._mounts.clear()

    def _is_owner(self, person: Principal | None) -> bool:
        return person is not None and person.key == self.owner

    def _heard(self, event: Event) -> None:
        if event.type is EventType.INVOCATION_STARTED:
            # Looked up now: a call that navigates may unmount its own part.
            types = self.surface._changed_by(str(event.data["capability"]))
            if types:
                self._running[(event.consumer, event.data["invocation"])] = types
        elif event.type is EventType.INVOCATION_SETTLED:
            for type in self._running.pop((event.consumer, event.data["invocation"]), ()):
                self.telling.changed(type)
        else:
            self.telling.handoffs()
