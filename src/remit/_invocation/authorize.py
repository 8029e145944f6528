"""Step 6: policies decide without seeing the input (SPEC 5.2)."""

from dataclasses import dataclass
from functools import partial

from remit._base.clock import Clock
from remit._invocation.call import Call, Later
from remit._policy.decision import Deny
from remit.errors import ErrorCode, Refusal, not_authenticated, not_authorized, rate_limited


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    clock: Clock


def authorize(call: Call, part: Part) -> Later | None:
    """Ask every policy that has an opinion; the strictest answer stands."""
    return partial(_ask, call, part) if call.live.chain.has_authorize else None


async def _ask(call: Call, part: Part) -> None:
    begun = part.clock.monotonic()
    deny, votes = await call.live.chain.authorize(call.sight.context(call.live))
    call.policy_s += part.clock.monotonic() - begun
    call.votes = (*call.votes, *votes)
    call.waited = True
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
