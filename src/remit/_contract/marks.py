"""Marks on fields of an input: which a person may leave free, which are neither shown nor kept (SPEC 7.9, 7.2)."""

from collections.abc import Collection, Mapping
from typing import cast

from remit._base.boundary import Json
from remit._contract.options import Options, Place, checked_names
from remit._model.effects import Confirmation, Effect, effective_confirmation
from remit.errors import DefinitionError


def marks_of(
    at: Place,
    options: Options,
    effect: Effect,
    declared: Confirmation,
    schemas: tuple[Json, Json],
    bound: Collection[str] = (),
) -> dict[str, Json]:
    """The part of a row that says what is marked; a row without marks has no such part.

    `schemas` are the agent's and the full one, which differ by what the view fills; `bound` names all that it fills,
    which stays pinned even where an agent may fill it instead. Refused: a name that is no field, `may_vary` where no
    standing approval is possible: a level other than `required`, or a sensitive field.
    """
    agent, full = (_fields(schema) for schema in schemas)
    free = checked_names(at, "may_vary", options.may_vary)
    sensitive = checked_names(at, "sensitive", options.sensitive)
    for name in free:
        if name not in agent or name in bound:
            raise _no_field(at, "may_vary", name, "an agent does not send, or the view fills", agent)
    for name in sensitive:
        if name not in full:
            raise _no_field(at, "sensitive", name, "the input does not have", full)
    level = effective_confirmation(effect, declared)
    if free and level is not Confirmation.REQUIRED:
        raise at.wrong(
            f"may_vary= is for what a person may approve for the session, and the confirmation is {level.value!r}",
            do='write confirmation="required", or remove may_vary=',
        )
    if free and sensitive:
        raise at.wrong(
            "no standing approval covers a sensitive field, so nothing may vary under one",
            do="remove may_vary=, or move what is sensitive to a capability of its own",
        )
    marks = {"may_vary": free, "sensitive": sensitive}
    return {mark: list(names) for mark, names in marks.items() if names}


def _no_field(at: Place, mark: str, name: str, why: str, fields: Mapping[str, Json]) -> DefinitionError:
    return at.wrong(f"{mark}= names {name!r}, which {why}", do=f"name one of {', '.join(fields) or '(no field)'}")


def _fields(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else cast("dict[str, Json]", {})
