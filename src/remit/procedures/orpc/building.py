"""From contract, document and what is opted in to procedures, each listed or refused with its reason (SPEC 10.7)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from remit._base.boundary import Json
from remit._model.effects import DEFAULTS
from remit._model.ids import check_domain_id
from remit._schema.subset import to_subset
from remit.errors import DefinitionError
from remit.procedures.http.way import Way
from remit.procedures.listing import checked_confirmation, checked_effect, checked_tags, wrong
from remit.procedures.openapi.building import description_of, operations_of
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.request import operation_at
from remit.procedures.openapi.schemas import Converter
from remit.procedures.openapi.servers import server_path
from remit.procedures.orpc.batches import Batches
from remit.procedures.orpc.contract import Dialect, Form, Route, found
from remit.procedures.orpc.errors import Errors
from remit.procedures.orpc.inputs import Asked, Inputs, Wire, rest_wire, rpc_wire
from remit.procedures.orpc.natives import with_maps_as_entries
from remit.procedures.orpc.operation import ORPCOperation, Procedure
from remit.procedures.orpc.streams import Stream

_STREAM: Final = "text/event-stream"
_ENDS: Final = ("done", "close")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Build:
    """What one build needs: both sources, the wire that is spoken, the place errors name, the way."""

    place: str
    routes: Mapping[str, Route]
    document: Document
    sent: Document
    by_id: Mapping[str, str]
    form: Form
    dialect: Dialect
    way: Way
    batches: Batches | None


def build_of(  # noqa: PLR0913 - what a catalogue was told
    *,
    place: str,
    routes: Mapping[str, Route],
    document: Document,
    form: Form,
    dialect: Dialect,
    way: Way,
    batch: int | None,
) -> Build:
    """Index the document once for all procedures."""
    batches = None if batch is None else Batches(way, at_most=batch, dialect=dialect)
    by_id: dict[str, str] = {}
    for request, node in operations_of(document):
        by_id.setdefault(str(node.get("operationId")), request)
    sent = replace(document, root=cast(Node, with_maps_as_entries(document.root)))
    return Build(
        place=place,
        routes=routes,
        document=document,
        sent=sent,
        by_id=by_id,
        form=form,
        dialect=dialect,
        way=way,
        batches=batches,
    )


def build(name: str, said: Procedure, with_: Build) -> ORPCOperation:
    """Build one procedure; OperationRefused when it cannot be sent, DefinitionError when the opting in is wrong."""
    subject = check_domain_id(f"domain:{name}", place=with_.place)
    if not isinstance(said, Procedure):
        raise wrong(subject, "is opted in by something else than a Procedure", with_.place, "write Procedure(…)")
    effect = checked_effect(subject, with_.place, said.effect)
    confirmation = checked_confirmation(subject, with_.place, effect, said.confirmation)
    tags = checked_tags(subject, with_.place, said.tags)
    _check_stream(subject, said, with_.place)
    route = found(with_.routes, said.path)
    method, path = request_of(route, with_)
    operation, item = operation_at(with_.document, method, path)
    wire, inputs = _wire(route, method, path, subject, with_)
    wrapped = with_.form == "rpc"
    answered = _Answered(with_.document, subject, route.detailed_output and wrapped)
    output, stream = answered.read(operation, said, with_, reads_only=effect.reads_only)
    return ORPCOperation(
        name=name,
        effect=effect,
        confirmation=confirmation,
        idempotent=DEFAULTS[effect].idempotent if said.idempotent is None else bool(said.idempotent),
        description=description_of(subject, with_.place, said.description, operation),
        tags=tags,
        procedure=route.name,
        request=f"{route.name} rpc" if wrapped else f"{route.name} openapi {method} {path}",
        wire=wire,
        input_schema=inputs.schema,
        output_schema=output,
        errors=Errors(
            document=with_.document,
            operation=operation,
            names=inputs.names,
            detailed=route.detailed,
            wrapped=wrapped,
            subject=subject,
        ),
        stream=stream,
        batches=with_.batches if effect.reads_only and stream is None else None,
        prefix="" if wrapped else _prefix(with_, operation, item),
        way=with_.way,
    )


def request_of(route: Route, with_: Build) -> tuple[str, str]:
    """Method and path of a procedure in the document: by its operationId, else by its route."""
    request = with_.by_id.get(route.operation_id or route.name)
    if request is None:
        default = "/" + "/".join(route.steps)
        path = (route.path or default).replace("{+", "{")
        request = f"{(route.method or 'POST').upper()} {path}"
    method, _, path = request.partition(" ")
    return method, path


def _wire(route: Route, method: str, path: str, subject: str, with_: Build) -> tuple[Wire, Inputs]:
    asked = Asked(route=route, method=method, path=path, filled=with_.way.filled, subject=subject)
    if with_.form == "rpc":
        rpc = rpc_wire(with_.sent, asked, with_.dialect)
        return rpc, rpc.inputs
    rest = rest_wire(with_.sent, asked)
    return rest, rest.inputs


def _prefix(with_: Build, operation: Node, item: Node) -> str:
    servers = operation.get("servers") or item.get("servers") or with_.document.root.get("servers")
    return server_path(servers, with_.way.fixed)


def _check_stream(subject: str, said: Procedure, place: str) -> None:
    if said.stream not in ("list", "progress"):
        raise wrong(subject, f"stream={said.stream!r} is no way to read one", place, "use 'list' or 'progress'")
    if isinstance(said.max_events, bool) or not isinstance(said.max_events, int) or said.max_events < 1:
        raise wrong(subject, "max_events= is a number of at least 1", place)
    if said.progress is not None and said.stream != "progress":
        raise wrong(subject, "progress= stands with stream='progress'", place, "write stream='progress'")


class _Answered:
    """Reads what a procedure answers with."""

    def __init__(self, document: Document, subject: str, detailed: bool) -> None:
        self._document = document
        self._subject = subject
        self._detailed = detailed
        self._converter = Converter(document, "answered")

    def read(
        self, operation: Node, said: Procedure, with_: Build, *, reads_only: bool
    ) -> tuple[Mapping[str, Json] | None, Stream | None]:
        contents = self._contents(operation)
        streamed = [content[_STREAM] for content in contents if _STREAM in content]
        if streamed:
            messages, result, must = self._events(streamed[0])
            stream = Stream(
                mode=said.stream,
                read=said.progress,
                at_most=said.max_events,
                # Only 1.x in the OpenAPI form ends a stream of no result without a word.
                must_end=must or with_.form == "rpc" or with_.dialect != "1.x",
                wrapped=with_.form == "rpc",
                reads_only=reads_only,
            )
            schema = result if said.stream == "progress" else _listed(messages, result, said.max_events)
            return self._whole(schema, said), stream
        if said.stream == "progress":
            raise OperationRefused("it answers with no stream, so it has no progress")
        for content in contents:
            if set(content) - {"application/json"}:
                found = ", ".join(sorted(content))
                raise OperationRefused(f"its answer is {found[:120]}: files do not travel through agents")
        return self._plain(contents, said), None

    def _contents(self, operation: Node) -> list[Node]:
        responses = operation.get("responses")
        found: list[Node] = []
        for status, node in (responses if isinstance(responses, dict) else {}).items():
            if status.startswith(("2", "3")):
                content = self._document.followed(node).get("content")
                found.append(content if isinstance(content, dict) else {})
        return found

    def _plain(self, contents: list[Node], said: Procedure) -> Mapping[str, Json] | None:
        if self._detailed or len(contents) != 1 or not contents[0]:
            return None  # on the RPC wire a detailed output is one object, which the document takes apart
        raw = self._document.followed(contents[0]["application/json"]).get("schema", True)
        return self._whole(None if _anything(raw) else self._converter.convert(raw), said)

    def _events(self, media: Json) -> tuple[Node | None, Node | None, bool]:
        """The schemas of an event and of the result, None where nothing is said, and whether a result must come."""
        schema = self._document.followed(self._document.followed(media).get("schema", {}))
        found: dict[str, tuple[Node | None, bool]] = {}
        branches = schema.get("oneOf", schema.get("anyOf", []))
        for branch in branches if isinstance(branches, list) else []:
            node = self._document.followed(branch)
            properties, required = node.get("properties"), node.get("required")
            if not isinstance(properties, dict) or not isinstance(properties.get("event"), dict):
                continue
            event = cast(Node, properties["event"]).get("const")
            data = properties.get("data", True)
            must = isinstance(required, list) and "data" in required
            found[str(event)] = (None if _anything(data) else self._converter.convert(data), must)
        result, must = next((found[end] for end in _ENDS if end in found), (None, False))
        return found.get("message", (None, False))[0], result, must

    def _whole(self, schema: Node | None, said: Procedure) -> Mapping[str, Json] | None:
        if schema is None or not said.check_output:
            return None
        try:
            return to_subset(self._converter.whole(schema), subject=self._subject, closed=False)
        except DefinitionError as problem:
            reason = f"its answer: {problem.rule}; check_output=False takes it without a schema"
            raise OperationRefused(reason) from None


def _listed(messages: Node | None, result: Node | None, at_most: int) -> Node:
    events: Node = {"type": "array", "maxItems": at_most}
    properties: Node = {"events": events, "complete": {"type": "boolean"}}
    if messages is not None:
        events["items"] = messages
    properties["result"] = {} if result is None else result
    return {"type": "object", "properties": properties, "required": ["events", "complete"]}


def _anything(schema: Json) -> bool:
    """True where the document says nothing: `{"anyOf": [{}, {"not": {}}]}` is what 1.x writes then."""
    if not isinstance(schema, dict):
        return True
    branches = schema.get("anyOf", [])
    return not schema or (isinstance(branches, list) and {} in branches)
