"""The exact input of a request, field by field, as a person reads it (SPEC 7.2)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit._base.text import shown
from remit._model.request_view import ConfirmationView


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One leaf: where it stands, its exact JSON with refused characters as escapes, and whether the view fills it."""

    path: str
    value: str
    bound: bool


def fields_of(view: ConfirmationView) -> tuple[Field, ...]:
    """Every leaf of the input, required fields first; nothing is joined and nothing is cut."""
    first = [name for name in view.required if name in view.input]
    names = [*first, *(name for name in view.input if name not in first)]
    return tuple(
        Field(path=shown(path), value=shown(json.dumps(leaf, ensure_ascii=False)), bound=name in view.bound)
        for name in names
        for path, leaf in _leaves(name, view.input[name])
    )


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner)
    elif isinstance(value, Mapping):
        yield path, {}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield path, []
    else:
        yield path, value
