"""The part of an OpenAPI document that is kept: without fields that never become one, and what nothing refers to."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from remit._base.boundary import Json
from remit._base.text import clean_line
from remit.cli.deriving.skipping import Skipped, why_skipped
from remit.procedures.openapi.building import operations_of
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.refusal import OperationRefused

_KEPT: Final = ("summary", "description", "operationId", "parameters", "requestBody", "responses", "servers")
_NAME: Final = 64
_DEPTH: Final = 16
_BINARY: Final = frozenset({"binary", "byte"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trimmed:
    """One operation of a document as it is kept, what was left out of it, and why it cannot stand without that."""

    request: str
    node: Node
    skipped: tuple[Skipped, ...]
    refused: str | None


def trimmed(document: Document) -> Iterator[Trimmed]:
    """Each operation of a document, in its order; the document stays as it is."""
    for request, node in operations_of(document):
        method, _, path = request.partition(" ")
        item = document.followed(cast("dict[str, Json]", document.root["paths"])[path])
        own: Node = {key: copy.deepcopy(node[key]) for key in _KEPT if key in node}
        reading = _Reading(document)
        try:
            parameters = reading.parameters(item.get("parameters"), node.get("parameters"))
            own.pop("parameters", None)
            if parameters:
                own["parameters"] = parameters
            if "requestBody" in node:
                own["requestBody"] = reading.body(node["requestBody"])
            refused = reading.refused
        except OperationRefused as problem:
            refused = str(problem)
        if "servers" in item and "servers" not in own:
            own["servers"] = copy.deepcopy(item["servers"])
        yield Trimmed(request=f"{method} {path}", node=own, skipped=tuple(reading.skipped), refused=refused)


def document_of(document: Document, kept: list[Trimmed]) -> Node:
    """A document of these operations alone, with the components to which they refer."""
    paths: dict[str, Json] = {}
    for each in kept:
        method, _, path = each.request.partition(" ")
        cast("dict[str, Json]", paths.setdefault(path, {}))[method.lower()] = each.node
    root: Node = {key: document.root[key] for key in ("openapi", "info", "servers") if key in document.root}
    root["paths"] = paths
    if components := _components(document, paths):
        root["components"] = components
    return root


@dataclass(slots=True, eq=False)
class _Reading:
    """Reads what one operation takes; `refused` is the first field that it cannot do without and may not have."""

    document: Document
    skipped: list[Skipped] = field(default_factory=list)
    refused: str | None = None

    def parameters(self, *several: Json) -> list[Json]:
        """Those of the path and, over them, those of the operation."""
        found: dict[tuple[Json, Json], Node] = {}
        for each in (each for some in several if isinstance(some, list) for each in some):
            node = self.document.followed(each)
            found[_key(node)] = node
        return [copy.deepcopy(node) for node in found.values() if not self._skips(node)]

    def body(self, node: Json) -> Json:
        """A body with every media type, each without what it may not have."""
        body = self.document.followed(node)
        content = body.get("content")
        if not isinstance(content, dict):
            return copy.deepcopy(body)
        media = {name: self._media(each) for name, each in content.items()}
        return {**copy.deepcopy(body), "content": cast(Json, media)}

    def _media(self, node: Json) -> Json:
        media = self.document.followed(node)
        return {**copy.deepcopy(media), "schema": self.schema(media["schema"])} if "schema" in media else media

    def schema(self, node: Json, depth: int = 0) -> Json:
        """A schema without what it may not have; a reference stays one where nothing was left out behind it."""
        if depth > _DEPTH:
            raise OperationRefused("its schema is too deep, or leads into itself")
        if isinstance(node, list):
            return [self.schema(each, depth) for each in node]
        if not isinstance(node, dict):
            return node
        if isinstance(node.get("$ref"), str):
            count = len(self.skipped)
            behind = self.schema(self.document.target(cast(str, node["$ref"])), depth + 1)
            return node if count == len(self.skipped) else behind
        return {key: self._part(key, value, node, depth) for key, value in node.items()}

    def _part(self, key: str, value: Json, node: Node, depth: int) -> Json:
        match key, value:
            case "properties", dict():
                required = node.get("required")
                asked = required if isinstance(required, list) else []
                return {
                    name: self.schema(each, depth + 1)
                    for name, each in value.items()
                    if not self._leaves_out(name, each, name in asked)
                }
            case (("allOf" | "anyOf" | "oneOf" | "items" | "additionalProperties" | "prefixItems"), _):
                return self.schema(value, depth + 1)
            case _:
                return copy.deepcopy(value)

    def _skips(self, node: Node) -> bool:
        name = node.get("name")
        asked = node.get("required") is True or node.get("in") == "path"
        return isinstance(name, str) and self._leaves_out(name, node.get("schema", {}), asked)

    def _leaves_out(self, name: str, schema: Json, asked: bool) -> bool:
        why = why_skipped(name, type=self._type(schema))
        if why is None:
            return False
        shown = Skipped(clean_line(name, _NAME), why)
        if shown not in self.skipped:
            self.skipped.append(shown)
        if asked and self.refused is None:
            self.refused = f"it asks for {shown.name}: {why}"
        return True

    def _type(self, schema: Json) -> str:
        """What a page would call the control of this schema, as far as it is one that is left out."""
        node = self.document.followed(schema) if isinstance(schema, dict) else {}
        if node.get("format") == "password":
            return "password"
        return "file" if node.get("format") in _BINARY or "contentMediaType" in node else ""


def _key(node: Node) -> tuple[Json, Json]:
    return node.get("in"), node.get("name")


def _components(document: Document, paths: Json) -> dict[str, Json]:
    """Every component to which something that is kept refers, at the place where it stood."""
    found: dict[str, Json] = {}
    known: set[str] = set()
    left = list(_references(paths))
    while left:
        reference = left.pop()
        kind, _, name = reference.removeprefix("#/components/").partition("/")
        if reference in known or not reference.startswith("#/components/") or "/" in name:
            continue
        known.add(reference)
        target = copy.deepcopy(document.target(reference))
        cast("dict[str, Json]", found.setdefault(kind, {}))[name.replace("~1", "/").replace("~0", "~")] = target
        left += _references(target)
    return found


def _references(node: Json) -> Iterator[str]:
    match node:
        case dict():
            reference = node.get("$ref")
            if isinstance(reference, str):
                yield reference
            for each in node.values():
                yield from _references(each)
        case list():
            for each in node:
                yield from _references(each)
        case _:
            pass
