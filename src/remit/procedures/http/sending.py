"""Requests on their way to one origin, and what comes back (SPEC 10.4).

Nothing is remembered between two calls: no cookie, no credential, no redirect. A redirect is followed only for a GET
that reads, and only to the same origin.
"""

import asyncio
import errno
import hashlib
import os
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import httpx2

from remit._base.boundary import TooLarge
from remit._base.clock import Clock
from remit._base.text import clean_line
from remit.procedures.errors import BackendError, NoAnswer, NotSent
from remit.procedures.http.address import PORTS, Origin, origin_of
from remit.procedures.http.connections import (
    MOST,
    Broken,
    Connections,
    Full,
    Heads,
    Reply,
    Terms,
    TooLate,
    Unreached,
    nothing,
)
from remit.procedures.http.dialing import Tls
from remit.procedures.http.encoded import codings_of, decoded
from remit.procedures.http.in_process import App, InProcess

MAX_ANSWER: Final = 1024 * 1024

_CONNECT_S: Final = 5.0
_MAX_HOPS: Final = 3
_AGAIN_S: Final = 1.0
"""Nothing was sent, and what keeps a backend from being reached mostly passes by itself."""

_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503
_BAD_GATEWAY: Final = 502
_TIMED_OUT: Final = 504
_LINE: Final = 120
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

Headers: TypeAlias = Heads


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

    def __init__(
        self,
        app: App | None,
        clock: Clock,
        *,
        timeout_s: float,
        credentials: frozenset[str] = frozenset(),
        most: int = MOST,
    ) -> None:
        self._in_process = None if app is None else InProcess(app)
        self._clock = clock
        self._timeout_s = timeout_s
        # Less than the whole, so that a connection that does not come about is known to be just that.
        self._connect_s = min(_CONNECT_S, timeout_s / 2)
        self._credentials = frozenset(name.encode() for name in credentials)
        self._key = os.urandom(32)
        self._most = most
        self._tls = Tls()
        # A connection belongs to the loop in which it was made.
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Connections] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def send(
        self,
        origin: Origin,
        outgoing: Outgoing,
        headers: Headers,
        *,
        follow: bool,
        begin: Callable[[], None] = nothing,
        again: bool = False,
    ) -> Received:
        """Send one request and read the answer; BackendError when there is none within `timeout_s`.

        NotSent when no connection came about, or `begin` holds it back, which is asked once nothing of this side does.
        A request that may go out `again` does so where a connection that was used before ends without an answer.
        TooLarge for an answer of more than 1 MiB.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                terms = Terms(begin=begin, again=again, shared=self._shared(headers))
                return await self._followed(origin, outgoing, headers, terms, follow=follow)
        except TimeoutError as problem:
            raise _too_late(origin, self._timeout_s) from problem

    async def _followed(
        self, origin: Origin, outgoing: Outgoing, headers: Headers, terms: Terms, *, follow: bool
    ) -> Received:
        target, hops = outgoing.target, 0
        while True:
            received = await self._exchange(origin, outgoing, target, headers, terms)
            if received.status not in _REDIRECTS or not follow or hops == _MAX_HOPS:
                return received
            elsewhere = _within(origin, target, received.headers.get("location", ""))
            if elsewhere is None:
                return received
            target, hops = elsewhere, hops + 1

    async def close(self) -> None:
        """Close the connections of this loop, and end what an application does in it; a later call begins anew."""
        if self._in_process is not None:
            await self._in_process.close()
        with self._lock:
            connections = self._of_loop.pop(asyncio.get_running_loop(), None)
        if connections is not None:
            connections.close()
            await asyncio.sleep(0)  # the loop closes sockets in its next turn

    async def _exchange(
        self, origin: Origin, outgoing: Outgoing, target: bytes, headers: Headers, terms: Terms
    ) -> Received:
        try:
            async with self._reply(origin, outgoing, target, headers, terms) as reply:
                found = httpx2.Headers(reply.headers)
                return Received(status=reply.status, headers=found, body=await whole(_decoded(reply, found)))
        except _LOST as problem:
            raise _no_answer(problem, origin, self._timeout_s) from problem

    @asynccontextmanager
    async def opened(
        self,
        origin: Origin,
        outgoing: Outgoing,
        headers: Headers,
        *,
        begin: Callable[[], None] = nothing,
        again: bool = False,
    ) -> AsyncIterator[Opened]:
        """Send one request and hand out the answer as it comes; leaving closes the connection. Errors are as of `send`.

        No redirect is followed. `timeout_s` bounds the wait for the head, and for each part after it.
        """
        terms = Terms(step_s=self._timeout_s, begin=begin, again=again, shared=self._shared(headers))
        try:
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self._timeout_s):
                        reply = await stack.enter_async_context(
                            self._reply(origin, outgoing, outgoing.target, headers, terms)
                        )
                except TimeoutError as problem:
                    raise _too_late(origin, self._timeout_s) from problem
                found = httpx2.Headers(reply.headers)
                chunks = await stack.enter_async_context(aclosing(_decoded(reply, found)))
                yield Opened(status=reply.status, headers=found, chunks=chunks)
        except _LOST as problem:
            raise _no_answer(problem, origin, self._timeout_s) from problem

    def _reply(
        self, origin: Origin, outgoing: Outgoing, target: bytes, headers: Headers, terms: Terms
    ) -> AbstractAsyncContextManager[Reply]:
        heads = [(b"host", origin.netloc.encode()), (b"user-agent", b"remit"), (b"accept-encoding", b"identity")]
        heads += [*outgoing.headers, *headers]
        content = outgoing.content
        if content is not None:
            heads.append((b"content-length", str(len(content)).encode()))
        elif outgoing.method != "GET":
            heads.append((b"content-length", b"0"))
        if self._in_process is not None:
            return self._in_process.exchange(origin, outgoing.method, target, heads, content, terms)
        return self._connections().exchange(origin, outgoing.method, target, heads, content, terms)

    def _connections(self) -> Connections:
        loop = asyncio.get_running_loop()
        connections = self._of_loop.get(loop)
        if connections is None:
            connections = Connections(self._clock, connect_s=self._connect_s, most=self._most, tls=self._tls)
            with self._lock:
                for each in [each for each in self._of_loop if each.is_closed()]:
                    del self._of_loop[each]  # its sockets hold it, and nothing else will let go of them
                self._of_loop[loop] = connections
        return connections

    def _shared(self, headers: Headers) -> bytes:
        """Whose connections a request may use: a name for its credentials that does not tell them."""
        if not self._credentials:
            return b""
        held = hashlib.blake2b(key=self._key, digest_size=16)
        for name, value in headers:
            if name in self._credentials:
                held.update(b"%d:%b%d:%b" % (len(name), name, len(value), value))
        return held.digest()


_LOST: Final = (Unreached, Broken, TooLate)


def _no_answer(problem: Exception, origin: Origin, within_s: float) -> BackendError:
    """What it means that no answer came, or half of one."""
    match problem:
        case Full():
            return NotSent(_TOO_MANY, str(problem), retry_after=_AGAIN_S)
        case Unreached():
            return NotSent(_UNAVAILABLE, f"no connection to {origin}{_kept_by(problem)}", retry_after=_AGAIN_S)
        case TooLate():
            return _too_late(origin, within_s)
        case _:
            return NoAnswer(_BAD_GATEWAY, f"the answer of {origin} broke off")


def _kept_by(problem: Unreached) -> str:
    """What kept a connection from coming about, in words of remit's own."""
    match problem.__cause__:
        case ssl.SSLCertVerificationError() as cause:
            return f": its certificate is not accepted ({clean_line(cause.verify_message, _LINE)})"
        case ssl.SSLError():
            return ": it does not speak TLS as was meant"
        case socket.gaierror() | UnicodeError():
            return ": its name cannot be looked up"
        case TimeoutError():
            return f": {problem}" if str(problem) else ": it did not come about in time"
        case ConnectionRefusedError():
            return ": it was refused"
        case OSError() as cause if f"[Errno {errno.ECONNREFUSED}]" in str(cause):  # of several addresses, or all
            return ": it was refused"
        case _:  # a header that cannot be written, for one, and what it holds is nobody's to read
            return ""


def _too_late(origin: Origin, within_s: float) -> BackendError:
    return NoAnswer.too_late(_TIMED_OUT, f"no answer from {origin} in time", within_s)


def _decoded(reply: Reply, headers: httpx2.Headers) -> AsyncGenerator[bytes]:
    """The body as it comes; only one that was encoded, which was not asked for, has to be decoded."""
    codings = codings_of(headers.get("content-encoding", ""))
    return decoded(reply.chunks, codings) if codings else reply.chunks


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
