"""The outermost door: only named hosts and origins come in, for pages, sockets and agents alike (SPEC 15.4)."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from remit._base.text import clean_line

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
"""The hosts of this machine, on any port."""

_METHODS: Final = ("GET", "POST", "DELETE")
_EXPOSED: Final = ("Mcp-Session-Id", "WWW-Authenticate")
_SHOWN: Final = 100
_FORBIDDEN, _MISDIRECTED = 403, 421
_POLICY_VIOLATION: Final = 1008
_CLOSING_S: Final = 1.0


class AllowedHosts:
    """Host names that may be asked for: `app.example` on any port, `app.example:8443` on this one."""

    __slots__ = ("_any_port", "_exact")

    def __init__(self, hosts: Iterable[str]) -> None:
        if isinstance(hosts, str):
            raise TypeError(f"allowed hosts are a collection, not one text: write [{hosts!r}]")
        hosts = tuple(hosts)
        if odd := [host for host in hosts if not isinstance(host, str) or not host]:
            raise TypeError(f"an allowed host is a name such as app.example, not {odd[0]!r:.80}")
        named = {host.lower() for host in hosts}
        self._exact = frozenset(named)
        self._any_port = frozenset(host for host in named if _without_port(host) == host)

    def allows(self, host: str) -> bool:
        """Say whether a Host header names one of them."""
        lowered = host.lower()
        return lowered in self._exact or _without_port(lowered) in self._any_port

    def allows_origin(self, origin: str) -> bool:
        """Say whether an Origin header is http or https on one of them; `null` never is."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        plain = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
        return parts.scheme in {"http", "https"} and plain and self.allows(parts.netloc)


class Guard:
    """Wraps an application; a refusal names the value that was refused and runs nothing behind it.

    A Host that is not allowed, missing or doubled is 421, an Origin that is not allowed is 403; a request without an
    Origin comes from no page. A socket is refused before it opens. With `local_only` whoever connects from or to an
    address that is not this machine's loopback is 403, whatever its headers say (SPEC 13.7).
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts, *, local_only: bool = False) -> None:
        self._app = app
        self._hosts = hosts
        self._local_only = local_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it."""
        refusal = self._refusal(scope) if scope["type"] in {"http", "websocket"} else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await refuse_socket(refusal, scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if self._local_only and not _is_local(scope):
            return PlainTextResponse("What is for development is served on loopback only", status_code=_FORBIDDEN)
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._hosts.allows(hosts[0]):
            return _answer(_MISDIRECTED, "Host", hosts)
        if any(not self._hosts.allows_origin(origin) for origin in origins):
            return _answer(_FORBIDDEN, "Origin", origins)
        return None


class Shared(CORSMiddleware):
    """Lets pages on allowed origins read a door's answers: their preflights are answered before any token is asked for.

    No cookie travels along: a door reads the bearer token alone, so nothing is allowed with credentials.
    """

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        super().__init__(app, allow_methods=_METHODS, allow_headers=("*",), expose_headers=_EXPOSED)
        self._hosts = hosts

    def is_allowed_origin(self, origin: str) -> bool:
        """Say whether an Origin is http or https on an allowed host."""
        return self._hosts.allows_origin(origin)


def _is_local(scope: Scope) -> bool:
    """True when both ends that the server names are loopback; one that names no client has not seen where it is."""
    client, server = scope.get("client"), scope.get("server")
    return client is not None and _is_loopback(client[0]) and (server is None or _is_loopback(server[0]))


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _answer(status: int, header: str, values: list[str]) -> PlainTextResponse:
    shown = ", ".join(clean_line(value, _SHOWN) for value in values[:2]) or "(none)"
    return PlainTextResponse(f"{header} not allowed: {shown}", status_code=status)


async def refuse_socket(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer an upgrade with a refusal before the socket opens; a server that cannot say it closes with 1008."""
    await receive()
    if "websocket.http.response" in scope.get("extensions", {}):
        await send(
            {
                "type": "websocket.http.response.start",
                "status": refusal.status_code,
                "headers": refusal.raw_headers,
            }
        )
        await send({"type": "websocket.http.response.body", "body": bytes(refusal.body)})
        await _connection_gone(receive)
    else:
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


async def _connection_gone(receive: Receive) -> None:
    """Wait, a second at most, until the server has closed a connection that was answered.

    uvicorn (0.54, with `websockets`) takes such an answer for a handshake that is not complete, and logs an error for
    each refusal, if the application returns before the connection has been closed. It says twice that it is: when the
    answer is written, and when the connection has gone.
    """
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(_CLOSING_S):
            for _ in range(2):
                await receive()


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (not name.startswith("[") or name.endswith("]")) else host
