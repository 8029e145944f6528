"""The built-in policies that narrow, and the meter."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit._base.clock import ManualClock
from remit._model.consumer import Consumer, Principal
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Kind
from remit._model.ids import CapabilityId
from remit._policy.chain import Chain
from remit._policy.context import Counters, PolicyContext
from remit.policies import (
    Decision,
    Deny,
    Expose,
    Hide,
    Policy,
    environment,
    only_doors,
    only_kinds,
    rate_limit,
    read_only,
    require_permission,
    tenant_boundary,
)

ADA = Principal("ada", tenant="acme")
BOT = Consumer("bot", kind="test")


@dataclass
class Host:
    environment: str = "production"
    tenant: str | None = "acme"


def context(  # noqa: PLR0913 - one keyword a fact
    *,
    principal: Principal | None = ADA,
    consumer: Consumer = BOT,
    capability: Descriptor | None = None,
    clock: ManualClock | None = None,
    counters: Counters | None = None,
    charges: bool = True,
    host: object = None,
) -> PolicyContext:
    return PolicyContext(
        principal=principal,
        consumer=consumer,
        host=Host() if host is None else host,
        clock=ManualClock() if clock is None else clock,
        capability=capability,
        instance=None,
        door=consumer.kind.value,
        counters=counters,
        charges=charges,
    )


def capability(effect: Effect, kind: Kind = Kind.REFERENCE, id: str = "view:a.b") -> Descriptor:
    return Descriptor(
        id=CapabilityId(id),
        kind=kind,
        effect=effect,
        component="a",
        title=None,
        description="Does.",
        input_schema={},
        output_schema=None,
        idempotent=False,
        reversible=None,
        confirmation=Confirmation.NEVER,
    )


def decision(policy: Policy, ctx: PolicyContext) -> Decision:
    return Chain([policy]).discover(ctx).decision


def may(ctx: PolicyContext) -> bool:
    return ctx.principal is ADA


def test_the_names_hold_the_parameters() -> None:
    policies = [
        require_permission(may),
        require_permission(lambda ctx: True),
        tenant_boundary("acme"),
        tenant_boundary(lambda ctx: "acme"),
        environment("test", "staging", now="test"),
        rate_limit(60, per_s=10),
        rate_limit(1, per_s=0.5, each_capability=True),
        rate_limit(1, per_s=1000.0001),
        read_only(),
        only_kinds(Kind.REFERENCE, "observation"),
        only_doors("test", "mcp", "mcp"),
    ]
    assert list(Chain(policies).names) == [
        "require-permission:may",
        "require-permission",
        "tenant-boundary:acme",
        "tenant-boundary",
        "environment:test,staging",
        "rate-limit:60/10s",
        "rate-limit:1/0.5s/capability",
        "rate-limit:1/1000.0001s",
        "read-only",
        "only-kinds:observation,reference",
        "only-doors:mcp,test",
    ]


def test_a_permission_is_a_bool_and_everything_else_hides() -> None:
    assert decision(require_permission(may), context()) == Expose()
    assert decision(require_permission(may), context(principal=None)) == Hide()

    async def later() -> bool:
        return True

    for wrong in (1, "yes", None, later):
        answer = cast(Any, (lambda ctx, wrong=wrong: wrong() if callable(wrong) else wrong))
        verdict = Chain([require_permission(answer)]).discover(context())
        assert verdict.decision == Hide() and isinstance(verdict.votes[0].cause, TypeError)
    missing = Chain([require_permission(lambda ctx: bool(cast(Any, ctx.capability).id))]).discover(context())
    assert missing.decision == Hide()


@pytest.mark.parametrize(
    ("tenant", "own", "seen"),
    [("acme", "acme", True), ("acme", "other", False), ("acme", None, False), (None, "acme", True), (None, None, True)],
)
def test_a_tenant_boundary_keeps_out_every_other_tenant(tenant: str | None, own: str | None, seen: bool) -> None:
    wanted = Expose() if seen else Hide()
    ctx = context(principal=Principal("ada", tenant=own), host=Host(tenant=tenant))
    assert decision(tenant_boundary(lambda ctx: cast(Host, ctx.host).tenant), ctx) == wanted
    if tenant is not None:
        assert decision(tenant_boundary(tenant), ctx) == wanted
        assert decision(tenant_boundary(tenant), context(principal=None)) == Hide()


def test_an_environment_hides_elsewhere() -> None:
    assert decision(environment("development", now="test"), context()) == Hide()
    assert decision(environment("development", "test", now="test"), context()) == Expose()
    told = environment("test", now=lambda ctx: cast(Host, ctx.host).environment)
    assert decision(told, context(host=Host(environment="test"))) == Expose()
    assert decision(told, context()) == Hide()


@pytest.mark.parametrize("effect", list(Effect))
def test_read_only_leaves_what_reads(effect: Effect) -> None:
    reads = effect in {Effect.READ, Effect.SERVER_QUERY}
    assert decision(read_only(), context(capability=capability(effect))) == (Expose() if reads else Hide())


def test_kinds_and_doors_outside_the_named_ones_are_hidden() -> None:
    kinds, doors = only_kinds("observation", "action"), only_doors("embedded", "mcp")
    for kind in Kind:
        wanted = Hide() if kind is Kind.REFERENCE else Expose()
        assert decision(kinds, context(capability=capability(Effect.READ, kind))) == wanted
    for door in ("embedded", "mcp", "webmcp", "page", "test", "other"):
        wanted = Expose() if door in {"embedded", "mcp"} else Hide()
        assert decision(doors, context(consumer=Consumer("bot", kind=door))) == wanted


def test_wrong_arguments_are_refused_where_they_are_written() -> None:
    async def coroutine(ctx: PolicyContext) -> bool:
        return True

    later = cast(Any, coroutine)
    mistyped: list[Callable[[], object]] = [
        lambda: require_permission(cast(Any, "may")),
        lambda: require_permission(later),
        lambda: tenant_boundary(cast(Any, None)),
        lambda: tenant_boundary(""),
        lambda: tenant_boundary(later),
        lambda: environment(now="test"),
        lambda: environment("", now="test"),
        lambda: environment("test", now=cast(Any, None)),
        lambda: environment("test", now=later),
        only_kinds,
        only_doors,
    ]
    for build in mistyped:
        with pytest.raises(TypeError):
            build()
    wrong: list[Callable[[], object]] = [
        lambda: only_kinds("read"),
        lambda: only_doors("cli"),
        lambda: rate_limit(0, per_s=1),
        lambda: rate_limit(cast(Any, True), per_s=1),
        lambda: rate_limit(cast(Any, 1.5), per_s=1),
        lambda: rate_limit(1, per_s=0),
        lambda: rate_limit(1, per_s=3_601),
        lambda: rate_limit(1, per_s=float("nan")),
    ]
    for build in wrong:
        with pytest.raises(ValueError):
            build()


class Bucket:
    """One limit, one clock, one set of counters."""

    def __init__(self, policy: Policy) -> None:
        self.clock = ManualClock()
        self.counters = Counters(self.clock)
        self._chain = Chain([policy])

    async def ask(self, **of: Any) -> Deny | None:
        ctx = context(clock=self.clock, counters=self.counters, **of)
        return (await self._chain.authorize(ctx))[0]


async def test_a_bucket_is_full_at_first_and_says_exactly_when_the_next_call_passes() -> None:
    bucket = Bucket(rate_limit(1, per_s=10))
    assert await bucket.ask() is None
    refused = await bucket.ask()
    assert refused is not None and (refused.code, refused.retry_after_ms) == ("RATE_LIMITED", 10_000)
    bucket.clock.advance(9.999)
    refused = await bucket.ask()
    assert refused is not None and refused.retry_after_ms == 1
    bucket.clock.advance(0.001)
    assert await bucket.ask() is None


async def test_tokens_come_back_evenly_and_no_more_than_the_bucket_holds() -> None:
    bucket = Bucket(rate_limit(3, per_s=9))
    assert [await bucket.ask() is None for _ in range(4)] == [True, True, True, False]
    bucket.clock.advance(3)
    assert [await bucket.ask() is None for _ in range(2)] == [True, False]
    bucket.clock.advance(900)
    assert [await bucket.ask() is None for _ in range(4)] == [True, True, True, False]


async def test_a_call_that_was_charged_is_looked_at_and_not_charged_again() -> None:
    bucket = Bucket(rate_limit(2, per_s=10))
    for _ in range(2):
        assert await bucket.ask() is None
        for _ in range(3):
            assert await bucket.ask(charges=False) is None
    assert await bucket.ask() is not None


async def test_buckets_are_one_for_each_principal_tenant_and_consumer() -> None:
    bucket = Bucket(rate_limit(1, per_s=10))
    others: list[dict[str, Any]] = [
        {},
        {"principal": Principal("ada", tenant="other")},
        {"principal": Principal("bob", tenant="acme")},
        {"principal": None},
        {"consumer": Consumer("other", kind="test")},
        {"consumer": Consumer("bot", kind="mcp")},
    ]
    assert [await bucket.ask(**of) for of in others] == [None] * len(others)
    assert None not in [await bucket.ask(**of) for of in others]


async def test_capabilities_share_a_bucket_unless_each_has_its_own() -> None:
    one, two = capability(Effect.READ, id="view:a.one"), capability(Effect.READ, id="view:a.two")
    shared, own = Bucket(rate_limit(1, per_s=10)), Bucket(rate_limit(1, per_s=10, each_capability=True))
    assert [await shared.ask(capability=each) is None for each in (one, two)] == [True, False]
    assert [await own.ask(capability=each) is None for each in (one, two, one)] == [True, True, False]


@given(
    calls=st.integers(1, 7),
    per_s=st.sampled_from([0.25, 1.0, 7.0, 10.0]),
    gaps=st.lists(st.integers(0, 4_000), max_size=40),
)
def test_the_meter_agrees_with_a_bucket_of_tokens(calls: int, per_s: float, gaps: list[int]) -> None:
    bucket = Bucket(rate_limit(calls, per_s=per_s))
    token = int(per_s * 1_000_000_000) // calls
    room, level = int(per_s * 1_000_000_000), 0  # what is spent, in nanoseconds of refilling

    async def run() -> None:
        nonlocal level
        for gap in gaps:
            bucket.clock.advance(gap / 1_000)
            level = max(level - gap * 1_000_000, 0)
            passes = level + token <= room
            refused = await bucket.ask()
            # The clock counts in floats: within a microsecond of the edge either answer is right.
            if abs(level + token - room) > 1_000:
                assert (refused is None) is passes
            if refused is None:
                level += token

    asyncio.run(run())


async def test_twenty_thousand_keys_leave_a_bounded_number_of_counters() -> None:
    bucket = Bucket(rate_limit(1, per_s=10))
    for number in range(20_000):
        assert await bucket.ask(consumer=Consumer(f"bot-{number}", kind="test")) is None
    assert len(bucket.counters._values) <= 10_000
