"""Values of JavaScript that JSON does not have: where an input holds them, and how they are written (SPEC 10.7).

The document marks them with `x-native-type`. A schema becomes a `Kinds`, which says for each JSON type of a value what
is to be done with it; where a value could mean two things, its operation is refused.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias, assert_never, cast

from remit._base.boundary import Json, canonical
from remit._base.paths import join
from remit._schema.difference import type_of
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.refusal import OperationRefused, ValueRefused
from remit.procedures.orpc.addresses import is_address
from remit.procedures.orpc.contract import Dialect

NATIVES: Final = ("bigint", "date", "nan", "undefined", "url", "regexp", "set", "map")
"""In the order of the codes that 1.x has for them; 2.0-beta writes the names."""

Step: TypeAlias = str | int
Kinds: TypeAlias = Mapping[str, "Node_ | None"]
"""By JSON type what a value of it is; None is a value that stays as it is, and so does a type that is not there."""

_KEY: Final = "x-native-type"
_ALL: Final = ("null", "boolean", "number", "string", "array", "object")
_BIGINT: Final = re.compile(r"-?(0|[1-9][0-9]{0,4299})")
_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,3})0*)?([Zz]|[+-]\d\d:\d\d)")
_REGEXP: Final = re.compile(r"/.+/([dgimsuvy]*)", re.DOTALL)
_MAX_DEPTH: Final = 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """A plain value that stands for a native one."""

    native: str


@dataclass(frozen=True, slots=True)
class Fields:
    """An object; `further` is for what is not named."""

    named: Mapping[str, Kinds]
    further: Kinds


@dataclass(frozen=True, slots=True)
class Items:
    """An array; `native` says of what kind it is where it is more than an array."""

    each: Kinds
    native: str | None = None


Node_: TypeAlias = Leaf | Fields | Items


def kinds_of(schema: Json, document: Document) -> Kinds:
    """What the values of a raw schema are; empty when all of them are plain JSON."""
    return _Reader(document).read(schema, 0)


class Payload:
    """Collects the `meta` of one payload while its values are written."""

    def __init__(self, dialect: Dialect) -> None:
        self._numbered = dialect == "1.x"
        self.meta: list[Json] = []

    def write(self, kinds: Kinds, value: Json, path: tuple[Step, ...], shown: tuple[Step, ...]) -> Json:
        """The JSON form of a value; `path` is its place in the payload, `shown` the same as the agent knows it.

        ValueRefused for what the backend would read otherwise.
        """
        node = kinds.get(type_of(value)) if kinds else None
        match node:
            case None:
                return value
            case Leaf(native):
                self._mark(native, path)
                return _LEAVES[native](value, join(shown))
            case Fields(named, further):
                members = cast("dict[str, Json]", value)
                return {
                    key: self.write(named.get(key, further), each, (*path, key), (*shown, key))
                    for key, each in members.items()
                }
            case Items(each, native):
                return self._items(each, native, cast("list[Json]", value), path, shown)
            case _:
                assert_never(node)

    def _items(
        self, each: Kinds, native: str | None, values: list[Json], path: tuple[Step, ...], shown: tuple[Step, ...]
    ) -> Json:
        write = self._entry if native == "map" else self.write
        written = [write(each, item, (*path, at), (*shown, at)) for at, item in enumerate(values)]
        if native is not None:
            keys = [cast("list[Json]", entry)[0] for entry in written] if native == "map" else written
            if len({canonical(key) for key in keys}) < len(keys):
                raise ValueRefused(join(shown), "holds the same twice, of which one would be lost")
            self._mark(native, path)
        return written

    def _entry(self, each: Kinds, item: Json, path: tuple[Step, ...], shown: tuple[Step, ...]) -> Json:
        """One entry of a map: `{"key": …, "value": …}` for an agent, a pair for the backend."""
        pair = cast("dict[str, Json]", item)
        node = each.get("object")
        named = node.named if isinstance(node, Fields) else {}
        return [
            self.write(named.get(key, {}), pair[key], (*path, number), (*shown, key))
            for number, key in enumerate(("key", "value"))
        ]

    def _mark(self, native: str, path: tuple[Step, ...]) -> None:
        code: Json = NATIVES.index(native) if self._numbered else native
        self.meta.append([code, *path])


def with_maps_as_entries(root: Json) -> Json:
    """A copy of a document in which a map is an array of `key` and `value`: models refuse arrays of unlike positions.

    A map whose schema does not say its two positions stays as it is.
    """
    if isinstance(root, list):
        return [with_maps_as_entries(each) for each in root]
    if not isinstance(root, dict):
        return root
    node: Node = {key: with_maps_as_entries(value) for key, value in root.items()}
    if node.get(_KEY) == "map" and isinstance(node.get("items"), dict):
        pair = cast(Node, node["items"]).get("prefixItems")
        if isinstance(pair, list) and len(pair) == 2:
            node["items"] = {
                "type": "object",
                "properties": {"key": pair[0], "value": pair[1]},
                "required": ["key", "value"],
                "additionalProperties": False,
            }
    return node


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document

    def read(self, schema: Json, depth: int) -> dict[str, Node_ | None]:
        if not isinstance(schema, dict):
            return {}
        if depth > _MAX_DEPTH:
            raise OperationRefused("its schemas are nested too deep")
        node = self._document.followed(schema)
        native = node.get(_KEY)
        if isinstance(native, str):
            return self._native(native, node, depth)
        found: dict[str, Node_ | None] = {}
        combined = False
        for keyword in ("anyOf", "oneOf", "allOf"):
            for branch in cast("list[Json]", node.get(keyword, [])):
                combined = True
                found = _merged(found, self.read(branch, depth + 1))
        if not combined or "properties" in node or "items" in node:
            found = _merged(found, {kind: self._of(kind, node, depth) for kind in _kinds(node)})
        return found

    def _native(self, native: str, node: Node, depth: int) -> dict[str, Node_ | None]:
        if native not in NATIVES:
            raise OperationRefused(f"a value of the unknown type {native[:64]!r}")
        if native in ("set", "map"):
            items = self.read(node.get("items", True), depth + 1)
            if native == "map" and not isinstance(items.get("object"), Fields):
                raise OperationRefused("a map whose keys and values are not said")
            return {"array": Items(items, native)}
        return {kind: Leaf(native) if kind in _STANDS_FOR[native] else None for kind in _kinds(node)}

    def _of(self, kind: str, node: Node, depth: int) -> Node_ | None:
        if kind == "array" and "items" in node:
            return Items(self.read(node["items"], depth + 1))
        if kind == "object" and ("properties" in node or isinstance(node.get("additionalProperties"), dict)):
            children = cast("dict[str, Json]", node.get("properties", {}))
            further = node.get("additionalProperties")
            return Fields(
                {name: self.read(child, depth + 1) for name, child in children.items()}, self.read(further, depth + 1)
            )
        return None


def _kinds(node: Node) -> tuple[str, ...]:
    said = node.get("type")
    listed = said if isinstance(said, list) else [said]
    if isinstance(said, str | list):
        return tuple(dict.fromkeys("number" if kind == "integer" else str(kind) for kind in listed))
    values = node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(values, list):
        return tuple(dict.fromkeys(type_of(value) for value in values))
    if "properties" in node:
        return ("object",)
    return ("array",) if "items" in node else _ALL


def _merged(one: Mapping[str, Node_ | None], other: Mapping[str, Node_ | None]) -> dict[str, Node_ | None]:
    """What a value is that fits either; OperationRefused where its JSON type does not tell which."""
    both = {**other, **one}
    for kind in one.keys() & other.keys():
        both[kind] = _same(one[kind], other[kind])
    return both


def _same(one: Node_ | None, other: Node_ | None) -> Node_ | None:
    match one, other:
        case Fields(), Fields():
            named = dict(one.named)
            for name, kinds in other.named.items():
                named[name] = _merged(named[name], kinds) if name in named else kinds
            return Fields(named, _merged(one.further, other.further))
        case Items(), Items() if one.native == other.native:
            return Items(_merged(one.each, other.each), one.native)
        case (None, Fields() | Items() as node) | (Fields() | Items() as node, None) if not _is_native(node):
            return node
        case _ if one == other:
            return one
        case _:
            raise OperationRefused("a value that may be of two types, which JSON does not tell apart")


def _is_native(node: Node_ | None) -> bool:
    """True where something is more than JSON."""
    match node:
        case None:
            return False
        case Leaf():
            return True
        case Items(each, native):
            return native is not None or any(_is_native(child) for child in each.values())
        case Fields(named, further):
            return any(_is_native(child) for kinds in (*named.values(), further) for child in kinds.values())
        case _:
            assert_never(node)


# Leaves

_STANDS_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    "bigint": ("string", "number"),
    "date": ("string",),
    "nan": ("null",),
    "undefined": ("null",),
    "url": ("string",),
    "regexp": ("string",),
}


def _bigint(value: Json, field: str) -> Json:
    text = str(value)
    if not _BIGINT.fullmatch(text):
        raise ValueRefused(field, "must be an integer in decimal digits, without a zero in front")
    return text


def _date(value: Json, field: str) -> Json:
    read = _DATE.fullmatch(str(value))
    if read is None:
        raise ValueRefused(field, "must be a time with its offset, of whole milliseconds")
    day, time, fraction, offset = read.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{time}.{(fraction or '0').ljust(3, '0')}{offset.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueRefused(field, "must be a time that exists") from None
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _url(value: Json, field: str) -> Json:
    if not is_address(str(value)):
        raise ValueRefused(field, "must be a whole address")
    return value


def _regexp(value: Json, field: str) -> Json:
    read = _REGEXP.fullmatch(str(value))
    flags = "" if read is None else read.group(1)
    if read is None or len(set(flags)) < len(flags) or {"u", "v"} <= set(flags):
        raise ValueRefused(field, "must be a pattern between slashes, and its flags")
    return value


def _null(value: Json, field: str) -> Json:
    return None


_LEAVES: Final[Mapping[str, Callable[[Json, str], Json]]] = {
    "bigint": _bigint,
    "date": _date,
    "nan": _null,
    "undefined": _null,
    "url": _url,
    "regexp": _regexp,
}
