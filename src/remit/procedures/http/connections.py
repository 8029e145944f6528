"""Connections to backends: one exchange at a time on each, and no answer that nobody asked for (SPEC 10.4).

A connection that says something while nothing was asked, or more than it was asked for, is dropped: what it says would
be read as the answer to the next call. So is one whose answer was not read to its end. That is seen up to the moment a
request is written. What a backend says unasked after that cannot be told from its answer, so a connection is used again
for calls with the same credentials only: whatever a backend mixes up, it stays with one person.
"""

import asyncio
import select
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import h11

from remit._base.clock import Clock, TimerHandle
from remit.procedures.http.address import Origin
from remit.procedures.http.dialing import Tls, dialled

Heads: TypeAlias = list[tuple[bytes, bytes]]

MOST: Final = 100
"""Connections at a time, of one loop."""

_KEPT: Final = 20
_KEPT_S: Final = 5.0
_HEAD_BYTES: Final = 100 * 1024
_AHEAD_BYTES: Final = 256 * 1024
"""So much may wait to be read before the backend has to."""


class TooLate(Exception):
    """Nothing came for too long."""


class Unreached(Exception):
    """No connection came about, or the request cannot be written: nothing was sent."""


class Full(Unreached):
    """Nothing was sent because of this side: everything there is of its places is in use."""


class Broken(Exception):
    """The connection ended, or something else than HTTP came, before the answer was whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The head of an answer, and its body as it comes."""

    status: int
    headers: Heads
    chunks: AsyncGenerator[bytes]


def nothing() -> None:
    """Hold nothing against a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How one exchange goes.

    `step_s` bounds the wait for each part of the answer. `begin` is called when nothing of this side keeps the request
    from being sent, and may raise. `again` says that a request may be sent twice. `shared` names those whose
    connections it may use.
    """

    step_s: float | None = None
    begin: Callable[[], None] = nothing
    again: bool = False
    shared: bytes = b""


PLAIN: Final = Terms()


class Connection(asyncio.Protocol):
    """One connection; `ask` and then the whole of `chunks` make one exchange."""

    __slots__ = (
        "_asked",
        "_failed",
        "_got",
        "_http",
        "_over",
        "_paused",
        "_read",
        "_transport",
        "_waiter",
        "heard",
        "idle_since",
    )

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        self._got = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._asked = self._read = self._over = self._paused = False
        self._failed: Exception | None = None
        self.heard = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop, before anybody has the connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop; what comes unasked ends the connection."""
        if not self._asked:
            self.close()
            return
        self._got += data
        self.heard = True
        if len(self._got) > _AHEAD_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Called by the loop."""
        self._over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._over, self._failed = True, exc
        self._wake()

    @property
    def is_open(self) -> bool:
        """False once either side has ended it."""
        return not self._over and not self._transport.is_closing()

    def is_quiet(self) -> bool:
        """Whether it is open and its socket, too, holds nothing that the loop has not looked at yet."""
        if not self.is_open:
            return False
        at = self._transport.get_extra_info("socket").fileno()
        if not hasattr(select, "poll"):
            return at >= 0 and not select.select([at], [], [], 0)[0]
        look = select.poll()
        look.register(at, select.POLLIN)
        return not look.poll(0)

    def close(self) -> None:
        """End it at once, whatever is under way."""
        self._over = True
        self._transport.abort()
        self._wake()

    async def ask(
        self, method: str, target: bytes, heads: Heads, content: bytes | None, step_s: float | None
    ) -> tuple[int, Heads]:
        """Send one request and wait for the head of its answer.

        Unreached when it cannot be written, Broken when no head comes, TooLate when no part of it does in `step_s`.
        """
        try:
            parts = [self._http.send(h11.Request(method=method, target=target, headers=heads))]
            parts += [self._http.send(h11.Data(data=content))] if content else []
            parts.append(self._http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as problem:
            raise Unreached(str(problem)) from problem
        self._asked, self.heard = True, False
        self._transport.write(b"".join(part for part in parts if part))
        while isinstance(event := await self._event(step_s), h11.InformationalResponse):
            pass
        assert isinstance(event, h11.Response)  # anything else here is an error of the other side
        return event.status_code, list(event.headers)

    async def chunks(self, step_s: float | None) -> AsyncGenerator[bytes]:
        """The body as it comes. Broken and TooLate as of `ask`."""
        while isinstance(event := await self._event(step_s), h11.Data):
            yield bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        self._read = True

    def is_free(self) -> bool:
        """Whether another request may follow: the answer was read, nothing else came with it, and both sides go on."""
        http = self._http
        if not self._read or not self.is_open or self._got or any(http.trailing_data):
            return False
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        http.start_next_cycle()
        self._asked = self._read = False
        return True

    async def _event(self, step_s: float | None) -> object:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                await self._more(step_s)
        except h11.RemoteProtocolError as problem:
            raise Broken(str(problem)) from problem
        return event

    async def _more(self, step_s: float | None) -> None:
        if not self._got and not self._over:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                if step_s is None:
                    await self._waiter
                else:
                    async with asyncio.timeout(step_s):
                        await self._waiter
            except TimeoutError as problem:
                raise TooLate("nothing came") from problem
            finally:
                self._waiter = None
        if not self._got and self._failed is not None:
            raise Broken(str(self._failed)) from self._failed
        self._http.receive_data(bytes(self._got))  # nothing means the end
        self._got.clear()
        if self._paused and self.is_open:
            self._paused = False
            self._transport.resume_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


_Pool: TypeAlias = tuple[Origin, bytes]


class Connections:
    """The connections of one loop: at most `most`, of which `kept` idle ones are used again within five seconds."""

    def __init__(
        self, clock: Clock, *, connect_s: float, most: int = MOST, kept: int = _KEPT, tls: Tls | None = None
    ) -> None:
        self._clock = clock
        self._connect_s = connect_s
        self._most = most
        self._kept = kept
        self._idle: dict[_Pool, list[Connection]] = {}
        self._places = asyncio.Semaphore(most)
        self._tls = Tls() if tls is None else tls
        self._sweeping: TimerHandle | None = None
        self._until_the_end: AsyncGenerator[None] | None = None

    @asynccontextmanager
    async def exchange(
        self, origin: Origin, method: str, target: bytes, heads: Heads, content: bytes | None, terms: Terms = PLAIN
    ) -> AsyncIterator[Reply]:
        """Send one request and hand out its answer; leaving before its end is read closes the connection.

        Full when there is no place in time, Unreached when no connection comes about; the rest as of `Connection.ask`.
        A connection that was used before may end just as it is used again: where no byte of an answer came and the
        terms allow it, the request goes once more, over a new one.
        """
        if self._until_the_end is None:
            self._until_the_end = self._closing()
            await anext(self._until_the_end)
        await self._place()
        pool = origin, terms.shared
        try:
            terms.begin()
            connection = self._taken(pool)
            used = connection is not None
            while True:
                connection = connection or await self._made(origin)
                try:
                    status, headers = await connection.ask(method, target, heads, content, terms.step_s)
                    yield Reply(status=status, headers=headers, chunks=connection.chunks(terms.step_s))
                    return
                except Broken:
                    if not (used and terms.again) or connection.heard:
                        raise
                    used = False
                finally:
                    self._give_back(pool, connection)
                connection = None
        finally:
            self._places.release()

    def close(self) -> None:
        """Close what is idle; what is under way ends by itself."""
        self._keep_since(float("inf"))

    async def _closing(self) -> AsyncGenerator[None]:
        """A loop that is shut down ends its generators, and with this one the sockets that would outlive it."""
        try:
            yield
        finally:
            self._until_the_end = None
            self.close()
            await asyncio.sleep(0)

    async def _place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        try:
            async with asyncio.timeout(self._connect_s):
                await self._places.acquire()
        except TimeoutError as problem:
            raise Full(f"all {self._most} connections are in use") from problem

    def _taken(self, pool: _Pool) -> Connection | None:
        oldest = self._clock.monotonic() - _KEPT_S
        while idle := self._idle.get(pool):
            connection = idle.pop()
            if not idle:
                del self._idle[pool]
            if connection.idle_since > oldest and connection.is_quiet():
                return connection
            connection.close()
        return None

    async def _made(self, origin: Origin) -> Connection:
        secure = origin.scheme == "https"
        tls = await self._tls.context() if secure else None
        try:
            async with asyncio.timeout(self._connect_s):
                reached = await dialled(origin.host, origin.port)
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection, sock=reached, ssl=tls, server_hostname=origin.host if secure else None
                )
        except (OSError, UnicodeError) as problem:  # a name that cannot be looked up is no text of a name
            raise Unreached(str(problem)) from problem
        return connection

    def _give_back(self, pool: _Pool, connection: Connection) -> None:
        if not connection.is_free() or self._kept == 0:
            connection.close()
            return
        if sum(map(len, self._idle.values())) >= self._kept:
            self._drop_oldest()
        connection.idle_since = self._clock.monotonic()
        self._idle.setdefault(pool, []).append(connection)
        if self._sweeping is None:
            self._sweeping = self._clock.call_later(_KEPT_S, self._sweep)

    def _drop_oldest(self) -> None:
        """Close the connection that is idle longest: each list is in the order of its times."""
        pool = min(self._idle, key=lambda each: self._idle[each][0].idle_since)
        self._idle[pool].pop(0).close()
        if not self._idle[pool]:
            del self._idle[pool]

    def _sweep(self) -> None:
        self._sweeping = None
        self._keep_since(self._clock.monotonic() - _KEPT_S)
        if self._idle:
            self._sweeping = self._clock.call_later(_KEPT_S, self._sweep)

    def _keep_since(self, oldest: float) -> None:
        """Close every idle connection that is not younger."""
        for pool, idle in list(self._idle.items()):
            for connection in idle:
                if connection.idle_since <= oldest:
                    connection.close()
            kept = [connection for connection in idle if connection.idle_since > oldest]
            self._idle[pool] = kept
            if not kept:
                del self._idle[pool]
        if not self._idle and self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
