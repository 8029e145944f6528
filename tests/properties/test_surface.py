"""Whatever happens to a surface, in whatever order: what holds for every consumer at every moment."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from remit import (
    Component,
    Consumer,
    Decider,
    Event,
    EventType,
    Failed,
    ManualClock,
    Mount,
    Ok,
    Principal,
    Surface,
    action,
    observation,
)
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import authority_of

TYPES = ("open", "locked")
INSTANCES = ("a", "b")


class Open(Component, type="open"):
    """Open to everybody."""

    ran = 0

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action(confirmation="required")
    def clear(self) -> int:
        """Clear."""
        self.ran += 1
        return self.ran


class Locked(Component, type="locked", policies=(require_grant("keys"),)):
    """For those with keys."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1


class Mood(Policy, name="mood"):
    """Hides or disables what the host says."""

    def discover(self, ctx: PolicyContext) -> Decision:
        mood: dict[str, str] = ctx.host  # type: ignore[assignment]
        match mood.get(ctx.instance or ""):
            case "hide":
                return Hide()
            case "disable":
                return Disable("mood")
            case _:
                return Expose()


AUTHORITY = authority_of(Open, Locked)
CONSUMERS = (
    Consumer("everything", kind="test"),
    Consumer("narrow", kind="test", scope=["view:open.**"]),
    Consumer("nothing", kind="test", scope=()),
)


class Machine(RuleBasedStateMachine):
    """Mounts, updates, policies, grants, requests and time, against the promises that always hold."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.grants: set[str] = set()
        self.mood: dict[str, str] = {}
        self.surface = Surface(
            AUTHORITY,
            principal=lambda: Principal("operator", grants=self.grants),
            host=self.mood,
            policies=[Mood()],
            clock=self.clock,
        )
        self.surface.confirmations.subscribe(lambda view: None)
        self.mounts: dict[tuple[str, str], Mount] = {}
        self.approved = 0
        self.ran = 0
        self.seen: dict[str, tuple[int, str]] = {}
        self.surface.subscribe(self._count, types={EventType.INVOCATION_STARTED, EventType.INVOCATION_SETTLED})
        self.started: list[object] = []
        self.settled: list[object] = []

    def _count(self, event: Event) -> None:
        where = self.started if event.type is EventType.INVOCATION_STARTED else self.settled
        where.append(event.data["invocation"])

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @rule(kind=st.sampled_from(TYPES), instance=st.sampled_from(INSTANCES), how=st.sampled_from(["reject", "replace"]))
    def mount(self, kind: str, instance: str, how: Any) -> None:
        component = Open() if kind == "open" else Locked()
        mount = self.surface.mount(component, instance, on_duplicate=how)
        held = self.mounts.get((kind, instance))
        live = held is not None and held.status == "mounted"
        assert (mount.status == "rejected") is (live and how == "reject")
        if mount.status == "mounted":
            self.mounts[kind, instance] = mount

    @precondition(lambda self: self.mounts)
    @rule(data=st.data())
    def unmount(self, data: st.DataObject) -> None:
        self.mounts.pop(data.draw(st.sampled_from(sorted(self.mounts)))).unmount()

    @precondition(lambda self: self.mounts)
    @rule(data=st.data(), enabled=st.booleans(), pushed=st.sampled_from([True, "busy"]))
    def update(self, data: st.DataObject, enabled: bool, pushed: Any) -> None:
        mount = self.mounts[data.draw(st.sampled_from(sorted(self.mounts)))]
        mount.update(enabled=enabled, available={"read": pushed})

    @rule(instance=st.sampled_from(INSTANCES), mood=st.sampled_from(["hide", "disable", "fine"]))
    def change_mood(self, instance: str, mood: str) -> None:
        self.mood[instance] = mood
        self.surface.policies_changed()

    @rule(held=st.booleans())
    def change_grants(self, held: bool) -> None:
        self.grants.add("keys") if held else self.grants.clear()

    @rule(seconds=st.sampled_from([1, 60, 121]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(instance=st.sampled_from(INSTANCES), consumer=st.sampled_from(CONSUMERS))
    def clear(self, instance: str, consumer: Consumer) -> None:
        outcome = self.run(self.surface.connect(consumer).call("view:open.clear", instance=instance))
        if isinstance(outcome, Ok):
            self.ran += 1

    @precondition(lambda self: self.surface.confirmations.pending())
    @rule(yes=st.booleans())
    def decide(self, yes: bool) -> None:
        view = self.surface.confirmations.pending()[0]
        operator = Decider("operator")
        if yes:
            self.run(self.surface.confirmations.approve(view.id, operator))
            self.approved += 1
        else:
            self.run(self.surface.confirmations.deny(view.id, operator))
            self.surface.confirmations.lift()

    @invariant()
    def nothing_runs_without_an_approval_of_its_own(self) -> None:
        assert self.ran <= self.approved

    @invariant()
    def a_version_moves_exactly_when_the_listing_does(self) -> None:
        for consumer in CONSUMERS:
            snapshot = self.surface.snapshot(consumer)
            shown = [[c.id, c.registration, c.available] for c in snapshot.capabilities()]
            now = (int(snapshot.surface_version), json.dumps(shown))
            number, listing = self.seen.get(consumer.id, now)
            assert now[0] == (number if now[1] == listing else number + 1)
            self.seen[consumer.id] = now

    @invariant()
    def what_is_listed_and_what_can_be_called_are_the_same(self) -> None:
        for consumer in CONSUMERS:
            listed = {
                (c.id, c.instance): c.available
                for c in self.surface.snapshot(consumer).capabilities()
                if c.id.endswith("read")
            }
            for kind in TYPES:
                for instance in INSTANCES:
                    id = f"view:{kind}.read"
                    outcome = self.run(self.surface.connect(consumer).call(id, instance=instance))
                    code = outcome.error.code.value if isinstance(outcome, Failed) else "ok"
                    match listed.get((id, instance)):
                        case True:
                            assert code == "ok"
                        case False:
                            assert code == "CAPABILITY_NOT_AVAILABLE"
                        case None:
                            assert code in ("CAPABILITY_NOT_FOUND", "COMPONENT_UNMOUNTED")

    @invariant()
    def every_started_call_has_settled_once(self) -> None:
        assert len(self.started) == len(set(self.started))
        assert all(self.settled.count(invocation) == 1 for invocation in self.started)

    def teardown(self) -> None:
        self.surface.dispose()
        self.run(asyncio.sleep(0))
        self.loop.close()


Machine.TestCase.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.requirement("2.6-exactly-when-the-listing-moves", "4.8-listing-equals-calling", "7.6-one-approval-one-run")
@pytest.mark.requirement("9.1-one-settled-per-started")
class TestWhateverHappens(Machine.TestCase):  # type: ignore[misc, valid-type]
    """The machine, run."""
