"""Where a schema accepts any JSON, a result is taken as it is: nothing makes JSON of what is none there (SPEC 3.6).

A serializer that meets a NaN, a set or bytes in such a place writes null, a list or text, silently. So the places are
computed once from the schema, and what stood in them before serializing is put back, for the boundary to judge.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from remit._base.boundary import Json
from remit._schema.judge import compile_schema
from remit._schema.vocabulary import ANNOTATIONS

_Choice: TypeAlias = "tuple[Callable[[Json], bool], Openness | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Openness:
    """The open places of one node: itself, in its properties, in keys nobody named, in items, in a branch that fits."""

    itself: bool = False
    properties: "Mapping[str, Openness]" = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    others: bool = False
    items: "Openness | None" = None
    choices: tuple[_Choice, ...] = ()


OPEN = Openness(itself=True)


def openness_of(schema: Mapping[str, Json]) -> Openness | None:
    """Return the open places of a schema of the subset, or None when it says everywhere what it accepts."""
    definitions = schema.get("$defs")
    return _of(dict(schema), definitions if isinstance(definitions, dict) else {})


def put_back(open_: Openness | None, written: Json, given: object) -> object:
    """`written`, with what stood in the open places of `given` before it was written."""
    if open_ is None:
        return written
    if open_.itself:
        return given
    if isinstance(written, dict) and isinstance(given, Mapping):
        return _object(open_, written, given)
    if isinstance(written, list) and isinstance(given, Collection) and open_.items is not None:
        return [put_back(open_.items, new, old) for new, old in zip(written, given, strict=True)]
    for fits, branch in open_.choices:
        if fits(written):
            return put_back(branch, written, given)
    return written


def open_places(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """Name every place of a schema where anything may stand: `value` for any JSON, `filter.*` for any key.

    `rows[]` stands for any item of `rows`, `*` for any key of the whole; sorted, each once.
    """
    definitions = schema.get("$defs")
    return tuple(sorted(set(_open(dict(schema), "", definitions if isinstance(definitions, dict) else {}))))


def _open(node: Json, path: str, definitions: Mapping[str, Json]) -> Iterator[str]:
    if not isinstance(node, dict):
        return
    if not set(node) - ANNOTATIONS - {"$defs"}:
        yield path or "*"
    if isinstance(reference := node.get("$ref"), str):
        yield from _open(definitions.get(reference.removeprefix("#/$defs/")), path, definitions)
    inside = f"{path}." if path else ""
    if node.get("additionalProperties") is True:
        yield f"{inside}*"
    if isinstance(properties := node.get("properties"), dict):
        for name, child in properties.items():
            yield from _open(child, f"{inside}{name}", definitions)
    kinds = node.get("type")
    if "array" in (kinds if isinstance(kinds, list) else [kinds]):
        yield from _open(node.get("items", {}), f"{path}[]", definitions)
    if isinstance(branches := node.get("anyOf"), list):
        for branch in branches:
            yield from _open(branch, path, definitions)


def _object(open_: Openness, written: dict[str, Json], given: Mapping[object, object]) -> object:
    for fits, branch in open_.choices:
        if fits(written):
            return put_back(branch, written, given)
    if open_.others and not open_.named:
        return dict(given)
    return {
        name: put_back(_at(open_, name), value, given[name]) if name in given else value
        for name, value in written.items()
    }


def _at(open_: Openness, name: str) -> Openness | None:
    return OPEN if open_.others and name not in open_.named else open_.properties.get(name)


def _of(node: Json, definitions: Mapping[str, Json]) -> Openness | None:
    if not isinstance(node, dict):
        return None
    if not set(node) - ANNOTATIONS - {"$defs"}:
        return OPEN
    reference = node.get("$ref")
    if isinstance(reference, str):
        return _of(definitions.get(reference.removeprefix("#/$defs/")), definitions)
    properties = node.get("properties")
    named = properties if isinstance(properties, dict) else {}
    inner = {name: _of(child, definitions) for name, child in named.items()}
    kinds = node.get("type")
    is_list = "array" in (kinds if isinstance(kinds, list) else [kinds])
    found = Openness(
        properties={name: each for name, each in inner.items() if each is not None},
        named=frozenset(named) if node.get("additionalProperties") is True else frozenset(),
        others=node.get("additionalProperties") is True,
        items=_of(node.get("items", {}), definitions) if is_list else None,
        choices=_choices(node.get("anyOf"), definitions),
    )
    return None if found == Openness() else found


def _choices(branches: Json, definitions: Mapping[str, Json]) -> tuple[_Choice, ...]:
    if not isinstance(branches, list):
        return ()
    found = [_of(branch, definitions) for branch in branches]
    if all(each is None for each in found):
        return ()
    choices: list[_Choice] = []
    for branch, each in zip(branches, found, strict=True):
        judged: dict[str, Json] = dict(branch) if isinstance(branch, dict) else {}
        judged["$defs"] = dict(definitions)
        choices.append((compile_schema(judged).is_valid, each))
    return tuple(choices)
