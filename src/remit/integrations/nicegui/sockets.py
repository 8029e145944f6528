"""Who may speak for a page: only the socket of its own client, from the browser session it was built for (SPEC 14.1).

NiceGUI hands an event to whatever client it names. Ids of clients and tabs stand in socket addresses, hence in access
logs, so knowing them must prove nothing.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Final
from urllib.parse import parse_qs

from nicegui import Client, app, core
from nicegui.nicegui import SocketIoApp
from starlette.responses import PlainTextResponse
from starlette.routing import Mount as Mounting
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Stranger = Callable[[Client, object], bool]
"""(client, ASGI scope) -> True when this connection is not of the person the page was built for."""

_FROM_A_CLIENT: Final = ("event", "javascript_response", "ack", "log")
_FORBIDDEN: Final = 403
_POLICY_VIOLATION: Final = 1008
_NAMESPACE: Final = "/"


def protect_sockets(stranger: Stranger) -> None:
    """Check every socket of NiceGUI's application when it opens, and every message when it comes."""
    for route in app.routes:
        if isinstance(route, Mounting) and isinstance(route.app, SocketIoApp | SocketDoor):
            route.app = SocketDoor(route.app, stranger)
    handlers = core.sio.handlers[_NAMESPACE]
    for event in _FROM_A_CLIENT:
        handlers[event] = _only_own_socket(handlers[event])
    handlers["handshake"] = _no_stranger(handlers["handshake"], stranger)
    handlers["connect"] = _no_stranger_connects(handlers["connect"], stranger)


class SocketDoor:
    """ASGI: refuses a connection that names the client of somebody else, before it is accepted."""

    def __init__(self, inner: ASGIApp, stranger: Stranger) -> None:
        self._inner = inner
        self._stranger = stranger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, or refuse it."""
        if not any(self._stranger(client, scope) for client in _named(scope)):
            await self._inner(scope, receive, send)
        elif scope["type"] == "http":
            await PlainTextResponse("not your page", status_code=_FORBIDDEN)(scope, receive, send)
        else:
            await receive()
            refusal: Message = {"type": "websocket.close", "code": _POLICY_VIOLATION}
            await send(refusal)


def _named(scope: object) -> list[Client]:
    """Every client that an address names: it may name several, and NiceGUI takes one of them."""
    raw = scope.get("query_string", b"") if isinstance(scope, dict) else b""
    ids = parse_qs(raw.decode("latin-1")).get("client_id", [])
    return [Client.instances[each] for each in ids if each in Client.instances]


def _only_own_socket(handler: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    async def accept(sid: str, message: object = None, *rest: object) -> object:
        client = Client.instances.get(str(message.get("client_id"))) if isinstance(message, dict) else None
        if client is None or sid not in client._socket_to_document_id:
            return None
        return await _result(handler(sid, message, *rest))

    return accept


def _no_stranger(handler: Callable[..., object], stranger: Stranger) -> Callable[..., Awaitable[object]]:
    async def shake(sid: str, data: object = None, *rest: object) -> object:
        client = Client.instances.get(str(data.get("client_id"))) if isinstance(data, dict) else None
        if client is None or stranger(client, _scope_of(sid)):
            return False
        return await _result(handler(sid, data, *rest))

    return shake


def _no_stranger_connects(handler: Callable[..., object], stranger: Stranger) -> Callable[..., Awaitable[object]]:
    async def connect(sid: str, environ: dict[str, object], *rest: object) -> object:
        # NiceGUI takes the handshake out of the address here, without asking the handler of its own event.
        scope = environ.get("asgi.scope")
        if any(stranger(client, scope) for client in _named(scope)):
            return False
        return await _result(handler(sid, environ, *rest))

    return connect


def _scope_of(sid: str) -> object:
    environ = core.sio.get_environ(sid)
    return None if environ is None else environ.get("asgi.scope")


async def _result(answer: object) -> object:
    return await answer if isawaitable(answer) else answer
