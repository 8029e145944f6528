"""Argument repair: text where the schema means no text, and only what loses nothing (SPEC 6.12).

The rules are the table below. A place is repaired if the schema, in all its forms, allows no string there, if text
stands there, and if a rule for a type that is allowed there reads it without loss. The whole repaired value must be
valid; else nothing is repaired, and the issues are those of what was sent.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, NoReturn

from remit._base.boundary import Json, NotJson, take
from remit._base.paths import join
from remit._schema.vocabulary import ANNOTATIONS, KEYWORDS, TYPES


class Repair(NamedTuple):
    """One place that was repaired, and by which rule; never the value."""

    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table: for these types, text of this form is read so; `read` raises ValueError for a loss."""

    name: str
    types: frozenset[str]
    form: re.Pattern[str]
    read: Callable[[str], Json]


def _read_json(text: str) -> Json:
    value: object = json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_int=_whole,
        parse_float=_exact,
        parse_constant=_not_a_number,
    )
    return take(value)[0]


def _read_decimal(text: str) -> Json:
    value, printed = take(_exact(text) if "." in text else _whole(text))
    if printed.decode("ascii") != text:
        raise ValueError("it does not come back as it was written")
    return value


def _read_boolean(text: str) -> Json:
    return text == "true"


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice, and one of the two would be lost")
    return made


def _whole(text: str) -> int:
    value = int(text)
    if str(value) != text:  # minus zero
        raise ValueError("it does not come back as it was written")
    return value


def _exact(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")) or Decimal(repr(value)) != Decimal(text):
        raise ValueError("a number that would be rounded")
    return value


def _not_a_number(text: str) -> NoReturn:
    raise ValueError("NaN or an infinity")


TABLE: Final = (
    Rule("json-text", frozenset({"object", "array"}), re.compile(r"\s*[\[{].*[\]}]\s*", re.DOTALL), _read_json),
    Rule("decimal-text", frozenset({"integer", "number"}), re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII), _read_decimal),
    Rule("boolean-text", frozenset({"boolean"}), re.compile(r"true|false"), _read_boolean),
)
"""JSON text for an object or array; plain decimal text for an integer or number; exactly `true` or `false`."""

_Node = Mapping[str, Json]
_Steps = tuple[str | int, ...]

_ANYTHING: Final[_Node] = {}
_KNOWN: Final = KEYWORDS | {"$ref", "$defs"}
_TRANSPARENT: Final = ANNOTATIONS | {"anyOf", "$ref", "$defs"}


def repair(schema: _Node, value: Json, most: int) -> tuple[Json, tuple[Repair, ...]]:
    """Return the value with every place repaired that can be, and what was done; the given value stays as it is.

    The same object comes back with no repairs if there was nothing to do, or if more than `most` places would need it.
    The result is not judged here.
    """
    work = _Work(schema, most)
    try:
        repaired = work.walk(value, (dict(schema),), ())
    except _TooMany:
        return value, ()
    return repaired, tuple(work.repairs)


class _TooMany(Exception):
    """More places need repair than may be repaired."""


class _Work:
    """One repair: a walk over a value beside every form that the schema allows at each place."""

    def __init__(self, schema: _Node, most: int) -> None:
        definitions = schema.get("$defs")
        self._definitions = definitions if isinstance(definitions, dict) else {}
        self._most = most
        self.repairs: list[Repair] = []

    def walk(self, value: Json, nodes: Iterable[Json], steps: _Steps) -> Json:
        shapes = self._shapes(nodes)
        if isinstance(value, str):
            value = self._read(value, shapes, steps)
        if isinstance(value, dict):
            return self._object(value, shapes, steps)
        return self._array(value, shapes, steps) if isinstance(value, list) else value

    def _read(self, text: str, shapes: list[_Node], steps: _Steps) -> Json:
        types = _types(shapes)
        if "string" in types:
            return text
        for rule in TABLE:
            if not rule.types & types or not rule.form.fullmatch(text):
                continue
            try:
                value = rule.read(text)
            except (ValueError, RecursionError, NotJson):
                return text
            if not _kinds(value) & types:
                return text
            if len(self.repairs) >= self._most:
                raise _TooMany
            self.repairs.append(Repair(join(steps), rule.name))
            return value
        return text

    def _object(self, value: dict[str, Json], shapes: list[_Node], steps: _Steps) -> Json:
        changed: dict[str, Json] = {}
        for name, child in value.items():
            if isinstance(child, (str, dict, list)) and (nodes := _field(shapes, name)):
                new = self.walk(child, nodes, (*steps, name))
                if new is not child:
                    changed[name] = new
        return {**value, **changed} if changed else value

    def _array(self, value: list[Json], shapes: list[_Node], steps: _Steps) -> Json:
        nodes = _items(shapes)
        if not nodes:
            return value
        new = [self.walk(child, nodes, (*steps, place)) for place, child in enumerate(value)]
        return value if all(one is other for one, other in zip(new, value, strict=True)) else new

    def _shapes(self, nodes: Iterable[Json]) -> list[_Node]:
        """Every form that may stand at a place: references followed, unions opened; what is not known is anything."""
        found: list[_Node] = []
        waiting = list(nodes)
        followed: set[str] = set()
        while waiting:
            node = waiting.pop()
            if not isinstance(node, Mapping) or not set(node) <= _KNOWN:
                found.append(_ANYTHING)
                continue
            reference, branches = node.get("$ref"), node.get("anyOf")
            if isinstance(reference, str) and reference not in followed:
                followed.add(reference)
                waiting.append(self._definitions.get(reference.removeprefix("#/$defs/")))
            if isinstance(branches, list):
                waiting += branches
            if not set(node) <= _TRANSPARENT or (reference is None and branches is None):
                found.append(node)
        return found


def _types(shapes: Iterable[_Node]) -> frozenset[str]:
    """Every type that one of the forms allows; all of them where a form does not say."""
    found: set[str] = set()
    for shape in shapes:
        found |= _types_of(shape)
    return frozenset(found)


def _types_of(shape: _Node) -> frozenset[str]:
    named = shape.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(str(each) for each in named)
    if "const" in shape:
        return _kinds(shape["const"])
    values = shape.get("enum")
    if isinstance(values, list):
        return frozenset().union(*(_kinds(each) for each in values))
    return TYPES


def _kinds(value: Json) -> frozenset[str]:
    """The types that a value has: a whole number is a number, too."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number"})
        case str():
            return frozenset({"string"})
        case list():
            return frozenset({"array"})
        case _:
            return frozenset({"object"})


def _field(shapes: Iterable[_Node], name: str) -> list[Json]:
    """The schemas a field has in the forms that are objects; none if one of them lets anything stand there."""
    found: list[Json] = []
    for shape in shapes:
        if "object" not in _types_of(shape):
            continue
        properties = shape.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(properties[name])
        elif shape.get("additionalProperties") is not False:
            return []
    return found


def _items(shapes: Iterable[_Node]) -> list[Json]:
    """The schemas of the items in the forms that are lists; none if one of them lets anything stand there."""
    found: list[Json] = []
    for shape in shapes:
        if "array" not in _types_of(shape):
            continue
        if "items" not in shape:
            return []
        found.append(shape["items"])
    return found
