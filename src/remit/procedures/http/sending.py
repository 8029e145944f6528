"""Requests on their way to one origin, and what comes back (SPEC 10.4).

Nothing is remembered between two calls: no cookie, no credential, no redirect. A redirect is followed only for a GET
that reads, and only to the same origin.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import httpx2

from remit._base.boundary import TooLarge
from remit.procedures.errors import BackendError, NoAnswer, NotSent
from remit.procedures.http.address import PORTS, Origin, origin_of

MAX_ANSWER: Final = 1024 * 1024

_CONNECT_S: Final = 5.0
_MAX_HOPS: Final = 3
_AGAIN_S: Final = 1.0
"""Nothing was sent, and what keeps a backend from being reached mostly passes by itself."""

_FAILED: Final = 500
_UNAVAILABLE: Final = 503
_BAD_GATEWAY: Final = 502
_TIMED_OUT: Final = 504
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

Headers: TypeAlias = list[tuple[bytes, bytes]]
_Message: TypeAlias = MutableMapping[str, Any]
_Limits: TypeAlias = Mapping[str, float | None]


class App(Protocol):
    """An ASGI application."""

    def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> Awaitable[None]:
        """Answer one connection."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One request: the target as it stands in the request line, the heads it brings, and the body if there is one."""

    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """An answer, whole."""

    status: int
    headers: httpx2.Headers
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An answer whose body is still coming."""

    status: int
    headers: httpx2.Headers
    chunks: AsyncIterator[bytes]


class Sender:
    """Sends requests over HTTP, or to an application in this process when there is one."""

    def __init__(self, app: App | None, *, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s
        # Less than the whole, so that a connection that does not come about is known to be just that.
        connect_s = min(_CONNECT_S, timeout_s / 2)
        # A timer for each step costs a twentieth of a call; where one bounds the whole, the steps need none.
        self._within = {"connect": connect_s, "read": None, "write": None, "pool": connect_s}
        self._by_step = {"connect": connect_s, "read": timeout_s, "write": timeout_s, "pool": connect_s}
        # A connection belongs to the loop in which it was made.
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, httpx2.AsyncBaseTransport]]
        self._of_loop = WeakKeyDictionary()
        # To read an address takes a tenth of a call, and hardly any catalogue has two.
        self._last: tuple[Origin, httpx2.URL] | None = None

    async def send(self, origin: Origin, outgoing: Outgoing, headers: Headers, *, follow: bool) -> Received:
        """Send one request and read the answer; BackendError when there is none within `timeout_s`.

        NotSent when no connection came about. TooLarge for an answer of more than 1 MiB.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._followed(origin, outgoing, headers, follow=follow)
        except TimeoutError as problem:
            raise _too_late(origin) from problem

    async def _followed(self, origin: Origin, outgoing: Outgoing, headers: Headers, *, follow: bool) -> Received:
        target, hops = outgoing.target, 0
        while True:
            received = await self._exchange(origin, outgoing, target, headers)
            if received.status not in _REDIRECTS or not follow or hops == _MAX_HOPS:
                return received
            elsewhere = _within(origin, target, received.headers.get("location", ""))
            if elsewhere is None:
                return received
            target, hops = elsewhere, hops + 1

    async def close(self) -> None:
        """Close the connections of this loop; the next call opens new ones."""
        for transport in self._of_loop.pop(asyncio.get_running_loop(), {}).values():
            await transport.aclose()

    async def _exchange(self, origin: Origin, outgoing: Outgoing, target: bytes, headers: Headers) -> Received:
        request = self._request(origin, outgoing, target, headers, self._within)
        try:
            response = await self._transport(origin.scheme).handle_async_request(request)
            try:
                return Received(
                    status=response.status_code, headers=response.headers, body=await whole(_chunks(response))
                )
            finally:
                await response.aclose()
        except (httpx2.TransportError, httpx2.DecodingError) as problem:
            raise _no_answer(problem, origin) from problem

    @asynccontextmanager
    async def opened(self, origin: Origin, outgoing: Outgoing, headers: Headers) -> AsyncIterator[Opened]:
        """Send one request and hand out the answer as it comes; leaving closes the connection. Errors are as of `send`.

        No redirect is followed. `timeout_s` bounds the wait for the head, and for each part after it.
        """
        request = self._request(origin, outgoing, outgoing.target, headers, self._by_step)
        try:
            try:
                async with asyncio.timeout(self._timeout_s):
                    response = await self._transport(origin.scheme).handle_async_request(request)
            except TimeoutError as problem:
                raise _too_late(origin) from problem
            try:
                yield Opened(status=response.status_code, headers=response.headers, chunks=_chunks(response))
            finally:
                await response.aclose()
        except (httpx2.TransportError, httpx2.DecodingError) as problem:
            raise _no_answer(problem, origin) from problem

    def _request(
        self, origin: Origin, outgoing: Outgoing, target: bytes, headers: Headers, limits: _Limits
    ) -> httpx2.Request:
        heads = [(b"host", origin.netloc.encode()), (b"user-agent", b"remit"), (b"accept-encoding", b"identity")]
        heads += [*outgoing.headers, *headers]
        content = outgoing.content
        if content is not None:
            heads.append((b"content-length", str(len(content)).encode()))
        elif outgoing.method != "GET":
            heads.append((b"content-length", b"0"))
        return httpx2.Request(
            outgoing.method,
            self._url(origin, target),
            headers=heads,
            stream=httpx2.ByteStream(content or b""),
            extensions={"timeout": limits, "target": target},
        )

    def _url(self, origin: Origin, target: bytes) -> httpx2.URL:
        """The address of a request. Over HTTP only its origin counts, for `target` is sent as it stands."""
        if self._app is not None:
            return httpx2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=target)
        if self._last is None or self._last[0] != origin:
            self._last = (origin, httpx2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=b"/"))
        return self._last[1]

    def _transport(self, scheme: str) -> httpx2.AsyncBaseTransport:
        of_loop = self._of_loop.setdefault(asyncio.get_running_loop(), {})
        transport = of_loop.get(scheme)
        if transport is None:
            of_loop[scheme] = transport = self._made(scheme)
        return transport

    def _made(self, scheme: str) -> httpx2.AsyncBaseTransport:
        if self._app is not None:
            return httpx2.ASGITransport(app=_AsServed(self._app))
        # Certificates take a fifth of a second to read, and nothing without TLS looks at them.
        verify = True if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx2.AsyncHTTPTransport(verify=verify)


def _no_answer(problem: httpx2.TransportError | httpx2.DecodingError, origin: Origin) -> BackendError:
    """What it means that no answer came, or half of one."""
    match problem:
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return NotSent(_UNAVAILABLE, f"no connection to {origin}", retry_after=_AGAIN_S)
        case httpx2.TimeoutException():
            return _too_late(origin)
        case _:
            return NoAnswer(_BAD_GATEWAY, f"the answer of {origin} broke off")


def _too_late(origin: Origin) -> BackendError:
    return NoAnswer(_TIMED_OUT, f"no answer from {origin} in time")


class _AsServed:
    """An application as a server would serve it: 500 where it answers nothing, and half an answer is none."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        begun = ended = False

        async def noted(message: _Message) -> None:
            nonlocal begun, ended
            await send(message)
            begun = begun or message["type"] == "http.response.start"
            ended = ended or (message["type"] == "http.response.body" and not message.get("more_body", False))

        problem: Exception | None = None
        try:
            await self._app(scope, receive, noted)
        except Exception as raised:  # noqa: BLE001 - over a network, too, nobody would hear of it
            problem = raised
        if not begun:
            await send({"type": "http.response.start", "status": _FAILED, "headers": []})
            await send({"type": "http.response.body"})
        elif not ended:
            raise httpx2.RemoteProtocolError("the application ended before its answer did") from problem


def _chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes; only one that was encoded, which was not asked for, has to be decoded."""
    stream = response.stream
    if "content-encoding" in response.headers or not isinstance(stream, httpx2.AsyncByteStream):
        return response.aiter_bytes()
    return aiter(stream)


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    """All of an answer; TooLarge beyond 1 MiB."""
    got = bytearray()
    async for chunk in chunks:
        got += chunk
        if len(got) > MAX_ANSWER:
            raise TooLarge(f"the answer has more than {MAX_ANSWER} bytes")
    return bytes(got)


def _within(origin: Origin, target: bytes, location: str) -> bytes | None:
    """The target that a redirect means, if it stays within the origin."""
    if not location:
        return None
    try:
        url = httpx2.URL(str(origin) + target.decode()).join(location)
        if url.scheme not in PORTS or url.userinfo or origin_of(url) != origin:
            return None
    except (httpx2.InvalidURL, ValueError):  # a host is read only when it is asked for
        return None
    return url.raw_path
