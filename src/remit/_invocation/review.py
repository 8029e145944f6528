"""Step 9: input-aware policies, and whether a person is needed (SPEC 5.2, 3.4, 5.1)."""

from dataclasses import dataclass
from functools import partial
from typing import assert_never

from remit._base.clock import Clock
from remit._contract.plan import Plan
from remit._invocation.call import Call, Later
from remit._model.consumer import Consumer
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, unsure
from remit._model.pattern import Patterns
from remit._policy.chain import Vote
from remit._policy.decision import Deny, Required
from remit._policy.untrusted import AFTER_UNTRUSTED, asks
from remit.errors import ErrorCode, Refusal, not_authorized


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    clock: Clock


def review(call: Call, part: Part) -> Later | None:
    """Ask input-aware policies and decide whether a person must approve."""
    if call.run is not None and call.run.begun:  # a flow that goes on has been reviewed and approved
        return None
    if call.live.chain.has_review:
        return partial(_ask, call, part)
    _decide(call, None)
    return None


async def _ask(call: Call, part: Part) -> None:
    bound = call.live
    begun = part.clock.monotonic()
    context = call.sight.review_context(bound, call.effective)
    decision, votes = await bound.chain.review(context)
    call.policy_s += part.clock.monotonic() - begun
    call.votes = (*call.votes, *votes)
    call.waited = True
    _decide(call, decision)


def _decide(call: Call, decision: Deny | Required | None) -> None:
    match decision:
        case Deny(reason=reason, code=code):
            # The one answer of this step: what depends on the input says nothing of the person (SPEC 6.2).
            why = None if code is ErrorCode.NOT_AUTHORIZED else f"the policy answered {code.value}"
            raise Refusal(not_authorized(reason=reason, most=call.sight.site.limits.runtime_text), why=why)
        case Required():
            call.confirmation_needed = decision
        case None:
            wary = after_untrusted(call)
            if needs_person(call.live.plan.descriptor, call.consumer):
                call.confirmation_needed = Required(standing=not wary and may_stand(call.live.plan, call.consumer))
            elif wary:
                call.confirmation_needed = Required()
        case _:
            assert_never(decision)


def after_untrusted(call: Call) -> bool:
    """Whether a fresh decision is needed because this agent has read text from outside (SPEC 11.15).

    This is the built-in policy `after_untrusted` at the doors where a surface has it by itself; its vote is journalled.
    """
    outside = call.sight.site.outside
    if not asks(call.live.plan.descriptor.confirmation) or not outside.has(call.consumer):
        return False
    if call.consumer.kind.value not in outside.doors:
        return False
    call.votes = (*call.votes, Vote(AFTER_UNTRUSTED, "review", "require-confirmation"))
    return True


def needs_person(descriptor: Descriptor, consumer: Consumer) -> bool:
    """Whether a person decides although no policy asked for it.

    Declared `required` or `always`; named by the consumer's `confirm`; or destructive and lowered to `optional` while
    nobody had an opinion (SPEC 3.4).
    """
    if descriptor.confirmation.rank >= Confirmation.REQUIRED.rank:
        return True
    if descriptor.effect is Effect.DESTRUCTIVE:
        return True
    return bool(consumer.confirm) and confirms(consumer, descriptor)


def may_stand(plan: Plan, consumer: Consumer) -> bool:
    """Whether an approval for the session may answer for a person whom no policy asked for (SPEC 7.9).

    Only where the declaration says `required`: `always`, and what this consumer's configuration always asks about, is
    decided afresh each time; a sensitive field, and what is below high fidelity, is never covered.
    """
    descriptor = plan.descriptor
    if descriptor.confirmation is not Confirmation.REQUIRED or plan.sensitive:
        return False
    if unsure(descriptor.effect, descriptor.fidelity):
        return False
    return not consumer.confirm or not confirms(consumer, descriptor)


def confirms(consumer: Consumer, descriptor: Descriptor) -> bool:
    """Whether the consumer's own configuration asks for a person: an effect's name, or a pattern over ids."""
    if descriptor.effect.value in consumer.confirm:
        return True
    patterns = [entry for entry in consumer.confirm if ":" in entry]
    return bool(patterns) and descriptor.id in Patterns(patterns)
