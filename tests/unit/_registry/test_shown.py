"""How much is remembered of what consumers were shown (SPEC 6.5, 11.14)."""

from collections.abc import Callable

import pytest

from remit import Component, Consumer, Invocation, ManualClock, Surface, observation
from remit._base.limits import Limits
from remit._registry import probing, state
from remit._registry.probing import Shown
from remit._registry.snapshot import Capture
from tests.behaviour.conftest import AGENT, authority_of, failed


class Safe(Component, type="safe"):
    """A safe."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @observation
    def look(self) -> int:
        """Look."""
        return 2


def captured(surface: Surface) -> Capture:
    shown = surface.snapshot(AGENT)
    return Capture(components=shown.components, references=shown.references, fingerprint=())


def test_of_the_ids_that_left_a_listing_the_longest_gone_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "IDS", 1)
    surface, shown = Surface(authority_of(Safe), principal="operator"), Shown(Limits(), ManualClock())
    nothing = captured(surface)
    surface.mount(Safe())
    both = captured(surface)
    knows: Callable[[], list[bool]] = lambda: [  # noqa: E731 - asked three times
        shown.knows(AGENT.key, f"view:safe.{name}") for name in ("read", "look", "madeUp")
    ]
    assert knows() == [False, False, False]
    shown.told(AGENT.key, "1", both)
    assert knows() == [True, True, False]
    shown.told(AGENT.key, "2", nothing)
    assert knows() == [False, True, False]


@pytest.mark.requirement("6.5-unmounted-is-told-to-those-who-were-shown-it")
async def test_no_more_consumers_are_remembered_of_a_mount_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "SHOWN_TO", 2)
    surface = Surface(authority_of(Safe), principal="operator")
    mount = surface.mount(Safe())
    consumers = [Consumer(name, kind="test") for name in ("a", "b", "c")]
    for consumer in consumers:
        surface.snapshot(consumer)
    mount.unmount()
    codes = [failed(await surface.invoke(Invocation("view:safe.read"), each)).code for each in consumers]
    assert codes == ["CAPABILITY_NOT_FOUND", "COMPONENT_UNMOUNTED", "COMPONENT_UNMOUNTED"]
