"""The parameters of a function that agents may fill, by their hints (SPEC 3.5, 6.10)."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from remit._schema.typed import open_variables
from remit.errors import DefinitionCode, DefinitionError


def refused(code: DefinitionCode, subject: str, rule: str, do: str | None) -> DefinitionError:
    """The error for what a signature may not be; its place is added by whoever knows it."""
    return DefinitionError(code, subject, rule, do=do)


def invalid(subject: str, rule: str, do: str | None) -> DefinitionError:
    """The error for a signature that cannot be described."""
    return refused(DefinitionCode.INVALID_DEFINITION, subject, rule, do)


def parameters_of(function: Callable[..., object], subject: str, method: bool) -> dict[str, inspect.Parameter]:
    """Every parameter but the instance; refused what no keyword reaches."""
    parameters = dict(resolved(lambda: dict(inspect.signature(function).parameters), subject))
    if method:
        first = next(iter(parameters), None)
        if first is None or parameters[first].kind not in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            raise invalid(subject, "the method takes no instance", "add `self` as the first parameter")
        del parameters[first]
    for name, parameter in parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
            raise invalid(subject, f"`{stars}{name}` cannot be described to an agent", "name each parameter")
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise invalid(subject, f"`{name}` is positional-only; inputs are keywords", "remove the `/`")
    return parameters


def hints_of(function: Callable[..., object], namespace: Mapping[str, object], subject: str) -> dict[str, Any]:
    """The resolved annotations, names of `namespace` included."""
    return resolved(lambda: get_type_hints(function, None, dict(namespace), include_extras=True), subject)


def resolved(resolve: Callable[[], dict[str, Any]], subject: str) -> dict[str, Any]:
    """What `resolve` returns; a name that does not exist at run time is a DefinitionError."""
    try:
        return resolve()
    except NameError as problem:
        name = problem.name or "a name"
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA,
            subject,
            f"the annotation names `{name}`, which does not exist at run time",
            f"import or define `{name}` at module level, outside `if TYPE_CHECKING:`",
        ) from problem
    except (TypeError, SyntaxError, AttributeError) as problem:
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA, subject, "an annotation cannot be evaluated", "write a type"
        ) from problem


def hint_of(name: str, hints: Mapping[str, Any], subject: str) -> Any:
    """The annotation of one parameter; none, or an open type variable in it, is refused."""
    if name not in hints:
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA, subject, f"`{name}` has no annotation", f"annotate it: `{name}: str`"
        )
    hint = hints[name]
    refuse_open(name, hint, subject)
    for note in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        if isinstance(note, FieldInfo) and not note.is_required():
            raise invalid(subject, f"`{name}` has its default inside `Field(…)`", "write it in the signature: `= …`")
    return hint


def refuse_open(name: str, hint: Any, subject: str) -> None:
    """Refuse a hint that leaves a type variable open (SPEC 3.5)."""
    for variable in open_variables(hint):
        raise refused(
            DefinitionCode.UNSUPPORTED_SCHEMA,
            subject,
            f"`{name}` leaves the type variable {variable} open",
            "write the concrete type",
        )


def role_of(name: str, hint: Any, injected: Mapping[type, str], subject: str) -> str | None:
    """The role of a parameter that the framework fills, None for what the caller fills (SPEC 6.10)."""
    plain = bare(hint)
    for kind, role in injected.items():
        if plain is kind:
            return role
        if _mentions(plain, kind):
            raise invalid(
                subject,
                f"`{name}` mixes `{kind.__name__}` with other types",
                f"annotate it exactly: `{name}: {kind.__name__}`",
            )
    return None


def _mentions(hint: Any, kind: type) -> bool:
    return any(argument is kind or _mentions(argument, kind) for argument in get_args(hint))


def bare(hint: Any) -> Any:
    """The hint without `Annotated` around it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint
