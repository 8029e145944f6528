"""Inputs and outputs that an author wrote as JSON Schema, instead of type hints (SPEC 3.5)."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_origin

from typing_extensions import is_typeddict

from remit._base.boundary import Json, loads, take
from remit._schema.derive import DerivedInput, DerivedOutput
from remit._schema.parameters import bare, hint_of, hints_of, invalid, parameters_of, refused, role_of
from remit._schema.subset import to_subset
from remit.errors import DefinitionCode

_ONE_PARAMETER = "one parameter for the whole input: `def move(self, values: dict[str, object])`"


def input_schema(written: object, *, subject: str) -> dict[str, Json]:
    """Return the subset's form of an input schema: an object at its root, closed unless it says otherwise.

    DefinitionError with the path and what to write for everything outside the subset (SPEC 3.5).
    """
    schema = _subset(written, subject)
    if schema.get("type") != "object":
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA,
            subject,
            "its root does not say that it is an object",
            'write `"type": "object"` at its root: an input is one mapping of named fields',
        )
    return {**schema, "properties": schema.get("properties", {})}


def output_schema(written: object, *, subject: str) -> dict[str, Json]:
    """Return the subset's form of an output schema; its objects are closed unless they say otherwise."""
    return _subset(written, subject)


def literal_input(  # noqa: PLR0913 - what `derive_input` takes, and the schema
    written: object,
    function: Callable[..., object],
    *,
    namespace: Mapping[str, object],
    injected: Mapping[type, str],
    subject: str,
    method: bool = True,
    apart: str | None = None,
) -> DerivedInput:
    """Make the input of a function from a schema: one parameter gets the whole effective input, a dict of its own.

    Besides it the function may only have parameters that the framework fills, and the one named `apart`. Its annotation
    is `dict`, `Mapping`, a TypedDict, or says nothing of the kind (`object`, `Any`); what it holds is JSON as the
    schema describes it: a time stays text. Refused: another number of parameters, a default, an annotation that a dict
    does not fit.
    """
    schema = input_schema(written, subject=subject)
    parameters = parameters_of(function, subject, method)
    parameters.pop(apart or "", None)
    hints = hints_of(function, namespace, subject)
    found = {name: hint_of(name, hints, subject) for name in parameters}
    roles = {name: role for name, hint in found.items() if (role := role_of(name, hint, injected, subject)) is not None}
    free = [name for name in parameters if name not in roles]
    if len(free) != 1:
        named = ", ".join(f"`{name}`" for name in free) or "no parameter"
        raise invalid(subject, f"input= describes the whole input, and the function takes {named}", _ONE_PARAMETER)
    name = free[0]
    if parameters[name].default is not inspect.Signature.empty:
        raise invalid(subject, f"`{name}` has a default beside input=", 'write `"default"` in the schema, at its field')
    if not _fits_a_dict(found[name]):
        raise invalid(subject, f"`{name}` gets the whole input, which is a dict", f"`{name}: dict[str, object]`")

    def convert(data: bytes) -> dict[str, object]:
        return {name: loads(data)}

    return DerivedInput(schema=schema, convert=convert, injected=MappingProxyType(roles), parameters=(name,))


def literal_output(written: object, *, subject: str) -> DerivedOutput:
    """Make the output of a function from a schema: what it returns must be JSON already, as the schema describes it."""
    return DerivedOutput(schema=output_schema(written, subject=subject), dump=take)


def _subset(written: object, subject: str) -> dict[str, Json]:
    if not isinstance(written, dict):
        raise invalid(subject, f"the schema is a dict, not {type(written).__name__}", 'write {"type": …, …}')
    return to_subset(written, subject=subject, closed=True)


def _fits_a_dict(hint: Any) -> bool:
    plain = bare(hint)
    origin = get_origin(plain) or plain
    if origin in (Any, object) or is_typeddict(plain):
        return True
    return isinstance(origin, type) and issubclass(dict, origin)
