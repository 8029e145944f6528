"""Nothing crosses from one tenant to another (SPEC 5.8): two tenants over one store and one clock, seen from each."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit import (
    AgentError,
    Component,
    Consumer,
    Decider,
    Event,
    Failed,
    Invocation,
    Limits,
    ManualClock,
    Ok,
    Principal,
    Surface,
    action,
    observation,
)
from remit.policies import Deny, Policy, PolicyContext, rate_limit
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import authority_of, turns

BOT = Consumer("bot", kind="mcp", scope=["view:**"], issuer="site", grant="g")
LIMITS = Limits(network_calls=6, network_writes=3, probing=3, confirmations_per_consumer=2)


class Vault(Component, type="vault"):
    """A vault."""

    def __init__(self) -> None:
        self.ran = 0

    @observation
    def read(self) -> int:
        """Read."""
        return self.ran

    @action
    def put(self) -> int:
        """Put."""
        self.ran += 1
        return self.ran

    @action(confirmation="required")
    def empty(self) -> int:
        """Empty."""
        self.ran += 1
        return self.ran


AUTHORITY = authority_of(Vault, exposure={"mcp": ["view:**"]})


class Metered(Policy, name="metered"):
    """Counts, and says what it counted."""

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        """Deny every fourth."""
        return Deny(f"number {ctx.counter('metered').value}") if ctx.counter("metered").add() % 4 == 0 else None


class House:
    """One tenant's surface over a store that others use, too; everything is named alike in each."""

    def __init__(self, tenant: str | None, store: MemoryStore, clock: ManualClock) -> None:
        self.tenant = tenant
        self.surface = Surface(
            AUTHORITY,
            principal=Principal("ada", tenant=tenant, grants={"owner"}),
            policies=[Metered(), rate_limit(5, per_s=100, shared=True)],
            store=store,
            clock=clock,
            limits=LIMITS,
        )
        self.heard: list[Event] = []
        self.surface.confirmations.subscribe(lambda view: None)
        self.surface.subscribe(self.heard.append)
        self.surface.mount(Vault())
        self.asked: list[str] = []

    async def do(self, step: str) -> object:
        """Take one step; what comes of it, without ids that are made anew each time."""
        match step:
            case "approve" | "deny":
                pending = self.surface.confirmations.pending()
                if not pending:
                    return None
                decide = getattr(self.surface.confirmations, step)
                await decide(pending[0].id, Decider("ada", {"owner"}, tenant=self.tenant))
                return step
            case "suspend":
                self.surface.suspend(consumer=BOT)
            case "reinstate":
                self.surface.reinstate(consumer=BOT)
            case "hide":
                self.surface.suspend(capability="view:vault.put")
            case "probe":
                return await self.call(f"view:vault.madeUp{len(self.asked)}")
            case "again":
                return await self.call("view:vault.put", id="same")
            case _:
                return await self.call(f"view:vault.{step}")
        return step

    async def call(self, capability: str, **more: Any) -> object:
        """Call, and keep of the outcome what does not change from run to run."""
        self.asked.append(capability)
        outcome = await self.surface.invoke(Invocation(capability, **more), BOT)
        if isinstance(outcome, Ok):
            return outcome.output, outcome.surface_version
        return _plain(outcome.error), outcome.surface_version

    def seen(self) -> object:
        """Everything this tenant can see beside its outcomes."""
        snapshot = self.surface.snapshot(BOT)
        return (
            [(event.type, event.consumer) for event in self.heard],
            [(entry.type, entry.code, entry.why, entry.status) for entry in self.surface.audit()],
            [(view.capability, view.status) for view in self.surface.confirmations.pending()],
            [(each.id, each.available) for each in snapshot.capabilities()],
            snapshot.surface_version,
        )


def _plain(error: AgentError) -> object:
    return error.code, {key: value for key, value in error.details.items() if key not in ("confirmation_id",)}


STEPS = st.sampled_from(
    ["read", "put", "put", "empty", "approve", "deny", "suspend", "reinstate", "hide", "probe", "again", "wait"]
)


async def _run(houses: list[House], clock: ManualClock, steps: list[tuple[int, str]], own: int) -> list[object]:
    told: list[object] = []
    await turns()
    for whose, step in steps:
        if step == "wait":
            clock.advance(7)
        elif whose < len(houses):
            came = await houses[whose].do(step)
            if whose == own:
                told.append(came)
        await turns()
    return [*told, houses[own].seen()]


@pytest.mark.requirement("5.8-nothing-crosses")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.tuples(st.sampled_from([0, 1]), STEPS), max_size=40),
    tenants=st.sampled_from([("acme", "globex"), ("globex", "acme"), (None, "acme"), ("acme", None)]),
)
def test_what_another_tenant_does_over_the_same_store_changes_nothing_that_one_sees(
    steps: list[tuple[int, str]], tenants: tuple[str | None, str | None]
) -> None:
    async def both() -> list[object]:
        clock = ManualClock()
        store = MemoryStore(clock=clock)
        return await _run([House(tenant, store, clock) for tenant in tenants], clock, steps, 0)

    async def alone() -> list[object]:
        clock = ManualClock()
        return await _run([House(tenants[0], MemoryStore(clock=clock), clock)], clock, steps, 0)

    assert asyncio.run(both()) == asyncio.run(alone())


@pytest.mark.requirement("5.8-nothing-crosses")
async def test_the_property_is_not_empty_one_tenant_twice_does_share() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    one, two = House("acme", store, clock), House("acme", store, clock)
    await one.do("suspend")
    outcome = await two.surface.invoke(Invocation("view:vault.read"), BOT)
    assert isinstance(outcome, Failed) and outcome.error.code == "NOT_AUTHORIZED"


@pytest.mark.requirement("5.8-nothing-crosses")
async def test_a_decider_of_another_tenant_sees_and_decides_nothing() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    acme, globex = House("acme", store, clock), House("globex", store, clock)
    await acme.do("empty")
    (request,) = acme.surface.confirmations.pending()
    for tenant in ("globex", None):
        stranger = Decider("ada", {"owner"}, tenant=tenant)
        assert acme.surface.confirmations.pending(stranger) == ()
        with pytest.raises(PermissionError):
            await acme.surface.confirmations.approve(request.id, stranger)
    with pytest.raises(LookupError):
        await globex.surface.confirmations.approve(request.id, Decider("ada", {"owner"}, tenant="globex"))
    assert len(acme.surface.confirmations.pending()) == 1
