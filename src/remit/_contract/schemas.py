"""The schemas of a method: from its type hints, or as its declaration wrote them (SPEC 3.5)."""

import types
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType, NoneType
from typing import Final, Protocol

from remit._base.boundary import Json
from remit._contract.options import Options, Place
from remit._model.answers import Refused
from remit._model.consumer import Principal
from remit._model.context import Context
from remit._model.steps import Steps
from remit._schema.derive import DerivedInput, DerivedOutput, derive_input, derive_output, return_hint
from remit._schema.literal import input_schema, literal_input, literal_output, output_schema
from remit.errors import DefinitionError

INJECTED: Final[Mapping[type, str]] = MappingProxyType({Context: "context", Principal: "principal", Steps: "steps"})


class _Judge(Protocol):
    def __call__(self, written: object, *, subject: str) -> Mapping[str, Json]: ...


def check_schemas(at: Place, options: Options) -> None:
    """Judge the schemas that a declaration wrote; those of type hints wait until every name in them exists."""
    checked_input(at, options.input)
    checked_output(at, options.output)


def checked_input(at: Place, written: object) -> Mapping[str, Json] | None:
    """Return the schema that `input=` means, None for none; DefinitionError with its path for what is refused."""
    return _checked(at, "input", written, input_schema)


def checked_output(at: Place, written: object) -> Mapping[str, Json] | None:
    """Return the schema that `output=` means, None for none; DefinitionError with its path for what is refused."""
    return _checked(at, "output", written, output_schema)


def _checked(at: Place, field: str, written: object, judge: _Judge) -> Mapping[str, Json] | None:
    if written is None:
        return None
    try:
        return judge(written, subject=at.subject)
    except DefinitionError as problem:
        raise at.wrong(f"in {field}=, {problem.rule}", do=problem.do, code=problem.code) from None


def input_of(
    function: Callable[..., object],
    written: object,
    *,
    namespace: Mapping[str, object],
    subject: str,
    record: str | None = None,
) -> DerivedInput:
    """What a method takes from an agent, but for the record."""
    if written is None:
        return derive_input(function, namespace=namespace, injected=INJECTED, subject=subject, apart=record)
    return literal_input(written, function, namespace=namespace, injected=INJECTED, subject=subject, apart=record)


def output_of(
    function: Callable[..., object], written: object, *, namespace: Mapping[str, object], at: Place
) -> tuple[DerivedOutput, Mapping[str, Json] | None]:
    """What a method returns to an agent, and its schema in the contract: None where nothing is declared.

    A handler may return `Refused` as its own "no"; that is no output (SPEC 8.5).
    """
    hint = _without_refused(return_hint(function, namespace=namespace, subject=at.subject))
    nothing = hint in (None, NoneType)
    if written is None:
        derived = derive_output(hint, namespace=namespace, subject=at.subject)
        return derived, None if nothing else derived.schema
    if nothing:
        raise at.wrong("output= describes what it returns, and it is annotated to return nothing", do="keep one")
    literal = literal_output(written, subject=at.subject)
    return literal, literal.schema


def _without_refused(hint: object) -> object:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return None if hint is Refused else hint
    left = [part for part in typing.get_args(hint) if part is not Refused]
    return typing.Union[tuple(left)]  # noqa: UP007 - built at run time
