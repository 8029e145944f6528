"""A listing is put together from kept entries, and shows every change all the same (SPEC 4.1, 4.9)."""

from typing import Literal

from remit import Component, Consumer, Surface, Unavailable, action, observation
from remit._model.listing import Listed
from tests.behaviour.conftest import authority_of

AGENT = Consumer("agent", kind="test")


class Panel(Component, type="panel"):
    """A panel."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def touch(self) -> None:
        """Touch."""


class Door(Component, type="door"):
    """A door with a state of its own."""

    open = False

    @action
    def close(self) -> None:
        """Close."""

    @close.available
    def _(self) -> Literal[True] | Unavailable:
        return True if self.open else Unavailable("It is closed")


def listed(surface: Surface, consumer: Consumer = AGENT) -> dict[str, Listed]:
    return {f"{one.id}@{one.instance}": one for one in surface.snapshot(consumer).capabilities()}


def surface() -> Surface:
    return Surface(authority_of(Panel, Door), principal="ada")


def test_what_did_not_change_is_listed_by_the_same_values() -> None:
    live = surface()
    live.mount(Panel())
    first, second = live.snapshot(AGENT), live.snapshot(AGENT)
    assert first.components[0] is second.components[0]
    assert first.surface_version == second.surface_version


def test_a_push_its_reason_and_its_end_show_at_once() -> None:
    live = surface()
    mount = live.mount(Panel())
    assert listed(live)["view:panel.touch@default"].available
    mount.update(available={"touch": "Not yet"})
    assert listed(live)["view:panel.touch@default"].reason == "Not yet"
    mount.update(available={"touch": "Still not"})
    assert listed(live)["view:panel.touch@default"].reason == "Still not"
    mount.update(available={"touch": True})
    assert listed(live)["view:panel.touch@default"].available


def test_disabling_a_parent_shows_at_its_children_and_so_does_another_reason() -> None:
    live = surface()
    parent = live.mount(Panel(), "outer")
    live.mount(Panel(), "inner", parent=parent)
    assert listed(live)["view:panel.read@inner"].available
    parent.update(enabled=False, reason="Busy")
    assert listed(live)["view:panel.read@inner"].reason == "Busy"
    parent.update(reason="Asleep")
    assert listed(live)["view:panel.read@inner"].reason == "Asleep"
    parent.update(enabled=True)
    assert listed(live)["view:panel.read@inner"].available


def test_invalidating_moves_the_version_of_a_listing_that_was_kept() -> None:
    live = surface()
    mount = live.mount(Panel())
    before = live.snapshot(AGENT).surface_version
    mount.invalidate()
    assert live.snapshot(AGENT).surface_version != before


def test_a_predicate_is_asked_for_every_listing() -> None:
    live, door = surface(), Door()
    live.mount(door)
    assert listed(live)["view:door.close@default"].reason == "It is closed"
    door.open = True
    assert listed(live)["view:door.close@default"].available


def test_consumers_who_look_in_turn_get_each_their_own_listing() -> None:
    live = surface()
    live.mount(Panel())
    reader = Consumer("reader", kind="test", scope=["view:panel.read"])
    for _ in range(2):
        assert set(listed(live)) == {"view:panel.read@default", "view:panel.touch@default"}
        assert set(listed(live, reader)) == {"view:panel.read@default"}
