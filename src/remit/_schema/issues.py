"""Problems of a value in words of ours: the field, the rule, what is allowed, never what was sent (SPEC 8.3)."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

import jsonschema_rs

from remit._base.boundary import Json, canonical
from remit._base.limits import Limits
from remit._base.paths import MAX_SEGMENT, join, segment
from remit.errors import Issue

_MAX_ISSUES: Final = Limits().issues
_MAX_LISTED: Final = 300
_MAX_NAMES: Final = 20
_NEAR: Final = 0.5

_TYPES: Final = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
_FORMATS: Final = {
    "date-time": "a date and time with a zone, like 2026-01-31T12:00:00Z",
    "date": "a date, like 2026-01-31",
    "time": "a time with a zone, like 12:00:00Z",
    "uuid": "a UUID, like 123e4567-e89b-12d3-a456-426614174000",
    "email": "an email address",
    "uri": "an absolute URI",
}
_LIMITS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be greater than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "pattern": "must match the pattern {}",
}


_NO_KEYS: Final = "no keys are allowed here"
_COUNTED: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems"})


def issues_of(engine: jsonschema_rs.Draft202012Validator, schema: Mapping[str, Json], value: Json) -> tuple[Issue, ...]:
    """Return at most 20 problems of `value`, the first for each place and rule."""
    named: dict[tuple[str, str], Issue] = {}
    mistyped: set[str] = set()
    for path, message, is_type in _explained(engine.iter_errors(value), schema):
        if path in mistyped:
            continue  # other rules of a field say nothing once its type is wrong
        if is_type:
            mistyped.add(path)
        named.setdefault((path, message), Issue(path=path, message=message))
        if len(named) >= _MAX_ISSUES:
            break
    return tuple(named.values())


_Found = tuple[str, str, bool]


def _explained(errors: Iterable[jsonschema_rs.ValidationError], schema: Mapping[str, Json]) -> Iterator[_Found]:
    for error in errors:
        keyword = error.kind.name
        if keyword == "additionalProperties":
            yield from _unknown_keys(error, schema)
        elif keyword == "anyOf":
            yield from _no_branch(error, schema)
        elif keyword == "required":
            yield join([*error.instance_path, str(error.kind.value)]), "is required", False
        else:
            yield join(error.instance_path), _rule(keyword, error.kind.value), keyword == "type"


def _rule(keyword: str, allowed: object) -> str:
    if keyword == "type" and isinstance(allowed, list):
        return f"must be {_either(sorted(allowed))}"
    if keyword == "enum" and isinstance(allowed, list):
        return f"must be one of {_listed(allowed)}"
    if keyword == "const":
        return f"must be {_printed(allowed)}"
    if keyword == "format":
        return f"must be {_FORMATS.get(str(allowed), str(allowed))}"
    if keyword == "uniqueItems":
        return "must have no equal items"
    if keyword == "falseSchema":  # what the engine says of a closed object without properties; it names no key
        return _NO_KEYS
    text = _LIMITS.get(keyword, f"breaks the rule {keyword}").format(_printed(allowed))
    return text.removesuffix("s") if keyword in _COUNTED and allowed == 1 else text


def _either(kinds: Iterable[str]) -> str:
    words = [_TYPES.get(kind, kind) for kind in kinds]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _printed(allowed: object) -> str:
    """An allowed value as JSON; it comes from the schema, never from the caller."""
    text = canonical(cast(Json, allowed)).decode("utf-8")
    return text if len(text) <= _MAX_LISTED else text[: _MAX_LISTED - 1] + "…"


def _listed(values: list[Json]) -> str:
    shown: list[str] = []
    room = _MAX_LISTED
    for value in values:
        text = _printed(value)
        room -= len(text) + 2
        if room < 0:
            shown.append("…")
            break
        shown.append(text)
    return ", ".join(shown)


def _unknown_keys(error: jsonschema_rs.ValidationError, schema: Mapping[str, Json]) -> Iterator[_Found]:
    unexpected = cast("list[str]", error.kind.value)
    yield from _unknown(unexpected, error.instance_path, _properties(schema, error.schema_path[:-1]))


def _unknown(unexpected: Iterable[str], place: list[str | int], known: list[str]) -> Iterator[_Found]:
    for key in islice(unexpected, _MAX_ISSUES):
        yield join([*place, key]), f"unknown key {segment(key)}; {_nearest(key, known)}", False


def _properties(schema: Mapping[str, Json], steps: Iterable[str | int]) -> list[str]:
    node: Any = schema
    for step in steps:  # the engine's own way through this schema
        node = node[step]
    return list(node.get("properties", {}))


def _nearest(key: str, known: list[str]) -> str:
    if not known:
        return _NO_KEYS
    lowered = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(key[:MAX_SEGMENT].lower(), list(lowered), n=1, cutoff=_NEAR)
    if close:
        return f"did you mean {lowered[close[0]]}?"
    more = ", …" if len(known) > _MAX_NAMES else ""
    return f"allowed: {', '.join(known[:_MAX_NAMES])}{more}"


def _no_branch(error: jsonschema_rs.ValidationError, schema: Mapping[str, Json]) -> Iterator[_Found]:
    """Explain the one branch that was meant, if type and tag leave one; else say what the branches are."""
    place = error.instance_path
    branches: object = error.kind.value
    found: list[list[jsonschema_rs.ValidationError]] = branches if isinstance(branches, list) else []
    meant = [branch for branch in found if not any(_rules_out(problem, place) for problem in branch)]
    if len(meant) == 1:
        yield from _explained(meant[0], schema)
        return
    kinds: set[str] = set()
    for branch in found:
        mismatch = [problem for problem in branch if problem.kind.name == "type" and problem.instance_path == place]
        if not mismatch:
            yield join(place), "fits none of the allowed forms", False
            return
        for problem in mismatch:
            kinds.update(str(kind) for kind in problem.kind.value)
    yield join(place), f"must be {_either(sorted(kinds))}", True


def _rules_out(problem: jsonschema_rs.ValidationError, place: list[str | int]) -> bool:
    """A wrong type, or a constant at the place itself or one key below it (a tag), means another branch was meant."""
    path = problem.instance_path
    if path == place:
        return problem.kind.name in {"type", "const", "enum"}
    return len(path) == len(place) + 1 and problem.kind.name in {"const", "enum"}
