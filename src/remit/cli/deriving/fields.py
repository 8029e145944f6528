"""From the controls of a form to the fields of an input: what each may hold, as the page says it (SPEC 11.9)."""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from remit._base.boundary import Json
from remit._base.text import clean_line, first_bad_inside
from remit.cli.deriving.page import Attributes, Control, joined
from remit.cli.deriving.skipping import HIDDEN, Skipped, why_skipped
from remit.cli.naming import free

Node = dict[str, Json]

_NO_FIELDS: Final = frozenset({"button", "reset", "image"})
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")
_NAME: Final = 56
_CHOICES: Final = 100
_WORDS: Final = 200
_FORMATS: Final = {"email": "email", "url": "uri", "date": "date"}
_COLOR: Final = "^#[0-9a-fA-F]{6}$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fields:
    """The fields of one form: `properties` by name, which of them it asks for, and what was left out of it.

    `sent_as` has the page's own names where they are others. `refused`
    says why the whole form cannot be sent without something that was left out.
    """

    properties: Mapping[str, Node]
    required: tuple[str, ...]
    sent_as: Mapping[str, str]
    skipped: tuple[Skipped, ...]
    refused: str | None


def fields_of(controls: Sequence[Control]) -> Fields:
    """Read the controls of a form, those of one name as one field."""
    properties: dict[str, Node] = {}
    required: list[str] = []
    sent_as: dict[str, str] = {}
    skipped: list[Skipped] = []
    refused: str | None = None
    for name, several in _by_name(controls).items():
        first = several[0]
        known = _known(name, properties)
        autocomplete = first.attributes.get("autocomplete", "")
        why = why_skipped(name, type=first.type, autocomplete=autocomplete) or why_skipped(known)
        asked = any("required" in each.attributes for each in several)
        if why is not None:
            skipped.append(Skipped(name, why))
            if asked and why != HIDDEN:
                refused = refused or f"it asks for {name}: {why}"
            continue
        schema, must = _field(several)
        if words := _words(first):
            schema["description"] = words
        properties[known] = schema
        if known != name:
            sent_as[known] = name
        if asked or must:
            required.append(known)
    return Fields(
        properties=properties, required=tuple(required), sent_as=sent_as, skipped=tuple(skipped), refused=refused
    )


def _words(control: Control) -> str:
    """What stands beside a control; of buttons the words are what is chosen."""
    words = "" if control.tag == "button" else joined(control.words) or control.attributes.get("aria-label", "")
    return clean_line(words, _WORDS)


def _known(name: str, taken: Collection[str]) -> str:
    """The name in the input: letters, digits, `_` and `-`, as models take it, each once."""
    return free((_OTHER.sub("_", name).strip("_") or "field")[:_NAME], taken, "_")


def _by_name(controls: Sequence[Control]) -> dict[str, list[Control]]:
    """The controls that are sent, by name; of several submit buttons of one name, a person presses one."""
    found: dict[str, list[Control]] = {}
    for control in controls:
        if control.name and control.type not in _NO_FIELDS:
            found.setdefault(control.name, []).append(control)
    return found


def _field(several: Sequence[Control]) -> tuple[Node, bool]:
    """The schema of one field, and whether it is always sent."""
    first = several[0]
    match first.type:
        case "checkbox":
            if len(several) == 1 and first.attributes.get("value", "on") == "on":
                return {"type": "boolean"}, False
            return _several(_values(several)), False
        case "radio":
            return _one_of(_values(several)), False
        case "submit":
            return _one_of(_values(several)), True
        case "select" | "select-multiple":
            values = [each.value for each in first.options if "disabled" not in each.attributes]
            if first.type == "select-multiple":
                return _several(values), False
            return _one_of([each for each in values if each or "required" not in first.attributes]), False
        case _:
            pass
    if len(several) > 1:
        return {"type": "array", "items": _plain(first)}, False
    return _plain(first), False


def _values(several: Sequence[Control]) -> list[str]:
    return [each.attributes.get("value", "on") for each in several]


def _one_of(values: Sequence[str]) -> Node:
    """One of these; where they are none, or too many to be read, any text."""
    choices = list(dict.fromkeys(values))
    readable = 0 < len(choices) <= _CHOICES and first_bad_inside(choices) is None
    return {"enum": list(choices)} if readable else {"type": "string"}


def _several(values: Sequence[str]) -> Node:
    return {"type": "array", "items": _one_of(values), "uniqueItems": True}


def _plain(control: Control) -> Node:
    return _KINDS.get(control.type, _text)(control.attributes) | _formatted(control.type)


def _formatted(type: str) -> Node:
    return {"format": _FORMATS[type]} if type in _FORMATS else {}


def _text(attributes: Attributes) -> Node:
    bounds = (("minLength", "minlength"), ("maxLength", "maxlength"))
    found: Node = {key: int(text) for key, name in bounds if (text := attributes.get(name, "")).isdecimal()}
    if "required" in attributes:  # a browser sends an empty one only where it is not asked for
        found["minLength"] = max(1, int(attributes["minlength"]) if attributes.get("minlength", "").isdecimal() else 1)
    return {"type": "string", **found}


def _number(attributes: Attributes) -> Node:
    """An integer unless the steps say otherwise: a browser takes no other without `step=`."""
    step = attributes.get("step", "").strip().lower()
    value = _float(step)
    whole = not step or (value is not None and value.is_integer())
    return {"type": "integer" if whole else "number", **dict(_bounds(attributes))}


def _bounds(attributes: Attributes) -> Iterator[tuple[str, Json]]:
    for key, name in (("minimum", "min"), ("maximum", "max")):
        value = _float(attributes.get(name, ""))
        if value is not None:
            yield key, int(value) if value.is_integer() else value


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_KINDS: Final[Mapping[str, Callable[[Attributes], Node]]] = MappingProxyType(
    {
        "number": _number,
        "range": _number,
        "color": lambda _: {"type": "string", "pattern": _COLOR},
    }
)
