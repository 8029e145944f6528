"""One invocation id is one call: joining, stored results, conflicts, eviction; staleness (SPEC 6.4, 6.5)."""

import asyncio
from typing import Any, cast

import pytest

from remit import (
    Component,
    Consumer,
    EventType,
    Failed,
    Invocation,
    Limits,
    ManualClock,
    Ok,
    Procedures,
    Refused,
    Surface,
    action,
    observation,
    reference,
)
from remit.policies import Deny, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    def __init__(self) -> None:
        self.ran = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.refuse = False

    @action
    async def put(self, count: int = 1) -> int:
        """Put."""
        self.ran += 1
        await self.gate.wait()
        return self.ran

    @observation
    async def read(self) -> int:
        """Read."""
        self.ran += 1
        await self.gate.wait()
        return self.ran

    @action
    def try_it(self) -> int | Refused:
        """Try."""
        self.ran += 1
        return Refused("not now") if self.refuse else self.ran

    @action(idempotent=True)
    def same(self, text: str = "") -> str:
        """Same."""
        self.ran += 1
        return text

    @action(confirmation="required")
    def clear(self) -> int:
        """Clear."""
        self.ran += 1
        return self.ran


@pytest.mark.requirement("6.4-join")
async def test_a_repeat_of_a_running_call_joins_it() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    desk.gate.clear()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    running = [asyncio.create_task(agent.call(Desk.put, {"count": 5}, id="same")) for _ in range(4)]
    reads = [asyncio.create_task(agent.call(Desk.read, id="look")) for _ in range(4)]
    await turns()
    desk.gate.set()
    outcomes = [await task for task in running]
    assert all(isinstance(outcome, Ok) and outcome == outcomes[0] for outcome in outcomes)
    observed = [await task for task in reads]
    assert all(outcome == observed[0] for outcome in observed)
    assert desk.ran == 2


@pytest.mark.requirement("6.4-stored")
async def test_what_settled_after_it_had_started_is_stored_refusals_of_the_handler_too() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    first = await agent.call(Desk.put, id="a")
    assert await agent.call(Desk.put, id="a") == first
    desk.refuse = True
    refused = await agent.call(Desk.try_it, id="b")
    desk.refuse = False
    failed(refused, "PRECONDITION_FAILED")
    assert await agent.call(Desk.try_it, id="b") == refused
    assert desk.ran == 2


@pytest.mark.requirement("6.4-answered-before-start-is-computed-again")
async def test_what_was_answered_before_the_start_is_computed_again() -> None:
    allowed: list[bool] = [False]

    class May(Policy, name="may"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            return None if allowed[0] else Deny()

    surface = Surface(authority_of(Desk), principal="operator", policies=[May()])
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    failed(await agent.call(Desk.put, id="a"), "NOT_AUTHORIZED")
    failed(await agent.call(Desk.put, id="a"), "NOT_AUTHORIZED")
    allowed[0] = True
    assert output(await agent.call(Desk.put, id="a")) == 1
    failed(await agent.call(Desk.put, {"count": "x"}, id="bad"), "INVALID_INPUT")
    failed(await agent.call(Desk.put, {"count": 2}, id="a"), "INVOCATION_CONFLICT")


@pytest.mark.requirement("6.4-reads-are-never-stored")
async def test_observations_and_server_queries_are_joined_but_never_stored() -> None:
    backend = Procedures()
    asked: list[int] = []

    @backend.operation("ask", effect="server-query")
    async def ask() -> int:
        """Ask."""
        asked.append(1)
        return len(asked)

    class Page(Component, type="page"):
        """A page."""

        ask = reference("domain:ask")

    surface = Surface(authority_of(Desk, Page, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Desk())
    surface.mount(Page())
    agent = surface.connect(AGENT)
    assert [output(await agent.call(Desk.read, id="a")) for _ in range(2)] == [1, 2]
    assert [output(await agent.call("domain:ask", id="b")) for _ in range(2)] == [1, 2]


@pytest.mark.requirement("6.4-conflict")
async def test_the_same_id_with_another_capability_target_or_input_is_a_conflict() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    mount = surface.mount(desk)
    base: dict[str, Any] = {"capability_id": "view:desk.put", "input": {"count": 1}, "id": "a"}
    output(await surface.invoke(Invocation(**base), AGENT))
    changes: tuple[dict[str, Any], ...] = (
        {"capability_id": "view:desk.same"},
        {"input": {"count": 2}},
        {"input": {}},
        {"instance": "default"},
        {"registration": mount.registration_id},
        {"surface_id": surface.surface_id},
    )
    for change in changes:
        error = failed(await surface.invoke(Invocation(**{**base, **change}), AGENT), "INVOCATION_CONFLICT")
        assert error.details == {"reason": "different-call"}
    for same in ({"surface_version": "0"}, {"confirmation": "cnf_x"}, {"input": {"count": 1.0}}):
        again = await surface.invoke(Invocation(**{**base, **same}), AGENT)
        assert isinstance(again, Ok)
    assert isinstance(await surface.invoke(Invocation(**base), AGENT, timeout=1), Ok)
    assert desk.ran == 1


@pytest.mark.requirement("6.4-keyed-by-consumer")
async def test_an_id_belongs_to_one_consumer_and_one_session() -> None:
    authority = authority_of(Desk)
    desk = Desk()
    for _ in range(2):
        surface = Surface(authority, principal="operator")
        surface.mount(desk)
        for consumer in (AGENT, Consumer("other", kind="test")):
            output(await surface.connect(consumer).call(Desk.put, id="same"))
    assert desk.ran == 4


@pytest.mark.requirement("6.4-ten-minutes")
async def test_a_stored_result_is_kept_for_ten_minutes() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    await agent.call(Desk.put, id="a")
    clock.advance(599)
    assert output(await agent.call(Desk.put, id="a")) == 1
    clock.advance(1)  # asking for it has not renewed its time
    assert output(await agent.call(Desk.put, id="a")) == 2


@pytest.mark.requirement("6.4-eviction")
async def test_idempotent_entries_go_first_and_a_non_idempotent_one_is_not_evicted_before_its_time() -> None:
    clock = ManualClock()
    limits = Limits(replay_entries=3)
    surface = Surface(authority_of(Desk), principal="operator", clock=clock, limits=limits)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    output(await agent.call(Desk.put, id="kept"))
    for number in range(6):
        output(await agent.call(Desk.same, id=f"s{number}"))
    assert output(await agent.call(Desk.put, id="kept")) == 1
    ran = desk.ran
    output(await agent.call(Desk.same, id="s5"))
    assert desk.ran == ran
    output(await agent.call(Desk.same, id="s0"))
    assert desk.ran == ran + 1
    for number in (2, 3):
        output(await agent.call(Desk.put, id=f"kept{number}"))
    refused = failed(await agent.call(Desk.put, id="one-too-many"), "RATE_LIMITED")
    assert refused.details["reason"] == "queue-full"
    output(await agent.call(Desk.put))
    output(await surface.connect(Consumer("other", kind="test")).call(Desk.put, id="one-too-many"))
    assert refused.details["retry_after_ms"] == 600_000
    clock.advance(601)
    output(await agent.call(Desk.put, id="one-too-many"))


@pytest.mark.requirement("6.4-what-runs-side-by-side-is-kept")
async def test_calls_that_run_side_by_side_hold_the_places_in_which_their_outcomes_are_kept() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock, limits=Limits(replay_entries=2))
    desks = [Desk() for _ in range(4)]
    for number, desk in enumerate(desks):
        desk.gate.clear()
        surface.mount(desk, f"d{number}")
    agent = surface.connect(AGENT)
    calls = [asyncio.create_task(agent.call(Desk.put, instance=f"d{n}", id=f"h{n}")) for n in range(4)]
    await turns()
    for desk in desks:
        desk.gate.set()
    outcomes = [await call for call in calls]
    assert [output(outcome) for outcome in outcomes[:2]] == [1, 1]
    for outcome in outcomes[2:]:
        assert failed(outcome, "RATE_LIMITED").details["reason"] == "queue-full"
    for number in range(2):
        output(await agent.call(Desk.put, instance=f"d{number}", id=f"h{number}"))
    assert [desk.ran for desk in desks] == [1, 1, 0, 0]
    clock.advance(601)
    output(await agent.call(Desk.put, instance="d2", id="h2"))


@pytest.mark.requirement("6.4-large-output")
async def test_an_output_over_4_kib_is_kept_as_outcome_only() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    for length, kept in ((4_096 - 2, True), (4_096 - 1, False)):
        first = await agent.call(Desk.same, {"text": "x" * length}, id=f"i{length}")
        assert output(first) == "x" * length
        again = await agent.call(Desk.same, {"text": "x" * length}, id=f"i{length}")
        assert output(again) == ("x" * length if kept else None)
    assert desk.ran == 2


@pytest.mark.requirement("6.4-one-mebibyte")
async def test_the_outputs_kept_for_one_consumer_are_bounded_in_bytes() -> None:
    surface = Surface(authority_of(Desk), principal="operator", limits=Limits(replay_bytes=10_000))
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    for number in range(6):
        await agent.call(Desk.same, {"text": "x" * 4_000}, id=f"i{number}")
    ran = desk.ran
    await agent.call(Desk.same, {"text": "x" * 4_000}, id="i5")
    assert desk.ran == ran
    await agent.call(Desk.same, {"text": "x" * 4_000}, id="i0")
    assert desk.ran == ran + 1


class Press(Component, type="press"):
    """A press."""

    def __init__(self) -> None:
        self.ran = 0

    @action(idempotent=True)
    def again(self, text: str) -> str:
        """Print what may be printed again."""
        self.ran += 1
        return text

    @action
    def once(self, text: str) -> str:
        """Print once."""
        self.ran += 1
        return text


@pytest.mark.requirement("6.4-one-mebibyte")
async def test_outputs_that_fit_to_the_last_byte_are_kept_and_no_more_than_needed_goes() -> None:
    surface = Surface(authority_of(Press), principal="operator", limits=Limits(replay_bytes=300))
    press = Press()
    surface.mount(press)
    agent = surface.connect(AGENT)

    async def run(name: str, length: int = 98) -> int:
        await agent.call(Press.again, {"text": name * length}, id=name)
        return press.ran

    for name in "abc":  # each has 100 bytes, with the marks around it
        await run(name)
    assert await run("z", 5_000) == 4, "of what is too large the outcome alone is kept, and has no bytes"
    assert [await run(name) for name in "abc"] == [4, 4, 4]
    assert await run("d") == 5
    assert [await run(name) for name in "bcd"] == [5, 5, 5], "one had to go, the one that was used longest ago"
    assert await run("a") == 6


@pytest.mark.requirement("6.4-one-mebibyte")
async def test_what_was_kept_without_its_output_takes_no_room() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Press), principal="operator", clock=clock, limits=Limits(replay_bytes=300))
    surface.mount(Press())
    agent = surface.connect(AGENT)

    async def run(name: str) -> object:
        return output(await agent.call(Press.once, {"text": name * 98}, id=name))

    await run("a")
    clock.advance(300)
    for name in "bcd":
        await run(name)
    assert await run("d") is None, "there was no room"
    clock.advance(301)
    await run("e")
    assert await run("e") == "e" * 98, "the first has had its time"


@pytest.mark.requirement("6.4-conflict")
async def test_a_conflict_is_told_while_the_first_call_still_waits_in_its_policies() -> None:
    gate = asyncio.Event()

    class Slow(Policy, name="slow"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            await gate.wait()
            return None

    surface = Surface(authority_of(Desk), principal="operator", policies=[Slow()])
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call(Desk.same, {"text": "first"}, id="i"))
    await turns()
    for other in ({"input": {"text": "other"}}, {"input": {"text": "first"}, "instance": "\ud800"}):
        told = asyncio.create_task(agent.call(Desk.same, id="i", **cast(dict[str, Any], other)))
        await turns()
        assert told.done()
        failed(await told, "INVOCATION_CONFLICT")
    gate.set()
    assert output(await first) == "first"


@pytest.mark.requirement("6.4-join")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
async def test_when_all_who_joined_have_left_the_call_ends(order: tuple[int, ...]) -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    desk.gate.clear()
    surface.mount(desk)
    heard: list[object] = []
    surface.subscribe(lambda event: heard.append(event.data["code"]), types={EventType.INVOCATION_SETTLED})
    agent = surface.connect(AGENT)
    calls = [asyncio.create_task(agent.call(Desk.put, id="same")) for _ in range(3)]
    await turns()
    for place in order[:2]:
        calls[place].cancel()
        await turns()
        assert heard == [], "somebody waits still"
    calls[order[2]].cancel()
    await turns()
    assert heard == ["CANCELLED"]
    assert desk.ran == 1


@pytest.mark.requirement("6.4-a-hung-call-blocks-nothing")
async def test_a_hung_call_never_blocks_eviction() -> None:
    surface = Surface(authority_of(Desk), principal="operator", limits=Limits(replay_entries=2))
    hung, desk = Desk(), Desk()
    hung.gate.clear()
    surface.mount(hung, "hung")
    surface.mount(desk, "desk")
    agent = surface.connect(AGENT)
    hanging = [asyncio.create_task(agent.call(Desk.read, instance="hung", id=f"h{n}")) for n in range(8)]
    await turns()
    for number in range(10):
        output(await agent.call(Desk.same, instance="desk", id=f"s{number}"))
    hung.gate.set()
    for task in hanging:
        output(await task)


@pytest.mark.requirement("6.4-evidence-adopts-the-id")
async def test_a_retry_with_evidence_and_no_id_runs_under_the_id_of_the_request() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    asked = await agent.call(Desk.clear)
    evidence = str(failed(asked, "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    done = await agent.call(Desk.clear, confirmation=evidence)
    assert output(done) == 1
    assert done.invocation_id == asked.invocation_id
    assert await agent.call(Desk.clear, confirmation=evidence) == done
    assert await agent.call(Desk.clear, confirmation=evidence, id=asked.invocation_id) == done
    other = failed(await agent.call(Desk.clear, confirmation=evidence, id="another"), "CONFIRMATION_INVALID")
    assert other.details == {"reason": "spent", "outcome": "done"}
    assert desk.ran == 1


@pytest.mark.requirement("6.4-a-changed-call-adopts-nothing")
async def test_a_changed_call_with_evidence_adopts_no_id_and_is_a_mismatch() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def put(self, count: int) -> int:
            """Put."""
            return count

    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    asked = await agent.call(Table.put, {"count": 1})
    evidence = str(failed(asked).details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    changed = await agent.call(Table.put, {"count": 2}, confirmation=evidence)
    assert failed(changed, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert changed.invocation_id != asked.invocation_id
    assert output(await agent.call(Table.put, {"count": 1}, confirmation=evidence)) == 1


@pytest.mark.requirement("6.5-registration-replaced")
async def test_a_registration_that_is_not_the_live_one_is_stale() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    agent = surface.connect(AGENT)
    with surface.mount(Desk()) as first:
        agent.capabilities()
    surface.mount(Desk())
    error = failed(await agent.call(Desk.put, registration=first.registration_id), "STALE_CAPABILITY")
    assert error.details == {"reason": "registration-replaced"}
    error = failed(await agent.call(Desk.put, registration="reg_made_up"), "STALE_CAPABILITY")
    assert error.details == {"reason": "registration-replaced"}


@pytest.mark.requirement("6.5-registration-replaced")
async def test_the_registration_of_another_instance_is_not_the_live_one_of_this() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    left, right = Desk(), Desk()
    named = surface.mount(left, instance="left").registration_id
    surface.mount(right, instance="right")
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Desk.put, instance="right", registration=named), "STALE_CAPABILITY")
    assert error.details == {"reason": "registration-replaced"}
    failed(await agent.call(Desk.put, instance="nowhere", registration=named), "CAPABILITY_NOT_FOUND")
    assert (left.ran, right.ran) == (0, 0)
    assert output(await agent.call(Desk.put, instance="left", registration=named)) == 1


@pytest.mark.requirement("6.5-surface-reloaded")
async def test_another_surfaces_id_is_surface_reloaded() -> None:
    authority = authority_of(Desk)
    old = Surface(authority, principal="operator")
    surface = Surface(authority, principal="operator")
    mount = surface.mount(Desk())
    request = Invocation("view:desk.put", surface_id=old.surface_id, registration=mount.registration_id)
    assert failed(await surface.invoke(request, AGENT), "STALE_CAPABILITY").details == {"reason": "surface-reloaded"}


@pytest.mark.requirement("6.5-version-mismatch")
async def test_a_moved_version_matters_only_for_grave_effects_without_matching_evidence() -> None:
    backend = Procedures()
    for effect in ("server-query", "server-mutation", "external-side-effect", "destructive"):

        @backend.operation(effect, effect=cast(Any, effect))
        async def run() -> int:
            """Run."""
            return 1

    class Page(Component, type="page"):
        """A page."""

        query = reference("domain:server-query")
        mutation = reference("domain:server-mutation")
        external = reference("domain:external-side-effect")
        destructive = reference("domain:destructive")

    surface = Surface(authority_of(Page, Desk, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Page())
    surface.mount(Desk())
    old = surface.snapshot(AGENT).surface_version
    surface.mount(Desk(), "other")
    now = surface.snapshot(AGENT).surface_version
    assert now != old

    async def ask(id: str, version: str, **more: Any) -> str:
        outcome = await surface.invoke(Invocation(id, surface_version=version, **more), AGENT)
        return str(outcome.error.details.get("reason", "asked")) if isinstance(outcome, Failed) else "ok"

    assert await ask("domain:server-query", old) == await ask("domain:server-mutation", old) == "ok"
    assert await ask("view:desk.same", old, instance="default") == "ok"
    for grave in ("domain:external-side-effect", "domain:destructive"):
        assert await ask(grave, old) == "surface-version-mismatch"
        assert await ask(grave, "not a number") == "surface-version-mismatch"
        assert await ask(grave, now) == "asked"
        (request,) = [view for view in surface.confirmations.pending() if view.capability == grave]
        await surface.confirmations.approve(request.id, OPERATOR)
        assert await ask(grave, old, confirmation="cnf_made_up") == "surface-version-mismatch", "no evidence at all"
        assert await ask(grave, now, confirmation="cnf_made_up") == "mismatch"
        assert await ask(grave, old, confirmation=request.id) == "ok"


@pytest.mark.requirement("6.5-unmounted-is-told-to-those-who-were-shown-it")
async def test_unmounted_is_told_only_to_those_who_were_shown_it_and_may_reach_it_now() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    shown, blind = Consumer("shown", kind="test"), Consumer("blind", kind="test")
    mount = surface.mount(Desk(), "one")
    surface.snapshot(shown)
    mount.unmount()
    later = surface.mount(Desk(), "later")
    later.unmount()
    given: tuple[dict[str, Any], ...] = (
        {},
        {"registration": mount.registration_id},
        {"instance": "one"},
    )
    for fields in given:
        request = Invocation("view:desk.put", **fields)
        failed(await surface.invoke(request, shown), "COMPONENT_UNMOUNTED")
        failed(await surface.invoke(request, blind), "CAPABILITY_NOT_FOUND")
        narrowed = Consumer("shown", kind="test", scope=["view:other.**"])
        failed(await surface.invoke(request, narrowed), "CAPABILITY_NOT_FOUND")
    strange: tuple[dict[str, Any], ...] = (
        {"registration": later.registration_id},
        {"instance": "later"},
        {"registration": "reg_x"},
    )
    for fields in strange:
        failed(await surface.invoke(Invocation("view:desk.put", **fields), shown), "CAPABILITY_NOT_FOUND")
    failed(await surface.invoke(Invocation("view:desk.madeUp"), shown), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("6.5-hidden-was-never-shown")
async def test_what_was_hidden_while_it_lived_is_not_found_afterwards() -> None:
    class Vault(Component, type="vault", policies=(require_grant("keys"),)):
        """A vault."""

        @action
        def open(self) -> None:
            """Open."""

    surface = Surface(authority_of(Vault), principal="operator")
    mount = surface.mount(Vault())
    surface.snapshot(AGENT)
    mount.unmount()
    failed(await surface.connect(AGENT).call(Vault.open), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("6.4-conflict")
async def test_a_repeat_that_waited_in_its_policies_never_gets_the_result_of_another_call() -> None:
    gate = asyncio.Event()
    slow: list[bool] = [False]

    class Slow(Policy, name="slow"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            if slow[0]:
                slow[0] = False
                await gate.wait()
            return None

    surface = Surface(authority_of(Desk), principal="operator", policies=[Slow()])
    surface.mount(Desk())
    agent = surface.connect(AGENT)
    slow[0] = True
    first = asyncio.create_task(agent.call(Desk.same, {"text": "first"}, id="i"))
    await turns()
    slow[0] = True
    second = asyncio.create_task(agent.call(Desk.same, {"text": "first"}, id="i"))
    await turns()
    first.cancel()
    await turns()
    other = await agent.call(Desk.same, {"text": "other"}, id="i")
    assert output(other) == "other"
    gate.set()
    failed(await second, "INVOCATION_CONFLICT")


@pytest.mark.requirement("6.4-one-mebibyte")
async def test_an_outcome_that_must_be_kept_and_finds_no_room_is_kept_without_its_output() -> None:
    class Printer(Component, type="printer"):
        """A printer."""

        def __init__(self) -> None:
            self.ran = 0

        @action
        def print(self, text: str) -> str:
            """Print."""
            self.ran += 1
            return text

    surface = Surface(authority_of(Printer), principal="operator", limits=Limits(replay_bytes=10_000))
    printer = Printer()
    surface.mount(printer)
    agent = surface.connect(AGENT)
    for number in (1, 2, 3):
        assert output(await agent.call(Printer.print, {"text": str(number) * 4_000}, id=f"i{number}"))
    again = [output(await agent.call(Printer.print, {"text": str(n) * 4_000}, id=f"i{n}")) for n in (1, 2, 3)]
    assert again == ["1" * 4_000, "2" * 4_000, None] and printer.ran == 3


@pytest.mark.requirement("6.4-join")
async def test_a_repeat_that_was_let_in_while_the_first_was_refused_is_the_first() -> None:
    gates: list[asyncio.Future[Deny | None]] = []

    class Asks(Policy, name="asks"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            gates.append(asyncio.get_running_loop().create_future())
            return await gates[-1]

    surface = Surface(authority_of(Desk), principal="operator", policies=[Asks()])
    desk = Desk()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    calls = []
    for _ in range(2):
        calls.append(asyncio.create_task(agent.call(Desk.try_it, id="same")))
        await turns()
    gates[0].set_result(Deny())
    failed(await calls[0], "NOT_AUTHORIZED")
    gates[1].set_result(None)
    await turns()
    for gate in gates[2:]:
        gate.set_result(None)
    assert output(await calls[1]) == 1 and desk.ran == 1
    again = asyncio.create_task(agent.call(Desk.try_it, id="same"))
    await turns()
    gates[-1].set_result(None)
    assert output(await again) == 1 and desk.ran == 1, "what it gave is kept as that of any other"


@pytest.mark.requirement("6.4-join")
async def test_a_repeat_that_comes_in_the_turn_in_which_the_first_ends_gets_its_outcome() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    desk.gate.clear()
    surface.mount(desk)
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call(Desk.put, id="same"))
    await turns()
    repeat = asyncio.create_task(agent.call(Desk.put, id="same"))
    desk.gate.set()
    assert output(await repeat) == output(await first) == desk.ran == 1
