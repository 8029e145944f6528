"""A schema in a few words, for people who review a change: `text of 1 to 200 characters`, `list of 1 or more`."""

import json
from collections.abc import Mapping
from typing import Final, cast

from remit._base.boundary import Json

Node = Mapping[str, Json]

_SHOWN: Final = 60
_VALUES: Final = 8
_NAMES: Final = {"string": "text", "null": "null", "boolean": "true or false", "array": "list"}


def phrase(node: Json) -> str:
    """Say what a schema without references admits; equal schemas give equal words, and texts are left out."""
    if not isinstance(node, dict) or not node:
        return "anything"
    if "const" in node:
        return f"only {value_text(node['const'])}"
    if isinstance(values := node.get("enum"), list):
        shown = ", ".join(value_text(value) for value in values[:_VALUES])
        return f"one of {shown}" + (f", and {len(values) - _VALUES} more" if len(values) > _VALUES else "")
    if isinstance(branches := node.get("anyOf"), list):
        return " or ".join(phrase(branch) for branch in branches)
    kinds = node.get("type")
    several = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(_typed(kind, node) for kind in several)


def value_text(value: Json) -> str:
    """A value as JSON, at most 60 characters; plain words stand without quotes."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum():
        text = value
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _typed(kind: Json, node: Node) -> str:
    match kind:
        case "string":
            return " ".join(("text", *_text(node)))
        case "integer" | "number":
            return " ".join((str(kind), *_number(node)))
        case "array":
            return " ".join(("list", *_list(node)))
        case "object":
            return _object(node)
        case None:
            return "anything"
        case _:
            return _NAMES.get(str(kind), str(kind))


def _text(node: Node) -> list[str]:
    words = []
    if "format" in node:
        words.append(f"in the form {node['format']}")
    if length := _count(node.get("minLength"), node.get("maxLength"), "characters"):
        words.append(f"of {length}")
    if "pattern" in node:
        words.append(f"matching {value_text(node['pattern'])}")
    return words


def _number(node: Node) -> list[str]:
    named = (
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "a multiple of"),
    )
    return [f"{words} {value_text(node[key])}" for key, words in named if key in node]


def _list(node: Node) -> list[str]:
    words = []
    if length := _count(node.get("minItems"), node.get("maxItems"), ""):
        words.append(f"of {length}")
    if node.get("uniqueItems") is True:
        words.append("without repeats")
    if isinstance(items := node.get("items"), dict) and items:
        words.append(f"of {phrase(items)}" if not words else f"each {phrase(items)}")
    return words


def _object(node: Node) -> str:
    properties = cast("dict[str, Json]", node.get("properties") or {})
    required = cast("list[str]", node.get("required") or [])
    names = [name if name in required else f"{name}?" for name in sorted(properties)]
    rest = [] if node.get("additionalProperties") is False else ["any other key"]
    return "object of " + (", ".join((*names, *rest)) or "no key")


def _count(low: Json, high: Json, unit: str) -> str:
    if low is None and high is None:
        return ""
    if low is None:
        words = f"at most {high}"
    elif high is None:
        words = f"{low} or more"
    else:
        words = f"{low}" if low == high else f"{low} to {high}"
    return f"{words} {unit}".strip()
