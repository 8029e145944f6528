"""Parameters as a document declares them: place, style, explode and shape, or why one cannot be sent (SPEC 10.6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from remit._base.boundary import Json
from remit.procedures.http.credentials import TOKEN
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.schemas import Converter, without_null

_NOT_THE_AGENTS: Final = frozenset({"accept", "content-type", "authorization"})
_REFUSED_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive"}
    | {"cookie", "proxy-authorization", "proxy-connection", "forwarded", "x-forwarded-for", "x-forwarded-host"}
    | {"x-forwarded-proto", "content-encoding", "accept-encoding"}
)
_STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


class Shape(StrEnum):
    """What a value is made of, as far as styles tell values apart."""

    SCALAR = "scalar"
    ARRAY = "array"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that can be sent; `keys` are the fields of an object, in the document's order."""

    name: str
    place: str
    style: str
    explode: bool
    reserved: bool
    as_json: bool
    required: bool
    shape: Shape
    keys: tuple[str, ...]
    schema: Node


def ignored(node: Node, filled: frozenset[str]) -> bool:
    """True for a header that the agent has no say in: OpenAPI's own three, and those that remit fills."""
    name = node.get("name")
    return node.get("in") == "header" and isinstance(name, str) and name.lower() in _NOT_THE_AGENTS | filled


def read_parameter(node: Node, document: Document, converter: Converter) -> Parameter:
    """Read one parameter object; OperationRefused says why it cannot be sent exactly."""
    name, place = node.get("name"), node.get("in")
    if not isinstance(name, str) or not name or not isinstance(place, str) or place not in _STYLES:
        raise OperationRefused("a parameter without a name or a place")
    at = f"the {place} parameter {name[:64]!r}"
    try:
        _check_name(name, place)
        content = node.get("content")
        if isinstance(content, dict):
            return _as_json(node, content, document, converter)
        return _styled(node, converter)
    except OperationRefused as refused:
        raise OperationRefused(f"{at}: {refused}") from None


def styled(name: str, place: str, schema: Node, converter: Converter, said: Node) -> Parameter:
    """A parameter of a converted schema with `style`, `explode` and `allowReserved` as said; `required` too."""
    style = said.get("style", _STYLES[place][0])
    if not isinstance(style, str) or style not in _STYLES[place]:
        raise OperationRefused(f"no style {style!r} is known there")
    explode = said.get("explode", style in ("form", "deepObject")) is True
    schema = without_null(schema, converter)
    shape = _shape(schema, converter)
    _check_style(place, style, explode, shape)
    schema = _never_empty(schema, shape, place)
    return Parameter(
        name=name,
        place=place,
        style=style,
        explode=explode,
        reserved=place == "query" and said.get("allowReserved") is True,
        as_json=False,
        required=said.get("required") is True,
        shape=shape,
        keys=tuple(named_fields(schema)),
        schema=schema,
    )


def _styled(node: Node, converter: Converter) -> Parameter:
    if "schema" not in node:
        raise OperationRefused("has no schema")
    schema = _described(converter.convert(node["schema"]), node)
    return styled(cast(str, node["name"]), cast(str, node["in"]), schema, converter, node)


def _as_json(node: Node, content: Mapping[str, Json], document: Document, converter: Converter) -> Parameter:
    if list(content) != ["application/json"] or node["in"] != "query":
        raise OperationRefused("of a media type that is sent as JSON in a query only")
    media = document.followed(content["application/json"])
    return Parameter(
        name=cast(str, node["name"]),
        place="query",
        style="form",
        explode=False,
        reserved=False,
        as_json=True,
        required=node.get("required") is True,
        shape=Shape.SCALAR,
        keys=(),
        schema=_described(converter.convert(media.get("schema", True)), node),
    )


def _described(schema: Node, node: Node) -> Node:
    description = node.get("description")
    return {**schema, "description": description} if isinstance(description, str) and description.strip() else schema


def _check_name(name: str, place: str) -> None:
    if place in ("header", "cookie"):
        if not TOKEN.fullmatch(name):
            raise OperationRefused("a name that cannot be written there")
        if place == "header" and name.lower() in _REFUSED_HEADERS:
            raise OperationRefused("belongs to the connection, not to a call")


def _check_style(place: str, style: str, explode: bool, shape: Shape) -> None:
    if style == "deepObject" and (shape is not Shape.OBJECT or not explode):
        raise OperationRefused("deepObject is defined for exploded objects only")
    if style in ("spaceDelimited", "pipeDelimited") and (shape is Shape.SCALAR or explode):
        raise OperationRefused(f"{style} is defined for arrays and objects that are not exploded")
    if place == "cookie" and shape is not Shape.SCALAR:
        raise OperationRefused("a cookie holds one plain value")


def _never_empty(schema: Node, shape: Shape, place: str) -> Node:
    """An empty array leaves no trace in an address, an empty text no segment of a path: both are refused by schema."""
    if shape is Shape.ARRAY and schema.get("type") == "array":
        # A default of none at all is what leaving the field out says.
        kept = {key: value for key, value in schema.items() if key != "default" or value != []}
        return {**kept, "minItems": max(1, cast(int, schema.get("minItems", 1)))}
    if place == "path" and schema.get("type") == "string" and "enum" not in schema:
        return {**schema, "minLength": max(1, cast(int, schema.get("minLength", 1)))}
    return schema


# Shapes


def _shape(schema: Node, converter: Converter) -> Shape:
    kinds = _kinds(schema, converter)
    if kinds == {"array"}:
        if "items" not in schema or not _is_scalar(converter.plain(cast(Node, schema["items"])), converter):
            raise OperationRefused("an array of something else than plain values")
        return Shape.ARRAY
    if kinds == {"object"}:
        children = named_fields(schema)
        if schema.get("additionalProperties") not in (None, False) or not children:
            raise OperationRefused("an object whose fields are not all named")
        for name, child in children.items():
            if not _is_scalar(converter.plain(child), converter):
                raise OperationRefused(f"its field {name[:64]!r} is no plain value")
        return Shape.OBJECT
    if _is_scalar(schema, converter):
        return Shape.SCALAR
    raise OperationRefused("a value of no type, or of several that cannot be told apart")


def named_fields(schema: Node) -> dict[str, Node]:
    """The named fields of an object's schema; OperationRefused where something else stands in their place."""
    fields = schema.get("properties", {})
    if not isinstance(fields, dict) or not all(isinstance(each, dict) for each in fields.values()):
        raise OperationRefused("its `properties` are no schemas by name")
    return cast("dict[str, Node]", fields)


def _is_scalar(schema: Node, converter: Converter) -> bool:
    kinds = _kinds(schema, converter)
    if kinds == {"integer", "number"}:
        return True
    return len(kinds) == 1 and kinds <= _SCALARS


def _kinds(schema: Node, converter: Converter) -> set[str]:
    schema = converter.plain(schema)
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return set(cast("list[str]", kind))
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list):
        of_each = [_kinds(cast(Node, branch), converter) for branch in branches]
        return {"?"} if not all(of_each) else set[str]().union(*of_each)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return {_kind_of(value) for value in values} if isinstance(values, list) else set()


def _kind_of(value: Json) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            return "?"
