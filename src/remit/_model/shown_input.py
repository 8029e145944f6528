"""The exact input of a request, field by field, as a person reads it (SPEC 7.2)."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit._base.nested import steps_of
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
    filled = frozenset(steps_of(path) for path in bound)
    names = [*ahead, *(name for name in input if name not in ahead)]
    return tuple(
        Field(
            path=shown(path),
            value=WITHHELD if name in withheld else shown(json.dumps(leaf, ensure_ascii=False)),
            bound=any(steps[: len(each)] == each for each in filled),
            withheld=name in withheld,
        )
        for name in names
        for path, steps, leaf in _leaves(name, (name,), input[name])
    )


_Leaf = tuple[str, tuple[str, ...], object]


def _leaves(path: str, steps: tuple[str, ...], value: object) -> Iterator[_Leaf]:
    """Every leaf with its path as it is shown, and the names on the way, an empty one for an item."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", (*steps, key), inner)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", (*steps, ""), inner)
    elif isinstance(value, Mapping):
        yield path, steps, {}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield path, steps, []
    else:
        yield path, steps, value
