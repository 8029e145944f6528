"""The version of a surface, one per consumer: what moves it and what does not (SPEC 2.6)."""

from typing import Literal

import pytest

from remit import (
    Component,
    Consumer,
    Event,
    EventType,
    Invocation,
    Ok,
    Principal,
    Surface,
    Unavailable,
    action,
    observation,
)
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import AGENT, authority_of, turns


class Panel(Component, type="panel"):
    """A panel."""

    def __init__(self) -> None:
        self.rows = 1
        self.text = "one"

    @observation
    def read(self) -> int:
        """Read."""
        return self.rows

    @action
    def fill(self) -> None:
        """Fill."""
        self.rows += 1

    @read.note
    def shown(self) -> str:
        return self.text

    @fill.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable(self.text)


def version(surface: Surface, consumer: Consumer = AGENT) -> int:
    return int(surface.snapshot(consumer).surface_version)


@pytest.mark.requirement("2.6-decimal-from-zero")
async def test_the_version_is_a_decimal_string_from_0_and_a_later_one_is_larger() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    assert surface.snapshot(AGENT).surface_version == "0"
    seen = ["0"]
    for number in range(12):
        surface.mount(Panel(), f"p{number}")
        seen.append(surface.snapshot(AGENT).surface_version)
    assert seen == [str(number) for number in range(13)]


@pytest.mark.requirement("2.6-mount-unmount-replace")
def test_mounting_unmounting_and_replacing_move_the_version() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    before = version(surface)
    first = surface.mount(Panel())
    mounted = version(surface)
    surface.mount(Panel(), on_duplicate="replace")
    replaced = version(surface)
    first.unmount()
    assert version(surface) == replaced
    surface.mount(Panel())  # rejected
    assert version(surface) == replaced
    assert before < mounted < replaced


@pytest.mark.requirement("2.6-unmount")
def test_an_unmount_moves_the_version_even_when_the_same_is_mounted_again() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel())
    before = version(surface)
    mount.unmount()
    surface.mount(Panel())
    assert version(surface) == before + 1
    with surface.mount(Panel(), "other"):
        between = version(surface)
    assert version(surface) == between + 1


@pytest.mark.requirement("2.6-enable-push-invalidate")
def test_enabling_pushing_and_invalidating_move_the_version_only_on_a_difference() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel())
    seen = [version(surface)]
    mount.update(enabled=False)
    seen.append(version(surface))
    mount.update(enabled=False, reason="another word")
    assert version(surface) == seen[-1]
    mount.update(enabled=True)
    seen.append(version(surface))
    mount.update(available={"fill": "busy"})
    seen.append(version(surface))
    mount.update(available={"fill": "busier"})
    assert version(surface) == seen[-1]
    mount.update(available={"fill": True})
    seen.append(version(surface))
    mount.invalidate()
    seen.append(version(surface))
    assert seen == sorted(set(seen)) and len(seen) == 6


@pytest.mark.requirement("2.6-state-does-not-move-it")
async def test_notes_reasons_predicates_and_reads_are_state_and_do_not_move_the_version() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    panel = Panel()
    surface.mount(panel)
    before = version(surface)
    panel.text = "two"
    assert version(surface) == before
    panel.rows = 0
    assert [listed.available for listed in surface.connect(AGENT).capabilities()] == [True, False]
    assert version(surface) == before
    panel.text = "three"
    assert version(surface) == before
    await surface.connect(AGENT).call(Panel.read)
    surface.set_route("/elsewhere")
    assert version(surface) == before


@pytest.mark.requirement("2.6-own-version-per-consumer")
def test_what_is_hidden_from_a_consumer_moves_only_the_versions_of_those_who_see_it() -> None:
    class Secret(Component, type="secret", policies=(require_grant("boss"),)):
        """A secret."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    class OnlySome(Policy, name="only-some"):
        def discover(self, ctx: PolicyContext) -> Decision:
            secret = ctx.capability is not None and ctx.capability.component == "secret"
            return Hide() if secret and "insider" not in ctx.consumer.grants else Expose()

    insider = Consumer("insider", kind="test", grants={"insider"})
    surface = Surface(
        authority_of(Panel, Secret), principal=Principal("operator", grants={"boss"}), policies=[OnlySome()]
    )
    surface.mount(Panel())
    outside, inside = version(surface), version(surface, insider)
    mount = surface.mount(Secret())
    assert version(surface) == outside
    assert version(surface, insider) == inside + 1
    mount.update(enabled=False)
    mount.update(available={"read": "no"})
    mount.invalidate()
    mount.unmount()
    assert version(surface) == outside
    assert version(surface, insider) == inside + 2


@pytest.mark.requirement("2.6-hidden-does-not-notify")
async def test_what_is_hidden_from_a_consumer_does_not_notify_it() -> None:
    class Secret(Component, type="secret", policies=(require_grant("nobody-has-it"),)):
        """A secret."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Panel, Secret), principal="operator")
    surface.mount(Panel())
    surface.snapshot(AGENT)
    await turns()
    heard: list[Event] = []
    every: list[EventType] = []
    surface.subscribe(heard.append, consumer=AGENT)
    surface.subscribe(lambda event: every.append(event.type), types={EventType.SURFACE_CHANGED})
    mount = surface.mount(Secret())
    await turns()
    mount.update(enabled=False)
    await turns()
    mount.unmount()
    await turns()
    assert heard == [] and len(every) == 3
    surface.mount(Panel(), "second")
    await turns()
    assert [event.type for event in heard] == [EventType.SURFACE_CHANGED]


@pytest.mark.requirement("2.6-scope-and-grants-move-it")
def test_a_change_of_scope_or_of_the_principals_grants_moves_the_version_when_the_listing_changes() -> None:
    class Locked(Component, type="locked", policies=(require_grant("key"),)):
        """Locked."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    grants: set[str] = set()
    surface = Surface(authority_of(Panel, Locked), principal=lambda: Principal("operator", grants=grants))
    surface.mount(Panel())
    surface.mount(Locked())
    before = version(surface)
    grants.add("unrelated")
    assert version(surface) == before
    grants.add("key")
    assert version(surface) == before + 1
    narrowed = Consumer("agent", kind="test", scope=["view:panel.read"])
    assert narrowed.key == AGENT.key
    assert version(surface, narrowed) == before + 2
    grants.clear()
    assert version(surface, narrowed) == before + 2


@pytest.mark.requirement("2.6-policies-changed")
async def test_policies_changed_announces_what_policies_decide_from_host_values() -> None:
    class Hours(Policy, name="hours"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose() if ctx.host == {"open": True} else Disable("Closed")

    host = {"open": True}
    surface = Surface(authority_of(Panel), principal="operator", host=host, policies=[Hours()])
    surface.mount(Panel())
    before = version(surface)
    await turns()
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=AGENT)
    surface.policies_changed()
    await turns()
    assert heard == [] and version(surface) == before
    host["open"] = False
    surface.policies_changed()
    await turns()
    assert [event.type for event in heard] == [EventType.SURFACE_CHANGED]
    assert version(surface) == before + 1


@pytest.mark.requirement("2.6-settlement-says-the-version")
async def test_an_outcome_says_the_version_after_the_call_and_whether_it_moved_during_it() -> None:
    class Opener(Component, type="opener"):
        """Opens."""

        def __init__(self, surface: Surface) -> None:
            self.surface = surface

        @action
        def open(self) -> None:
            """Open."""
            self.surface.mount(Panel())

        @action
        def nothing(self) -> None:
            """Nothing."""

    surface = Surface(authority_of(Panel, Opener), principal="operator")
    surface.mount(Opener(surface))
    agent = surface.connect(AGENT)
    before = version(surface)
    still = await agent.call(Opener.nothing)
    moved = await agent.call(Opener.open)
    assert isinstance(still, Ok) and isinstance(moved, Ok)
    assert (still.surface_version, still.surface_changed) == (str(before), False)
    assert (moved.surface_version, moved.surface_changed) == (str(before + 1), True)
    assert version(surface) == before + 1


@pytest.mark.requirement("2.6-computed-when-read")
async def test_many_changes_between_two_reads_move_the_version_once_and_give_one_notice() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    before = version(surface)
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type), consumer=AGENT)
    for number in range(50):
        surface.mount(Panel(), f"p{number}")
    await turns()
    assert heard == [EventType.SURFACE_CHANGED]
    assert version(surface) == before + 1


@pytest.mark.requirement("2.6-scoped-to-the-surface")
async def test_a_version_of_another_surface_is_nothing_a_call_can_rely_on() -> None:
    authority = authority_of(Panel)
    one, other = Surface(authority, principal="operator"), Surface(authority, principal="operator")
    one.mount(Panel())
    other.mount(Panel())
    assert one.snapshot(AGENT).surface_version == other.snapshot(AGENT).surface_version
    assert one.surface_id != other.surface_id
    request = Invocation("view:panel.read", surface_id=one.surface_id, surface_version="0")
    assert isinstance(await one.invoke(request, AGENT), Ok)
    assert not isinstance(await other.invoke(request, AGENT), Ok)
