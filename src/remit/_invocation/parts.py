"""What each phase gets; built where a surface is wired, handed out by the pipeline."""

from collections.abc import Callable
from dataclasses import dataclass

from remit._base.clock import Clock
from remit._invocation import (
    admit,
    authorize,
    confirm,
    dispatch,
    effective_input,
    envelope,
    execute,
    flow,
    handoff,
    identity,
    precondition,
    resolve,
    review,
    settle,
)
from remit._invocation.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What the steps of a look ahead get: nothing here can create, charge, store or run (SPEC 6.11).

    `fault` takes what the application's code raised on the way.
    """

    envelope: envelope.Part
    known: identity.Known
    resolve: resolve.Part
    authorize: authorize.Part
    effective_input: effective_input.Part
    handoff: handoff.Known
    review: review.Part
    precondition: precondition.Part
    confirm: confirm.Known
    clock: Clock
    fault: Callable[[str, BaseException], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What each phase gets; it gets no more."""

    envelope: envelope.Part
    ledger: Ledger
    named: identity.Named
    resolve: resolve.Part
    authorize: authorize.Part
    effective_input: effective_input.Part
    handoff: handoff.Part
    flow: flow.Part
    review: review.Part
    precondition: precondition.Part
    confirm: confirm.Part
    admit: admit.Part
    dispatch: dispatch.Part
    execute: execute.Part
    settle: settle.Part
    clock: Clock
