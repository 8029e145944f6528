"""The way to one backend that all operations of a catalogue share (SPEC 10.4)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from remit._base.clock import Clock, SystemClock
from remit._model.context import DEADLINE, Context
from remit.errors import DefinitionError
from remit.procedures.errors import BackendError, NotSent
from remit.procedures.http.address import Address, address_of
from remit.procedures.http.answer import ErrorMap
from remit.procedures.http.circuit import Circuit
from remit.procedures.http.credentials import Credentials
from remit.procedures.http.in_process import App
from remit.procedures.http.sending import Headers, Opened, Outgoing, Received, Sender
from remit.procedures.listing import wrong

BaseURL: TypeAlias = str | Callable[[], str]

_IN_PROCESS: Final = "http://localhost"
_UNAVAILABLE: Final = 503
_OUT_OF_ORDER: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """Where the calls of a catalogue go, with what, and whether they may at present.

    `fixed` is the configured address, None when a function is asked for every call.
    """

    sender: Sender
    circuit: Circuit
    clock: Clock
    fixed: Address | None
    address: Callable[[], Address]
    credentials: Credentials | None
    idempotency_header: bytes | None
    errors: ErrorMap | None

    @property
    def allowed(self) -> frozenset[str]:
        """The lower-cased headers that carry credentials."""
        return frozenset() if self.credentials is None else self.credentials.names

    @property
    def filled(self) -> frozenset[str]:
        """The lower-cased headers that no agent fills."""
        header = self.idempotency_header
        return self.allowed if header is None else self.allowed | {header.decode()}

    async def headers(self, context: Context, *, accept: bytes, reads_only: bool) -> Headers:
        """The headers of one call: the session's credentials, the invocation's key unless it only reads, its trace."""
        headers: Headers = [(b"accept", accept)]
        if self.credentials is not None:
            headers += await self.credentials.headers(context)
        if self.idempotency_header is not None and not reads_only:
            headers.append((self.idempotency_header, context.idempotency_key.encode()))
        if context.trace is not None and not context.trace.linked:
            headers.append((b"traceparent", context.trace.traceparent.encode()))
        return headers

    async def send(self, address: Address, outgoing: Outgoing, headers: Headers, *, follow: bool) -> Received:
        """Send one request, unless the circuit is open, and tell the circuit what became of it."""
        self._admit(address)
        try:
            received = await self.sender.send(address.origin, outgoing, headers, follow=follow)
        except BackendError:
            self.circuit.failed()
            raise
        except BaseException as problem:
            self._without_answer(problem)
            raise
        self.circuit.failed() if received.status in _OUT_OF_ORDER else self.circuit.answered()
        return received

    @asynccontextmanager
    async def opened(self, address: Address, outgoing: Outgoing, headers: Headers) -> AsyncIterator[Opened]:
        """The same for an answer that is read as it comes: the circuit hears of its head."""
        self._admit(address)
        begun = False
        try:
            async with self.sender.opened(address.origin, outgoing, headers) as answer:
                begun = True
                self.circuit.failed() if answer.status in _OUT_OF_ORDER else self.circuit.answered()
                yield answer
        except BackendError:
            if not begun:
                self.circuit.failed()
            raise
        except BaseException as problem:
            if not begun:
                self._without_answer(problem)
            raise

    def _without_answer(self, problem: BaseException) -> None:
        """A backend that let a call run out of its time has failed; of one that was left nothing is known."""
        if isinstance(problem, asyncio.CancelledError) and DEADLINE in problem.args:
            self.circuit.failed()
        else:
            self.circuit.left()

    def _admit(self, address: Address) -> None:
        wait_s = self.circuit.admit()
        if wait_s is not None:
            raise NotSent(_UNAVAILABLE, f"{address.origin} did not answer lately", retry_after=wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the author of a catalogue says of the way; `subject` and `place` are for errors."""

    subject: str
    place: str
    base_url: BaseURL | None
    app: App | None
    credentials: Credentials | None
    errors: ErrorMap | None
    idempotency_header: str | None
    timeout_s: float
    circuit_failures: int
    circuit_pause_s: float
    clock: Clock | None


def way_of(said: Said) -> Way:
    """Make the way; DefinitionError for a base URL that is none, or where there is neither one nor an application."""
    base_url = said.base_url
    if base_url is None:
        if said.app is None:
            do = 'say where requests go: base_url="https://…"'
            raise wrong(said.subject, "has no base_url", said.place, do)
        base_url = _IN_PROCESS
    clock = SystemClock() if said.clock is None else said.clock
    fixed = None if callable(base_url) else _address(base_url, said.subject, said.place)
    header = said.idempotency_header
    return Way(
        sender=Sender(said.app, clock, timeout_s=said.timeout_s),
        circuit=Circuit(clock, failures=said.circuit_failures, pause_s=said.circuit_pause_s),
        clock=clock,
        fixed=fixed,
        address=_Asked(base_url, said.subject, said.place) if callable(base_url) else _Fixed(fixed),
        credentials=said.credentials,
        idempotency_header=None if header is None else header.lower().encode(),
        errors=said.errors,
    )


class _Fixed:
    """The one address that was configured."""

    __slots__ = ("_address",)

    def __init__(self, address: Address | None) -> None:
        assert address is not None
        self._address = address

    def __call__(self) -> Address:
        return self._address


class _Asked:
    """The address that a function gives, read anew only when it gives another."""

    __slots__ = ("_address", "_ask", "_place", "_subject", "_url")

    def __init__(self, ask: Callable[[], str], subject: str, place: str) -> None:
        self._ask = ask
        self._subject = subject
        self._place = place
        self._url: str | None = None
        self._address: Address | None = None

    def __call__(self) -> Address:
        url = self._ask()
        if self._address is None or url != self._url:
            self._url, self._address = url, _address(url, self._subject, self._place)
        return self._address


def _address(base_url: str, subject: str, place: str) -> Address:
    try:
        return address_of(base_url)
    except ValueError as problem:
        raise _no_address(subject, place, problem) from problem


def _no_address(subject: str, place: str, problem: ValueError) -> DefinitionError:
    return wrong(subject, f"base_url: {problem}", place, "write base_url='https://fleet.example/api'")
