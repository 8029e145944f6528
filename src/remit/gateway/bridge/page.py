"""One page of one person: what it bound, what it is asked, and whether it is there (SPEC 11.17, 14.2)."""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from starlette.requests import Request

from remit._base.clock import TimerHandle
from remit._base.ident import new_id
from remit._base.text import clean_line
from remit._contract.capability import Method
from remit._contract.component import Component, declaration_of
from remit._contract.flow import Flow
from remit._model.consumer import Principal
from remit._model.ids import is_instance
from remit._session.mounted import DISCONNECTED, Mounted
from remit._session.port import SignIns, ViewPort
from remit._surface.surface import Surface
from remit.gateway.bridge.calls import Calls, Frame, Handlers
from remit.gateway.bridge.listed import Types
from remit.gateway.bridge.messages import Bind, Odd, State

PREFIX: Final = "brp_"
"""Ids of pages: known to the page alone, in no address, result or log."""

BINDINGS: Final = 64
"""Components that one page may bind at a time."""

UNSENT: Final = 512
"""Messages that wait for a page which does not read; one more, and it counts as lost."""

RECHECK_S: Final = 15.0
"""Seconds after which a page that is there asks an async login again; a plain one is asked for every call."""

UNANSWERED: Final = "The page has no handler for this"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One component that the page answers for; `attributes` are its capabilities by the names the page uses."""

    type: str
    instance: str
    mounted: Mounted
    attributes: Mapping[str, str]


class Outbox:
    """What is yet to be sent over one socket."""

    __slots__ = ("_frames", "_some", "over")

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._some = asyncio.Event()
        self.over = asyncio.Event()
        """Set once this is not the page's own any more, or more waits than may: the page does not read."""

    def put(self, frame: Frame) -> None:
        """Send it after everything before it."""
        if len(self._frames) >= UNSENT:
            self.over.set()
            return
        self._frames.append(frame)
        self._some.set()

    async def next(self) -> Frame:
        """The next one, as soon as there is one."""
        while not self._frames:
            self._some.clear()
            await self._some.wait()
        return self._frames.popleft()


class BridgePage:
    """What is kept of a page from its first message until it has left, or has been away for `limits.gap_s`.

    `outbox` is that of the socket that is the page's own now; None in a gap.
    """

    def __init__(self, sign_in: SignIns, host: object, request: Request, person: Principal) -> None:
        self.id = new_id(PREFIX)
        self.owner = person.key
        self.closed = False
        self.tab: str | None = None
        self.outbox: Outbox | None = None
        self.timer: TimerHandle | None = None
        self.calls = Calls(self._send)
        self._sign_in = sign_in
        self._host = host
        self._request = request
        self._person: Principal | None = person
        self._port: ViewPort | None = None
        self._bindings: dict[int, Binding] = {}
        self._listed: Types = {}
        self._checked_at = 0.0

    @property
    def there(self) -> bool:
        """True while a socket is its own."""
        return self.outbox is not None

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

    @property
    def bound(self) -> list[int]:
        """The numbers of what it bound and is still mounted."""
        return list(self._bindings)

    def opened(self, port: ViewPort) -> None:
        """Its view is there."""
        self._port = port

    def principal(self) -> Principal | None:
        """Who is signed in at this page now."""
        return self._sign_in.again(self._request, self._person)

    def host(self) -> object:
        """The host context of this page."""
        return self._host(self._request) if callable(self._host) else self._host

    def connected(self, request: Request, person: Principal, now: float) -> Outbox:
        """A socket of it is there, with the login that it came with. Whatever socket it had is no longer its own."""
        self._request, self._person, self._checked_at = request, person, now
        self._end_socket()
        self.outbox = Outbox()
        return self.outbox

    async def recheck(self, now: float) -> bool:
        """Ask the login again, now and then; False when the person of this page is not signed in."""
        if now - self._checked_at < RECHECK_S:
            return True
        self._checked_at = now
        self._person = await self._sign_in.now(self._request)
        return self._person is not None and self._person.key == self.owner

    def goes_to(self, route: str, title: str, listed: Types, most: int) -> None:
        """The page stands at this path now: what is not listed there is not bound any more."""
        self.surface.set_route(route)
        self.port.title = clean_line(title, most) or route
        self._listed = listed
        for number, binding in tuple(self._bindings.items()):
            if binding.type not in listed:
                self.unbind(number)
                self._send({"unbound": number, "why": "not-listed"})

    def bind(self, wanted: Bind) -> None:
        """Mount what the page answers for, or, bound before, take what it says of it now."""
        known = self._bindings.get(wanted.number)
        if known is not None and known.mounted.status == "mounted":
            if (known.type, known.instance) != (wanted.type, wanted.instance):
                raise Odd("one number for two components")
            binding = known
        else:
            why, mounted = self._mounted(wanted)
            if mounted is None:
                self._send({"bound": wanted.number, "refused": why})
                return
            self._bindings[wanted.number] = binding = mounted
        self._update(binding, wanted)
        self._send({"bound": wanted.number, "registration": binding.mounted.registration_id})

    def unbind(self, number: int) -> None:
        """Unmount one; what is not bound any more is nothing to unbind."""
        binding = self._bindings.pop(number, None)
        if binding is not None:
            binding.mounted.unmount()

    def unbind_all(self) -> None:
        """The page is being left: its code will not run again, so nothing that it bound can be answered."""
        for number in self.bound:
            self.unbind(number)
        self.calls.end()

    def away(self) -> str | None:
        """Why nothing here can be used now: the page has no socket; None when it has."""
        return DISCONNECTED if self.outbox is None else None

    def refresh(self) -> None:
        """Compare every mount with whether the page is there."""
        for binding in self._bindings.values():
            binding.mounted.refresh()

    def stop_waiting(self) -> None:
        """Nothing ends this page by time any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def close(self) -> None:
        """It is over; the surface of its view unmounts what is bound."""
        self.closed = True
        self.stop_waiting()
        self._end_socket()
        self._bindings.clear()

    def _end_socket(self) -> None:
        if self.outbox is not None:
            self.outbox.over.set()
        self.outbox = None

    def _mounted(self, wanted: Bind) -> tuple[str, Binding | None]:
        cls = self._listed.get(wanted.type)
        if cls is None:
            return "not-listed", None
        if len(self._bindings) >= BINDINGS:
            return "too-many", None
        if not is_instance(wanted.instance):
            return "no-instance-name", None
        mount = self.surface.mount(cls(), wanted.instance, enabled=False)
        mounted = Mounted(mount if mount.status == "mounted" else None, enabled=False, blocked=self.away)
        if mounted.status != "mounted":
            return "taken", None
        names = _names(cls)
        handlers = Handlers(calls=self.calls, bind=wanted.number, names=names, reads=_reads(cls))
        mount._answered(handlers)
        attributes = {name: attribute for attribute, name in names.items()}
        return "", Binding(type=wanted.type, instance=wanted.instance, mounted=mounted, attributes=attributes)

    def _update(self, binding: Binding, wanted: Bind) -> None:
        state: State = wanted.state
        available: dict[str, Literal[True] | str] = {}
        for name, attribute in binding.attributes.items():
            answered = name in wanted.handlers
            available[attribute] = state.available.get(name, True) if answered else UNANSWERED
        binding.mounted.update(enabled=state.enabled, reason=state.reason, available=available)

    def _send(self, frame: Frame) -> None:
        if self.outbox is not None:
            self.outbox.put(frame)


def _names(cls: type[Component]) -> dict[str, str]:
    """What the page calls each method: the last part of its id."""
    return {attribute: method.id.rpartition(".")[2] for attribute, method in _methods(cls).items()}


def _reads(cls: type[Component]) -> frozenset[str]:
    return frozenset(attribute for attribute, method in _methods(cls).items() if method.effect.reads_only)


def _methods(cls: type[Component]) -> "dict[str, Method[object, ..., object]]":
    declared = declaration_of(cls)
    found = {} if declared is None else declared.capabilities
    own = {attribute: each for attribute, each in found.items() if isinstance(each, Method)}
    return {attribute: each for attribute, each in own.items() if not isinstance(each, Flow)}
