"""Where two schemas differ, place by place, and in which direction (SPEC 13.6).

Containment decides the direction; where it cannot, both count as possible. The walk over objects and lists only finds
the place, so that a reviewer reads a field and not a whole schema.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from remit._base.boundary import Json
from remit._schema.compare import Containment, covers
from remit._schema.phrase import phrase, value_text
from remit._schema.vocabulary import ANNOTATIONS

ABSENT: Final = "(none)"
_OBJECT: Final = frozenset({"type", "properties", "required", "additionalProperties"})
_LIST: Final = frozenset({"type", "items", "minItems", "maxItems", "uniqueItems"})

Node = dict[str, Json]


class At(StrEnum):
    """What a difference is about."""

    VALUE = "value"  # the values that are admitted at a path
    ADDED = "added"  # a property that was not there
    GONE = "gone"  # a property that is no longer there
    REQUIRED = "required"  # a property that may no longer be left out
    OPTIONAL = "optional"  # a property that may now be left out
    KEYS = "keys"  # whether further keys are taken
    WORDS = "words"  # texts, defaults and examples


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where two schemas differ.

    `path` is the author's view (`filter.city`, `rows[].id`, empty for the root); `before` and `after` are words. With
    `looser` the new schema may admit what the old one did not, with `tighter` the other way round; an undecided
    difference is both. `disjoint` says that nothing is admitted by both.
    """

    path: str
    at: At
    before: str
    after: str
    looser: bool
    tighter: bool
    disjoint: bool = False


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[Difference, ...]:
    """Every place where two schemas of the subset differ, by path; none when they mean the same in the same words."""
    return tuple(_between("", inlined(before), inlined(after)))


def inlined(schema: Mapping[str, Json]) -> Node:
    """The schema without `$defs`: each reference replaced by what it names; the subset has no recursion (SPEC 3.5)."""
    definitions = cast("dict[str, Json]", schema.get("$defs") or {})

    def put(node: Json) -> Json:
        if isinstance(node, list):
            return [put(each) for each in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            target = cast(Node, put(definitions[reference.removeprefix("#/$defs/")]))
            return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        kept = {key: value for key, value in node.items() if key != "$defs"}
        return {
            key: value if key in ("enum", "const", "default", "examples") else put(value) for key, value in kept.items()
        }

    return cast(Node, put(dict(schema)))


def _between(path: str, before: Node, after: Node) -> Iterator[Difference]:
    yield from _words(path, before, after)
    old, new = _bare(before), _bare(after)
    if old == new:
        yield from _inner_words(path, before, after)
    elif _is(old, "object", _OBJECT) and _is(new, "object", _OBJECT):
        yield from _objects(path, before, after)
    elif _is(old, "array", _LIST) and _is(new, "array", _LIST):
        yield from _lists(path, before, after)
    elif (found := _values(path, old, new)) is not None:
        yield found


def _words(path: str, before: Node, after: Node) -> Iterator[Difference]:
    for key in sorted(ANNOTATIONS):
        old, new = before.get(key), after.get(key)
        if (key in before, old) != (key in after, new):
            yield Difference(
                path=f"{path} {key}".strip(),
                at=At.WORDS,
                before=value_text(old) if key in before else ABSENT,
                after=value_text(new) if key in after else ABSENT,
                looser=False,
                tighter=False,
            )


def _inner_words(path: str, before: Node, after: Node) -> Iterator[Difference]:
    """Texts below a node whose values did not change."""
    olds, news = _properties(before), _properties(after)
    for name in sorted(olds.keys() & news.keys()):
        yield from _between(_below(path, name), olds[name], news[name])
    if isinstance(old := before.get("items"), dict) and isinstance(new := after.get("items"), dict):
        yield from _between(f"{path}[]", old, new)
    old_branches, new_branches = before.get("anyOf"), after.get("anyOf")
    if isinstance(old_branches, list) and isinstance(new_branches, list):
        for index, (old, new) in enumerate(zip(old_branches, new_branches, strict=True)):
            yield from _between(f"{path}|{index}", cast(Node, old), cast(Node, new))


def _objects(path: str, before: Node, after: Node) -> Iterator[Difference]:
    olds, news = _properties(before), _properties(after)
    was_open, is_open = before.get("additionalProperties") is not False, after.get("additionalProperties") is not False
    needed, needs = _required(before), _required(after)
    for name in sorted(olds.keys() | news.keys()):
        here = _below(path, name)
        if name not in olds:
            # What the open object took under this name is now held against a schema; the closed one took nothing.
            tighter = name in needs or (was_open and covers(news[name], {}) is not Containment.YES)
            text = _field(news[name], name in needs)
            yield Difference(path=here, at=At.ADDED, before=ABSENT, after=text, looser=not was_open, tighter=tighter)
        elif name not in news:
            looser = name in needed or (is_open and covers(olds[name], {}) is not Containment.YES)
            text = _field(olds[name], name in needed)
            yield Difference(path=here, at=At.GONE, before=text, after=ABSENT, looser=looser, tighter=not is_open)
        else:
            yield from _between(here, olds[name], news[name])
            yield from _need(here, name in needed, name in needs)
    if was_open != is_open:
        words = {True: "any other key", False: "no other key"}
        yield Difference(
            path=path, at=At.KEYS, before=words[was_open], after=words[is_open], looser=is_open, tighter=was_open
        )


def _field(node: Node, required: bool) -> str:
    return f"{'required' if required else 'optional'}: {phrase(node)}"


def _need(path: str, was: bool, now: bool) -> Iterator[Difference]:
    if was != now:
        at = At.REQUIRED if now else At.OPTIONAL
        words = {True: "required", False: "optional"}
        yield Difference(path=path, at=at, before=words[was], after=words[now], looser=was, tighter=now)


def _lists(path: str, before: Node, after: Node) -> Iterator[Difference]:
    counted = _LIST - {"items"}
    old = {key: value for key, value in _bare(before).items() if key in counted}
    new = {key: value for key, value in _bare(after).items() if key in counted}
    if old != new and (found := _values(path, old, new)) is not None:
        yield found
    yield from _between(f"{path}[]", _items(before), _items(after))


def _items(node: Node) -> Node:
    items = node.get("items")
    return items if isinstance(items, dict) else {}


def _values(path: str, old: Node, new: Node) -> Difference | None:
    looser, tighter = covers(old, new) is not Containment.YES, covers(new, old) is not Containment.YES
    before, after = phrase(old), phrase(new)
    if not looser and not tighter and before == after:
        return None
    if before == after:  # words are too coarse here
        before, after = value_text(cast(Json, old)), value_text(cast(Json, new))
    disjoint = not (_types(old) & _types(new))
    return Difference(
        path=path, at=At.VALUE, before=before, after=after, looser=looser, tighter=tighter, disjoint=disjoint
    )


def _types(node: Node) -> frozenset[str]:
    if "const" in node or "enum" in node:
        values = [node["const"]] if "const" in node else cast("list[Json]", node["enum"])
        return frozenset(type_of(value) for value in values)
    if isinstance(branches := node.get("anyOf"), list):
        return frozenset().union(*(_types(cast(Node, branch)) for branch in branches))
    kinds = node.get("type")
    every = ("null", "boolean", "number", "string", "array", "object")
    named = kinds if isinstance(kinds, list) else every if kinds is None else [kinds]
    return frozenset("number" if kind == "integer" else str(kind) for kind in named)


def type_of(value: Json) -> str:
    """The JSON type of a value; whole numbers are `number`, too."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is(node: Node, kind: str, keywords: frozenset[str]) -> bool:
    return node.get("type") == kind and set(node) <= keywords


def _bare(node: Node) -> Node:
    """The node without texts, at every depth: what decides about values, in one order."""
    bare: Node = {}
    for key, value in node.items():
        if key in ANNOTATIONS:
            continue
        if key == "properties":
            bare[key] = {name: _bare(cast(Node, child)) for name, child in sorted(cast(Node, value).items())}
        elif key == "items":
            bare[key] = _bare(cast(Node, value))
        elif key == "anyOf":
            bare[key] = [_bare(cast(Node, branch)) for branch in cast("list[Json]", value)]
        elif key == "required":
            bare[key] = cast(Json, sorted(cast("list[str]", value)))
        else:
            bare[key] = value
    return bare


def _properties(node: Node) -> dict[str, Node]:
    return cast("dict[str, Node]", node.get("properties") or {})


def _required(node: Node) -> frozenset[str]:
    return frozenset(cast("list[str]", node.get("required") or []))


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
