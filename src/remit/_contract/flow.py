"""`@flow(steps=[…])`: an action that runs other capabilities of its component in their declared order (SPEC 11.8)."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from remit._base.boundary import Json
from remit._contract.capability import Action, Capability
from remit._contract.decorators import ActionEffect, view_effect
from remit._contract.options import LIMITS, AuditName, ConfirmationName, Door, Governed, Place, written_options
from remit._contract.plan import NamedPolicy
from remit._model.effects import Effect, Fidelity
from remit.errors import DefinitionCode

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

STEPS_ROLE: Final = "steps"
"""The role of the parameter that gets the steps."""

_DO: Final = 'write for example @flow(steps=["view:orders.list.pick", "domain:orders.notify"])'


class Flow(Action[S, P, R]):
    """An action whose method runs declared steps; what it may do at most, its steps say."""

    __slots__ = ()


class FlowDecorator(Protocol):
    """What `flow(...)` returns."""

    def __call__(self, function: Callable[Concatenate[S, P], R], /) -> Flow[S, P, R]:
        """Make the method a flow."""
        ...


def flow(  # noqa: PLR0913 - one keyword a field of the contract
    *,
    steps: Iterable[str],
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
    record: str | None = None,
    input: Mapping[str, object] | None = None,
    output: Mapping[str, object] | None = None,
    allow_names: Mapping[str, str] | None = None,
) -> FlowDecorator:
    """Make an async method a flow: `await steps.run({…})` runs the next of its declared steps (SPEC 11.8).

    `steps` are the literal ids of 1 to 20 capabilities of the same component, in order, none of them a flow; one
    parameter is annotated `Steps`. `effect` is what the method's own code does; a server effect comes through
    references among the steps. Effect, confirmation, approvers and audit of the whole are at least the strictest of its
    steps, and what any step is not, idempotent or reversible, it is not. It is hidden where any step is.

    Each step is a call of its own, with its own policies, confirmation, record and invocation id `<invocation>/<k>`; a
    flow itself takes no turn. A refused step ends it, never as a success; a step that waits for a person pauses it.
    `timeout` is seconds, without it the sum of what its steps may take and the method's own. The rest is as for
    actions. Everything is judged when the class is created, with the place; what depends on the steps, with the
    contract.
    """
    options = written_options(locals())

    def decorate(function: Callable[Concatenate[S, P], R], /) -> Flow[S, P, R]:
        return Flow(function, options, view_effect(effect, function))

    return decorate


def checked_steps(at: Place, written: object) -> tuple[str, ...] | None:
    """Return the ids that were written, in their order, None for none; DefinitionError for what cannot be meant."""
    if written is None:
        return None
    if isinstance(written, str) or not isinstance(written, list | tuple):
        raise at.wrong(f"steps= is a list of ids, not {type(written).__name__}", do=_DO)
    ids = tuple(written)
    if not ids:
        raise at.wrong("steps= is empty, and a flow has at least one step", do=_DO)
    if len(ids) > LIMITS.flow_steps:
        rule = f"steps= has {len(ids)} steps; at most {LIMITS.flow_steps}"
        raise at.wrong(rule, code=DefinitionCode.LIMIT_EXCEEDED, do="split it into several flows")
    for id in ids:
        if not isinstance(id, str):
            raise at.wrong(f"a step is the id of a capability as text, not {type(id).__name__}", do=_DO)
    return ids


def steps_of(capability: Capability) -> tuple[str, ...]:
    """The ids of the steps of a flow; none for every other capability."""
    if not isinstance(capability, Flow):
        return ()
    return checked_steps(capability.at, capability.options.steps) or ()


def check_flow(capability: Capability, siblings: Mapping[str, Capability]) -> None:
    """Judge a flow with its component, as far as no catalogue is needed; `siblings` are its capabilities by id."""
    at, options = capability.at, capability.options
    if not isinstance(capability, Flow):
        return
    if checked_steps(at, options.steps) is None:
        raise at.wrong("is a flow and declares no steps", do=_DO)
    if not inspect.iscoroutinefunction(capability.function):
        raise at.wrong("is a flow, and its method is not async", do="write `async def`, and await steps.run(…)")
    for id in steps_of(capability):
        step = siblings.get(id)
        if isinstance(step, Flow):
            rule = f"has the step {id}, which is a flow, and there are no flows inside flows"
            raise at.wrong(rule, do=f"write the steps of {id} in its place")
        if step is None:
            known = ", ".join(sorted(each for each, other in siblings.items() if not isinstance(other, Flow)))
            raise at.wrong(
                f"has the step {id[: LIMITS.record_id]!r}, which its component does not declare",
                do="name capabilities of the same component; for what a backend does, declare a reference there",
                facts=(("declared", known or "(none)"),),
            )


def check_steps_parameter(capability: Capability, injected: Mapping[str, str]) -> None:
    """A flow has one parameter annotated `Steps`, and nothing else has any."""
    found = [name for name, role in injected.items() if role == STEPS_ROLE]
    if isinstance(capability, Flow):
        if len(found) != 1:
            rule = "is a flow and has no parameter annotated `Steps`" if not found else "has two parameters `Steps`"
            raise capability.at.wrong(rule, do="write one, for example `steps: Steps`")
    elif found:
        raise capability.at.wrong(f"takes `{found[0]}: Steps`, and is no flow", do="write @flow(steps=[…]) above it")


def flow_block(capability: Capability, level: Governed) -> dict[str, Json]:
    """What it adds to the contract's block of its capability; its fidelity is the lowest of its steps'."""
    steps = steps_of(capability)
    if not steps:
        return {}
    known: dict[str, Json] = {} if level.fidelity is Fidelity.HIGH else {"fidelity": level.fidelity.value}
    return {"composite": True, "steps": list(steps), **known}


def flow_effect(own: Effect, steps: Iterable[Effect]) -> Effect:
    """The strictest of what the method does itself and what its steps do."""
    return max((own, *steps), key=lambda effect: effect.rank)
