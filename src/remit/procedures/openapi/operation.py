"""One opted-in operation: what its document says of it, and how a call of it runs (SPEC 10.2, 10.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, cast

from remit._base.boundary import Json, NotJson
from remit._model.context import Context
from remit._model.effects import Confirmation, Effect
from remit._schema.validate import Validator
from remit.errors import Issue
from remit.procedures.catalogue import operation_hash
from remit.procedures.errors import NotSent
from remit.procedures.http.address import Address
from remit.procedures.http.answer import Answer
from remit.procedures.http.sending import Outgoing, Received
from remit.procedures.http.way import Way
from remit.procedures.listing import ConfirmationName, ServerEffect
from remit.procedures.openapi.answers import Answers
from remit.procedures.openapi.refusal import ValueRefused
from remit.procedures.openapi.request import RequestForm

_UNPROCESSABLE: Final = 422
_UNFIT: Final = "the input is not what the operation takes"
_ACCEPT: Final = b"application/json, */*;q=0.5"
_SUCCESS: Final = range(200, 300)


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
        """The hash of effect, confirmation, idempotence, schemas and request."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        return operation_hash(
            self.effect, self.confirmation, self.idempotent, self.input_schema, self.output_schema, self.request
        )

    @cached_property
    def _judge(self) -> Validator:
        return Validator(self.form.input_schema)

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Send exactly this input, with the credentials of this session, and return the answer's JSON.

        NotSent when nothing was sent: a value that cannot be, a credential that is missing, no connection, or an open
        circuit. BackendError for every other answer that is no success (SPEC 10.5).
        """
        outgoing, address = self._outgoing(input)
        reads_only = self.effect.reads_only
        headers = await self.way.headers(context, accept=_ACCEPT, reads_only=reads_only)
        follow = reads_only and self.form.method == "GET"
        again = self.way.again(reads_only=reads_only, idempotent=self.idempotent)
        received = await self.way.send(address, outgoing, headers, follow=follow, again=again)
        if received.status in _SUCCESS:
            return self.answers.value(received)
        if self.way.errors is not None and (said := self.way.errors(_told(received))) is not None:
            raise said
        raise self.answers.error(received, self.way.clock.now())

    def _outgoing(self, input: Mapping[str, Json]) -> tuple[Outgoing, Address]:
        if not self._judge.is_valid(cast(Json, input)):
            raise NotSent(_UNPROCESSABLE, _UNFIT, issues=self._judge.issues(cast(Json, input)))
        address = self.way.address()
        try:
            return self.form.write(address.path + self.prefix, input), address
        except ValueRefused as refused:
            issue = Issue(path=refused.field, message=refused.rule)
            raise NotSent(_UNPROCESSABLE, str(refused), issues=[issue]) from None


def _told(received: Received) -> Answer:
    try:
        body = Answers(output=None, errors={}, names={}).value(received)
    except NotJson:
        body = None
    return Answer(status=received.status, headers=dict(received.headers), body=body)
