"""Step 6: policies decide without seeing the input (SPEC 5.2)."""

from dataclasses import dataclass
from functools import partial

from remit._base.clock import Clock
from remit._invocation.call import Call, Later
from remit._policy.chain import Votes
from remit._policy.decision import Deny
from remit.errors import ErrorCode, Refusal, not_authenticated, not_authorized, rate_limited


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    clock: Clock


def authorize(call: Call, part: Part) -> Later | None:
    """Ask every policy that has an opinion; the strictest answer stands."""
    chain = call.live.chain
    if not chain.has_authorize:
        return None
    if not chain.prompt:
        return partial(_ask, call, part)
    begun = part.clock.monotonic()
    _weigh(call, chain.authorize_at_once(call.sight.context(call.live)), part.clock.monotonic() - begun)
    return None


async def _ask(call: Call, part: Part) -> None:
    begun = part.clock.monotonic()
    answer = await call.live.chain.authorize(call.sight.context(call.live))
    call.waited = True
    _weigh(call, answer, part.clock.monotonic() - begun)


def _weigh(call: Call, answer: tuple[Deny | None, Votes], seconds: float) -> None:
    deny, votes = answer
    call.policy_s += seconds
    call.votes = (*call.votes, *votes)
    if deny is not None:
        raise refusal(deny)


def refusal(deny: Deny) -> Refusal:
    """A policy's refusal in the agent's terms."""
    match deny.code:
        case ErrorCode.NOT_AUTHENTICATED:
            return Refusal(not_authenticated(), why=deny.reason)
        case ErrorCode.RATE_LIMITED:
            return Refusal(rate_limited("rate", deny.retry_after_ms or 1_000), why=deny.reason)
        case _:
            return Refusal(not_authorized(reason=deny.reason))
