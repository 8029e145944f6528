"""From type hints to schemas and converters (SPEC 3.5, 3.6)."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any, Final, NotRequired, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from remit._base.boundary import Json, NotJson, loads, take
from remit._base.limits import Limits
from remit._base.paths import join
from remit._schema.issues import issues_of
from remit._schema.judge import compile_schema
from remit._schema.openness import openness_of, put_back
from remit._schema.parameters import (
    bare,
    hint_of,
    hints_of,
    invalid,
    parameters_of,
    refuse_open,
    refused,
    resolved,
    role_of,
)
from remit._schema.subset import to_subset
from remit._schema.typed import adapter, raw_schema
from remit.errors import DefinitionCode, DefinitionError, Issue

NO_HINT: Final = inspect.Signature.empty
"""Stands for a return annotation that was not written."""

_MAX_ISSUES: Final = Limits().issues

_TYPE_MESSAGES: Final = {
    "missing": "is required",
    "extra_forbidden": "is an unknown key",
    "value_error": "is refused by a rule of this field",
    "assertion_error": "is refused by a rule of this field",
}


class ConversionRefused(Exception):
    """A value that its schema accepts does not convert; `issues` name fields and rules, never values (SPEC 8.3)."""

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        super().__init__("; ".join(f"{issue.path}: {issue.message}" for issue in issues))
        self.issues: tuple[Issue, ...] = issues


class OutputRefused(Exception):
    """A result does not fit its declared type; `reason` and `path` are safe, the cause may quote the value."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason: str = reason
        self.path: str = path

    @property
    def told(self) -> str:
        """The reason with its place, for the operator."""
        return f"{self.reason}, at `{self.path}`" if self.path else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedInput:
    """What a function takes from an agent.

    `schema` is a closed object in the subset. `convert` turns the canonical bytes of a valid input with its defaults
    filled into keyword arguments, or raises `ConversionRefused`. `injected` maps parameter names to roles; those are
    not in the schema. `parameters` are the names the schema has, in order.
    """

    schema: Mapping[str, Json]
    convert: Callable[[bytes], dict[str, object]]
    injected: Mapping[str, str]
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedOutput:
    """What a function returns to an agent.

    `schema` is in the subset, or `None` where no type was declared. `dump` returns the JSON value and its canonical
    bytes, or raises `OutputRefused` or `NotJson`; whether the value fits the schema is judged by the caller.
    """

    schema: Mapping[str, Json] | None
    dump: Callable[[object], tuple[Json, bytes]]


def derive_input(
    function: Callable[..., object],
    *,
    namespace: Mapping[str, object],
    injected: Mapping[type, str],
    subject: str,
    method: bool = True,
    apart: str | None = None,
) -> DerivedInput:
    """Derive the input of a function from its hints (SPEC 3.5).

    With `method`, the first parameter is the instance. A parameter annotated with a type of `injected` gets that role
    and leaves the schema (SPEC 6.10); so does the one named `apart`. Hints are resolved in the function's module and
    `namespace`. Refused with `DefinitionError`: `*args`, `**kwargs`, positional-only and unannotated parameters, open
    type variables, names that do not exist at run time, aliases of parameters, defaults that are no JSON or break their
    own schema.
    """
    parameters = parameters_of(function, subject, method)
    parameters.pop(apart or "", None)
    hints = hints_of(function, namespace, subject)
    roles: dict[str, str] = {}
    fields: dict[str, Any] = {}
    defaults: dict[str, object] = {}
    for name, parameter in parameters.items():
        hint = hint_of(name, hints, subject)
        role = role_of(name, hint, injected, subject)
        if role is not None:
            roles[name] = role
            continue
        fields[name] = hint if parameter.default is NO_HINT else NotRequired[hint]
        if parameter.default is not NO_HINT:
            defaults[name] = _json_default(name, hint, parameter.default, subject)
    made, raw = _published(fields, subject)
    schema = to_subset(_rooted(raw, tuple(fields), defaults, subject), subject=subject, closed=True)
    return DerivedInput(
        schema=schema, convert=_converter(made), injected=MappingProxyType(roles), parameters=tuple(fields)
    )


def derive_output(hint: object, *, namespace: Mapping[str, object], subject: str) -> DerivedOutput:
    """Derive the output of a function from its return hint (SPEC 3.5, 3.11).

    Objects are closed as in inputs: a result with a field nobody declared breaks its schema and discloses nothing.
    `None` is the null type; `NO_HINT` declares nothing, so that any JSON passes. A hint given as text is resolved in
    `namespace`. Refused with `DefinitionError`: what the subset cannot say, and open type variables.
    """
    if hint is NO_HINT:
        return DerivedOutput(schema=None, dump=take)
    if isinstance(hint, str):
        holder: Any = type("_Holder", (), {"__annotations__": {"output": hint}})
        hint = resolved(lambda: get_type_hints(holder, dict(namespace), None, include_extras=True), subject)["output"]
    if hint is Any or hint is object:
        # Nothing is declared, so nothing is converted: what is not JSON by itself is refused.
        return DerivedOutput(schema={}, dump=take)
    if hint is None or hint is NoneType:
        return DerivedOutput(schema={"type": "null"}, dump=_dump_none)
    refuse_open("output", hint, subject)
    made = adapter(hint, subject=subject, what="output")
    raw = raw_schema(made, "serialization", subject=subject, what="output")
    if raw.get("title") == getattr(bare(hint), "__name__", ""):
        raw.pop("title", None)  # a model's own name tells an agent nothing
    raw.pop(
        "deprecated", None
    )  # pydantic before 2.10 does not write it at the root; a capability has a mark of its own
    schema = to_subset(raw, subject=subject, closed=True)
    return DerivedOutput(schema=schema, dump=_dumper(made, schema))


def return_hint(function: Callable[..., object], *, namespace: Mapping[str, object], subject: str) -> object:
    """Return the resolved return annotation of a function, for `derive_output`; `NO_HINT` if it has none."""
    if inspect.signature(function).return_annotation is NO_HINT:
        return NO_HINT
    return hints_of(function, namespace, subject).get("return", NO_HINT)


def _json_default(name: str, hint: Any, default: object, subject: str) -> Json:
    if isinstance(default, FieldInfo):
        raise invalid(
            subject, f"`{name}` has `Field(…)` as its default", f"write `{name}: Annotated[T, Field(…)] = default`"
        )
    made = adapter(hint, subject=subject, what=name)
    try:
        return take(made.dump_python(default, mode="json", warnings="error", by_alias=True))[0]
    except (NotJson, PydanticSerializationError) as problem:
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA,
            subject,
            f"{name}: the default is no JSON value of its own type",
            "a default of the annotated type",
        ) from problem


def _published(fields: dict[str, Any], subject: str) -> tuple["TypeAdapter[Any]", dict[str, Any]]:
    try:
        made = adapter(_typed_dict(fields), subject=subject, what="input")
        return made, raw_schema(made, "validation", subject=subject, what="input")
    except DefinitionError:
        # The complaint about the whole does not say which parameter it means; the first that fails alone does.
        for name, hint in fields.items():
            alone = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
            raw_schema(adapter(alone, subject=subject, what=name), "validation", subject=subject, what=name)
        raise


def _typed_dict(fields: dict[str, Any]) -> Any:
    # A TypedDict takes every name a parameter can have; a pydantic model does not (`copy`, `schema`, `model_…`).
    make: Any = TypedDict  # checkers know the form with a literal only
    made: Any = make("Input", fields)
    made.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    return made


def _rooted(
    raw: dict[str, Any], names: tuple[str, ...], defaults: Mapping[str, object], subject: str
) -> dict[str, object]:
    raw.pop("title", None)
    properties: dict[str, Any] = raw.setdefault("properties", {})
    for name in sorted(properties.keys() - set(names)):
        raise invalid(subject, f"a parameter is published under the alias `{name}`", "rename the parameter")
    for name in sorted(set(names) - properties.keys()):
        raise invalid(subject, f"`{name}` has the name of another parameter as its alias", "remove the alias")
    for name, default in defaults.items():
        properties[name] = {**properties[name], "default": default}
    return raw


# Values


def _converter(made: "TypeAdapter[Any]") -> Callable[[bytes], dict[str, object]]:
    validate = made.validator.validate_json

    def convert(data: bytes) -> dict[str, object]:
        try:
            return cast("dict[str, object]", validate(data, strict=True))
        except ValidationError as problem:
            # The text of an error may quote the value; place and kind cannot.
            found = problem.errors(include_url=False, include_context=False, include_input=False)
            issues = tuple(
                Issue(
                    path=join(_steps(error["loc"], loads(data))),
                    message=_TYPE_MESSAGES.get(error["type"], _refusal(error["type"])),
                )
                for error in found[:_MAX_ISSUES]
            )
            raise ConversionRefused(issues) from problem

    return convert


def _steps(place: tuple[str | int, ...], value: Json) -> Iterator[str | int]:
    """The steps of a place that lead through the value; the others name branches of a union, or validators."""
    for step in place:
        if isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
            yield step
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
            yield step


def _refusal(kind: str) -> str:
    return f"is refused: {kind[:64].replace('_', ' ')}"


def _dump_none(value: object) -> tuple[Json, bytes]:
    if value is not None:
        raise OutputRefused(f"declared to return None, but returned a value of the type {type(value).__name__}")
    return None, b"null"


def _dumper(made: "TypeAdapter[Any]", schema: Mapping[str, Json]) -> Callable[[object], tuple[Json, bytes]]:
    to_python = made.serializer.to_python
    open_ = openness_of(schema)
    # What no serializer knows stands for itself in an open place, and is refused there by the boundary.
    unknown: dict[str, Any] = {} if open_ is None else {"fallback": _unknown}

    def dump(value: object) -> tuple[Json, bytes]:
        try:
            plain = to_python(value, mode="json", warnings="error", by_alias=True, **unknown)
        except PydanticSerializationError as problem:
            name = type(value).__name__
            reason = f"a value of the type {name} does not fit the declared output type"
            raise OutputRefused(reason, _misfit(made, schema, value)) from problem
        if open_ is not None:
            plain = put_back(open_, plain, to_python(value, mode="python", warnings=False, by_alias=True))
        return take(plain)

    return dump


def _unknown(value: object) -> None:
    return None


def _misfit(made: "TypeAdapter[Any]", schema: Mapping[str, Json], value: object) -> str:
    """Where a result leaves its declared type, as far as its JSON shows it; only a refusal pays for this."""
    try:
        plain = made.serializer.to_python(value, mode="json", warnings=False, by_alias=True, fallback=_unknown)
        first = next(iter(issues_of(compile_schema(schema), dict(schema), take(plain)[0])), None)
    except (NotJson, PydanticSerializationError):
        return ""
    return "" if first is None else first.path
