"""Names for what is written: free ones, identifiers, and the source of a literal."""

import builtins
import json
import keyword
import re
from collections.abc import Collection
from typing import Final

from remit._base.boundary import Json
from remit._base.text import shown
from remit._contract.component import Component

HIDING: Final = frozenset(
    {"reference", *keyword.kwlist, *keyword.softkwlist, *(name.lower() for name in dir(builtins)), *dir(Component)}
)
"""What no attribute is called: the class body, or a binding that is written into it, would no longer mean the other."""

_INDENT = "    "
_WIDTH = 110
_NAME = 100


def free(wanted: str, taken: Collection[str], mark: str) -> str:
    """The wanted name, with a number where it is taken."""
    candidate, number = wanted, 1
    while candidate in taken:
        number += 1
        candidate = f"{wanted}{mark}{number}"
    return candidate


def operation_name(own: str) -> str:
    """A backend's own name in the characters that every door takes as they are."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", own)
    return plain.strip("-.")[:_NAME] or "operation"


def attribute(name: str) -> str:
    """An identifier for the name of an operation, in words as Python writes them."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_") or "operation"
    plain = plain if plain[0].isalpha() else f"call_{plain}"
    return f"{plain}_" if plain in HIDING else plain


def text(value: str | None) -> str:
    """As a literal of Python; what nobody sees is an escape."""
    return shown(json.dumps(value, ensure_ascii=False))


def literal(value: Json, indent: str = "") -> str:
    """A literal of Python for JSON, broken over lines where it is long."""
    flat = _flat(value)
    if len(flat) + len(indent) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + _INDENT
    if isinstance(value, dict):
        lines = [f"{inner}{text(key)}: {literal(each, inner)}," for key, each in value.items()]
        return "\n".join(["{", *lines, indent + "}"])
    return "\n".join(["[", *(f"{inner}{literal(each, inner)}," for each in value), indent + "]"])


def _flat(value: Json) -> str:
    match value:
        case str():
            return text(value)
        case dict():
            return "{" + ", ".join(f"{text(key)}: {_flat(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flat, value)) + "]"
        case _:
            return repr(value)
