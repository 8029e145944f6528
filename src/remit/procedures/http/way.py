"""The way to one backend that all operations of a catalogue share (SPEC 10.4)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from remit._base.clock import Clock, SystemClock
from remit._model.context import DEADLINE, Context
from remit.procedures.errors import BackendError, NotSent
from remit.procedures.http.address import Address, address_of
from remit.procedures.http.answer import ErrorMap
from remit.procedures.http.checked import Checked
from remit.procedures.http.circuit import Circuits, Trial
from remit.procedures.http.credentials import Credentials
from remit.procedures.http.in_process import App
from remit.procedures.http.sending import Headers, Opened, Outgoing, Received, Sender
from remit.procedures.listing import wrong

BaseURL: TypeAlias = str | Callable[[], str]

_IN_PROCESS: Final = "http://localhost"
_FAILED: Final = 500
_OUT_OF_ORDER: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """Where the calls of a catalogue go, with what, and whether they may at present.

    `fixed` is the configured address, None when a function is asked for every call.
    """

    sender: Sender
    circuit: Circuits
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

    def again(self, *, reads_only: bool, idempotent: bool) -> bool:
        """Whether a request may be sent twice: it only reads, or is idempotent and says which invocation it is of."""
        return reads_only or (idempotent and self.idempotency_header is not None)

    async def send(
        self, address: Address, outgoing: Outgoing, headers: Headers, *, follow: bool, again: bool = False
    ) -> Received:
        """Send one request, unless the circuit of its origin is open, and tell the circuit what became of it."""
        trial = self.circuit.trial(address.origin)
        try:
            received = await self.sender.send(
                address.origin, outgoing, headers, follow=follow, begin=trial.begin, again=again
            )
        except BaseException as problem:
            _without_answer(trial, problem)
            raise
        trial.failed() if received.status in _OUT_OF_ORDER else trial.answered()
        return received

    @asynccontextmanager
    async def opened(
        self, address: Address, outgoing: Outgoing, headers: Headers, *, again: bool = False
    ) -> AsyncIterator[Opened]:
        """The same for an answer that is read as it comes: the circuit hears of its head."""
        trial = self.circuit.trial(address.origin)
        try:
            async with self.sender.opened(address.origin, outgoing, headers, begin=trial.begin, again=again) as answer:
                trial.failed() if answer.status in _OUT_OF_ORDER else trial.answered()
                yield answer
        except BaseException as problem:
            _without_answer(trial, problem)
            raise


def _without_answer(trial: Trial, problem: BaseException) -> None:
    """A backend that let a call run out of its time has failed; of one that was left nothing is known."""
    if isinstance(problem, BackendError) or (isinstance(problem, asyncio.CancelledError) and DEADLINE in problem.args):
        trial.failed()
    else:
        trial.left()


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
    """Make the way; DefinitionError for an argument that cannot be meant, or where nothing says where requests go."""
    checked = Checked(said.subject, said.place)
    base_url = said.base_url
    if base_url is None:
        if said.app is None:
            do = 'say where requests go: base_url="https://…"'
            raise wrong(said.subject, "has no base_url", said.place, do)
        base_url = _IN_PROCESS
    checked.function("app", said.app)
    checked.function("errors", said.errors)
    clock = SystemClock() if said.clock is None else said.clock
    fixed = None if callable(base_url) else checked.address(base_url)
    credentials = checked.credentials(said.credentials)
    failures = checked.count("circuit_failures", said.circuit_failures)
    pause_s = checked.seconds("circuit_pause_s", said.circuit_pause_s)
    return Way(
        sender=Sender(
            said.app,
            clock,
            timeout_s=checked.seconds("timeout_s", said.timeout_s),
            credentials=frozenset() if credentials is None else credentials.names,
        ),
        circuit=Circuits(clock, failures=failures, pause_s=pause_s),
        clock=clock,
        fixed=fixed,
        address=_Asked(base_url) if callable(base_url) else _Fixed(fixed),
        credentials=credentials,
        idempotency_header=checked.idempotency_header(said.idempotency_header, credentials),
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
    """The address that a function gives, read anew only when it gives another.

    NotSent when it gives none: nobody knows where the call belongs, so it goes nowhere.
    """

    __slots__ = ("_address", "_ask", "_url")

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._url: str | None = None
        self._address: Address | None = None

    def __call__(self) -> Address:
        try:
            url = self._ask()
        except BackendError as problem:
            raise NotSent(problem.status, str(problem), retry_after=problem.retry_after) from problem
        except Exception as problem:
            raise NotSent(_FAILED, f"the function of base_url failed with {type(problem).__name__}") from problem
        if self._address is None or url != self._url:
            try:
                self._url, self._address = url, address_of(url)
            except ValueError as problem:
                raise NotSent(_FAILED, f"the function of base_url: {problem}") from problem
        return self._address
