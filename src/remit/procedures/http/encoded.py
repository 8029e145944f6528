"""Bodies that come encoded, although nobody asked for that, read to their own end (SPEC 10.4)."""

import zlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Final

from remit.procedures.http.connections import Broken

_GZIP: Final = frozenset({"gzip", "x-gzip"})
_DEFLATE: Final = "deflate"
_PIECE: Final = 64 * 1024
_MOST: Final = 4


def codings_of(value: str) -> tuple[str, ...] | None:
    """The codings of a `Content-Encoding`, in the order of their use; None where one of them is not read."""
    named = [name for part in value.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    known = len(named) <= _MOST and all(name in _GZIP or name == _DEFLATE for name in named)
    return tuple(named) if known else None


async def decoded(chunks: AsyncGenerator[bytes], codings: Sequence[str]) -> AsyncGenerator[bytes]:
    """The body as it comes, decoded; Broken for one that ends before its encoding does, or is none of it."""
    steps = [_Inflating(zipped=name in _GZIP) for name in reversed(codings)]
    async with aclosing(chunks):
        async for chunk in chunks:
            for piece in _through([chunk], steps):
                yield piece
    for step in steps:
        step.end()


def _through(pieces: Iterable[bytes], steps: Sequence["_Inflating"]) -> Iterable[bytes]:
    for step in steps:
        pieces = step.all(pieces)
    return pieces


class _Inflating:
    """Takes one coding off, in pieces of 64 KiB at most, so that a small body cannot become a large one at once."""

    def __init__(self, *, zipped: bool) -> None:
        self._zipped = zipped
        self._ended = False
        self._open: zlib._Decompress | None = None

    def all(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """What these pieces hold."""
        for piece in pieces:
            yield from self._decoded(piece)

    def end(self) -> None:
        """Broken where more would have to come; a body of nothing at all is one."""
        if self._open is not None:
            raise Broken("its encoding ends before its end")

    def _decoded(self, data: bytes) -> Iterator[bytes]:
        more = bool(data)
        while more:
            inflate = self._open = self._open or self._begun(data)
            try:
                piece = inflate.decompress(data, _PIECE)
            except zlib.error as problem:
                raise Broken("it is not encoded as it says") from problem
            if piece:
                yield piece
            if inflate.eof:
                self._open, self._ended = None, True
                data = inflate.unused_data
                more = bool(data)
            else:
                data = inflate.unconsumed_tail
                more = bool(data) or len(piece) == _PIECE  # a full piece may leave some behind

    def _begun(self, data: bytes) -> "zlib._Decompress":
        """gzip may hold several members, one after the other; deflate comes with and without the head of zlib."""
        if self._zipped:
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        if self._ended:
            raise Broken("something follows its end")
        headed = data[0] & 0x0F == zlib.DEFLATED
        return zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
