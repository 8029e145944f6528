"""What a handler or a backend function is told about the call it serves (SPEC 6.10, 10.1)."""

import asyncio
import math
from dataclasses import dataclass, field
from typing import Final, Protocol

from remit._base.clock import Clock
from remit._model.consumer import Consumer, Principal
from remit._model.descriptor import Descriptor
from remit._model.progress import Reporter
from remit._model.trace import Trace

DEADLINE: Final = "the deadline of the call has passed"
"""The message with which code is cancelled whose call ran out of its time; who leaves or cancels gives none."""


class CancelSignal(Protocol):
    """Set when the call should stop: deadline, cancel or unmount."""

    def is_set(self) -> bool:
        """True once the call should stop."""
        ...

    async def wait(self) -> bool:
        """Return when the call should stop."""
        ...


class LazySignal:
    """A cancel signal that makes its event only when somebody waits for it."""

    __slots__ = ("_event", "_set")

    def __init__(self) -> None:
        self._event: asyncio.Event | None = None
        self._set = False

    def is_set(self) -> bool:
        """True once `set` was called."""
        return self._set

    def set(self) -> None:
        """Tell everybody who waits; idempotent."""
        self._set = True
        if self._event is not None:
            self._event.set()

    async def wait(self) -> bool:
        """Return True when `set` was called."""
        if not self._set:
            if self._event is None:
                self._event = asyncio.Event()
            await self._event.wait()
        return True


class ReadContext:
    """Who looks at what: what a policy and `@x.records` are told. Read-only by agreement (SPEC 5.2, 11.6).

    `principal` is None when nobody is signed in. `host` is the application's own value. `capability` and `instance` are
    None when a made-up id was asked for. `door` is the kind of the consumer. There is no input here, by type.
    """

    __slots__ = ("capability", "clock", "consumer", "door", "host", "instance", "principal")

    def __init__(  # noqa: PLR0913 - one keyword a fact; made on every call, so no dataclass with slow frozen fields
        self,
        *,
        principal: Principal | None,
        consumer: Consumer,
        host: object,
        clock: Clock,
        capability: Descriptor | None,
        instance: str | None,
        door: str,
    ) -> None:
        self.principal = principal
        self.consumer = consumer
        self.host = host
        self.clock = clock
        self.capability = capability
        self.instance = instance
        self.door = door


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The call a handler or function serves; recognised by annotation, never by name.

    `evidence` is the id of the request or standing approval that this run uses up, or None. `idempotency_key` is for
    backends: it is equal for repeats of one invocation and tells nothing of the agent's own id (SPEC 10.4). `trace` is
    the span the call was made in; unless it is `linked`, work for this call belongs below it (SPEC 6.14). `reporter` is
    where `progress` goes, None when nobody listens.
    """

    capability: str
    registration: str
    invocation: str
    consumer: Consumer
    principal: Principal
    host: object
    cancelled: CancelSignal
    evidence: str | None
    idempotency_key: str
    trace: Trace | None = None
    reporter: Reporter | None = field(default=None, repr=False, compare=False)

    def progress(self, done: float, total: float | None = None, text: str | None = None) -> None:
        """Say how far this call has come, to whoever made it and asked for that; else nothing happens (SPEC 6.10).

        Call it as often as is convenient: at most ten a second are passed on, and the first that says that all is done.
        It never waits, and what a listener raises does not come back here. `done` and `total` are finite numbers that
        are not negative; anything else is a `ValueError`.
        """
        for number in (done, 0 if total is None else total):
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
                raise ValueError("progress(done, total): finite numbers that are not negative")
        if self.reporter is not None:
            self.reporter(done, total, text)
