"""What a handler or a backend function is told about the call it serves (SPEC 6.10, 10.1)."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from remit._model.consumer import Consumer, Principal


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The call a handler or function serves; recognised by annotation, never by name.

    `evidence` is the confirmation id whose approval this run spends, or None. `idempotency_key` is for backends: it is
    equal for repeats of one invocation and tells nothing of the agent's own id (SPEC 10.4).
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
