"""The policies that come with remit, at the public door (SPEC 5.5)."""

from typing import cast

import pytest

from remit import (
    Component,
    Consumer,
    Context,
    Failed,
    Invocation,
    ManualClock,
    Outcome,
    Principal,
    Procedures,
    Surface,
    action,
    observation,
    reference,
)
from remit.policies import (
    Decision,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    environment,
    only_doors,
    only_kinds,
    rate_limit,
    read_only,
    require_permission,
    tenant_boundary,
)
from tests.behaviour.conftest import AGENT, authority_of, failed, output

MADE_UP = "view:panel.madeUp"


class Panel(Component, type="panel"):
    """A panel."""

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

    @action(effect="navigation")
    def go(self) -> int:
        """Go elsewhere."""
        return self.put()


ALL = {"view:panel.read", "view:panel.put", "view:panel.go"}


def opened(
    *policies: Policy, principal: Principal | None = None, host: object = None, clock: ManualClock | None = None
) -> Surface:
    """A surface with one panel and these policies."""
    surface = Surface(
        authority_of(Panel),
        principal=principal or Principal("ada"),
        host=host,
        policies=policies,
        clock=clock or ManualClock(),
    )
    surface.mount(Panel())
    return surface


async def reached(surface: Surface, consumer: Consumer = AGENT) -> set[str]:
    """What is listed; all else must answer like an invented id, in every byte but the echoed id."""
    agent = surface.connect(consumer)
    listed = {each.descriptor.id for each in agent.capabilities()}
    invented = failed(await agent.call(MADE_UP), "CAPABILITY_NOT_FOUND")
    for hidden in ALL - listed:
        assert failed(await agent.call(hidden)) == invented
    for seen in listed:
        output(await agent.call(seen))
    return {str(each) for each in listed}


def moderator(ctx: PolicyContext) -> bool:
    return cast("dict[str, bool]", ctx.host)["moderator"]


@pytest.mark.requirement("5.5-require-permission")
async def test_a_permission_that_the_application_does_not_give_hides_and_counts_when_it_changes() -> None:
    host = {"moderator": False}
    surface = opened(require_permission(moderator), host=host)
    assert await reached(surface) == set()
    host["moderator"] = True
    assert await reached(surface) == ALL


@pytest.mark.requirement("5.5-require-permission")
async def test_a_check_that_gives_no_bool_hides_and_the_operator_reads_why() -> None:
    surface = opened(require_permission(lambda ctx: cast(bool, "yes")))
    assert await reached(surface) == set()
    assert any("returned str, not a bool" in (vote.cause or "") for entry in surface.audit() for vote in entry.votes)


@pytest.mark.requirement("5.5-tenant-boundary")
@pytest.mark.parametrize(
    ("tenant", "own", "seen"), [("acme", "acme", ALL), ("acme", "other", set()), ("acme", None, set())]
)
async def test_another_tenant_sees_nothing(tenant: str, own: str | None, seen: set[str]) -> None:
    assert await reached(opened(tenant_boundary(tenant), principal=Principal("ada", tenant=own))) == seen


@pytest.mark.requirement("5.5-tenant-boundary")
async def test_where_no_tenant_is_expected_nobody_is_kept_out() -> None:
    surface = opened(
        tenant_boundary(lambda ctx: cast("str | None", ctx.host)), principal=Principal("ada", tenant="acme")
    )
    assert await reached(surface) == ALL


@pytest.mark.requirement("5.5-environment")
async def test_outside_the_named_environments_it_does_not_exist() -> None:
    assert await reached(opened(environment("development", now="test"))) == set()
    assert await reached(opened(environment("development", "test", now="test"))) == ALL
    assert await reached(opened(environment("test", now=lambda ctx: cast(str, ctx.host)), host="test")) == ALL


@pytest.mark.requirement("5.5-read-only")
async def test_read_only_leaves_observations_and_server_queries() -> None:
    backend = Procedures()

    @backend.operation("devices.count", effect="server-query")
    async def count(context: Context) -> int:
        """Count the devices."""
        return 3

    @backend.operation("devices.restart", effect="server-mutation")
    async def restart(context: Context) -> int:
        """Restart the devices."""
        return 3

    class Devices(Component, type="devices"):
        """Devices."""

        count = reference("domain:devices.count")
        restart = reference("domain:devices.restart")

    surface = Surface(
        authority_of(Panel, Devices, procedures=backend), principal="ada", procedures=backend, policies=[read_only()]
    )
    surface.mount(Panel())
    surface.mount(Devices())
    listed = {each.descriptor.id for each in surface.connect(AGENT).capabilities()}
    assert listed == {"view:panel.read", "domain:devices.count"}
    assert output(await surface.connect(AGENT).call("domain:devices.count")) == 3
    for hidden in ("view:panel.put", "view:panel.go", "domain:devices.restart"):
        failed(await surface.connect(AGENT).call(hidden), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("5.5-only-kinds-and-doors")
async def test_other_kinds_and_other_doors_see_nothing() -> None:
    assert await reached(opened(only_kinds("observation"))) == {"view:panel.read"}
    surface = opened(only_doors("embedded"))
    assert await reached(surface) == set()
    assert await reached(surface, Consumer("copilot", kind="embedded")) == ALL


@pytest.mark.requirement("5.5-only-kinds-and-doors")
async def test_naming_a_door_in_a_policy_does_not_open_it() -> None:
    surface = opened(only_doors("mcp"))
    assert await reached(surface, Consumer("remote", kind="mcp", scope=["view:**"])) == set()


@pytest.mark.requirement("5.5-rate-limit")
async def test_a_meter_refuses_with_the_exact_time_and_listings_cost_nothing() -> None:
    clock = ManualClock()
    surface = opened(rate_limit(2, per_s=10), clock=clock)
    agent = surface.connect(AGENT)
    assert [output(await agent.call(Panel.put)) for _ in range(2)] == [1, 2]
    for _ in range(50):
        assert len(agent.capabilities()) == 3 and all(each.available for each in agent.capabilities())
    error = failed(await agent.call(Panel.put), "RATE_LIMITED")
    assert error.details == {"reason": "rate", "retry_after_ms": 5_000} and error.retry == "after-delay"
    assert output(await surface.connect(Consumer("other", kind="test")).call(Panel.put)) == 3
    clock.advance(5)
    assert output(await agent.call(Panel.put)) == 4
    failed(await agent.call(Panel.put), "RATE_LIMITED")


@pytest.mark.requirement("5.5-rate-limit")
async def test_a_call_that_waits_for_the_gate_is_charged_once() -> None:
    surface = opened(rate_limit(3, per_s=10))
    agent = surface.connect(AGENT)
    assert [output(await agent.call(Panel.put)) for _ in range(3)] == [1, 2, 3]
    failed(await agent.call(Panel.put), "RATE_LIMITED")


@pytest.mark.requirement("5.5-rate-limit")
async def test_each_capability_may_have_a_bucket_of_its_own() -> None:
    surface = opened(rate_limit(1, per_s=10, each_capability=True))
    agent = surface.connect(AGENT)
    for id in sorted(ALL):
        output(await agent.call(id))
        failed(await agent.call(id), "RATE_LIMITED")


@pytest.mark.requirement("5.5-meters-of-hidden-and-made-up")
@pytest.mark.parametrize("spent", [0, 1])
async def test_a_meter_treats_a_hidden_capability_like_an_invented_one(spent: int) -> None:
    class OnlyRead(Policy, name="only-read"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose() if ctx.capability is not None and ctx.capability.id == "view:panel.read" else Hide()

    answers: list[list[Outcome]] = []
    for id in (MADE_UP, "view:panel.put"):
        surface = opened(rate_limit(1, per_s=10), OnlyRead())
        for _ in range(spent):
            output(await surface.connect(AGENT).call(Panel.read))
        for _ in range(5):
            failed(await surface.invoke(Invocation(id), AGENT), "CAPABILITY_NOT_FOUND")
        answers.append([await surface.connect(AGENT).call(Panel.read)])
    made_up, hidden = (
        [outcome.error if isinstance(outcome, Failed) else outcome.output for outcome in each] for each in answers
    )
    assert made_up == hidden


@pytest.mark.requirement("5.5-meters-of-hidden-and-made-up")
async def test_a_policy_that_counts_is_asked_as_often_for_what_the_scope_hides_as_for_an_invented_id() -> None:
    class Counting(Policy, name="counting"):
        asked = 0

        def discover(self, ctx: PolicyContext) -> Decision:
            self.asked += 1
            return Expose()

    narrow = Consumer("narrow", kind="test", scope=["view:panel.read"])
    counts: list[int] = []
    for id in (MADE_UP, "view:panel.put"):
        counting = Counting()
        surface = opened(counting)
        for _ in range(3):
            failed(await surface.invoke(Invocation(id), narrow), "CAPABILITY_NOT_FOUND")
        counts.append(counting.asked)
    assert counts[0] == counts[1] >= 3
