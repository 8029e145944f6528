"""What the journal keeps of mounts, beside calls and requests, and how it is read (SPEC 9.1, 9.2)."""

import asyncio
from datetime import datetime, timedelta

import pytest

from remit import CancelCause, Component, Event, EventType, ManualClock, Surface, action
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    @action
    async def stay(self) -> None:
        """Stay, whatever is said."""
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue

    @action(confirmation="required")
    def clear(self) -> None:
        """Clear."""


MOUNTS = (EventType.REGISTERED, EventType.UNREGISTERED, EventType.REJECTED)


@pytest.mark.requirement("9.2-mounts-are-journalled")
def test_mounting_ending_and_rejecting_leave_entries_that_name_the_component() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[Event] = []
    surface.subscribe(heard.append, types=MOUNTS)
    first = surface.mount(Desk(), "left")
    surface.mount(Desk(), "left")
    second = surface.mount(Desk(), "left", on_duplicate="replace")
    second.unmount(CancelCause.VIEW_CLOSED)
    second.unmount()
    entries = surface.audit(types={"registration"})
    assert [(entry.status, entry.registration, entry.why) for entry in entries] == [
        ("registered", first.registration_id, None),
        ("rejected", first.registration_id, f"desk/left is already mounted as {first.registration_id}"),
        ("unregistered", first.registration_id, "unmounted"),
        ("registered", second.registration_id, None),
        ("unregistered", second.registration_id, "view-closed"),
    ]
    assert {(entry.component, entry.instance, entry.code) for entry in entries} == {("desk", "left", None)}
    assert [event.type.value for event in heard] == [entry.status for entry in entries]


@pytest.mark.requirement("4.11-dispose-tells-each-end")
def test_the_end_of_a_surface_tells_and_journals_the_end_of_each_component() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[object] = []
    surface.subscribe(lambda event: heard.append(event.data["registration"]), types={EventType.UNREGISTERED})
    parent = surface.mount(Desk(), "outer")
    child = surface.mount(Desk(), "inner", parent=parent)
    surface.dispose()
    ended = [entry for entry in surface.audit() if entry.status == "unregistered"]
    assert heard == [entry.registration for entry in ended] == [child.registration_id, parent.registration_id]
    assert {entry.why for entry in ended} == {"view-closed"}


@pytest.mark.requirement("9.2-everything-is-journalled")
async def test_mounts_calls_requests_and_late_results_all_leave_an_entry_with_an_iso_time() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    mount = surface.mount(desk)
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Desk.clear)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    output(await agent.call(Desk.clear, confirmation=asked))
    late = asyncio.create_task(agent.call(Desk.stay))
    await turns()
    clock.advance(10)
    failed(await late, "TIMEOUT")
    desk.gate.set()
    await turns()
    mount.unmount()
    entries = surface.audit()
    assert [(entry.type.value, entry.status or entry.code) for entry in entries] == [
        ("registration", "registered"),
        ("registration", "rejected"),
        ("confirmation", "pending"),
        ("invocation", "CONFIRMATION_REQUIRED"),
        ("confirmation", "approved"),
        ("confirmation", "spent"),
        ("invocation", None),
        ("invocation", "TIMEOUT"),
        ("late-result", None),
        ("registration", "unregistered"),
    ]
    result = entries[-2]
    assert (result.principal, result.consumer, result.execution_ms) == ("operator", AGENT.key, 10_000)
    assert (result.outcome, result.why) == ("done", "the call had been answered before")
    assert all(datetime.fromisoformat(entry.time).utcoffset() == timedelta(0) for entry in entries)
    assert [entry.sequence for entry in entries] == list(range(1, 11))


@pytest.mark.requirement("9.2-read-in-parts")
async def test_the_journal_is_read_by_type_and_by_invocation() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    failed(await agent.call(Desk.clear, id="one"))
    failed(await agent.call("view:desk.none", id="two"))
    assert [entry.type.value for entry in surface.audit(invocation="one")] == ["confirmation", "invocation"]
    assert [entry.invocation for entry in surface.audit(types=["invocation"])] == ["one", "two"]
    assert [entry.code for entry in surface.audit(types=["invocation"], invocation="two")] == ["CAPABILITY_NOT_FOUND"]
    assert surface.audit(invocation="three") == surface.audit(types=()) == ()
    with pytest.raises(TypeError, match="collection"):
        surface.audit(types="invocation")
    with pytest.raises(ValueError, match="invocations"):
        surface.audit(types={"invocations"})
