"""A socket to a host of several addresses, and TLS for it (SPEC 10.4)."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any, Final, TypeAlias

import httpx2

_NEXT_S: Final = 0.25
"""So long an address has before the next one is tried beside it (RFC 8305)."""

_Found: TypeAlias = tuple[int, int, int, str, Any]


async def dialled(host: str, port: int) -> socket.socket:
    """Connect to the first of the host's addresses that answers; OSError or UnicodeError when none does.

    Leaving at any moment leaves no socket behind: asyncio's own race of addresses loses those that come late.
    """
    loop = asyncio.get_running_loop()
    tries: list[asyncio.Task[socket.socket]] = []
    try:
        for found in _in_turn(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)):
            tries.append(asyncio.create_task(_reached(found)))
            if (got := await _first(tries, _NEXT_S)) is not None:
                return got
        while not all(each.done() for each in tries):
            if (got := await _first(tries, None)) is not None:
                return got
        raise next((each.exception() for each in tries), None) or OSError("the name has no address")
    finally:
        for each in tries:
            each.cancel()
            each.add_done_callback(_closed)


async def _first(tries: list[asyncio.Task[socket.socket]], within_s: float | None) -> socket.socket | None:
    """The socket of a try that is through, None when that time is over or another address is due."""
    under_way = [each for each in tries if not each.done()]
    await asyncio.wait(under_way, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    for each in tries:
        if each.done() and each.exception() is None:
            tries.remove(each)
            return each.result()
    return None


def _closed(late: asyncio.Task[socket.socket]) -> None:
    if not late.cancelled() and late.exception() is None:
        late.result().close()


async def _reached(found: _Found) -> socket.socket:
    family, kind, protocol, _, address = found
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


def _in_turn(found: Sequence[_Found]) -> list[_Found]:
    """The addresses as the resolver prefers them, the families by turns."""
    families: dict[int, list[_Found]] = {}
    for each in found:
        families.setdefault(each[0], []).append(each)
    return [each for each in chain.from_iterable(zip_longest(*families.values())) if each is not None]


class Tls:
    """The TLS of all connections of a catalogue: its certificates take a fifth of a second to read, in a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: ssl.SSLContext | None = None

    async def context(self) -> ssl.SSLContext:
        """The context, made once whatever loops ask."""
        made = self._made
        return await asyncio.to_thread(self._make) if made is None else made

    def _make(self) -> ssl.SSLContext:
        with self._lock:
            if (made := self._made) is None:
                made = httpx2.create_ssl_context()
                made.set_alpn_protocols(["http/1.1"])
                self._made = made
            return made
