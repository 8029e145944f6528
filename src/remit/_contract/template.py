"""Folded row actions: `record=` and `.records`, and what they make of an input (SPEC 11.6)."""

import inspect
from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, NewType, Union, cast, get_args, get_origin

from remit._base.boundary import Json
from remit._base.limits import Limits
from remit._contract.capability import Method
from remit._contract.plan import Template
from remit._model.record import PARAM, kind_of
from remit._schema.parameters import bare, hint_of, hints_of

_DO: Final = 'write for example @action(record="order") above `def update_note(self, order: str, note: str)`'
_JSON: Final[Mapping[type, str]] = {str: "string", int: "integer"}


def check_template(capability: "Method[object, ..., object]") -> None:
    """Judge what was written, as far as no type hint is needed: `record=` names a parameter, and `.records` is there.

    DefinitionError names which of the two is missing, or what the name may not be.
    """
    at, name, attached = capability.at, capability.options.record, "records" in capability.attached
    if name is None:
        if attached:
            raise at.wrong("has .records and no record=", do=_DO)
        return
    if not isinstance(name, str) or kind_of(name) is None:
        raise at.wrong(f"record={name!r} is no name of a parameter in [a-z0-9_], a letter first", do=_DO)
    parameters = list(inspect.signature(capability.function).parameters.values())[1:]
    parameter = next((each for each in parameters if each.name == name), None)
    if parameter is None:
        known = ", ".join(each.name for each in parameters) or "(none)"
        raise at.wrong(f"record={name!r} is none of its parameters: {known}", do=_DO)
    if parameter.default is not parameter.empty:
        raise at.wrong(f"the record {name!r} has a default, and each call names a row", do="remove the default")
    if not attached:
        raise at.wrong(
            f"acts on one {name} and has no .records, so that nobody could reach any",
            do=f"@{capability.names[0]}.records above `def reachable(self, ctx: ReadContext) -> RecordSet`",
        )


def template_of(capability: "Method[object, ..., object]", namespace: Mapping[str, object]) -> Template | None:
    """What a call needs to know of the rows, None for an action that is no template.

    The parameter is annotated `str`, `int` or `str | int`; anything else is a DefinitionError.
    """
    name, at = capability.options.record, capability.at
    if name is None:
        return None
    hints = hints_of(capability.function, namespace, at.subject)
    types = _types(hint_of(name, hints, at.subject))
    if not types:
        raise at.wrong(
            f"the record {name!r} is not annotated `str`, `int` or `str | int`", do=f"annotate it: `{name}: str`"
        )
    return Template(parameter=name, types=types, records=capability.attached["records"])


def with_record(capability: "Method[object, ..., object]", schema: Mapping[str, Json], template: Template) -> Json:
    """The schema that every door but the page shows: with the record as its first, required property."""
    properties = cast("dict[str, Json]", schema.get("properties", {}))
    if PARAM in properties:
        raise capability.at.wrong(
            f"has a field {PARAM!r} of its own beside record={template.parameter!r}, which takes that name in a call",
            do="rename the field",
        )
    names = [_JSON[each] for each in (str, int) if each in template.types]
    text: dict[str, Json] = {"minLength": 1, "maxLength": Limits().record_id} if str in template.types else {}
    own: dict[str, Json] = {"type": names[0] if len(names) == 1 else cast(Json, names), **text}
    own["description"] = f"The id of one {template.parameter.replace('_', ' ')}."
    required = cast("list[Json]", schema.get("required", []))
    return {**schema, "properties": {PARAM: own, **properties}, "required": [PARAM, *required]}


def _types(hint: Any) -> frozenset[type]:
    plain = bare(hint)
    while isinstance(plain, NewType):
        plain = bare(plain.__supertype__)
    parts = get_args(plain) if get_origin(plain) in (Union, UnionType) else (plain,)
    found = frozenset(part for part in parts if part is str or part is int)
    return found if len(found) == len(parts) else frozenset()
