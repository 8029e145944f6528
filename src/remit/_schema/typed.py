"""pydantic at arm's length: its adapters, its raw schemas, and its complaints as values of ours (SPEC 3.5, 3.6)."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, ParamSpec, TypeVar, TypeVarTuple, get_args

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import SchemaError, core_schema

from remit._schema.vocabulary import DECIMAL_PATTERN
from remit.errors import DefinitionCode, DefinitionError

_MAX_TEXT: Final = 300


class _Unpublishable(Exception):
    """What a schema would silently leave out, and what to write instead."""

    def __init__(self, found: str, write: str | None = None) -> None:
        super().__init__(found)
        self.write: str | None = write


class _Generator(GenerateJsonSchema):
    """pydantic's schemas without noise, without silent omissions, and without what differs between its versions."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles made up from field names; an author's `Field(title=…)` stays."""
        return False

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Publish a decimal as text of one fixed form; the typed value checks bounds."""
        return {"type": "string", "pattern": DECIMAL_PATTERN}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Say aloud that a plain mapping takes any key."""
        json_schema = super().dict_schema(schema)
        if not {"additionalProperties", "patternProperties", "propertyNames"} & set(json_schema):
            json_schema["additionalProperties"] = True  # pragma: no cover - pydantic before 2.11 leaves it out
        return json_schema

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Publish what a default factory makes, so that every reader of an input sees the same value."""
        factory = schema.get("default_factory")
        if factory is not None:
            if schema.get("default_factory_takes_data"):
                raise _Unpublishable("a default computed from other fields", "a fixed default, or none")
            make: Callable[[], Any] = factory  # type: ignore[assignment]
            first = make()
            if first != make():
                raise _Unpublishable("a default that is another one each time", "a fixed default, or none")
            schema = schema.copy()
            del schema["default_factory"]
            schema["default"] = first
        return super().default_schema(schema)

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Say that a result always holds its fields with defaults: serializing writes them."""
        if self.mode == "serialization" and field["type"] in {"model-field", "dataclass-field"}:
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Refuse what pydantic would leave out with a warning: a default that is no JSON, a branch of a union."""
        raise _Unpublishable(f"{kind}: {detail}")


def adapter(hint: Any, *, subject: str, what: str) -> "TypeAdapter[Any]":
    """Build the adapter of one hint; what pydantic cannot handle is a `DefinitionError` that names `what`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's advice on style; what matters raises
            try:
                # As floats, not as null: the boundary is to see and refuse what is no number.
                return TypeAdapter(hint, config=ConfigDict(ser_json_inf_nan="constants"))
            except PydanticUserError:  # a model, dataclass or typed dict, which brings its own configuration
                return TypeAdapter(hint)
    except (PydanticUserError, SchemaError, TypeError, NameError) as problem:
        raise _refused(subject, what, problem) from problem


def raw_schema(made: "TypeAdapter[Any]", mode: JsonSchemaMode, *, subject: str, what: str) -> dict[str, Any]:
    """Return pydantic's own schema, still outside the subset."""
    try:
        return made.json_schema(mode=mode, schema_generator=_Generator)
    except (_Unpublishable, PydanticUserError, TypeError, ValueError) as problem:
        raise _refused(subject, what, problem) from problem


def open_variables(hint: Any) -> Iterator[str]:
    """Name the type variables that a hint leaves open, inside generic arguments and bare generic classes too."""
    if isinstance(hint, (TypeVar, ParamSpec, TypeVarTuple)):
        yield hint.__name__
        return
    arguments = get_args(hint)
    for argument in arguments:
        yield from open_variables(argument)
    if arguments or not isinstance(hint, type):
        return
    generic = getattr(hint, "__pydantic_generic_metadata__", None)
    parameters = generic["parameters"] if isinstance(generic, Mapping) else getattr(hint, "__parameters__", ())
    if isinstance(parameters, tuple):
        yield from (str(getattr(parameter, "__name__", parameter)) for parameter in parameters)


def _refused(subject: str, what: str, problem: Exception) -> DefinitionError:
    text = " ".join(str(problem).split("\n\nFor further information")[0].split())
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    write = problem.write if isinstance(problem, _Unpublishable) else None
    if "regex parse error" in text:
        text, write = (
            "a pattern that is not matched in linear time",
            "a pattern without look-around and back-references",
        )
    return DefinitionError(
        DefinitionCode.UNSUPPORTED_SCHEMA,
        subject,
        f"{what}: {text or type(problem).__name__}",
        do=None if write is None else f"write {write}",
    )
