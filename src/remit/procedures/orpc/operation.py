"""One opted-in procedure: what its document says of it, and how a call of it runs (SPEC 10.2, 10.7)."""

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
from remit.procedures.http.sending import Headers, Outgoing, Received, whole
from remit.procedures.http.way import Way
from remit.procedures.listing import ConfirmationName, ServerEffect
from remit.procedures.openapi.answers import parsed
from remit.procedures.openapi.refusal import ValueRefused
from remit.procedures.orpc.batches import Batches
from remit.procedures.orpc.errors import Errors
from remit.procedures.orpc.inputs import Wire
from remit.procedures.orpc.payload import value_of
from remit.procedures.orpc.streams import MAX_EVENTS, ReadProgress, Stream, StreamMode

_UNPROCESSABLE: Final = 422
_UNFIT: Final = "the input is not what the operation takes"
_ACCEPT: Final = b"application/json, text/event-stream;q=0.9"
_SUCCESS: Final = range(200, 300)


@dataclass(frozen=True, slots=True)
class Procedure:
    """Opts one procedure in: `Procedure("devices.disable", effect="destructive")`.

    `path` is the place in the router, joined by dots. The effect is always said. `confirmation` raises what the effect
    asks for; `idempotent` is as the effect unless said; `description` is what an agent reads instead of the document's
    own; `check_output=False` takes answers without a schema.

    A procedure that answers with a stream gives `{"events": […], "complete": …, "result": …}`: at most `max_events`,
    after which a read is left with `complete` false, and anything else ends with an unknown outcome. With
    `stream="progress"` the output is what the stream returns at its end, and `progress` reads
    `(done, total, text)` of each event for whoever asked for it (SPEC 10.7, 6.10).
    """

    path: str
    effect: ServerEffect = field(kw_only=True)
    confirmation: ConfirmationName | None = field(default=None, kw_only=True)
    idempotent: bool | None = field(default=None, kw_only=True)
    description: str | None = field(default=None, kw_only=True)
    tags: Iterable[str] = field(default=(), kw_only=True)
    check_output: bool = field(default=True, kw_only=True)
    stream: StreamMode = field(default="list", kw_only=True)
    progress: ReadProgress | None = field(default=None, kw_only=True)
    max_events: int = field(default=MAX_EVENTS, kw_only=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class ORPCOperation:
    """A procedure as remit lists it; it fits `BackendOperation`. `output` is None where the document does not say."""

    name: str
    effect: Effect
    confirmation: Confirmation | None
    idempotent: bool
    description: str
    tags: tuple[str, ...]
    procedure: str
    request: str
    wire: Wire
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None
    errors: Errors
    stream: Stream | None
    batches: Batches | None
    prefix: str
    way: Way

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
    def _again(self) -> bool:
        return self.way.again(reads_only=self.effect.reads_only, idempotent=self.idempotent)

    @cached_property
    def _judge(self) -> Validator:
        return Validator(self.input_schema)

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Send exactly this input, with the credentials of this session, and return the answer's JSON.

        NotSent when nothing was sent. BackendError for every answer that is no success, and for a stream that was cut
        short (SPEC 10.5, 10.7).
        """
        outgoing, address = self._outgoing(input)
        headers = await self.way.headers(context, accept=_ACCEPT, reads_only=self.effect.reads_only)
        if self.stream is not None:
            return await self._streamed(self.stream, address, outgoing, headers, context)
        if self.batches is not None:
            received = await self.batches.send(address, outgoing, headers)
        else:
            follow = self.effect.reads_only and outgoing.method == "GET"
            received = await self.way.send(address, outgoing, headers, follow=follow, again=self._again)
        if received.status not in _SUCCESS:
            self._refuse(received)
        return self._value(received)

    def _outgoing(self, input: Mapping[str, Json]) -> tuple[Outgoing, Address]:
        if not self._judge.is_valid(cast(Json, input)):
            raise NotSent(_UNPROCESSABLE, _UNFIT, issues=self._judge.issues(cast(Json, input)))
        address = self.way.address()
        try:
            return self.wire.write(address.path + self.prefix, input), address
        except ValueRefused as refused:
            issue = Issue(path=refused.field, message=refused.rule)
            raise NotSent(_UNPROCESSABLE, str(refused), issues=[issue]) from None

    async def _streamed(
        self, stream: Stream, address: Address, outgoing: Outgoing, headers: Headers, context: Context
    ) -> Json:
        async with self.way.opened(address, outgoing, headers, again=self._again) as answer:
            media = _media(answer.headers.get("content-type", ""))
            if answer.status in _SUCCESS and media == "text/event-stream":
                return await stream.take(answer.chunks, self.errors, context)
            received = Received(status=answer.status, headers=answer.headers, body=await whole(answer.chunks))
        if received.status not in _SUCCESS:
            self._refuse(received)
        raise NotJson(f"the answer is {media[:80] or 'nothing'}, and a stream was meant")

    def _refuse(self, received: Received) -> None:
        if self.way.errors is not None:
            said = self.way.errors(
                Answer(status=received.status, headers=dict(received.headers), body=self.errors.body(received))
            )
            if said is not None:
                raise said
        raise self.errors.of_answer(received, self.way.clock.now())

    def _value(self, received: Received) -> Json:
        media = _media(received.headers.get("content-type", ""))
        if not received.body:
            return None
        if media != "application/json":
            raise NotJson(f"the answer is {media[:80]}")
        return value_of(parsed(received.body), wrapped=self.errors.wrapped)


def _media(content_type: str) -> str:
    return content_type.split(";")[0].strip().lower()
