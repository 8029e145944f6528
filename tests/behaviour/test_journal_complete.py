"""Every event and every field of an entry that the rules name (SPEC 9.1, 9.2)."""

import asyncio
from typing import Any

import pytest

from remit import Component, Consumer, Event, EventType, Invocation, ManualClock, Surface, action
from remit.policies import Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    @action
    async def wait(self) -> None:
        """Wait."""
        await self.gate.wait()

    @action(confirmation="required")
    def clear(self) -> None:
        """Clear."""


@pytest.mark.requirement("9.2-a-person-is-measured-apart")
async def test_the_time_a_person_took_stands_apart_at_the_decision_and_at_the_call() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Desk.clear)).details["confirmation_id"])
    clock.advance(7)
    await surface.confirmations.approve(asked, OPERATOR)
    clock.advance(3)
    output(await agent.call(Desk.clear, confirmation=asked))
    steps = {entry.status: entry.person_ms for entry in surface.audit(types={"confirmation"})}
    assert steps == {"pending": None, "approved": 7_000, "spent": 7_000}
    first, second = surface.audit(types={"invocation"})
    assert (first.person_ms, second.person_ms) == (None, 7_000)
    assert (second.queue_ms, second.execution_ms) == (0, 0)


@pytest.mark.requirement("9.2-listing-counts")
async def test_the_first_listing_of_each_version_is_journalled_with_its_counts() -> None:
    class Lock(Policy, name="lock"):
        def discover(self, ctx: PolicyContext) -> Hide | Expose:
            return Hide() if ctx.instance == "locked" else Expose()

    surface = Surface(authority_of(Desk), principal="operator", policies=[Lock()])
    surface.confirmations.subscribe(lambda view: None)
    open_ = surface.mount(Desk(), "open")
    surface.mount(Desk(), "locked")
    for _ in range(3):
        surface.snapshot(AGENT)
    open_.update(available={"wait": "not now"})
    surface.snapshot(AGENT, prefixes=["other"])
    surface.snapshot(AGENT)
    surface.snapshot(Consumer("other", kind="test", scope=["view:desk.wait"]))
    entries = surface.audit(types={"listing"})
    assert [(entry.consumer, entry.listing) for entry in entries] == [
        (AGENT.key, (2, 0, 2)),
        (AGENT.key, (2, 1, 2)),
        (Consumer("other", kind="test").key, (1, 1, 3)),
    ]
    assert {entry.principal for entry in entries} == {"operator"}


@pytest.mark.requirement("9.1-scope-changed")
async def test_a_consumer_that_comes_with_another_scope_is_told_and_nobody_else_is() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk())
    wide, narrow = (Consumer("a", kind="test", scope=scope) for scope in (["view:**"], ["view:desk.wait"]))
    mine: list[EventType] = []
    others: list[EventType] = []
    everything: list[Event] = []
    surface.subscribe(lambda event: mine.append(event.type), consumer=wide)
    surface.subscribe(lambda event: others.append(event.type), consumer=AGENT)
    surface.subscribe(everything.append, types={EventType.SCOPE_CHANGED})
    assert len(surface.connect(wide).capabilities()) == 2
    surface.snapshot(AGENT)
    await turns()
    assert everything == []
    mine.clear()
    assert [listed.id for listed in surface.connect(narrow).capabilities()] == ["view:desk.wait"]
    failed(await surface.connect(narrow).call(Desk.clear), "CAPABILITY_NOT_FOUND")
    await turns()
    assert mine == [EventType.SCOPE_CHANGED, EventType.INVOCATION_SETTLED]
    assert EventType.SCOPE_CHANGED not in others
    assert [(event.consumer, event.data) for event in everything] == [(wide.key, {})]
    surface.mount(Desk(), "second")
    await turns()
    assert len(everything) == 1, "a subscription made with the old scope does not bring it back"
    surface.snapshot(wide)
    assert len(everything) == 2


@pytest.mark.requirement("9.1-every-kind-of-event")
async def test_every_event_of_a_surface_is_told_with_its_data_in_the_order_of_what_happened() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    heard: list[tuple[str, dict[str, object]]] = []
    surface.subscribe(lambda event: heard.append((event.type.value, dict(event.data))))
    mount = surface.mount(desk := Desk(), "one")
    registration = mount.registration_id
    surface.mount(Desk(), "one")
    mount.update(available={"clear": "not now"})
    mount.update(available={"clear": True})
    surface.set_route("/a")
    surface.set_route("/a")
    await turns()
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Desk.wait, id="i"))
    await turns()
    desk.gate.set()
    output(await running)
    asked = failed(await agent.call(Desk.clear, id="j")).details["confirmation_id"]
    surface.dispose()
    named = {"type": "desk", "instance": "one", "registration": registration}
    request = {"confirmation": asked, "capability": "view:desk.clear", "registration": registration}
    call = {"invocation": "i", "capability": "view:desk.wait"}
    refused = {"invocation": "j", "capability": "view:desk.clear", "ok": False, "code": "CONFIRMATION_REQUIRED"}
    assert heard == [
        ("registered", named),
        ("rejected", {**named, "reason": f"desk/one is already mounted as {registration}"}),
        ("availability-changed", {"registration": registration, "enabled": True}),
        ("availability-changed", {"registration": registration, "enabled": True}),
        ("route-changed", {"route": "/a"}),
        ("surface-changed", {}),
        ("invocation-started", call),
        ("invocation-settled", {**call, "ok": True, "code": None}),
        ("confirmation-requested", {**request, "status": "pending"}),
        ("invocation-settled", refused),
        ("unregistered", named),
        ("confirmation-resolved", {**request, "status": "cancelled", "cause": "view-closed"}),
    ]


@pytest.mark.requirement("9.2-continuing-in-vain")
async def test_a_confirmation_id_continued_in_vain_leaves_an_entry() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Desk())
    other = Consumer("other", kind="test")
    asked = str(failed(await surface.connect(AGENT).call(Desk.clear)).details["confirmation_id"])
    for id in ("cnf_invented", asked):
        before = len(surface.audit())
        failed(await surface.continue_(id, other), "CONFIRMATION_INVALID")
        (entry,) = surface.audit()[before:]
        assert (entry.type, entry.consumer, entry.code) == ("invocation", other.key, "CONFIRMATION_INVALID")
    assert await surface.withdraw(asked, AGENT)
    failed(await surface.continue_(asked, AGENT), "CONFIRMATION_INVALID")
    last = surface.audit()[-1]
    assert (last.consumer, last.capability) == (AGENT.key, "view:desk.clear")


@pytest.mark.requirement("9.2-made-up-ids-are-cut")
@pytest.mark.parametrize("asked", ["view:" + "x" * 100_000, 7, b"view:desk.clear", ["view:desk.clear"]])
async def test_what_was_asked_for_fills_no_journal_and_stays_json(asked: Any) -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[Event] = []
    surface.subscribe(heard.append, types=[EventType.INVOCATION_SETTLED])
    surface.mount(Desk())
    outcome = await surface.invoke(Invocation(asked), AGENT)
    failed(outcome, "CAPABILITY_NOT_FOUND")
    assert outcome.capability_id == asked
    told = asked[:128] if isinstance(asked, str) else None
    assert [event.data["capability"] for event in heard] == [told]
    assert surface.audit(types=["invocation"])[-1].capability == told
