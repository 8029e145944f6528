"""One operation of a document as requests: its input schema, and the exact bytes of one call (SPEC 10.6)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast
from urllib.parse import quote

from remit._base.boundary import Json
from remit._schema.subset import to_subset
from remit.errors import DefinitionError
from remit.procedures.http.sending import Outgoing
from remit.procedures.openapi.bodies import Body, read_body
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.fields import Slot, field_names
from remit.procedures.openapi.parameters import Parameter, Shape, ignored, read_parameter
from remit.procedures.openapi.refusal import OperationRefused, ValueRefused
from remit.procedures.openapi.schemas import Converter
from remit.procedures.openapi.wire import cookie_pair, header_value, path_segment, query_pairs

_METHODS: Final = frozenset({"GET", "PUT", "POST", "DELETE", "PATCH"})
_IN_TEMPLATE: Final = re.compile(r"\{([^{}]+)\}")
_LITERAL: Final = "/:@!$&'()*+,;=~%-._"
_BODY: Final[Slot] = ("body", "body")
_NESTED_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Part(Protocol):
    """What stands in the input as a field of its own."""

    @property
    def name(self) -> str:
        """As the backend knows it."""
        ...

    @property
    def place(self) -> str:
        """`path`, `query`, `header` or `cookie`."""
        ...

    @property
    def required(self) -> bool:
        """True where a call must have it."""
        ...

    @property
    def schema(self) -> Node:
        """The converted schema."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestForm:
    """How the calls of one operation are written.

    `template` is the path in front of which `base` stands: literals, and parameters with what stands before and after
    them in their segment.
    """

    method: str
    template: tuple[str | Parameter, ...]
    query: tuple[Parameter, ...]
    headers: tuple[Parameter, ...]
    cookies: tuple[Parameter, ...]
    body: Body | None
    names: Mapping[Slot, str]
    input_schema: Mapping[str, Json]

    def write(self, base: str, input: Mapping[str, Json]) -> Outgoing:
        """Return the exact request of this input; ValueRefused for a value that cannot be sent."""
        target = base + self._path(input)
        pairs = [pair for each in self.query if (value := self._value(each, input)) is not None for pair in value]
        if pairs:
            target += "?" + "&".join(pairs)
        headers = [*self._headers(input)]
        content: bytes | None = None
        if self.body is not None and self._has_body(self.body, input):
            fields = {name: self.names[("body", name)] for name in self._own()}
            media, content = self.body.write(fields, self._body(self.body, input))
            headers.append((b"content-type", media.encode()))
        return Outgoing(method=self.method, target=target.encode(), headers=tuple(headers), content=content)

    def _own(self) -> tuple[str, ...]:
        return () if self.body is None or self.body.fields is None else self.body.fields

    def _path(self, input: Mapping[str, Json]) -> str:
        written = ""
        for part in self.template:
            if isinstance(part, str):
                written += part
            else:
                field = self.names[("path", part.name)]
                written += path_segment(part, input[field], field)
        for segment in written.split("/"):
            if segment in (".", ".."):
                field = next(self.names[("path", part.name)] for part in self.template if isinstance(part, Parameter))
                raise ValueRefused(field, "makes a step to another place of the path")
        return written

    def _value(self, parameter: Parameter, input: Mapping[str, Json]) -> list[str] | None:
        field = self.names[(parameter.place, parameter.name)]
        return query_pairs(parameter, input[field], field) if field in input else None

    def _headers(self, input: Mapping[str, Json]) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        for each in self.headers:
            field = self.names[("header", each.name)]
            if field in input:
                found.append((each.name.lower().encode(), header_value(each, input[field], field).encode()))
        named = [(each, self.names[("cookie", each.name)]) for each in self.cookies]
        pairs = [cookie_pair(each, input[field], field) for each, field in named if field in input]
        if pairs:
            found.append((b"cookie", "; ".join(pairs).encode()))
        return found

    def _has_body(self, body: Body, input: Mapping[str, Json]) -> bool:
        return body.fields is not None or self.names[_BODY] in input

    def _body(self, body: Body, input: Mapping[str, Json]) -> Json:
        if body.fields is None:
            return input[self.names[_BODY]]
        return {name: input[field] for name in body.fields if (field := self.names[("body", name)]) in input}


def request_form(
    document: Document, method: str, path: str, *, filled: frozenset[str], cookies: bool, subject: str
) -> RequestForm:
    """Read how one operation is sent; OperationRefused says why it is not.

    `filled` are lower-cased headers that remit fills by itself, so no agent does; `cookies` is False when the cookies
    of a call are the session's credential.
    """
    operation, shared = operation_at(document, method, path)
    converter = Converter(document, "sent")
    parameters = _parameters(document, converter, (shared, operation), filled)
    if any(each.place == "cookie" for each in parameters) and not cookies:
        raise OperationRefused("it has cookie parameters, and the cookies of a call are the session's credential")
    body = read_body(operation["requestBody"], document, converter) if "requestBody" in operation else None
    if body is not None and method == "GET":
        raise OperationRefused("a GET with a body")
    names = field_names(slots_of(parameters, body))
    form = RequestForm(
        method=method,
        template=template_of(path, {each.name: each for each in parameters if each.place == "path"}),
        query=_of("query", parameters),
        headers=_of("header", parameters),
        cookies=_of("cookie", parameters),
        body=body,
        names=names,
        input_schema=input_of(parameters, body, names, converter, subject),
    )
    _check_query(form.query)
    return form


def operation_at(document: Document, method: str, path: str) -> tuple[Node, Node]:
    """The operation, and the path item that holds it."""
    if method not in _METHODS:
        raise OperationRefused(f"{method} is no method of a call")
    paths = cast("dict[str, Json]", document.root.get("paths", {}))
    item = document.followed(paths[path]) if path in paths else {}
    if method.lower() not in item:
        raise OperationRefused(f"the document has no {method} {path}")
    return document.followed(item[method.lower()]), item


def _parameters(
    document: Document, converter: Converter, holders: tuple[Node, Node], filled: frozenset[str]
) -> list[Parameter]:
    return [read_parameter(node, document, converter) for node in parameter_nodes(document, holders, filled)]


def parameter_nodes(document: Document, holders: tuple[Node, Node], filled: frozenset[str]) -> list[Node]:
    """Those of the path, unless the operation says them anew, in the document's order."""
    found: dict[Slot, Node] = {}
    for holder in holders:
        listed = holder.get("parameters", [])
        for each in listed if isinstance(listed, list) else []:
            node = document.followed(each)
            if not ignored(node, filled):
                found[(str(node.get("in")), str(node.get("name")))] = node
    return [*found.values()]


def slots_of(parameters: Sequence[Part], body: Body | None) -> list[Slot]:
    """Every place of an input, in the order of its fields."""
    slots = [(each.place, each.name) for each in parameters]
    if body is None:
        return slots
    return [*slots, *([_BODY] if body.fields is None else [("body", name) for name in body.fields])]


def _of(place: str, parameters: list[Parameter]) -> tuple[Parameter, ...]:
    return tuple(each for each in parameters if each.place == place)


def template_of(path: str, parameters: Mapping[str, Parameter]) -> tuple[str | Parameter, ...]:
    """A path as literals and parameters; OperationRefused for one that is no path."""
    if not path.startswith("/") or "?" in path or "#" in path:
        raise OperationRefused("its path is no path")
    parts: list[str | Parameter] = []
    for segment in path.split("/")[1:]:
        named = _IN_TEMPLATE.findall(segment)
        if len(named) > 1:
            raise OperationRefused("several parameters in one segment of its path cannot be told apart")
        if segment in (".", "..") or set(_IN_TEMPLATE.sub("", segment)) & set("{}"):
            raise OperationRefused("its path is no path")
        if not named:
            parts.append("/" + quote(segment, safe=_LITERAL))
            continue
        if named[0] not in parameters:
            raise OperationRefused(f"its path parameter {named[0][:64]!r} is declared nowhere")
        before, after = segment.split("{" + named[0] + "}")
        parts += ["/" + quote(before, safe=_LITERAL), parameters[named[0]], quote(after, safe=_LITERAL)]
    unused = set(parameters) - {each.name for each in parts if isinstance(each, Parameter)}
    if unused:
        raise OperationRefused(f"its path has no place for the parameter {min(unused)[:64]!r}")
    return tuple(part for part in parts if part != "")


def _check_query(query: tuple[Parameter, ...]) -> None:
    """Fields of an exploded object stand as parameters of their own; none may be there twice."""
    seen: set[str] = set()
    for each in query:
        exploded = each.shape is Shape.OBJECT and each.style == "form" and each.explode and not each.as_json
        for name in each.keys if exploded else (each.name,):
            if name in seen:
                raise OperationRefused(f"two query parameters are written {name[:64]!r}")
            seen.add(name)


def input_of(
    parameters: Sequence[Part], body: Body | None, names: Mapping[Slot, str], converter: Converter, subject: str
) -> Mapping[str, Json]:
    """The input schema of an operation; OperationRefused where it cannot be said in the subset."""
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for each in parameters:
        name = names[(each.place, each.name)]
        properties[name] = each.schema
        if each.required or each.place == "path":
            required.append(name)
    if body is not None and body.fields is None:
        properties[names[_BODY]] = body.schema
        required += [names[_BODY]] if body.required else []
    elif body is not None:
        plain = converter.plain(body.schema)
        must = cast("list[str]", plain.get("required", []))
        children = cast("dict[str, Json]", plain["properties"])
        properties |= {names[("body", name)]: children[name] for name in children}
        required += [names[("body", name)] for name in must if name in children]
    whole: Node = {"type": "object", "properties": properties, "required": required}
    try:
        schema = to_subset(converter.whole(whole), subject=subject, closed=True)
    except DefinitionError as problem:
        raise OperationRefused(f"its input: {problem.rule}") from None
    _check_names(schema)
    return schema


def _check_names(node: Json) -> None:
    """Models refuse other names anywhere in a schema; what stands inside a body keeps its name."""
    stack: list[Json] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, list):
            stack += each
        if not isinstance(each, dict):
            continue
        properties = each.get("properties")
        for name in properties if isinstance(properties, dict) else ():
            if not _NESTED_NAME.fullmatch(name):
                raise OperationRefused(f"its input: a field inside the body is named {name[:64]!r}")
        stack += [value for key, value in each.items() if key not in ("default", "examples", "enum", "const")]
