"""Asking for what is not there, again and again (SPEC 11.14, 6.2 step 3)."""

from typing import Any

import pytest

from remit import Component, Consumer, Invocation, Limits, ManualClock, Mount, Surface, action, observation
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output

OTHER = Consumer("other", kind="test")


class Safe(Component, type="safe"):
    """A safe."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def open(self) -> int:
        """Open."""
        return 2


class OnlyRead(Policy, name="only-read"):
    """Hides everything but reading."""

    def discover(self, ctx: PolicyContext) -> Decision:
        """Hide."""
        return Expose() if ctx.capability is not None and ctx.capability.id == "view:safe.read" else Hide()


def made(*policies: Policy, **limits: Any) -> tuple[Surface, ManualClock, Mount]:
    clock = ManualClock()
    surface = Surface(authority_of(Safe), principal="operator", policies=policies, clock=clock, limits=Limits(**limits))
    return surface, clock, surface.mount(Safe())


async def miss(surface: Surface, count: int, consumer: Consumer = AGENT, begin: int = 0) -> None:
    for number in range(begin, begin + count):
        outcome = await surface.invoke(Invocation(f"view:safe.madeUp{number}"), consumer)
        failed(outcome, "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.14-twenty-unknown-ids")
async def test_after_twenty_different_unknown_ids_in_a_minute_not_found_is_rate_limited_for_a_minute() -> None:
    surface, clock, _ = made()
    agent = surface.connect(AGENT)
    await miss(surface, 19)
    for _ in range(30):
        failed(await agent.call("view:safe.madeUp0"), "CAPABILITY_NOT_FOUND")
    await miss(surface, 1, begin=19)
    error = failed(await agent.call("view:safe.madeUp99"), "RATE_LIMITED")
    assert error.details == {"reason": "probing", "retry_after_ms": 60_000}
    assert "too many ids" in str(journal(surface)[-1].why)
    clock.advance(59.5)
    assert failed(await agent.call("view:safe.madeUp0"), "RATE_LIMITED").details["retry_after_ms"] == 500
    clock.advance(0.5)
    await miss(surface, 20)
    failed(await agent.call("view:safe.madeUp0"), "RATE_LIMITED")


@pytest.mark.requirement("11.14-twenty-unknown-ids")
async def test_unknown_ids_that_are_a_minute_old_do_not_count() -> None:
    surface, clock, _ = made()
    await miss(surface, 19)
    clock.advance(60)
    await miss(surface, 19, begin=19)
    clock.advance(30)
    await miss(surface, 1, begin=50)
    failed(await surface.connect(AGENT).call("view:safe.madeUp51"), "RATE_LIMITED")


@pytest.mark.requirement("11.14-known-ids-are-unaffected")
async def test_known_ids_and_other_consumers_are_unaffected() -> None:
    surface, _, _ = made()
    await miss(surface, 20)
    agent = surface.connect(AGENT)
    failed(await agent.call("view:safe.madeUp99"), "RATE_LIMITED")
    assert output(await agent.call(Safe.read)) == 1
    failed(await agent.call(Safe.read, instance="nowhere"), "RATE_LIMITED")
    agent.capabilities()
    failed(await agent.call(Safe.read, instance="nowhere"), "CAPABILITY_NOT_FOUND")
    failed(await surface.connect(OTHER).call("view:safe.madeUp99"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.14-known-ids-are-unaffected")
async def test_an_id_that_was_shown_within_ten_minutes_is_known() -> None:
    surface, clock, mount = made()
    agent = surface.connect(AGENT)
    agent.capabilities()
    surface.mount(Safe(), "later")
    agent.capabilities()
    mount.unmount()
    for live in list(surface.mounted(Safe)):
        surface.mount(live, "later", on_duplicate="replace").unmount()
    clock.advance(400)
    await miss(surface, 20)
    failed(await agent.call("view:safe.madeUp99"), "RATE_LIMITED")
    failed(await agent.call(Safe.read), "CAPABILITY_NOT_FOUND")
    agent.capabilities()
    clock.advance(199)
    await miss(surface, 20)
    failed(await agent.call(Safe.read), "CAPABILITY_NOT_FOUND")
    clock.advance(1)
    failed(await agent.call(Safe.read), "RATE_LIMITED")


@pytest.mark.requirement("11.14-hidden-counts-like-made-up")
@pytest.mark.parametrize("asked", ["view:safe.open", "view:safe.madeUp", "view:gone.away", "no id at all", ""])
async def test_a_hidden_id_counts_and_is_answered_like_a_made_up_one_at_every_point(asked: str) -> None:
    surface, clock, _ = made(OnlyRead(), probing=5)
    agent = surface.connect(AGENT)
    agent.capabilities()
    told: list[tuple[str, dict[str, object]]] = []
    for number in range(4):
        await miss(surface, 1, begin=number)
        error = failed(await agent.call(asked))
        told.append((error.code.value, dict(error.details)))
        clock.advance(1)
    limited = ("RATE_LIMITED", {"reason": "probing", "retry_after_ms": 60_000})
    assert told[:3] == [("CAPABILITY_NOT_FOUND", {})] * 3
    assert told[3] == limited, "whatever was asked beside the four was the fifth"
    assert failed(await agent.call(asked)) == failed(await agent.call("view:other.madeUp"), "RATE_LIMITED")


@pytest.mark.requirement("11.14-hidden-counts-like-made-up")
async def test_twenty_hidden_ids_are_as_many_as_twenty_made_up_ones() -> None:
    surface, _, _ = made(OnlyRead(), probing=2)
    agent = surface.connect(AGENT)
    failed(await agent.call(Safe.open), "CAPABILITY_NOT_FOUND")
    failed(await agent.call("view:safe.madeUp"), "CAPABILITY_NOT_FOUND")
    failed(await agent.call(Safe.open), "RATE_LIMITED")
    failed(await agent.call("view:safe.madeUp"), "RATE_LIMITED")


@pytest.mark.requirement("11.14-a-look-ahead-counts-nothing")
async def test_a_preflight_counts_no_unknown_id_and_tells_what_a_call_would_be_told() -> None:
    surface, _, _ = made(probing=2)
    for number in range(5):
        seen = await surface.preflight(Invocation(f"view:safe.madeUp{number}"), AGENT)
        assert seen.error is not None and seen.error.code == "CAPABILITY_NOT_FOUND"
    await miss(surface, 2)
    seen = await surface.preflight(Invocation("view:safe.madeUp9"), AGENT)
    assert seen.error == failed(await surface.invoke(Invocation("view:safe.madeUp9"), AGENT), "RATE_LIMITED")


@pytest.mark.requirement("6.2-target-order")
async def test_a_registration_under_the_name_of_another_instance_is_not_the_live_one() -> None:
    surface, _, mount = made()
    surface.mount(Safe(), "other")
    call = Invocation("view:safe.read", registration=mount.registration_id, instance="other")
    assert failed(await surface.invoke(call, AGENT)).details == {"reason": "registration-replaced"}
    call = Invocation("view:safe.read", registration=mount.registration_id, instance="nowhere")
    failed(await surface.invoke(call, AGENT), "CAPABILITY_NOT_FOUND")
    call = Invocation("view:safe.read", registration=mount.registration_id, instance="default")
    assert output(await surface.invoke(call, AGENT)) == 1


@pytest.mark.requirement("6.5-unmounted-is-told-to-those-who-were-shown-it")
async def test_what_only_a_component_opened_at_a_door_is_not_found_there_once_that_has_gone() -> None:
    class Hatch(Component, type="hatch"):
        """A hatch."""

        @observation(doors=["mcp"])
        def look(self) -> int:
            """Look."""
            return 1

    client = Consumer("client", kind="mcp", scope=["view:**"], issuer="site")
    surface = Surface(authority_of(Hatch, Safe, exposure={"mcp": ["view:safe.**"]}), principal="operator")
    mounts = [surface.mount(Hatch()), surface.mount(Safe())]
    assert len(surface.snapshot(client).capabilities()) == 3
    for mount in mounts:
        mount.unmount()
    failed(await surface.invoke(Invocation("view:hatch.look"), client), "CAPABILITY_NOT_FOUND")
    failed(await surface.invoke(Invocation("view:safe.read"), client), "COMPONENT_UNMOUNTED")
