"""Step 6: policies decide without seeing the input (SPEC 5.2)."""

from dataclasses import dataclass
from functools import partial

from remit._base.clock import Clock
from remit._base.codes import LimitedReason
from remit._invocation.call import Call, Later
from remit._policy.chain import Votes
from remit._policy.decision import Deny
from remit._policy.meters import RETRY_MS, Meters, StoreUnavailable, Unmetered
from remit.errors import ErrorCode, Refusal, not_authenticated, not_authorized, rate_limited


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs; `network` limits what comes through a network door, None where nothing is charged."""

    clock: Clock
    network: "Network | None" = None


@dataclass(frozen=True, slots=True)
class Network:
    """The default limits of network doors, per principal and consumer (SPEC 5.7); 0 calls switch one off."""

    meters: Meters
    calls: int
    writes: int
    per_s: float

    async def charge(self, call: Call, within_s: float) -> None:
        """Take what this call costs, at most so many seconds long; refuse it when there is not enough."""
        principal = call.sight.principal
        tenant, person = (None, None) if principal is None else principal.key
        if self.writes and not call.live.plan.descriptor.effect.reads_only:
            await self._take(tenant, ("network-writes", person, call.key), self.writes, within_s)
        if self.calls:
            await self._take(tenant, ("network-calls", person, call.key), self.calls, within_s)

    async def _take(self, tenant: str | None, key: tuple[object, ...], calls: int, within_s: float) -> None:
        try:
            wait_ms = await self.meters.take(tenant, key, calls, self.per_s, within_s=within_s)
        except StoreUnavailable as error:
            why = "the store did not count the limit of network doors"
            raise Refusal(rate_limited("store-unavailable", RETRY_MS), why=why, cause=error.__cause__) from error
        if wait_ms:
            raise Refusal(rate_limited("rate", wait_ms), why=f"{key[0]}: more than {calls} in {self.per_s:g} s")


def authorize(call: Call, part: Part) -> Later | None:
    """Ask every policy that has an opinion; the strictest answer stands."""
    # A step of a flow did not come over the network: its flow did, and was charged.
    if part.network is not None and call.step_of is None and not call.consumer.kind.in_process:
        return partial(_from_network, call, part, part.network)
    chain = call.live.chain
    if not chain.has_authorize:
        return None
    if not chain.prompt:
        return partial(_ask, call, part)
    begun = part.clock.monotonic()
    _weigh(call, chain.authorize_at_once(call.sight.context(call.live)), part.clock.monotonic() - begun)
    return None


async def _from_network(call: Call, part: Part, network: Network) -> None:
    call.waited = True
    await network.charge(call, _half(call, part.clock.monotonic()))
    if call.live.chain.has_authorize:
        await _ask(call, part)


async def _ask(call: Call, part: Part) -> None:
    begun = part.clock.monotonic()
    context = call.sight.context(call.live)
    context.hurry(_half(call, begun))
    answer = await call.live.chain.authorize(context)
    call.waited = True
    _weigh(call, answer, part.clock.monotonic() - begun)


def _half(call: Call, now: float) -> float:
    """Half of the time that is left: a store that hangs is told apart from a call that took too long."""
    return (call.timeout_s - (now - call.begun)) / 2


def _weigh(call: Call, answer: tuple[Deny | None, Votes], seconds: float) -> None:
    deny, votes = answer
    call.policy_s += seconds
    call.votes = (*call.votes, *votes)
    if deny is not None:
        raise refusal(deny, call.sight.site.limits.runtime_text)


def refusal(deny: Deny, most: int) -> Refusal:
    """A policy's refusal in the agent's terms; its reason has `most` characters."""
    match deny.code:
        case ErrorCode.NOT_AUTHENTICATED:
            return Refusal(not_authenticated(), why=deny.reason)
        case ErrorCode.RATE_LIMITED:
            reason: LimitedReason = "store-unavailable" if isinstance(deny, Unmetered) else "rate"
            return Refusal(rate_limited(reason, deny.retry_after_ms or 1_000), why=deny.reason)
        case _:
            return Refusal(not_authorized(reason=deny.reason, most=most))
