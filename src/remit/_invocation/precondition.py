"""Step 10: the author's own check, with the input in sight (SPEC 3.1, 6.2)."""

from dataclasses import dataclass
from functools import partial

from remit._invocation.call import Call, Later
from remit._model.answers import Refused
from remit._registry.entered import Entered
from remit.errors import Refusal, precondition_failed


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    entered: Entered


def check(call: Call, part: Part) -> Later | None:
    """Run the precondition of the capability, if it has one; None means no objection."""
    if call.live.plan.precondition is None or (call.run is not None and call.run.begun):
        return None
    return partial(_ask, call, part)


async def _ask(call: Call, part: Part) -> None:
    bound = call.live
    plan = bound.plan
    assert plan.precondition is not None
    source = call.arguments if plan.convert is not None else call.effective
    named = {name: source[name] for name in plan.precondition_parameters if name in source}
    call.waited = True
    try:
        answer = await part.entered.run(plan.precondition, bound.registration.component, **named)
    except Refused as refused:  # raised or returned, as in a handler
        answer = refused
    if answer is not None:
        if not isinstance(answer, Refused):
            raise TypeError(f"the precondition of {plan.id} returned {type(answer).__name__}, not None or Refused")
        raise Refusal(precondition_failed(answer.reason, answer.shown(), most=call.sight.site.limits.runtime_text))
