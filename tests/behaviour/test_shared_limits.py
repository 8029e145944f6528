"""Limits that several surfaces count together, and the default ones of network doors (SPEC 5.5, 5.7)."""

import asyncio
from typing import Any

import pytest

from remit import (
    Component,
    Consumer,
    FindingKind,
    Invocation,
    Limits,
    ManualClock,
    Principal,
    Surface,
    action,
    observation,
)
from remit.policies import Deny, Expose, Policy, PolicyContext, StoreUnavailable, rate_limit
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

BOT = Consumer("bot", kind="mcp", scope=["view:**"], issuer="site", grant="g1")
EXPOSED = {"mcp": ["view:**"]}


class Desk(Component, type="desk"):
    """A desk."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def put(self) -> int:
        """Put."""
        return 2

    @observation(timeout=1)
    def quick(self) -> int:
        """Read quickly."""
        return 3


AUTHORITY = authority_of(Desk, exposure=EXPOSED)


def opened(store: Any = None, *policies: Policy, clock: ManualClock, **more: Any) -> Surface:
    given: dict[str, Any] = {"principal": "operator", **more}
    surface = Surface(AUTHORITY, store=store, clock=clock, policies=policies, **given)
    surface.mount(Desk())
    return surface


async def call(surface: Surface, id: str = "view:desk.read", consumer: Consumer = BOT) -> Any:
    return await surface.invoke(Invocation(id), consumer)


@pytest.mark.requirement("5.7-network-doors-are-limited")
async def test_a_network_door_lets_sixty_calls_through_in_ten_seconds_and_ten_that_do_more_than_read() -> None:
    clock = ManualClock()
    surface = opened(clock=clock)
    for _ in range(10):
        output(await call(surface, "view:desk.put"))
    error = failed(await call(surface, "view:desk.put"), "RATE_LIMITED")
    assert error.details == {"reason": "rate", "retry_after_ms": 1_000}
    assert journal(surface)[-1].why == "network-writes: more than 10 in 10 s"
    for _ in range(50):
        output(await call(surface))
    error = failed(await call(surface), "RATE_LIMITED")
    assert error.details["reason"] == "rate" and 160 <= int(str(error.details["retry_after_ms"])) <= 167
    assert "network-calls" in str(journal(surface)[-1].why)
    clock.advance(10)
    output(await call(surface, "view:desk.put"))


@pytest.mark.requirement("5.7-network-doors-are-limited")
async def test_each_consumer_and_principal_has_its_own_and_in_process_doors_have_none() -> None:
    clock, store = ManualClock(), MemoryStore(clock=ManualClock())
    limits = Limits(network_calls=1)
    one = opened(store, clock=clock, limits=limits)
    output(await call(one))
    failed(await call(one), "RATE_LIMITED")
    other = Consumer("bot", kind="mcp", scope=["view:**"], issuer="site", grant="g2")
    output(await call(one, consumer=other))
    for _ in range(5):
        output(await call(one, consumer=AGENT))
    output(await call(opened(store, clock=clock, limits=limits, principal="somebody else")))
    output(await call(opened(store, clock=clock, limits=limits, principal=Principal("operator", tenant="acme"))))
    failed(await call(opened(store, clock=clock, limits=limits)), "RATE_LIMITED")


@pytest.mark.requirement("5.7-off-only-by-name")
async def test_the_limits_of_network_doors_are_settable_and_off_only_by_name_with_a_finding() -> None:
    clock = ManualClock()
    surface = opened(clock=clock, limits=Limits(network_calls=0, network_writes=0))
    for _ in range(100):
        output(await call(surface, "view:desk.put"))
    found = [each.found for each in surface.findings() if each.kind is FindingKind.LOOSENED_LIMIT]
    assert any("network_calls is 0" in text for text in found)
    assert any("network_writes is 0" in text for text in found)
    writes = opened(clock=clock, limits=Limits(network_calls=0, network_writes=1))
    output(await call(writes, "view:desk.put"))
    failed(await call(writes, "view:desk.put"), "RATE_LIMITED")
    for _ in range(100):
        output(await call(writes))
    tight = opened(clock=clock, limits=Limits(network_calls=2, network_writes=1, network_s=100))
    output(await call(tight, "view:desk.put"))
    failed(await call(tight, "view:desk.put"), "RATE_LIMITED")
    assert not [each for each in tight.findings() if each.kind is FindingKind.LOOSENED_LIMIT]
    with pytest.raises(ValueError, match="network_calls"):
        Limits(network_calls=-1)


@pytest.mark.requirement("5.7-shared-through-the-store")
async def test_surfaces_over_one_store_count_together() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    one, two = (opened(store, clock=clock, limits=Limits(network_calls=3)) for _ in range(2))
    for surface in (one, two, one):
        output(await call(surface))
    failed(await call(one), "RATE_LIMITED")
    failed(await call(two), "RATE_LIMITED")
    output(await call(opened(clock=clock, limits=Limits(network_calls=3))))


@pytest.mark.requirement("5.7-shared-through-the-store")
async def test_a_preflight_charges_no_shared_limit() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    surface = opened(store, rate_limit(1, per_s=10, shared=True), clock=clock, limits=Limits(network_calls=1))
    for _ in range(3):
        assert (await surface.preflight(Invocation("view:desk.read"), BOT)).ok
    output(await call(surface))
    seen = await surface.preflight(Invocation("view:desk.read"), BOT)
    assert seen.error is not None and seen.error.code == "RATE_LIMITED"


@pytest.mark.requirement("5.5-shared-rate-limit")
async def test_a_shared_rate_limit_is_one_bucket_for_all_surfaces_over_a_store() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    one, two = (opened(store, rate_limit(4, per_s=8, shared=True), clock=clock) for _ in range(2))
    results = await asyncio.gather(*(call(surface, consumer=AGENT) for surface in (one, two) * 10))
    assert sum(hasattr(outcome, "output") for outcome in results) == 4
    error = failed(await call(two, consumer=AGENT), "RATE_LIMITED")
    assert error.details == {"reason": "rate", "retry_after_ms": 2_000}
    clock.advance(2)
    output(await call(one, consumer=AGENT))
    failed(await call(two, consumer=AGENT), "RATE_LIMITED")
    output(await call(one, consumer=Consumer("another", kind="test")))


class Broken:
    """A store whose limits raise or hang."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.answers = asyncio.Event()
        self.memory = MemoryStore()
        self.confirmations = self.memory.confirmations
        self.suspensions = self.memory.suspensions
        self.revocations = self.memory.revocations
        self.meters = self

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        """Take."""
        if self.how == "raises":
            raise ConnectionError("the database is away")
        await self.answers.wait()
        return 0.0


@pytest.mark.requirement("5.5-store-unavailable")
@pytest.mark.parametrize("door", ["network", "policy"])
async def test_a_store_that_raises_refuses_the_call_and_the_operator_reads_why(door: str) -> None:
    clock = ManualClock()
    policies = [rate_limit(5, per_s=1, shared=True)] if door == "policy" else []
    surface = opened(Broken("raises"), *policies, clock=clock)
    outcome = await call(surface, consumer=AGENT if door == "policy" else BOT)
    assert failed(outcome, "RATE_LIMITED").details == {"reason": "store-unavailable", "retry_after_ms": 1_000}
    entry = journal(surface)[-1]
    causes = [entry.cause, *(vote.cause for vote in entry.votes)]
    assert any(cause is not None and "the database is away" in cause for cause in causes)


@pytest.mark.requirement("5.5-store-unavailable")
@pytest.mark.parametrize("door", ["network", "policy"])
@pytest.mark.parametrize(("id", "seconds"), [("view:desk.read", 2), ("view:desk.quick", 0.5)])
async def test_a_store_that_hangs_refuses_the_call_within_its_deadline(door: str, id: str, seconds: float) -> None:
    clock = ManualClock()
    policies = [rate_limit(5, per_s=1, shared=True)] if door == "policy" else []
    surface = opened(Broken("hangs"), *policies, clock=clock)
    waiting = asyncio.ensure_future(call(surface, id, AGENT if door == "policy" else BOT))
    await turns()
    clock.advance(seconds - 0.01)
    await turns()
    assert not waiting.done()
    clock.advance(0.01)
    error = failed(await asyncio.wait_for(waiting, 10), "RATE_LIMITED")
    assert error.details["reason"] == "store-unavailable"


@pytest.mark.requirement("5.5-store-unavailable")
@pytest.mark.parametrize("door", ["network", "policy"])
async def test_a_store_that_hangs_has_half_of_the_time_that_is_left(door: str) -> None:
    class Slow(Policy, name="slow"):
        def discover(self, ctx: PolicyContext) -> Expose:
            clock.advance(takes.pop() if takes else 0)
            return Expose()

    takes: list[float] = []
    clock = ManualClock()
    clock.advance(100)
    policies = [Slow(), *([rate_limit(5, per_s=1, shared=True)] if door == "policy" else [])]
    surface = opened(Broken("hangs"), *policies, clock=clock)
    takes.append(0.5)
    waiting = asyncio.ensure_future(call(surface, "view:desk.quick", AGENT if door == "policy" else BOT))
    await turns()
    clock.advance(0.125)  # of one second half is over before the store is asked; it may take half of the other half
    await turns()
    assert not waiting.done()
    clock.advance(0.125)
    await turns()
    assert waiting.done()
    assert failed(await waiting, "RATE_LIMITED").details["reason"] == "store-unavailable"


@pytest.mark.requirement("6.14-the-gate-looks-again")
async def test_what_is_disabled_while_the_limit_of_a_network_door_is_counted_does_not_run() -> None:
    store: Any = Broken("hangs")
    surface = Surface(AUTHORITY, store=store, clock=ManualClock(), principal="operator")
    mount = surface.mount(Desk())
    waiting = asyncio.ensure_future(call(surface, "view:desk.put"))
    await turns()
    mount.update(enabled=False)
    store.answers.set()
    failed(await waiting, "CAPABILITY_NOT_AVAILABLE")


@pytest.mark.requirement("5.5-store-unavailable")
async def test_a_policy_of_one_s_own_may_take_from_the_store_and_decide_what_an_outage_means() -> None:
    class Mine(Policy, name="mine"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            try:
                wait_ms = await ctx.take(("mine", ctx.consumer.id), calls=1, per_s=60)
            except StoreUnavailable:
                return None
            return Deny("Once a minute") if wait_ms else None

    clock = ManualClock()
    surface = opened(None, Mine(), clock=clock)
    output(await call(surface, consumer=AGENT))
    assert failed(await call(surface, consumer=AGENT), "NOT_AUTHORIZED").details["reason"] == "Once a minute"
    output(await call(opened(Broken("raises"), Mine(), clock=clock), consumer=AGENT))


@pytest.mark.requirement("5.5-shared-rate-limit")
async def test_a_call_that_waited_is_not_charged_again_at_the_gate() -> None:
    clock = ManualClock()
    surface = opened(None, rate_limit(2, per_s=100, shared=True), clock=clock)
    output(await call(surface, "view:desk.put", AGENT))
    output(await call(surface, "view:desk.put", AGENT))
    failed(await call(surface, "view:desk.put", AGENT), "RATE_LIMITED")
