"""Marks on an input and an output: what a person may leave free, what is withheld, what is from outside.

The first two name fields of an input (SPEC 7.9, 7.2), the third an output or fields of it (SPEC 3.14). A mark of the
whole says who wrote a declaration, and how well it is known (SPEC 11.9).
"""

from collections.abc import Collection, Mapping
from typing import cast

from remit._base.boundary import Json
from remit._contract.options import Options, Place, checked_names, checked_source, fidelity_of
from remit._model.effects import Confirmation, Effect, Fidelity, Source, effective_confirmation, unsure
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
    if free and unsure(effect, fidelity_of(at, options)):
        raise at.wrong(
            "no standing approval covers what is below high fidelity, so nothing may vary under one",
            do='remove may_vary=, or look at what a call does and write fidelity="high"',
        )
    if free and sensitive:
        raise at.wrong(
            "no standing approval covers a sensitive field, so nothing may vary under one",
            do="remove may_vary=, or move what is sensitive to a capability of its own",
        )
    marks = {"may_vary": free, "sensitive": sensitive}
    return {mark: list(names) for mark, names in marks.items() if names}


def checked_untrusted(at: Place, value: object) -> bool | tuple[str, ...]:
    """Return True for the whole, the names of the fields, or False for neither (SPEC 3.14)."""
    return value if isinstance(value, bool) else checked_names(at, "untrusted", value) or False


def untrusted_of(at: Place, options: Options, output: Json, *, notes: bool) -> dict[str, Json]:
    """The part of a row that says which output is from outside; a row without has no such part (SPEC 3.14).

    Refused: True where there is neither an output nor a note to mark, and a name that is no field of the output.
    """
    marked = checked_untrusted(at, options.untrusted)
    if marked is False:
        return {}
    if marked is True:
        if output is None and not notes:
            raise at.wrong("untrusted=True marks an output or a note, and there is neither", do="remove untrusted=")
        return {"untrusted": True}
    fields = _fields(_root(output))
    for name in marked:
        if name not in fields:
            raise at.wrong(
                f"untrusted= names {name!r}, which is no field of the output",
                do=f"name one of {', '.join(fields) or '(no field)'}, or write untrusted=True for all of it",
            )
    return {"untrusted": list(marked)}


def known_block(at: Place, options: Options) -> dict[str, Json]:
    """The part of a row that says who wrote it and how well it is known; one that is as usual has none (SPEC 11.9)."""
    source, fidelity = checked_source(at, options.source), fidelity_of(at, options)
    return {
        **({} if source is Source.DECLARED else {"source": source.value}),
        **({} if fidelity is Fidelity.HIGH else {"fidelity": fidelity.value}),
    }


def _root(schema: Json) -> Json:
    """The schema itself, or what its root points to."""
    target = schema.get("$ref") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(target, str):
        return schema
    return cast("dict[str, Json]", schema["$defs"])[target.removeprefix("#/$defs/")]


def _no_field(at: Place, mark: str, name: str, why: str, fields: Mapping[str, Json]) -> DefinitionError:
    return at.wrong(f"{mark}= names {name!r}, which {why}", do=f"name one of {', '.join(fields) or '(no field)'}")


def _fields(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else cast("dict[str, Json]", {})
