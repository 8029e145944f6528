"""Schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12 (SPEC 10.6, 3.5).

Both versions come out the same: `nullable` becomes a type, a boolean `exclusiveMinimum` a number, `allOf` of plain
objects one object. What is sent must say the same as the document or is refused; what is answered may say less, so
there a rule that the subset does not have is left out.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from remit._base.boundary import SAFE_INTEGER, Json
from remit._schema.judge import FORMATS, pattern_is_linear
from remit._schema.vocabulary import ANNOTATIONS, KEYWORDS
from remit.procedures.openapi.document import Document, Node, unescaped
from remit.procedures.openapi.refusal import OperationRefused

Direction: TypeAlias = Literal["sent", "answered"]

_MAX_NODES: Final = 5_000
_MAX_DEPTH: Final = 16
_COMPONENT: Final = "#/components/schemas/"
_NULL: Final[Node] = {"type": "null"}
_LEFT_OUT: Final = frozenset(
    {"title", "example", "xml", "externalDocs", "readOnly", "writeOnly", "nullable", "$comment", "contentEncoding"}
)
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_OF_AN_OBJECT: Final = frozenset({"type", "properties", "required", "description", "default", "examples"})


class Converter:
    """Converts the schemas of one message in one direction; `defs` collects what they refer to."""

    def __init__(self, document: Document, direction: Direction) -> None:
        self.defs: dict[str, Node] = {}
        self._document = document
        self._direction: Direction = direction
        self._nodes = 0
        self._open: list[str] = []

    def convert(self, schema: Json) -> Node:
        """Return the schema, its references to `#/$defs/…` of `defs`; OperationRefused for what cannot be said."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise OperationRefused(f"its schemas have more than {_MAX_NODES} nodes")
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            raise OperationRefused("the document has something else where a schema belongs")
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema)
        node = {key: value for key, value in schema.items() if key not in _LEFT_OUT and not key.startswith("x-")}
        self._check_file(node)
        self._numbers(node)
        self._format(node)
        self._inside(node)
        self._combined(node)
        if self._direction == "answered":
            _loosen(node)
        return _nullable(node) if self._document.old and schema.get("nullable") is True else node

    def plain(self, node: Node) -> Node:
        """The converted schema itself where it is but a reference; its annotations win."""
        seen: list[str] = []
        while isinstance(node.get("$ref"), str):
            key = _key_of(cast(str, node["$ref"]))
            if key in seen:
                raise OperationRefused(f"the schema {key} refers to itself")
            seen.append(key)
            node = {**self.defs[key], **{name: value for name, value in node.items() if name != "$ref"}}
        return node

    def whole(self, node: Node) -> Node:
        """The schema with the definitions it refers to."""
        return {**node, "$defs": cast(Json, self.defs)} if self.defs else node

    def _reference(self, schema: Node) -> Node:
        pointer = cast(str, schema["$ref"])
        key = unescaped(
            pointer.removeprefix(_COMPONENT) if pointer.startswith(_COMPONENT) else pointer.removeprefix("#/")
        )
        if key in self._open and self._direction == "answered":
            return {}  # what an answer holds further down is not said
        if key not in self.defs:
            self.defs[key] = {}
            self._open.append(key)
            self.defs[key] = self.convert(self._document.target(pointer))
            self._open.pop()
        beside = {} if self._document.old else {k: v for k, v in schema.items() if k in ANNOTATIONS and k != "title"}
        return {"$ref": "#/$defs/" + key.replace("~", "~0").replace("/", "~1"), **beside}

    # One node

    def _check_file(self, node: Node) -> None:
        media = node.pop("contentMediaType", None)
        if node.get("format") == "binary" or (media is not None and self._direction == "sent"):
            raise OperationRefused("a file: files do not travel through agents")

    def _numbers(self, node: Node) -> None:
        for strict, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(node.get(strict), bool):
                if node.pop(strict) is True and bound in node:
                    node[strict] = node.pop(bound)
        for bound in _BOUNDS:
            value = node.get(bound)
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
                del node[bound]  # no integer of remit lies beyond (SPEC 3.6)

    def _format(self, node: Node) -> None:
        if "format" in node and node["format"] not in FORMATS:
            del node["format"]  # int64, hostname, byte …: a note; the backend judges it

    def _inside(self, node: Node) -> None:
        if isinstance(node.get("properties"), dict):
            self._properties(node)
        if node.get("items") is False and "prefixItems" in node:
            del node["items"]  # it ends a tuple, and only tuples whose length is said otherwise, too, can be kept
        if "items" in node:
            node["items"] = self.convert(node["items"])
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if isinstance(node.get(keyword), list):
                node[keyword] = [self.convert(part) for part in cast("list[Json]", node[keyword])]
        further = node.get("additionalProperties")
        if isinstance(further, dict) and further:
            node["additionalProperties"] = self.convert(further)

    def _properties(self, node: Node) -> None:
        """Read-only fields are not sent, write-only ones not answered."""
        flag = "readOnly" if self._direction == "sent" else "writeOnly"
        kept: dict[str, Json] = {}
        gone: set[str] = set()
        for name, child in cast("dict[str, Json]", node["properties"]).items():
            if self._flagged(child, flag):
                gone.add(name)
            else:
                kept[name] = self.convert(child)
        node["properties"] = kept
        if gone and isinstance(node.get("required"), list):
            node["required"] = [name for name in cast("list[Json]", node["required"]) if name not in gone]

    def _flagged(self, child: Json, flag: str) -> bool:
        if not isinstance(child, dict):
            return False
        return child.get(flag) is True or ("$ref" in child and self._document.followed(child).get(flag) is True)

    def _combined(self, node: Node) -> None:
        parts = node.get("allOf")
        if isinstance(parts, list):
            self._merge(node, cast("list[Node]", parts))
        branches = node.get("oneOf")
        if isinstance(branches, list):
            self._one_of(node, cast("list[Node]", branches))
        elif "discriminator" in node:
            del node["discriminator"]

    def _merge(self, node: Node, parts: list[Node]) -> None:
        """`allOf` of one schema is that schema; of plain objects it is one object with the fields of all."""
        if len(parts) == 1 and set(node) - {"allOf"} <= ANNOTATIONS:
            beside = {key: value for key, value in node.items() if key != "allOf"}
            node.clear()
            node.update({**parts[0], **beside})
            return
        own = {key: node[key] for key in node if key in ("type", "properties", "required")}
        try:
            merged = _merged([*(self.plain(part) for part in parts), own])
        except OperationRefused:
            if self._direction == "sent":
                raise
            merged = {}
        del node["allOf"]
        node.update(merged)

    def _one_of(self, node: Node, branches: list[Node]) -> None:
        discriminator = node.get("discriminator")
        tag = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
        kinds = [_kinds(self.plain(branch)) for branch in branches]
        known = [kind for each in kinds for kind in each]
        apart = all(kinds) and len(known) == len(set(known)) and not {"integer", "number"} <= set(known)
        if apart or self._direction == "answered":
            node["anyOf"] = cast(Json, branches)
            del node["oneOf"]
            node.pop("discriminator", None)
        elif isinstance(tag, str):
            node["discriminator"] = {"propertyName": tag}


def _merged(parts: list[Node]) -> Node:
    properties: dict[str, Json] = {}
    required: set[str] = set()
    for part in parts:
        if set(part) - _OF_AN_OBJECT or part.get("type", "object") != "object":
            raise OperationRefused("`allOf` of something else than plain objects")
        for name, child in cast("dict[str, Json]", part.get("properties", {})).items():
            if properties.setdefault(name, child) != child:
                raise OperationRefused(f"`allOf` says two things of the field {name[:64]!r}")
        required |= set(cast("list[str]", part.get("required", [])))
    return {"type": "object", "properties": properties, "required": cast(Json, sorted(required))}


def without_null(node: Node, converter: Converter, depth: int = 0) -> Node:
    """The same schema for a place where null cannot be written: a field that may be null is simply left out there."""
    if depth > _MAX_DEPTH:
        raise OperationRefused("its schemas are nested too deep")
    node = dict(converter.plain(node))
    kinds = node.get("type")
    if isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        node["type"] = left[0] if len(left) == 1 else left
    values = node.get("enum")
    if isinstance(values, list):
        node["enum"] = [value for value in values if value is not None]
    branches = node.get("anyOf")
    if isinstance(branches, list):
        some = [without_null(cast(Node, each), converter, depth + 1) for each in branches if each != _NULL]
        if len(some) == 1:
            del node["anyOf"]
            node = {**some[0], **node}
        else:
            node["anyOf"] = cast(Json, some)
    if node.get("default", 0) is None:
        del node["default"]
    if "items" in node:
        node["items"] = without_null(cast(Node, node["items"]), converter, depth + 1)
    if isinstance(node.get("properties"), dict):
        children = cast("dict[str, Node]", node["properties"])
        node["properties"] = {name: without_null(child, converter, depth + 1) for name, child in children.items()}
    return node


def _nullable(node: Node) -> Node:
    kind = node.get("type")
    if isinstance(kind, str) and "enum" not in node and "const" not in node:
        return {**node, "type": [kind, "null"]}
    beside = {key: node[key] for key in node if key in ANNOTATIONS}
    return {"anyOf": [{key: node[key] for key in node if key not in beside}, dict(_NULL)], **beside}


def _kinds(node: Mapping[str, Json]) -> tuple[str, ...]:
    kind = node.get("type")
    if isinstance(kind, list):
        return tuple(cast("list[str]", kind))
    return (kind,) if isinstance(kind, str) else ()


def _loosen(node: Node) -> None:
    """Leave out of an answer's schema what the subset cannot say."""
    if isinstance(node.get("additionalProperties"), dict):
        node["additionalProperties"] = True
    if "prefixItems" in node:
        del node["prefixItems"]
        node.pop("items", None)
    pattern = node.get("pattern")
    if isinstance(pattern, str) and not pattern_is_linear(pattern):
        del node["pattern"]
    for keyword in [key for key in node if key not in KEYWORDS and key != "$ref"]:
        del node[keyword]


def _key_of(reference: str) -> str:
    return reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
