"""Events for listeners and entries for operators (SPEC 9.1, 9.2)."""

import asyncio
from typing import Any, Literal

import pytest

from remit import (
    Component,
    Consumer,
    Context,
    Event,
    EventType,
    Limits,
    ManualClock,
    Principal,
    Procedures,
    Surface,
    action,
    observation,
    reference,
)
from remit.policies import (
    Deny,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    ReviewContext,
    require_confirmation,
    require_grant,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    @action
    def put(self, count: int = 1) -> int:
        """Put."""
        if count == 0:
            raise RuntimeError("secret-4711")
        return count

    @action
    async def wait(self) -> None:
        """Wait."""
        await self.gate.wait()

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action(confirmation="required")
    def clear(self) -> None:
        """Clear."""


OTHER = Consumer("other", kind="test")
CALLS = (EventType.INVOCATION_STARTED, EventType.INVOCATION_SETTLED)


@pytest.mark.requirement("9.1-order", "9.1-after-the-mutation")
async def test_events_are_numbered_in_the_order_of_what_happened_and_come_after_it() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[tuple[EventType, int, int]] = []

    def listen(event: Event) -> None:
        heard.append((event.type, event.sequence, len(surface.mounted(Desk))))

    surface.subscribe(listen)
    mount = surface.mount(Desk())
    mount.update(enabled=False)
    surface.set_route("/x")
    mount.unmount()
    await turns()
    assert [(type, live) for type, _, live in heard] == [
        (EventType.REGISTERED, 1),
        (EventType.AVAILABILITY_CHANGED, 1),
        (EventType.ROUTE_CHANGED, 1),
        (EventType.UNREGISTERED, 0),
        (EventType.SURFACE_CHANGED, 0),
    ]
    assert [number for _, number, _ in heard] == sorted({number for _, number, _ in heard})


@pytest.mark.requirement("9.1-never-re-entrant")
async def test_listeners_are_never_re_entered_and_a_raising_one_is_isolated_and_reported() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    inside: list[int] = []
    order: list[EventType] = []

    def mounting(event: Event) -> None:
        assert not inside
        inside.append(1)
        if len(order) < 3:
            surface.mount(Desk(), f"m{len(order)}")
        order.append(event.type)
        inside.pop()

    def broken(event: Event) -> None:
        raise RuntimeError("secret-4711")

    heard: list[int] = []
    surface.subscribe(broken)
    surface.subscribe(mounting, types={EventType.REGISTERED})
    surface.subscribe(lambda event: heard.append(event.sequence), types={EventType.REGISTERED})
    surface.mount(Desk())
    assert len(order) == 4 and heard == sorted(heard) and len(heard) == 4
    assert any("secret-4711" in (entry.cause or "") for entry in journal(surface))


@pytest.mark.requirement("9.1-one-settled-per-started")
async def test_every_started_has_exactly_one_settled_and_a_refused_call_has_settled_without_started() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    heard: list[Event] = []
    surface.subscribe(heard.append, types=CALLS)
    mount = surface.mount(Desk())
    agent = surface.connect(AGENT)
    await agent.call(Desk.put, id="ok")
    await agent.call(Desk.put, {"count": 0}, id="raises")
    await agent.call(Desk.put, {"count": "x"}, id="invalid")
    await agent.call("view:desk.none", id="unknown")
    await agent.call(Desk.clear, id="asked")
    running = asyncio.create_task(agent.call(Desk.wait, id="late"))
    joined = asyncio.create_task(agent.call(Desk.wait, id="late"))
    await turns()
    clock.advance(10)
    await asyncio.gather(running, joined)
    gone = asyncio.create_task(agent.call(Desk.wait, id="gone"))
    await turns()
    cancelled = asyncio.create_task(agent.call(Desk.read, id="read"))
    await turns()
    mount.unmount()
    await asyncio.gather(gone, cancelled)
    await turns()
    per: dict[object, list[str]] = {}
    for event in heard:
        per.setdefault(event.data["invocation"], []).append(event.type.value)
    both = ["invocation-started", "invocation-settled"]
    assert {id: per[id] for id in ("ok", "raises", "late", "gone", "read")} == dict.fromkeys(
        ("ok", "raises", "late", "gone", "read"), both
    )
    assert per["invalid"] == per["unknown"] == per["asked"] == ["invocation-settled"]


@pytest.mark.requirement("9.1-what-agents-hear")
async def test_an_agent_hears_of_its_own_calls_and_requests_and_never_of_registrations() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    mine: list[Event] = []
    surface.subscribe(mine.append, consumer=AGENT)
    mount = surface.mount(Desk())
    surface.mount(Desk())
    mount.update(available={"put": "no"})
    await surface.connect(OTHER).call(Desk.read)
    await surface.connect(OTHER).call(Desk.clear)
    await turns()
    assert {event.type for event in mine} == {EventType.SURFACE_CHANGED}
    asked = str(failed(await surface.connect(AGENT).call(Desk.clear)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    surface.set_route("/x")
    types = [event.type.value for event in mine[1:]]
    assert types == ["confirmation-requested", "invocation-settled", "confirmation-resolved", "route-changed"]
    assert all(event.consumer in (None, AGENT.key) for event in mine)


@pytest.mark.requirement("9.1-every-subscription-hears")
async def test_every_subscription_of_a_consumer_hears_of_a_change_once_and_needs_no_listing_before() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: dict[str, int] = {"one": 0, "two": 0, "late": 0}

    def count(name: str) -> Any:
        def listen(event: Event) -> None:
            heard[name] += 1

        return listen

    for name in ("one", "two"):
        surface.subscribe(count(name), consumer=AGENT, types={EventType.SURFACE_CHANGED})
    surface.mount(Desk())
    await turns()
    assert heard == {"one": 1, "two": 1, "late": 0}
    surface.subscribe(count("late"), consumer=AGENT, types={EventType.SURFACE_CHANGED})
    surface.policies_changed()
    await turns()
    assert heard == {"one": 1, "two": 1, "late": 0}
    surface.mount(Desk(), "second")
    surface.snapshot(AGENT)
    await turns()
    assert heard == {"one": 2, "two": 2, "late": 1}


@pytest.mark.requirement("9.1-leaving-a-join")
async def test_leaving_a_join_says_nothing_of_the_call_that_goes_on() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[tuple[str, object]] = []
    surface.subscribe(lambda event: heard.append((event.type.value, event.data.get("code"))), types=CALLS)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    first, second = (asyncio.create_task(agent.call(Desk.wait, id="same")) for _ in range(2))
    await turns()
    second.cancel()
    await turns()
    assert heard == [("invocation-started", None)]
    desk.gate.set()
    output(await first)
    assert heard == [("invocation-started", None), ("invocation-settled", None)]


@pytest.mark.requirement("9.1-coalesced-per-turn")
async def test_surface_changed_is_coalesced_per_turn_of_the_loop() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type), types={EventType.SURFACE_CHANGED})
    for number in range(10):
        surface.mount(Desk(), f"a{number}")
    await turns()
    surface.mount(Desk(), "b")
    await turns()
    assert len(heard) == 2


@pytest.mark.requirement("9.1-one-settled-per-started")
async def test_who_leaves_a_call_that_goes_on_settles_nothing() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    heard: list[str] = []
    surface.subscribe(lambda event: heard.append(event.type.value), types=CALLS)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Desk.wait, id="shared"))
    await turns()
    joined = asyncio.create_task(agent.call(Desk.wait, id="shared"))
    await turns()
    joined.cancel()
    await turns()
    assert heard == ["invocation-started"]
    desk.gate.set()
    output(await running)
    assert heard == ["invocation-started", "invocation-settled"]


@pytest.mark.requirement("9.1-overflow")
async def test_an_overflowing_backlog_becomes_one_lost_event() -> None:
    surface = Surface(authority_of(Desk), principal="operator", limits=Limits(events_backlog=3))
    heard: list[Event] = []

    def flood(event: Event) -> None:
        heard.append(event)
        if len(heard) == 1:
            for number in range(10):
                surface.set_route(f"/{number}")

    surface.subscribe(flood)
    surface.set_route("/first")
    assert [event.type.value for event in heard] == ["route-changed"] * 4 + ["lost"]
    assert heard[-1].data["count"] == 7


@pytest.mark.requirement("9.1-overflow")
async def test_a_backlog_that_overflows_again_before_it_is_empty_is_one_lost_event() -> None:
    surface = Surface(authority_of(Desk), principal="operator", limits=Limits(events_backlog=3))
    heard: list[Event] = []

    def flood(event: Event) -> None:
        heard.append(event)
        if len(heard) <= 2:
            for number in range(10):
                surface.set_route(f"/{len(heard)}/{number}")

    surface.subscribe(flood)
    surface.set_route("/first")
    assert [event.type.value for event in heard] == ["route-changed"] * 5 + ["lost"]
    assert heard[-1].data["count"] == 7 + 9


@pytest.mark.requirement("9.2-an-entry")
async def test_an_entry_says_who_called_what_and_how_it_ended_with_every_vote_on_success_too() -> None:
    class Nod(Policy, name="nod"):
        def discover(self, ctx: PolicyContext) -> Expose:
            return Expose()

        async def authorize(self, ctx: PolicyContext) -> None:
            clock.advance(1)

    clock = ManualClock()
    authority = authority_of(Desk)
    principal = Principal("operator", tenant="acme")
    surface = Surface(authority, principal=principal, policies=[Nod()], clock=clock)
    mount = surface.mount(Desk())
    await surface.connect(AGENT).call(Desk.put, {"count": 5}, id="i-1")
    (entry,) = journal(surface)
    assert (entry.type, entry.capability, entry.invocation) == ("invocation", "view:desk.put", "i-1")
    assert (entry.surface, entry.registration) == (surface.surface_id, mount.registration_id)
    assert (entry.consumer, entry.principal, entry.tenant) == (AGENT.key, "operator", "acme")
    assert (entry.code, entry.outcome, entry.contract_hash) == (None, "done", authority.hash)
    assert [(vote.policy, vote.method, vote.decision) for vote in entry.votes][:2] == [
        ("nod", "discover", "expose"),
        ("nod", "authorize", "allow"),
    ]
    assert entry.policy_ms == 1_000 and entry.queue_ms == 0 and entry.execution_ms == 0
    assert entry.time.startswith("2026-01-01T12:00:0") and entry.sequence == 2
    assert (entry.payload, entry.input, entry.output) == (False, None, None)


@pytest.mark.requirement("9.2-durations-apart")
async def test_queue_and_execution_are_measured_apart() -> None:
    clock = ManualClock()
    clock.advance(100)
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call(Desk.wait, id="first"))
    await turns()
    second = asyncio.create_task(agent.call(Desk.wait, id="second"))
    await turns()
    clock.advance(2)
    desk.gate.set()
    await asyncio.gather(first, second)
    found = {entry.invocation: (entry.queue_ms, entry.execution_ms) for entry in journal(surface)}
    assert found == {"first": (0, 2_000), "second": (2_000, 0)}


class Timed(Component, type="timed"):
    """Takes its time."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock

    @action
    def put(self) -> int:
        """Put, at once."""
        self.clock.advance(3)
        return 1


class Slow(Policy, name="slow"):
    """A policy with every kind of answer that is measured."""

    def __init__(self, clock: ManualClock, asks: str) -> None:
        self.clock = clock
        self.asks = asks

    async def authorize(self, ctx: PolicyContext) -> None:
        self.clock.advance(0.25 if self.asks == "authorize" else 0)

    async def review(self, ctx: ReviewContext) -> None:
        self.clock.advance(0.5 if self.asks == "review" else 0)


@pytest.mark.requirement("9.2-durations-apart")
@pytest.mark.parametrize(("policy", "policy_ms"), [("grant", 0), ("authorize", 250), ("review", 500)])
async def test_policies_and_plain_code_are_measured_apart_at_any_time(policy: str, policy_ms: int) -> None:
    clock = ManualClock()
    clock.advance(100)
    chosen: Policy = require_grant("clerk") if policy == "grant" else Slow(clock, policy)
    principal = Principal("operator", grants=frozenset({"clerk"}))
    surface = Surface(authority_of(Timed), principal=principal, clock=clock, policies=[chosen])
    surface.mount(Timed(clock))
    assert output(await surface.connect(AGENT).call(Timed.put)) == 1
    (entry,) = journal(surface)
    assert (entry.policy_ms, entry.queue_ms, entry.execution_ms) == (policy_ms, 0, 3_000)


@pytest.mark.requirement("9.2-an-entry")
async def test_a_policy_that_answers_at_once_has_its_votes_in_the_entry_too() -> None:
    principal = Principal("operator", grants=frozenset({"clerk"}))
    surface = Surface(authority_of(Desk), principal=principal, clock=ManualClock(), policies=[require_grant("clerk")])
    surface.mount(Desk())
    output(await surface.connect(AGENT).call(Desk.put))
    (entry,) = journal(surface)
    assert [(vote.policy, vote.method, vote.decision) for vote in entry.votes] == [
        ("require-grant:clerk", "discover", "expose"),
        ("require-grant:clerk", "authorize", "allow"),
    ]


@pytest.mark.requirement("9.2-an-entry")
async def test_a_second_look_before_the_start_adds_its_votes() -> None:
    class Nod(Policy, name="nod"):
        async def authorize(self, ctx: PolicyContext) -> None:
            return None

    surface = Surface(authority_of(Desk), principal="operator", clock=ManualClock(), policies=[Nod()])
    surface.mount(Desk())
    output(await surface.connect(AGENT).call(Desk.put))
    (entry,) = journal(surface)
    assert [(vote.policy, vote.method) for vote in entry.votes] == [("nod", "authorize")] * 2


@pytest.mark.requirement("9.2-an-entry")
async def test_the_votes_on_what_has_a_predicate_are_kept_too() -> None:
    class Door(Component, type="door"):
        """A door."""

        @action
        def open(self) -> None:
            """Open it."""

        @open.available
        def _(self) -> Literal[True]:
            return True

    class See(Policy, name="see"):
        def discover(self, ctx: PolicyContext) -> Expose:
            return Expose()

    surface = Surface(authority_of(Door), principal="operator", clock=ManualClock(), policies=[See()])
    surface.mount(Door())
    output(await surface.connect(AGENT).call(Door.open))
    (entry,) = journal(surface)
    assert [(vote.policy, vote.method) for vote in entry.votes] == [("see", "discover")]


@pytest.mark.requirement("9.2-levels")
@pytest.mark.parametrize(("level", "kept", "payload"), [("none", 0, False), ("metadata", 1, False), ("full", 1, True)])
async def test_levels_govern_successes_and_payloads_are_kept_at_full_only(level: Any, kept: int, payload: bool) -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(audit=level, reason="Noise" if level == "none" else None)
        def put(self, word: str) -> str:
            """Put."""
            return word + "!"

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    output(await agent.call(Table.put, {"word": "secret-4711"}))
    assert len(journal(surface)) == kept
    assert ("secret-4711" in repr(journal(surface))) is payload
    if payload:
        (entry,) = journal(surface)
        assert (entry.input, entry.output) == ({"word": "secret-4711"}, "secret-4711!")
        output(await agent.call(Table.put, {"word": "x" * 9_000}))
        assert (journal(surface)[-1].input, journal(surface)[-1].output) == (None, None)
    failed(await agent.call(Table.put, {"word": 5}), "INVALID_INPUT")
    assert journal(surface)[-1].code == "INVALID_INPUT"


@pytest.mark.requirement("9.2-defaults-of-levels")
async def test_reads_leave_no_entry_and_grave_effects_keep_the_payload() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe(id: str) -> str:
        """Wipe."""
        return id

    class Page(Component, type="page"):
        """A page."""

        wipe = reference("domain:wipe")

    surface = Surface(authority_of(Desk, Page, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Desk())
    surface.mount(Page())
    agent = surface.connect(AGENT)
    output(await agent.call(Desk.read))
    assert journal(surface) == ()
    asked = str(failed(await agent.call("domain:wipe", {"id": "d1"})).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    output(await agent.call("domain:wipe", {"id": "d1"}, confirmation=asked))
    entry = journal(surface)[-1]
    assert (entry.input, entry.output, entry.payload) == ({"id": "d1"}, "d1", True)
    assert (entry.decider, entry.confirmation) == ("operator", asked)
    statuses = [entry.status for entry in journal(surface) if entry.type == "confirmation"]
    assert statuses == ["pending", "approved", "spent"]


@pytest.mark.requirement("9.2-the-true-reason-of-a-hidden-refusal")
async def test_the_true_reason_of_a_hidden_refusal_is_in_the_journal() -> None:
    class Lock(Policy, name="lock"):
        def discover(self, ctx: PolicyContext) -> Hide | Expose:
            return Hide() if ctx.instance == "locked" else Expose()

    surface = Surface(authority_of(Desk), principal="operator", policies=[Lock()])
    surface.mount(Desk(), "locked")
    for capability, consumer, why in (
        ("view:desk.read", AGENT, "hidden by policy"),
        ("view:desk.read", Consumer("a", kind="test", scope=["view:x"]), "outside the consumer's scope"),
        ("view:desk.read", Consumer("a", kind="mcp", scope=["view:**"]), "not exposed at this door"),
        ("view:desk.none", AGENT, "no such capability"),
    ):
        failed(await surface.connect(consumer).call(capability), "CAPABILITY_NOT_FOUND")
        entry = journal(surface)[-1]
        assert entry.code == "CAPABILITY_NOT_FOUND" and entry.why == why
    first = journal(surface)[0]
    assert [(vote.policy, vote.decision) for vote in first.votes] == [("lock", "hide")]


@pytest.mark.requirement("9.2-refusals-and-votes")
async def test_a_refusal_keeps_the_vote_that_refused_it() -> None:
    class May(Policy, name="may"):
        async def authorize(self, ctx: PolicyContext) -> Deny:
            return Deny("Not today")

    surface = Surface(authority_of(Desk), principal="operator", policies=[May(), require_confirmation()])
    surface.mount(Desk())
    failed(await surface.connect(AGENT).call(Desk.read), "NOT_AUTHORIZED")
    (entry,) = journal(surface)
    assert [(vote.policy, vote.method, vote.decision, vote.reason) for vote in entry.votes] == [
        ("may", "authorize", "deny", "Not today")
    ]
    assert (entry.code, entry.outcome) == ("NOT_AUTHORIZED", "none")


@pytest.mark.requirement("6.14-correlation-id")
async def test_a_correlation_id_reaches_the_journal() -> None:
    from remit import Invocation

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, call: Context) -> str:
            """Put."""
            return call.invocation

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    outcome = await surface.invoke(Invocation("view:table.put", correlation_id="trace-1.A_b"), AGENT)
    assert output(outcome) == outcome.invocation_id
    assert journal(surface)[-1].correlation_id == "trace-1.A_b"
    failed(await surface.invoke(Invocation("view:table.none", correlation_id="t-2"), AGENT))
    assert journal(surface)[-1].correlation_id == "t-2"


@pytest.mark.requirement("9.2-bounded")
async def test_the_journal_in_memory_keeps_the_latest_thousand_entries() -> None:
    # By a clock that stands still nothing takes long: a busy machine would add entries that say so.
    surface = Surface(authority_of(Desk), principal="operator", clock=ManualClock())
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    for _ in range(1_005):
        await agent.call(Desk.put)
    entries = surface.audit()
    assert len(entries) == 1_000
    assert [entry.sequence for entry in entries] == list(range(7, 1_007))
