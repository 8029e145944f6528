"""What a call would come to, without making it: `surface.preflight` (SPEC 6.11)."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from remit import (
    AgentError,
    Component,
    Consumer,
    ErrorCode,
    Event,
    Invocation,
    ManualClock,
    Preflight,
    Principal,
    Procedures,
    Refused,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import (
    Decision,
    Deny,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    RequireConfirmation,
    ReviewContext,
    rate_limit,
)
from tests.behaviour.conftest import AGENT, OPERATOR, Timers, authority_of, failed, journal, output, turns

backend = Procedures()


@backend.operation("park.close", effect="destructive")
async def close(gate: int, park: str) -> str:
    """Close a gate of a park."""
    raise AssertionError("a preflight ran an operation")


class Park(Component, type="park"):
    """A park."""

    def __init__(self) -> None:
        self.ran = 0
        self.faults: set[str] = set()
        self.hold: asyncio.Event | None = None
        self.kind: type[BaseException] = RuntimeError
        self.slow: Callable[[], None] = lambda: None

    @action
    def open(self, gate: int, wide: bool = True) -> int:
        """Open a gate."""
        self.ran += 1
        return gate

    @open.available
    def _(self) -> Literal[True] | Unavailable:
        self.slow()
        return Unavailable("at night") if "availability" in self.faults else True

    @open.precondition
    async def _(self, gate: int) -> Refused | None:
        if self.hold is not None:
            await self.hold.wait()
        if "raises" in self.faults:
            raise self.kind("secret-4711")
        return Refused("no such gate", gate=gate) if gate > 9 else None

    @action(confirmation="required", title="Fell a tree", approver="forester")
    def fell(self, tree: int, why: str = "") -> None:
        """Fell a tree."""
        self.ran += 1

    @fell.summary
    def _(self) -> str:
        return f"{self.ran} before"

    @observation
    def count(self) -> int:
        """Count."""
        self.ran += 1
        return self.ran

    close = reference("domain:park.close")

    @close.bind("park")
    def _(self) -> str:
        return "north"


class Moody(Policy, name="moody"):
    """Objects wherever it is told to, and remembers the inputs it saw."""

    def __init__(self) -> None:
        self.faults: set[str] = set()
        self.seen: list[object] = []
        self.hold: asyncio.Event | None = None

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if "hide" in self.faults else Expose()

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        if self.hold is not None:
            await self.hold.wait()
        return Deny("closed", ErrorCode.NOT_AUTHENTICATED) if "authorize" in self.faults else None

    async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
        self.seen.append(dict(ctx.input))
        if "ask" in self.faults:
            return RequireConfirmation(summary="Look twice", approver="warden")
        return Deny("not that") if "review" in self.faults else None


def opened(*policies: Policy, clock: ManualClock | None = None, channel: bool = True) -> tuple[Surface, Park]:
    authority = authority_of(Park, procedures=backend)
    surface = Surface(authority, principal="operator", policies=policies, procedures=backend, clock=clock)
    if channel:
        surface.confirmations.subscribe(lambda view: None)
    park = Park()
    surface.mount(park)
    return surface, park


async def look(surface: Surface, capability: Any = Park.open, input: Any = None, **more: Any) -> Preflight:
    id = capability if isinstance(capability, str) else capability.id
    return await surface.preflight(Invocation(id, input, **more), AGENT)


def refusal(seen: Preflight, code: str | None = None) -> AgentError:
    assert seen.error is not None and not seen.ok
    assert code is None or seen.error.code == code
    assert (seen.input, seen.question, seen.registration, seen.instance, seen.repeat) == (None, None, None, None, False)
    return seen.error


@pytest.mark.requirement("6.11-preflight-effective-input")
@pytest.mark.parametrize("id", ["x", "inv_x"])
async def test_a_preflight_without_an_id_is_of_no_call_that_was_made(id: str) -> None:
    surface, park = opened()
    output(await surface.connect(AGENT).call(Park.open, {"gate": 1}, id=id))
    for gate in (1, 2):
        seen = await look(surface, input={"gate": gate})
        assert seen.ok and not seen.repeat
    assert park.ran == 1


@pytest.mark.requirement("6.11-preflight-effective-input")
async def test_a_preflight_gives_the_effective_input_and_runs_nothing() -> None:
    moody = Moody()
    surface, park = opened(moody)
    seen = await look(surface, Park.open, {"gate": "3"})
    assert seen.ok and seen.error is None and seen.question is None and not seen.repeat
    assert seen.input == {"gate": 3, "wide": True} and moody.seen == [seen.input]
    assert (seen.instance, seen.capability_id) == ("default", "view:park.open")
    assert seen.registration == surface.snapshot(AGENT).components[0].registration
    bound = await look(surface, Park.close, {"gate": 2})
    assert bound.input == {"gate": 2, "park": "north"}, "what the view binds is in it"
    assert park.ran == 0


@pytest.mark.requirement("6.11-preflight-question")
async def test_a_preflight_tells_what_the_person_would_be_shown() -> None:
    moody = Moody()
    surface, _ = opened(moody)
    question = (await look(surface, Park.fell, {"tree": 1})).question
    assert question is not None
    assert (question.title, question.summary, question.approvers) == ("Fell a tree", "0 before", ("forester",))
    moody.faults.add("ask")
    seen = await look(surface, Park.fell, {"tree": 1})
    assert seen.question is not None
    assert (seen.question.summary, seen.question.approvers) == ("Look twice", ("forester", "warden"))
    failed(await surface.connect(AGENT).call(Park.fell, {"tree": 1}), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    shown = seen.question
    for name in ("title", "description", "effect", "bound", "required", "summary", "approvers"):
        assert getattr(shown, name) == getattr(view, name), name
    assert seen.input == dict(view.input)
    destructive = (await look(surface, Park.close, {"gate": 2})).question
    assert destructive is not None and destructive.bound == ("park",)


@pytest.mark.requirement("6.11-preflight-question")
async def test_a_preflight_asks_for_a_person_where_the_consumer_is_configured_so() -> None:
    surface, _ = opened()
    careful = Consumer("careful", kind="test", confirm=["view:park.open"])
    seen = await surface.preflight(Invocation("view:park.open", {"gate": 1}), careful)
    assert seen.question is not None and seen.question.title == "view:park.open"


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
@pytest.mark.parametrize(
    ("fault", "code", "call"),
    [
        ("envelope", "INVALID_INPUT", {"id": "not an id"}),
        ("hide", "CAPABILITY_NOT_FOUND", {}),
        ("target", "STALE_CAPABILITY", {"registration": "reg_old"}),
        ("availability", "CAPABILITY_NOT_AVAILABLE", {}),
        ("authorize", "NOT_AUTHENTICATED", {}),
        ("input", "INVALID_INPUT", {"input": {"gate": "three"}}),
        ("review", "NOT_AUTHORIZED", {}),
        ("precondition", "PRECONDITION_FAILED", {"input": {"gate": 10}}),
    ],
)
async def test_a_preflight_refuses_with_what_the_call_would_answer(fault: str, code: str, call: dict[str, Any]) -> None:
    moody = Moody()
    surface, park = opened(moody)
    moody.faults.add(fault)
    park.faults.add(fault)
    named: dict[str, Any] = {"input": {"gate": 1}, **call}
    invocation = Invocation("view:park.open", **named)
    error = refusal(await surface.preflight(invocation, AGENT), code)
    assert failed(await surface.invoke(invocation, AGENT)) == error
    assert park.ran == 0


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
async def test_what_is_hidden_answers_a_preflight_like_an_invented_id() -> None:
    moody = Moody()
    surface, _ = opened(moody)
    moody.faults.add("hide")
    for more in ({}, {"input": {"gate": "no"}}, {"instance": "x"}, {"registration": "reg_x"}, {"surface_id": "srf_x"}):
        hidden = refusal(await look(surface, Park.open, **more), "CAPABILITY_NOT_FOUND")
        assert hidden == refusal(await look(surface, "view:park.invented", **more))


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
async def test_what_a_precondition_raises_is_journalled_and_not_shown(kind: type[BaseException]) -> None:
    surface, park = opened()
    park.faults.add("raises")
    park.kind = kind
    error = refusal(await look(surface, Park.open, {"gate": 1}), "EXECUTION_FAILED")
    (entry,) = journal(surface)
    assert entry.type == "fault" and entry.why == f"a preflight: {error.details['correlation_id']}"
    assert str(error.details["correlation_id"]).startswith("err_")
    assert "secret-4711" in str(entry.cause) and "secret-4711" not in str(error)


@pytest.mark.requirement("6.11-preflight-leaves-nothing")
async def test_a_preflight_leaves_nothing_behind() -> None:
    surface, park = opened(Moody())
    surface.snapshot(AGENT)
    await turns()
    heard: list[Event] = []
    surface.subscribe(heard.append)
    for capability, input in ((Park.open, {"gate": 1}), (Park.open, {}), (Park.fell, {"tree": 1}), ("view:no.no", {})):
        for id in (None, "mine"):
            await look(surface, capability, input, id=id)
    await turns()
    assert heard == [] and journal(surface) == () and surface.confirmations.pending() == () and park.ran == 0
    assert output(await surface.connect(AGENT).call(Park.open, {"gate": 7}, id="mine")) == 7, "the id was never taken"


@pytest.mark.requirement("6.11-preflight-leaves-nothing")
async def test_a_preflight_moves_no_version() -> None:
    surface, _ = opened()
    mount = surface.mount(Park(), "second")
    assert surface.snapshot(AGENT).surface_version == "0"
    mount.update(enabled=False)
    await look(surface, Park.count)
    mount.update(enabled=True)
    assert surface.snapshot(AGENT).surface_version == "0", "nobody was told of what was there in between"


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
async def test_a_grave_call_for_a_version_that_moved_is_stale_for_a_preflight_too() -> None:
    surface, _ = opened()
    version = surface.snapshot(AGENT).surface_version
    assert (await look(surface, Park.close, {"gate": 1}, surface_version=version)).ok
    mount = surface.mount(Park(), "second")
    asked = await look(surface, Park.close, {"gate": 1}, surface_version=version, instance="park/default")
    error = refusal(asked, "STALE_CAPABILITY")
    call = Invocation("domain:park.close", {"gate": 1}, surface_version=version, instance="park/default")
    assert error == failed(await surface.invoke(call, AGENT))
    mount.unmount()


@pytest.mark.requirement("6.11-preflight-meters")
async def test_a_meter_answers_a_preflight_as_the_call_and_is_not_moved() -> None:
    surface, _ = opened(rate_limit(2, per_s=60), clock=ManualClock())
    agent = surface.connect(AGENT)
    assert all([(await look(surface, Park.count)).ok for _ in range(5)])
    output(await agent.call(Park.count))
    assert all([(await look(surface, Park.count)).ok for _ in range(5)])
    output(await agent.call(Park.count))
    ahead = refusal(await look(surface, Park.count), "RATE_LIMITED")
    assert failed(await agent.call(Park.count)) == ahead


@pytest.mark.requirement("6.11-preflight-meters")
async def test_a_meter_that_the_store_keeps_is_not_moved_either() -> None:
    surface, _ = opened(rate_limit(2, per_s=60, shared=True), clock=ManualClock())
    agent = surface.connect(AGENT)
    assert all([(await look(surface, Park.count)).ok for _ in range(5)])
    output(await agent.call(Park.count))
    assert all([(await look(surface, Park.count)).ok for _ in range(5)])
    output(await agent.call(Park.count))
    ahead = refusal(await look(surface, Park.count), "RATE_LIMITED")
    assert failed(await agent.call(Park.count)) == ahead


@pytest.mark.requirement("6.11-preflight-meters")
async def test_a_policy_that_counts_twice_in_one_preflight_finds_its_own_count() -> None:
    counted: list[tuple[int, int, int]] = []

    class Meter(Policy, name="meter"):
        async def authorize(self, ctx: PolicyContext) -> None:
            first = ctx.counter("meter").add(2)
            counted.append((first, ctx.counter("meter").add(), ctx.counter("meter").value))

    surface, _ = opened(Meter())
    await look(surface, Park.count)
    await look(surface, Park.count)
    output(await surface.connect(AGENT).call(Park.count))
    await look(surface, Park.count)
    assert counted == [*[(2, 3, 3)] * 3, (3, 3, 3), (5, 6, 6)], "the fourth is the gate, where nothing is charged"


@pytest.mark.requirement("6.11-preflight-ends")
@pytest.mark.parametrize("where", ["policy", "precondition"])
async def test_a_preflight_whose_code_hangs_ends_at_the_deadline(where: str) -> None:
    clock, moody = Timers(), Moody()
    clock.advance(100)
    surface, park = opened(moody, clock=clock)
    (moody if where == "policy" else park).hold = asyncio.Event()
    park.slow = lambda: clock.advance(4)
    idle = clock.waiting
    waiting = asyncio.create_task(look(surface, Park.open, {"gate": 1}))
    await turns()
    assert clock.waiting == idle + 1
    clock.advance(5.9)
    await turns()
    assert not waiting.done()
    clock.advance(0.2)
    error = refusal(await waiting, "TIMEOUT")
    assert (error.details["outcome"], error.details["timeout_ms"]) == ("none", 10_000)


@pytest.mark.requirement("6.11-preflight-ends")
async def test_a_preflight_that_waited_leaves_no_timer() -> None:
    clock, moody = Timers(), Moody()
    surface, _ = opened(moody, clock=clock)
    moody.hold = asyncio.Event()
    idle = clock.waiting
    waiting = asyncio.create_task(look(surface, Park.open, {"gate": 1}))
    await turns()
    moody.hold.set()
    assert (await waiting).ok and clock.waiting == idle


@pytest.mark.requirement("6.11-preflight-ends")
async def test_a_preflight_whose_task_is_cancelled_from_outside_is_cancelled() -> None:
    moody = Moody()
    surface, _ = opened(moody)
    moody.hold = asyncio.Event()
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(look(surface, Park.open, {"gate": 1}))
    await turns()
    (inner,) = asyncio.all_tasks() - before - {waiting}
    inner.cancel()  # as whoever runs the loop does at its end
    assert refusal(await waiting, "CANCELLED").details == {"outcome": "none"}


@pytest.mark.requirement("6.11-preflight-ends")
async def test_a_preflight_ends_with_the_mount_and_with_the_surface() -> None:
    moody = Moody()
    surface, _ = opened(moody)
    other = surface.mount(Park(), "other")
    moody.hold = asyncio.Event()
    waiting = [
        asyncio.create_task(look(surface, Park.open, {"gate": 1}, instance=name)) for name in ("other", "default")
    ]
    await turns()
    other.unmount()
    moody.hold.set()
    gone = refusal(await waiting[0], "COMPONENT_UNMOUNTED")
    assert gone.details == {"phase": "mid-flight", "outcome": "none"}
    assert (await waiting[1]).ok
    moody.hold = asyncio.Event()
    last = asyncio.create_task(look(surface, Park.open, {"gate": 1}))
    await turns()
    surface.dispose()
    moody.hold.set()
    refusal(await last, "CANCELLED")
    refusal(await look(surface, Park.open, {"gate": 1}), "CANCELLED")


@pytest.mark.requirement("6.11-preflight-ends")
async def test_cancelling_a_preflight_ends_the_code_it_waits_for() -> None:
    ended: list[str] = []

    class Slow(Policy, name="slow"):
        async def authorize(self, ctx: PolicyContext) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("slow")

    surface, _ = opened(Slow())
    waiting = asyncio.create_task(look(surface, Park.count))
    await turns()
    waiting.cancel()
    await turns()
    assert waiting.cancelled() and ended == ["slow"]


@pytest.mark.requirement("6.11-preflight-repeat")
async def test_a_preflight_says_when_the_call_would_be_a_repeat() -> None:
    moody = Moody()
    surface, _ = opened(moody)
    assert not (await look(surface, Park.open, {"gate": 1}, id="one")).repeat
    output(await surface.connect(AGENT).call(Park.open, {"gate": 1}, id="one"))
    seen = await look(surface, Park.open, {"gate": 1}, id="one")
    assert seen.ok and seen.repeat and seen.input is None and seen.question is None
    refusal(await look(surface, Park.open, {"gate": 2}, id="one"), "INVOCATION_CONFLICT")
    moody.faults.add("authorize")
    refusal(await look(surface, Park.open, {"gate": 1}, id="one"), "NOT_AUTHENTICATED")


@pytest.mark.requirement("6.11-preflight-repeat")
async def test_a_preflight_says_so_while_the_call_still_runs() -> None:
    surface, park = opened()
    park.hold = asyncio.Event()
    running = asyncio.create_task(surface.connect(AGENT).call(Park.open, {"gate": 1}, id="two"))
    await turns()
    assert (await look(surface, Park.open, {"gate": 1}, id="two")).repeat
    park.hold.set()
    assert output(await running) == 1


@pytest.mark.requirement("6.11-preflight-repeat")
async def test_a_preflight_with_evidence_of_a_call_that_ran_is_of_a_repeat() -> None:
    surface, _ = opened()
    agent = surface.connect(AGENT)
    seats = {"gate": 1}
    careful = Consumer("agent", kind="test", confirm=["view:park.open"])
    asked = str(
        failed(await surface.connect(careful).call(Park.open, seats), "CONFIRMATION_REQUIRED").details[
            "confirmation_id"
        ]
    )
    assert not (await look(surface, Park.open, seats, confirmation=asked)).repeat
    await surface.confirmations.approve(asked, OPERATOR)
    output(await surface.connect(careful).call(Park.open, seats, confirmation=asked))
    assert (await look(surface, Park.open, seats, confirmation=asked)).repeat
    assert not (await look(surface, Park.open, {"gate": 2}, confirmation=asked)).repeat
    assert agent.consumer.key == careful.key


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
async def test_a_preflight_for_a_person_who_has_gone_ends_the_surface_as_a_call_does() -> None:
    person: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Park, procedures=backend), principal=lambda: person[0], procedures=backend)
    surface.mount(Park())
    assert (await look(surface, Park.count)).ok
    person[0] = None
    refusal(await look(surface, Park.count), "CANCELLED")
    assert surface.snapshot(AGENT).components == ()


@pytest.mark.requirement("6.11-preflight-refuses-like-a-call")
async def test_what_a_binding_raises_in_a_preflight_is_told_to_the_operator_alone() -> None:
    class Bridge(Component, type="bridge"):
        """A bridge."""

        close = reference("domain:park.close")

        @close.bind("park")
        def _(self) -> str:
            raise RuntimeError("secret-4711")

    surface = Surface(authority_of(Bridge, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.attach_page()
    surface.mount(Bridge())
    error = refusal(await look(surface, Bridge.close, {"gate": 1}), "PRECONDITION_FAILED")
    assert error.details["reason"] == "binding-failed" and "secret" not in str(error)
    (fault,) = surface.audit(types={"fault"})
    assert fault.why == "a preflight: binding `park` raised" and "secret-4711" in str(fault.cause)


def test_the_person_at_the_keyboard_ends_a_preflight_too() -> None:
    async def looking() -> None:
        surface = Surface(authority_of(Park, procedures=backend), principal="operator", procedures=backend)
        park = Park()
        park.faults, park.kind = {"raises"}, KeyboardInterrupt
        surface.mount(park)
        await look(surface, Park.open, {"gate": 1})

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(looking())
