"""The exact input of a request, field by field, as a person reads it (SPEC 7.2)."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit._base.text import shown
from remit._model.request_view import ConfirmationView

WITHHELD: Final = "a value is withheld: it is neither shown nor kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One leaf: where it stands, its exact JSON with refused characters as escapes, and whether the view fills it.

    A `withheld` one has a value that nobody is shown; `value` says that (SPEC 7.2).
    """

    path: str
    value: str
    bound: bool
    withheld: bool = False


def fields_of(view: ConfirmationView) -> tuple[Field, ...]:
    """Every leaf of the input, required and changed fields first; nothing is joined and nothing is cut."""
    return rows_of(view.input, (*view.required, *view.changed), view.bound, view.withheld)


def rows_of(
    input: Mapping[str, object], first: Collection[str], bound: Collection[str], withheld: Collection[str] = ()
) -> tuple[Field, ...]:
    """Every leaf of an input; `first` names the fields that are shown before the others, `bound` those of the view."""
    ahead = [name for name in dict.fromkeys(first) if name in input]
    names = [*ahead, *(name for name in input if name not in ahead)]
    return tuple(
        Field(
            path=shown(path),
            value=WITHHELD if name in withheld else shown(json.dumps(leaf, ensure_ascii=False)),
            bound=name in bound,
            withheld=name in withheld,
        )
        for name in names
        for path, leaf in _leaves(name, input[name])
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
