"""The input of a procedure: which fields an agent sees, and the bytes that one call sends (SPEC 10.7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, cast
from urllib.parse import quote

from remit._base.boundary import Json, canonical
from remit.procedures.http.sending import Outgoing
from remit.procedures.openapi.bodies import Body, fields_of, json_writer
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.fields import Slot, field_names
from remit.procedures.openapi.parameters import ignored, read_parameter
from remit.procedures.openapi.refusal import OperationRefused, ValueRefused
from remit.procedures.openapi.request import (
    RequestForm,
    input_of,
    operation_at,
    parameter_nodes,
    slots_of,
    template_of,
)
from remit.procedures.openapi.schemas import Converter
from remit.procedures.openapi.wire import encoded, text_of
from remit.procedures.orpc.contract import Dialect, Route
from remit.procedures.orpc.natives import Fields, Kinds, Payload, kinds_of

_JSON: Final = "application/json"
_BODY: Final[Slot] = ("body", "body")
_UNRESERVED: Final = "!'()*-._~"
_GROUPS: Final = {"path": "params", "query": "query", "header": "headers"}
_OTHER_STYLES: Final = frozenset({"spaceDelimited", "pipeDelimited"})

Given: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One parameter of the document: a part of the input, whatever its place on the wire."""

    name: str
    place: str
    required: bool
    schema: Node
    kinds: Kinds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inputs:
    """The input of one procedure, as its document says it."""

    fields: tuple[Field, ...]
    body: Body | None
    body_kinds: Kinds
    names: Mapping[Slot, str]
    schema: Mapping[str, Json]

    def parts(self, payload: Payload, input: Given, group: "_Group") -> Iterator[tuple[Slot, Json]]:
        """Every value that is there, in its JSON form, by the place where it belongs."""
        for field in self.fields:
            slot = (field.place, field.name)
            if (shown := self.names[slot]) in input:
                yield slot, payload.write(field.kinds, input[shown], group(*slot), (shown,))
        if self.body is None:
            return
        if self.body.fields is None:
            if (shown := self.names[_BODY]) in input:
                yield _BODY, payload.write(self.body_kinds, input[shown], group(*_BODY)[:-1], (shown,))
            return
        node = self.body_kinds.get("object")
        kinds = node.named if isinstance(node, Fields) else {}
        for name in self.body.fields:
            slot = ("body", name)
            if (shown := self.names[slot]) in input:
                yield slot, payload.write(kinds.get(name, {}), input[shown], group(*slot), (shown,))


class _Group(Protocol):
    def __call__(self, place: str, name: str) -> tuple[str, ...]:
        """Where a value stands in the payload."""
        ...


class Wire(Protocol):
    """How the calls of one procedure are written."""

    def write(self, base: str, input: Given) -> Outgoing:
        """Return the exact request of this input; ValueRefused for a value that cannot be sent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RPC:
    """The RPC wire: a POST to the path of the procedure, with `{"json": …, "meta": …}`.

    It is taken for every procedure; only GET would be refused.
    """

    path: str
    inputs: Inputs
    detailed: bool
    dialect: Dialect

    def write(self, base: str, input: Given) -> Outgoing:
        """Return the exact request of this input; ValueRefused for a value that cannot be sent."""
        payload = Payload(self.dialect)
        root = self._detailed(payload, input) if self.detailed else self._compact(payload, input)
        message: Node = {} if root is _UNDEFINED else {"json": root}
        if payload.meta:
            message["meta"] = payload.meta
        heads = ((b"content-type", _JSON.encode()),)
        return Outgoing(
            method="POST", target=(base + self.path).encode(), headers=heads, content=canonical(cast(Json, message))
        )

    def _compact(self, payload: Payload, input: Given) -> Json:
        root: Node = {}
        whole: Json = _UNDEFINED
        for (place, name), value in self.inputs.parts(payload, input, _flat):
            if (place, name) == _BODY and self._one_body:
                whole = value
            else:
                root[name] = value
        if whole is _UNDEFINED:
            return root if root or self._is_object else _UNDEFINED
        return _joined(root, whole, self.inputs.names[_BODY]) if self.inputs.fields else whole

    def _detailed(self, payload: Payload, input: Given) -> Json:
        root: Node = {_GROUPS[field.place]: {} for field in self.inputs.fields}
        if self.inputs.body is not None and self.inputs.body.fields is not None:
            root["body"] = {}
        for (place, name), value in self.inputs.parts(payload, input, _grouped):
            if (place, name) == _BODY and self._one_body:
                root["body"] = value
            else:
                cast(Node, root[_GROUPS.get(place, "body")])[name] = value
        return root

    @property
    def _one_body(self) -> bool:
        return self.inputs.body is not None and self.inputs.body.fields is None

    @property
    def _is_object(self) -> bool:
        """True where an input without a field is an object without one, not nothing."""
        return bool(self.inputs.fields) or (self.inputs.body is not None and self.inputs.body.fields is not None)


_UNDEFINED: Final[Json] = ["undefined"]
"""What stands for no input at all; told apart by identity."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class REST:
    """The OpenAPI form: plain HTTP as the document says, queries in bracket notation."""

    form: RequestForm
    inputs: Inputs
    brackets: tuple[Field, ...]

    def write(self, base: str, input: Given) -> Outgoing:
        """Return the exact request of this input; ValueRefused for a value that cannot be sent."""
        written = dict(input)
        for slot, value in self.inputs.parts(Payload("1.x"), input, _flat):
            written[self.inputs.names[slot]] = value
        outgoing = self.form.write(base, written)
        pairs: list[str] = []
        for field in self.brackets:
            shown = self.inputs.names[("query", field.name)]
            if shown in written:
                pairs += _bracketed(encoded(field.name), written[shown], shown)
        if not pairs:
            return outgoing
        mark = b"&" if b"?" in outgoing.target else b"?"
        return replace(outgoing, target=outgoing.target + mark + "&".join(pairs).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a procedure's input is read from."""

    route: Route
    method: str
    path: str
    filled: frozenset[str]
    subject: str


def rpc_wire(document: Document, asked: Asked, dialect: Dialect) -> RPC:
    """Read how a procedure is sent on the RPC wire; OperationRefused says why it is not."""
    _check_headers(document, asked)
    inputs = _inputs(document, asked)
    path = "".join("/" + quote(step, safe=_UNRESERVED) for step in asked.route.steps)
    if not path or any(step in ("", ".", "..") for step in asked.route.steps):
        raise OperationRefused("its path in the router cannot be written in an address")
    return RPC(path=path, inputs=inputs, detailed=asked.route.detailed, dialect=dialect)


def rest_wire(document: Document, asked: Asked) -> REST:
    """Read how a procedure is sent in the OpenAPI form; OperationRefused says why it is not."""
    inputs = _inputs(document, asked)
    if inputs.body is not None and asked.method == "GET":
        raise OperationRefused("a GET with a body")
    converter = Converter(document, "sent")
    operation, shared = operation_at(document, asked.method, asked.path)
    nodes = parameter_nodes(document, (shared, operation), asked.filled)
    plain = [read_parameter(node, document, converter) for node in nodes if not _in_brackets(node)]
    bracketed = {str(node["name"]) for node in nodes if _in_brackets(node)}
    for name in bracketed:
        if set(name) & set("[]\\"):
            raise OperationRefused(f"the query parameter {name[:64]!r} has a name that bracket notation would split")
    form = RequestForm(
        method=asked.method,
        template=template_of(asked.path, {each.name: each for each in plain if each.place == "path"}),
        query=tuple(each for each in plain if each.place == "query"),
        headers=tuple(each for each in plain if each.place == "header"),
        cookies=(),
        body=inputs.body,
        names=inputs.names,
        input_schema=inputs.schema,
    )
    fields = tuple(field for field in inputs.fields if field.place == "query" and field.name in bracketed)
    return REST(form=form, inputs=inputs, brackets=fields)


def _in_brackets(node: Node) -> bool:
    """True for a parameter of a query that oRPC itself splits up; other styles are as OpenAPI says."""
    other = node.get("style") in _OTHER_STYLES or node.get("explode") is False or "content" in node
    return node.get("in") == "query" and not other


def _inputs(document: Document, asked: Asked) -> Inputs:
    operation, shared = operation_at(document, asked.method, asked.path)
    converter = Converter(document, "sent")
    nodes = parameter_nodes(document, (shared, operation), asked.filled)
    fields = tuple(_field(node, document, converter) for node in nodes)
    body, kinds = _body(document, operation, converter, beside=bool(fields) and not asked.route.detailed)
    repeated = {field.name for field in fields} & set(_own(body, converter))
    if repeated and not asked.route.detailed:
        raise OperationRefused(f"its body repeats the parameter {min(repeated)[:64]!r}")
    names = field_names(slots_of(fields, body))
    schema = input_of(fields, body, names, converter, asked.subject)
    return Inputs(fields=fields, body=body, body_kinds=kinds, names=names, schema=schema)


def _field(node: Node, document: Document, converter: Converter) -> Field:
    name, place = node.get("name"), node.get("in")
    if not isinstance(name, str) or not name or place not in _GROUPS:
        raise OperationRefused("a parameter without a name, or in another place than path, query and headers")
    content = node.get("content")
    schema: Json = node.get("schema", True)
    if isinstance(content, dict):
        schema = document.followed(content.get(_JSON, {})).get("schema", True)
    try:
        converted = converter.convert(schema)
        kinds = kinds_of(schema, document)
    except OperationRefused as refused:
        raise OperationRefused(f"the {place} parameter {name[:64]!r}: {refused}") from None
    must = node.get("required") is True or place == "path"
    return Field(name=name, place=str(place), required=must, schema=converted, kinds=kinds)


def _body(document: Document, operation: Node, converter: Converter, *, beside: bool) -> tuple[Body | None, Kinds]:
    """The body, whose fields stand in the input when there must be one; `beside` parameters it is an object anyway."""
    if "requestBody" not in operation:
        return None, {}
    declared = document.followed(operation["requestBody"])
    content = declared.get("content")
    if not isinstance(content, dict) or _JSON not in content or len(content) != 1:
        found = ", ".join(sorted(content)) if isinstance(content, dict) else "nothing"
        raise OperationRefused(f"its input is {found[:120]}: files and streams do not travel through agents")
    schema = document.followed(content[_JSON]).get("schema", True)
    converted, kinds = converter.convert(schema), kinds_of(schema, document)
    required = declared.get("required") is True
    spreads = required or (beside and not converter.plain(converted).get("required"))
    fields = fields_of(converted, spreads, converter)
    body = Body(media=_JSON, required=required, schema=converted, fields=fields, write=json_writer(_JSON))
    return body, kinds


def _own(body: Body | None, converter: Converter) -> list[str]:
    """The names that a body has of itself."""
    if body is None:
        return []
    properties = converter.plain(body.schema).get("properties")
    return [*properties] if isinstance(properties, dict) else []


def _check_headers(document: Document, asked: Asked) -> None:
    """On the RPC wire a header is a part of the input; what only the session may fill is none that an agent has."""
    for holder in operation_at(document, asked.method, asked.path):
        listed = holder.get("parameters", [])
        for each in listed if isinstance(listed, list) else []:
            node = document.followed(each)
            if node.get("required") is True and ignored(node, asked.filled):
                name = str(node.get("name"))[:64]
                raise OperationRefused(f"its header {name!r} is the session's to fill, not the agent's")


def _flat(place: str, name: str) -> tuple[str, ...]:
    return (name,)


def _grouped(place: str, name: str) -> tuple[str, ...]:
    return (_GROUPS.get(place, "body"), name)


def _joined(root: Node, whole: Json, shown: str) -> Json:
    """Parameters and a body as the one object that the procedure gets."""
    if not isinstance(whole, dict):
        raise ValueRefused(shown, "must be an object, since the other fields stand beside it")
    if root.keys() & whole.keys():
        raise ValueRefused(shown, "repeats another field of the input")
    return {**whole, **root}


def _bracketed(name: str, value: Json, shown: str) -> list[str]:
    if value is None:
        raise ValueRefused(shown, "holds null, which cannot be written in an address")
    if not isinstance(value, list | dict):
        return [f"{name}={encoded(text_of(value))}"]
    if not value:
        raise ValueRefused(shown, "is or holds an empty list or object, which leaves no trace in an address")
    members = enumerate(value) if isinstance(value, list) else value.items()
    return [pair for key, each in members for pair in _bracketed(f"{name}%5B{encoded(str(key))}%5D", each, shown)]
