"""`Procedures()`: functions the application already owns, listed as operations (SPEC 10.1)."""

import copy
import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar, cast

from remit._base.boundary import Json
from remit._model.consumer import Principal
from remit._model.context import Context
from remit._model.effects import DEFAULTS
from remit._model.ids import check_domain_id
from remit._schema.derive import (
    ConversionRefused,
    DerivedInput,
    DerivedOutput,
    derive_input,
    derive_output,
    return_hint,
)
from remit._schema.literal import literal_input, literal_output
from remit._schema.validate import Validator
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.catalogue import Catalogue, Offer, operation_hash
from remit.procedures.errors import BackendError
from remit.procedures.listing import (
    ConfirmationName,
    ServerEffect,
    checked_confirmation,
    checked_description,
    checked_effect,
    checked_tags,
    wrong,
)

FunctionT = TypeVar("FunctionT", bound=Callable[..., Awaitable[object]])

_INJECTED: Final[Mapping[type, str]] = MappingProxyType({Context: "context", Principal: "principal"})
_UNPROCESSABLE: Final = 422


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Form:
    """What is derived from the function's hints, once, when it is first asked for."""

    input: DerivedInput
    output: DerivedOutput
    output_schema: Mapping[str, Json] | None
    judge: Validator
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Written:
    """What was written beside the function: nothing of it is judged before the function is known."""

    confirmation: str | None
    idempotent: bool | None
    description: str | None
    tags: Iterable[str]
    input: Mapping[str, object] | None
    output: Mapping[str, object] | None


class FunctionOperation:
    """A function of the application as an operation; it fits `BackendOperation`."""

    __slots__ = (
        "_form",
        "_function",
        "_place",
        "_written",
        "confirmation",
        "description",
        "effect",
        "idempotent",
        "name",
        "tags",
    )

    def __init__(
        self, function: Callable[..., Awaitable[object]], *, name: str, effect: str, written: _Written, place: str
    ) -> None:
        subject = f"domain:{name}"
        self._function = function
        self._place = place
        self._written = written
        self._form: _Form | None = None
        self.name = name
        self.effect = checked_effect(subject, place, effect)
        self.confirmation = checked_confirmation(subject, place, self.effect, written.confirmation)
        default = DEFAULTS[self.effect].idempotent
        self.idempotent = default if written.idempotent is None else bool(written.idempotent)
        self.description = checked_description(subject, place, written.description, function.__doc__)
        self.tags = checked_tags(subject, place, written.tags)

    @property
    def function_name(self) -> str:
        """What the application calls the function."""
        return str(getattr(self._function, "__name__", self.name))

    @property
    def input_schema(self) -> Mapping[str, Json]:
        """The full input, from the function's hints or as written; DefinitionError for what is outside the subset."""
        return self._derived().input.schema

    @property
    def output_schema(self) -> Mapping[str, Json] | None:
        """What the function's return hint says, or what was written; None without either."""
        return self._derived().output_schema

    @property
    def request(self) -> None:
        """None: nothing is sent."""
        return None

    @property
    def hash(self) -> str:
        """The hash of effect, confirmation, idempotence and schemas."""
        return self._derived().hash

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Judge the input against the full schema again, convert it, inject, await, and return JSON.

        An input that does not fit is `BackendError(422)` with the issues. What the function returns must fit its
        declared type; without one it must be JSON.
        """
        form = self._derived()
        if not form.judge.is_valid(cast(Json, input)):
            raise BackendError(_UNPROCESSABLE, issues=form.judge.issues(cast(Json, input)))
        try:
            arguments = form.input.convert(canonical)
        except ConversionRefused as refused:
            raise BackendError(_UNPROCESSABLE, issues=refused.issues) from refused
        for parameter, role in form.input.injected.items():
            arguments[parameter] = context if role == "context" else context.principal
        result = await self._function(**arguments)
        return form.output.dump(result)[0]

    def _derived(self) -> _Form:
        if self._form is None:
            subject = f"domain:{self.name}"
            try:
                derived = self._input(subject)
                output, schema = self._output(subject)
            except DefinitionError as problem:
                raise problem if problem.place else _placed(problem, self._place) from problem.__cause__
            self._form = _Form(
                input=derived,
                output=output,
                output_schema=schema,
                judge=Validator(derived.schema),
                hash=operation_hash(self.effect, self.confirmation, self.idempotent, derived.schema, schema),
            )
        return self._form

    def _input(self, subject: str) -> DerivedInput:
        written = self._written.input
        if written is None:
            return derive_input(self._function, namespace={}, injected=_INJECTED, subject=subject, method=False)
        return literal_input(written, self._function, namespace={}, injected=_INJECTED, subject=subject, method=False)

    def _output(self, subject: str) -> tuple[DerivedOutput, Mapping[str, Json] | None]:
        if self._written.output is not None:
            literal = literal_output(self._written.output, subject=subject)
            return literal, literal.schema
        hint = return_hint(self._function, namespace={}, subject=subject)
        derived = derive_output(hint, namespace={}, subject=subject)
        return derived, None if hint in (None, type(None)) else derived.schema


class Procedures(Catalogue):
    """A catalogue of functions the application already owns.

        backend = Procedures()

        @backend.operation("devices.disable", effect="destructive")
        async def disable_devices(device_ids: list[str], caller: Principal) -> int: ...

    remit validates against the function's own schema and passes `Principal` and `Context` by annotation; what the
    caller may do is still the function's to decide (SPEC 10.9). Listing is opt-in, one operation a function.
    """

    def __init__(self) -> None:
        self._operations: dict[str, FunctionOperation] = {}

    def operation(  # noqa: PLR0913 - one keyword a field of the catalogue
        self,
        name: str,
        *,
        effect: ServerEffect,
        confirmation: ConfirmationName | None = None,
        idempotent: bool | None = None,
        description: str | None = None,
        tags: Iterable[str] = (),
        input: Mapping[str, object] | None = None,
        output: Mapping[str, object] | None = None,
    ) -> Callable[[FunctionT], FunctionT]:
        """List an async function as `domain:<name>`; it comes back undecorated.

        `confirmation` raises what the effect asks for; every reference is held to it. Lowering is a reference's
        affair, with its reason. The description is the docstring's first paragraph or `description=`. A second
        operation of one name, a plain function, or a level below the default is a DefinitionError.
        `input` and `output` are JSON Schema in place of type hints: the function then takes one parameter for the whole
        input, a dict, besides `Principal` and `Context`, and returns JSON (SPEC 3.5).
        """
        written = _Written(
            confirmation=confirmation,
            idempotent=idempotent,
            description=description,
            tags=tags,
            input=copy.deepcopy(input),
            output=copy.deepcopy(output),
        )

        def decorate(function: FunctionT) -> FunctionT:
            self._list(function, name, effect, written)
            return function

        return decorate

    def get(self, name: str) -> FunctionOperation | None:
        """The operation of that name, or None."""
        return self._operations.get(name)

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._operations))

    def offers(self) -> tuple[Offer, ...]:
        """Every function, as it was listed; one that was not is nobody's to offer."""
        return tuple(
            Offer(request=each.function_name, summary=each.description, name=name)
            for name, each in self._operations.items()
        )

    def _list(self, function: FunctionT, name: str, effect: str, written: _Written) -> None:
        place = _place(function)
        subject = check_domain_id(f"domain:{name}" if isinstance(name, str) else name, place=place)
        if not inspect.iscoroutinefunction(function):
            raise wrong(subject, "a procedure is awaited", place, "write `async def`")
        if name in self._operations:
            raise DefinitionError(
                DefinitionCode.DUPLICATE_CAPABILITY, subject, "is listed twice", place=place, do="rename one"
            )
        self._operations[name] = FunctionOperation(function, name=name, effect=effect, written=written, place=place)


def _placed(problem: DefinitionError, place: str) -> DefinitionError:
    return DefinitionError(problem.code, problem.subject, problem.rule, place=place, do=problem.do, facts=problem.facts)


def _place(function: Callable[..., object]) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
