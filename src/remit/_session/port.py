"""What a home for components needs of a gateway; integrations know this port and no gateway (DESIGN 3)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, runtime_checkable

from starlette.requests import HTTPConnection, Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._confirmation.request import DecideFn
from remit._contract.component import Component
from remit._model.consumer import Principal
from remit._model.request_view import CancelCause
from remit._surface.surface import Surface

Login = Callable[[HTTPConnection], "Principal | None | Awaitable[Principal | None]"]

Decide: TypeAlias = DecideFn
"""An inline answer to confirmation requests, as `Surface` and a gateway take it (SPEC 7.4)."""


class SignIns(Protocol):
    """Who is signed in, as the application's own login says it of a request."""

    async def now(self, request: Request) -> Principal | None:
        """Ask it."""
        ...

    def again(self, request: Request, last: Principal | None) -> Principal | None:
        """Who is signed in at a request it was asked about before; `last` is what it said then."""
        ...


class ViewPort(Protocol):
    """One view of one person, from the first mount in it to its close."""

    @property
    def id(self) -> str:
        """The opaque id of the view; never a framework's client id."""
        ...

    @property
    def surface(self) -> Surface:
        """The surface of this view."""
        ...

    title: str
    """What people and agents are told of it: one line; it may change until its client comes."""


@runtime_checkable
class GatewayPort(Protocol):
    """The part of a gateway that homes use."""

    @property
    def clock(self) -> Clock:
        """The time of everything here."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits of everything here."""
        ...

    def open_view(
        self,
        *,
        principal: Callable[[], Principal | None],
        host: Callable[[], object],
        within: Callable[[], AbstractContextManager[object]],
        title: str,
        route: str,
    ) -> ViewPort:
        """Make the session and surface of a page being built; no agent sees it before `connected`.

        `principal` and `host` are asked per call, inside `within`. No principal now: PermissionError.
        """
        ...

    def connected(self, view_id: str, *, tab: str | None = None) -> None:
        """The person's client is there. A view of the same principal with the same `tab` is closed at once."""
        ...

    def disconnected(self, view_id: str) -> None:
        """The client is gone for now: the view leaves the agents' sight and its components are unavailable."""
        ...

    def close_view(self, view_id: str, *, cause: CancelCause = CancelCause.VIEW_CLOSED) -> None:
        """End the session of this view and dispose its surface; closing twice is a no-op."""
        ...

    def routes(self, login: Login) -> list[BaseRoute]:
        """The pages that ask who is signed in: decision page, list of waiting requests (HTML, person's session)."""
        ...

    def bridge(self, sign_in: SignIns, host: object, pages: Mapping[str, Iterable[type[Component]]]) -> list[BaseRoute]:
        """The browser module and its socket: what a page may bind, by the path at which it stands (SPEC 14.2)."""
        ...

    def door(self) -> ASGIApp:
        """The MCP door as an ASGI application; mounted at `/remit` it takes all below it, so prefer `door_routes`."""
        ...

    def door_routes(self) -> list[BaseRoute]:
        """The doors for agents as routes of the outermost application, `/remit/mcp` and below `/remit/page`."""
        ...

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Wrap the outermost application: Host and Origin allow-list for http and websocket scopes."""
        ...

    async def start(self) -> None:
        """Begin to serve; call once, inside the running loop."""
        ...

    def stopping(self) -> None:
        """Answer held calls and close streams; synchronous, called before the server drains."""
        ...

    async def stop(self) -> None:
        """Close every view and stop serving; safe to call twice."""
        ...

    def describe(self) -> Mapping[str, object]:
        """What to paste into an agent's client: base path of the door and the open views; no secret."""
        ...
