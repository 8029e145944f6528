"""One consumer at the door of the page protocol: what it reaches, and its streams, as long as its token lives."""

from collections.abc import Callable
from typing import Final

from remit._base.clock import Clock
from remit._model.consumer import Consumer
from remit._model.descriptor import Descriptor
from remit._session.identity import Identity
from remit._session.reach import Reach
from remit._session.views import Views
from remit._toolset.definitions import Definitions

STREAMS: Final = 16
"""Streams and sockets of one consumer at a time (SPEC 17)."""


class Caller:
    """The state of one consumer; it holds no permission: those come with each request."""

    def __init__(self, identity: Identity, views: Views, clock: Clock) -> None:
        self._consumer = identity.consumer
        self.reach = Reach(identity, views)
        self._definitions = Definitions(identity.consumer, clock)
        self._streams: dict[object, Callable[[], None]] = {}

    @property
    def consumer(self) -> Consumer:
        """The consumer its token stands for."""
        return self._consumer

    def asks(self, descriptor: Descriptor) -> bool:
        """Whether this consumer needs a person for it, whatever the contract declares (SPEC 5.1)."""
        return self._definitions.asks(descriptor)

    @property
    def full(self) -> bool:
        """True while it has as many streams and sockets as it may."""
        return len(self._streams) >= STREAMS

    def enter(self, stream: object, end: Callable[[], None]) -> None:
        """Keep a stream or a socket, which `end` ends with the token."""
        self._streams[stream] = end

    def leave(self, stream: object) -> None:
        """The stream has ended."""
        self._streams.pop(stream, None)

    def close(self) -> None:
        """End every stream."""
        for end in tuple(self._streams.values()):
            end()
