"""One opted-in operation: what its document says of it, and how a call of it runs (SPEC 10.2, 10.4)."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, cast

from remit._base.boundary import Json, NotJson
from remit._base.clock import Clock
from remit._model.context import Context
from remit._model.effects import Confirmation, Effect
from remit._schema.validate import Validator
from remit.errors import Issue
from remit.procedures.catalogue import operation_hash
from remit.procedures.errors import BackendError, NotSent
from remit.procedures.listing import ConfirmationName, ServerEffect
from remit.procedures.openapi.address import Address
from remit.procedures.openapi.answers import Answer, Answers, ErrorMap
from remit.procedures.openapi.circuit import Circuit
from remit.procedures.openapi.credentials import Credentials
from remit.procedures.openapi.refusal import ValueRefused
from remit.procedures.openapi.request import Outgoing, RequestForm
from remit.procedures.openapi.sending import Headers, Received, Sender

_UNPROCESSABLE: Final = 422
_UNAVAILABLE: Final = 503
_SUCCESS: Final = range(200, 300)
_OUT_OF_ORDER: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Operation:
    """Opts one operation of a document in: `Operation("POST /devices/disable", effect="destructive")`.

    `request` is the method and the path as the document writes it, or an `operationId`. The effect is always said,
    for a GET too: what a method promises, nobody holds it to. `confirmation` raises what the effect asks for;
    `idempotent` is as the effect unless said. `description` is what an agent reads instead of the document's own.
    `check_output=False` takes answers without a schema, where the document's cannot be said (SPEC 10.2, 3.4).
    """

    request: str
    effect: ServerEffect = field(kw_only=True)
    confirmation: ConfirmationName | None = field(default=None, kw_only=True)
    idempotent: bool | None = field(default=None, kw_only=True)
    description: str | None = field(default=None, kw_only=True)
    tags: Iterable[str] = field(default=(), kw_only=True)
    check_output: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """The way to the backend that all operations of a catalogue share."""

    sender: Sender
    circuit: Circuit
    clock: Clock
    address: Callable[[], Address]
    credentials: Credentials | None
    idempotency_header: bytes | None
    errors: ErrorMap | None


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenAPIOperation:
    """An operation of a document as remit lists it; it fits `BackendOperation`."""

    name: str
    effect: Effect
    confirmation: Confirmation | None
    idempotent: bool
    description: str
    tags: tuple[str, ...]
    request: str
    form: RequestForm
    answers: Answers
    prefix: str
    way: Way

    @property
    def input_schema(self) -> Mapping[str, Json]:
        """The full input: parameters and body, bound fields included."""
        return self.form.input_schema

    @property
    def output_schema(self) -> Mapping[str, Json] | None:
        """What a success holds, None when the document does not say."""
        return self.answers.output

    @property
    def hash(self) -> str:
        """The hash of effect, confirmation, idempotence and schemas."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        return operation_hash(self.effect, self.confirmation, self.idempotent, self.input_schema, self.output_schema)

    @cached_property
    def _judge(self) -> Validator:
        return Validator(self.form.input_schema)

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Send exactly this input, with the credentials of this session, and return the answer's JSON.

        NotSent when nothing was sent: a value that cannot be, a credential that is missing, no connection, or an open
        circuit. BackendError for every other answer that is no success (SPEC 10.5).
        """
        outgoing, address = self._outgoing(input)
        headers = await self._headers(context)
        received = await self._through(address, outgoing, headers)
        if received.status in _SUCCESS:
            return self.answers.value(received)
        if self.way.errors is not None and (said := self.way.errors(_told(received))) is not None:
            raise said
        raise self.answers.error(received, self.way.clock.now())

    def _outgoing(self, input: Mapping[str, Json]) -> tuple[Outgoing, Address]:
        if not self._judge.is_valid(cast(Json, input)):
            raise NotSent(_UNPROCESSABLE, issues=self._judge.issues(cast(Json, input)))
        address = self.way.address()
        try:
            return self.form.write(address.path + self.prefix, input), address
        except ValueRefused as refused:
            issue = Issue(path=refused.field, message=refused.rule)
            raise NotSent(_UNPROCESSABLE, str(refused), issues=[issue]) from None

    async def _headers(self, context: Context) -> Headers:
        headers: Headers = [(b"accept", b"application/json, */*;q=0.5")]
        if self.way.credentials is not None:
            headers += await self.way.credentials.headers(context)
        if self.way.idempotency_header is not None and not self.effect.reads_only:
            headers.append((self.way.idempotency_header, context.idempotency_key.encode()))
        return headers

    async def _through(self, address: Address, outgoing: Outgoing, headers: Headers) -> Received:
        circuit = self.way.circuit
        wait_s = circuit.admit()
        if wait_s is not None:
            raise NotSent(_UNAVAILABLE, f"{address.origin} did not answer lately", retry_after=wait_s)
        follow = self.effect.reads_only and self.form.method == "GET"
        try:
            received = await self.way.sender.send(address.origin, outgoing, headers, follow=follow)
        except BackendError:
            circuit.failed()
            raise
        except (asyncio.CancelledError, NotJson):
            circuit.left()
            raise
        circuit.failed() if received.status in _OUT_OF_ORDER else circuit.answered()
        return received


def _told(received: Received) -> Answer:
    try:
        body = Answers(output=None, errors={}, names={}).value(received)
    except NotJson:
        body = None
    return Answer(status=received.status, headers=dict(received.headers), body=body)
