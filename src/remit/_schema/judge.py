"""The compiled form of a schema: jsonschema-rs with our formats, linear patterns and safe integers (SPEC 3.6)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import jsonschema_rs

from remit._base.boundary import SAFE_INTEGER, Json

FORMATS: Final = frozenset({"date-time", "date", "time", "uuid", "email", "uri"})
"""The formats of the subset; each is enforced, none is a mere note (SPEC 3.5)."""


def compile_schema(schema: Mapping[str, Json]) -> jsonschema_rs.Draft202012Validator:
    """Compile a schema once; what is no schema, a pattern that is not linear and a lost `$ref` are a `ValueError`.

    Formats are enforced, with no leap seconds and no year 0, which no typed value could hold. Every integer lies
    within ±(2^53-1), whether the schema says so or not.
    """
    return jsonschema_rs.Draft202012Validator(
        _with_safe_integers(dict(schema)),
        formats={"date-time": _DATE_TIME, "date": _DATE, "time": _TIME},
        validate_formats=True,
        pattern_options=jsonschema_rs.RegexOptions(),
    )


def pattern_is_linear(pattern: str) -> bool:
    """Say whether the linear-time engine takes a pattern: no look-around, no back-references, no huge repeats."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:
        return False
    return True


def _built_in(name: str) -> Callable[[Any], bool]:
    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid


def _date_time_check() -> Callable[[str], bool]:
    known = _built_in("date-time")
    return lambda text: known(text) and text[:4] != "0000" and text[17:19] != "60"


def _date_check() -> Callable[[str], bool]:
    known = _built_in("date")
    return lambda text: known(text) and text[:4] != "0000"


def _time_check() -> Callable[[str], bool]:
    known = _built_in("time")
    return lambda text: known(text) and text[6:8] != "60"


_DATE_TIME: Final = _date_time_check()
_DATE: Final = _date_check()
_TIME: Final = _time_check()


def _with_safe_integers(node: dict[str, Json]) -> dict[str, Json]:
    """Copy a schema, adding the bounds of a safe integer wherever an integer is the only number allowed."""
    copy: dict[str, Json] = dict(node)
    for keyword in ("properties", "$defs"):
        named = node.get(keyword)
        if isinstance(named, dict):
            copy[keyword] = {name: _bounded(child) for name, child in named.items()}
    if "items" in node:
        copy["items"] = _bounded(node["items"])
    branches = node.get("anyOf")
    if isinstance(branches, list):
        copy["anyOf"] = [_bounded(branch) for branch in branches]
    kinds = node.get("type")
    if kinds == "integer" or (isinstance(kinds, list) and "integer" in kinds and "number" not in kinds):
        # `1e21` is an integer to JSON Schema, and beyond what any typed integer field may be handed.
        copy.setdefault("minimum", -SAFE_INTEGER)
        copy.setdefault("maximum", SAFE_INTEGER)
        if _beyond(copy["minimum"], -1):
            copy["minimum"] = -SAFE_INTEGER
        if _beyond(copy["maximum"], 1):
            copy["maximum"] = SAFE_INTEGER
    return copy


def _bounded(node: Json) -> Json:
    return _with_safe_integers(node) if isinstance(node, dict) else node


def _beyond(bound: Json, sign: int) -> bool:
    return isinstance(bound, (int, float)) and bound * sign > SAFE_INTEGER
