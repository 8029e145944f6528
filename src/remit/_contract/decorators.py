"""`@observation` and `@action`: what makes a method a capability (SPEC 3.1)."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import FunctionType
from typing import Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from remit._contract.capability import Action, Observation, place_of
from remit._contract.concurrency import Concurrency
from remit._contract.options import (
    AuditName,
    ConfirmationName,
    Door,
    FidelityName,
    Options,
    SourceName,
    written_options,
)
from remit._contract.plan import NamedPolicy
from remit._model.answers import Handoff
from remit._model.effects import EFFECTS_OF, Effect, Kind, Source
from remit._model.retry import Retry
from remit.errors import DefinitionCode, DefinitionError

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
S2 = TypeVar("S2")
P2 = ParamSpec("P2")
R2 = TypeVar("R2")

ActionEffect: TypeAlias = Literal["local-state", "navigation"]


class _Unsaid(Enum):
    """Nothing was written, which is more than a default where nobody has looked."""

    UNSAID = "unsaid"


class ObservationDecorator(Protocol):
    """What `observation(...)` returns."""

    def __call__(self, function: Callable[Concatenate[S, P], R], /) -> Observation[S, P, R]:
        """Make the method an observation."""
        ...


class ActionDecorator(Protocol):
    """What `action(...)` returns."""

    def __call__(self, function: Callable[Concatenate[S, P], R], /) -> Action[S, P, R]:
        """Make the method an action."""
        ...


@overload
def observation(function: Callable[Concatenate[S, P], R], /) -> Observation[S, P, R]: ...
@overload
def observation(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    audit: AuditName | None = None,
    timeout: float | None = None,
    policies: Iterable[NamedPolicy] = (),
    tags: Iterable[str] = (),
    doors: Iterable[Door] | None = None,
    deprecated: bool = False,
    meta: Mapping[str, object] | None = None,
    untrusted: bool | Iterable[str] = False,
    concurrency: Concurrency | None = None,
    blocking: bool = False,
    retry: Retry | None = None,
    input: Mapping[str, object] | None = None,
    output: Mapping[str, object] | None = None,
    allow_names: Mapping[str, str] | None = None,
    source: SourceName = "declared",
    fidelity: FidelityName | None = None,
) -> ObservationDecorator: ...
def observation(  # noqa: PLR0913 - one keyword a field of the contract
    function: Callable[Concatenate[S, P], R] | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    audit: AuditName | None = None,
    timeout: float | None = None,
    policies: Iterable[NamedPolicy] = (),
    tags: Iterable[str] = (),
    doors: Iterable[Door] | None = None,
    deprecated: bool = False,
    meta: Mapping[str, object] | None = None,
    untrusted: bool | Iterable[str] = False,
    concurrency: Concurrency | None = None,
    blocking: bool = False,
    retry: Retry | None = None,
    input: Mapping[str, object] | None = None,
    output: Mapping[str, object] | None = None,
    allow_names: Mapping[str, str] | None = None,
    source: SourceName = "declared",
    fidelity: FidelityName | None = None,
) -> Observation[S, P, R] | ObservationDecorator:
    """Make a method an observation: it reads the view, changes nothing and declares what it returns (SPEC 3.11).

    Bare or called. The docstring's first paragraph, or a literal `description=`, is what an agent reads. `timeout` is
    seconds. `blocking` runs a plain method in a thread, `retry` runs it again when it fails; with a `concurrency` it
    takes turns in that lane instead of running beside other reads (SPEC 6.6, 6.9, 6.13). `untrusted=True` says that the
    output and the note hold text from outside the organisation, a collection names the fields of the output that do
    (SPEC 3.14); `meta` is a literal dict of JSON, at most 2,048 bytes, that remit carries and never reads (SPEC 3.3).
    `input` and `output` are literal JSON Schema of the subset in place of type hints: the method then takes one
    parameter for the whole input, a dict, and returns JSON (SPEC 3.5). `allow_names` says, name by name, why a property
    whose name is denied (SPEC 11.10) is harmless. `source="derived"` stands at what `remit derive` wrote, which is
    hidden unless the site exposes it; `fidelity` says how well it is known what a call does, low for what is derived
    and high for the rest (SPEC 11.9).
    Everything is judged when the class is created, with the place.
    """
    options = written_options(locals())
    if function is not None:
        return Observation(function, options)

    def decorate(function: Callable[Concatenate[S2, P2], R2], /) -> Observation[S2, P2, R2]:
        return Observation(function, options)

    return decorate


@overload
def action(function: Callable[Concatenate[S, P], R], /) -> Action[S, P, R]: ...
@overload
def action(
    *,
    effect: ActionEffect = "local-state",
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    idempotent: bool | None = None,
    reversible: bool | None = None,
    confirmation: ConfirmationName | None = None,
    approver: str | None = None,
    audit: AuditName | None = None,
    timeout: float | None = None,
    spend_time: float | None = None,
    policies: Iterable[NamedPolicy] = (),
    tags: Iterable[str] = (),
    doors: Iterable[Door] | None = None,
    deprecated: bool = False,
    meta: Mapping[str, object] | None = None,
    untrusted: bool | Iterable[str] = False,
    reason: str | None = None,
    may_vary: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    concurrency: Concurrency | None = None,
    blocking: bool = False,
    retry: Retry | None = None,
    record: str | None = None,
    handoff: Handoff | None = None,
    input: Mapping[str, object] | None = None,
    output: Mapping[str, object] | None = None,
    allow_names: Mapping[str, str] | None = None,
    source: SourceName = "declared",
    fidelity: FidelityName | None = None,
) -> ActionDecorator: ...
def action(  # noqa: PLR0913 - one keyword a field of the contract
    function: Callable[Concatenate[S, P], R] | None = None,
    /,
    *,
    effect: ActionEffect | _Unsaid = _Unsaid.UNSAID,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    idempotent: bool | None = None,
    reversible: bool | None = None,
    confirmation: ConfirmationName | None = None,
    approver: str | None = None,
    audit: AuditName | None = None,
    timeout: float | None = None,
    spend_time: float | None = None,
    policies: Iterable[NamedPolicy] = (),
    tags: Iterable[str] = (),
    doors: Iterable[Door] | None = None,
    deprecated: bool = False,
    meta: Mapping[str, object] | None = None,
    untrusted: bool | Iterable[str] = False,
    reason: str | None = None,
    may_vary: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    concurrency: Concurrency | None = None,
    blocking: bool = False,
    retry: Retry | None = None,
    record: str | None = None,
    handoff: Handoff | None = None,
    input: Mapping[str, object] | None = None,
    output: Mapping[str, object] | None = None,
    allow_names: Mapping[str, str] | None = None,
    source: SourceName = "declared",
    fidelity: FidelityName | None = None,
) -> Action[S, P, R] | ActionDecorator:
    """Make a method an action: it changes the view, `local-state` unless `effect="navigation"` is said (SPEC 3.4).

    Bare or called. What changes a backend is a `reference`, never an action: a server effect is a PLANE_VIOLATION.
    `confirmation` may be raised; `timeout` and `spend_time` are seconds; `approver` is the grant of those who may
    approve. Calls of one instance take turns unless `concurrency` says otherwise; `blocking` runs a plain method in a
    thread; `retry` is for what is idempotent (SPEC 6.6, 6.9, 6.13). `may_vary` names fields that a person may leave
    free when approving for the session (SPEC 7.9), `sensitive` fields whose values are neither shown nor kept (7.2).
    `record` makes it one for all rows of a kind: it names the parameter that is the id of the row, an agent sends it as
    `record`, and `@x.records` says which rows may be reached now (SPEC 11.6).
    `handoff` makes it a step that only a person may do: an agent is told where, and the method never runs (SPEC 11.7).
    `untrusted`, `meta`, `input`, `output`, `allow_names`, `source` and `fidelity` are as for observations (SPEC 3.14,
    3.3, 3.5, 11.10, 11.9); below high fidelity, a person decides about each call.
    Everything is judged when the class is created, with the place.
    """
    options = written_options(locals())
    if function is not None:
        return Action(function, options, Effect.LOCAL_STATE)
    return _Decorating(options, effect)


class _Decorating:
    """`@action(…)`, once its keywords are written."""

    __slots__ = ("_effect", "_options")

    def __init__(self, options: Options, effect: object) -> None:
        self._options = options
        self._effect = effect

    def __call__(self, function: Callable[Concatenate[S, P], R], /) -> Action[S, P, R]:
        effect = self._effect
        if effect is _Unsaid.UNSAID:
            if self._options.source == Source.DERIVED.value:
                raise _unreviewed(function)
            effect = Effect.LOCAL_STATE.value
        return Action(function, self._options, view_effect(effect, function))


def _unreviewed(function: Callable[..., object]) -> DefinitionError:
    """Nobody has said what it does, so that it counts as destructive, and no action is (SPEC 11.9, 3.4)."""
    return DefinitionError(
        DefinitionCode.PLANE_VIOLATION,
        getattr(function, "__name__", "action"),
        "is derived, and nobody has said its effect: it counts as destructive, which no view action is",
        place=place_of(function) if isinstance(function, FunctionType) else None,
        do='look at what it does: effect="local-state" for what stays in the view, else a reference',
    )


def view_effect(effect: object, function: Callable[..., object]) -> Effect:
    """The effect of a method of a view; a server effect is a PLANE_VIOLATION, for it is a backend's."""
    allowed = [each.value for each in EFFECTS_OF[Kind.ACTION]]
    if effect in allowed:
        return Effect(effect)
    server = effect in [each.value for each in EFFECTS_OF[Kind.REFERENCE]]
    raise DefinitionError(
        DefinitionCode.PLANE_VIOLATION if server else DefinitionCode.INVALID_DEFINITION,
        getattr(function, "__name__", "action"),
        f"a view action cannot have the effect {effect!r}" if server else f"{effect!r} is no effect of an action",
        place=place_of(function) if isinstance(function, FunctionType) else None,
        do='list the operation in the backend\'s catalogue and write reference("domain:…")'
        if server
        else f"use {' or '.join(allowed)}",
    )
