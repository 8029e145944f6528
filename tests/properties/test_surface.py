"""Whatever happens to a surface, in whatever order: what holds for every consumer at every moment."""

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from typing import Any, ClassVar, Final, Literal

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from remit import (
    Component,
    Consumer,
    Context,
    Decider,
    Event,
    EventType,
    Failed,
    Invocation,
    ManualClock,
    Mount,
    Ok,
    Outcome,
    Principal,
    Surface,
    Unavailable,
    action,
    observation,
)
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import authority_of
from tests.properties.held import over_capacity, running

TYPES: Final = ("open", "locked")
INSTANCES: Final = ("a", "b")
CAPABILITIES: Final = ("view:open.read", "view:open.clear", "view:open.slow", "view:locked.read")
INVENTED: Final = "view:open.invented"
APPROVER: Final = "approves"
AT_WORK: Final = "at work"
REPLAYED_S: Final = 590
"""A little less than the ledger keeps an outcome."""

REACHED: Final = frozenset(
    {"mounted", "rejected", "replaced", "unmounted", "unmounted with a call", "disabled", "pushed", "predicate"}
    | {"hidden", "suspended", "reinstated", "disposed", "disposed with a call", "replayed", "moved twice"}
    | {
        "cancelled before it ran",
        "cancelled while it ran",
        "timed out",
        "revoked",
        "revoked, not spent",
        "not the decider",
    }
    | {"request approved", "request denied", "request expired", "request cancelled", "request spent"}
    | {"evidence spent by one of many", "spent evidence ran nothing", "expired evidence refused"}
    | {"evidence of what has gone refused"}
)
"""What the run with a fixed seed must have come to."""


class Life:
    """What one mounted component tells of its handlers; `over` once its unmount has been seen."""

    def __init__(self, log: "Log") -> None:
        self.over = False
        self.busy = False
        self.log = log
        self.gate = asyncio.Event()


class Log:
    """What ran: by invocation, by evidence, and what should never have."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.wrong: list[str] = []

    def enter(self, life: Life, context: Context, *, approved: bool | None = None) -> None:
        self.entered[context.invocation] += 1
        if life.over:
            self.wrong.append(f"{context.capability} ran after its unmount")
        if context.evidence is not None:
            self.spent[context.evidence] += 1
        if approved is False:
            self.wrong.append(f"{context.capability} ran although nobody may approve it any more")


class Open(Component, type="open"):
    """Open to everybody."""

    def __init__(self, life: Life, grants: set[str]) -> None:
        self.life = life
        self.grants = grants

    @observation
    def read(self, context: Context) -> int:
        """Read."""
        self.life.log.enter(self.life, context)
        return 1

    @read.available
    def is_idle(self) -> Literal[True] | Unavailable:
        return Unavailable(AT_WORK) if self.life.busy else True

    @action(confirmation="required", approver=APPROVER)
    def clear(self, label: str, context: Context) -> str:
        """Clear what has this label."""
        self.life.log.enter(self.life, context, approved=APPROVER in self.grants)
        return context.invocation

    @action
    async def slow(self, context: Context) -> str:
        """Wait for the gate."""
        self.life.log.enter(self.life, context)
        await self.life.gate.wait()
        return context.invocation


class Locked(Component, type="locked", policies=(require_grant("keys"),)):
    """For those with keys."""

    def __init__(self, life: Life) -> None:
        self.life = life

    @observation
    def read(self, context: Context) -> int:
        """Read."""
        self.life.log.enter(self.life, context)
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


class Reached(Policy, name="reached"):
    """Remembers what got as far as authorization."""

    def __init__(self) -> None:
        self.who: set[tuple[str, str | None]] = set()

    async def authorize(self, ctx: PolicyContext) -> None:
        if ctx.capability is not None:
            self.who.add((ctx.capability.id, ctx.instance))


AUTHORITY = authority_of(Open, Locked)
CONSUMERS = (
    Consumer("everything", kind="test"),
    Consumer("narrow", kind="test", scope=["view:open.**"]),
    Consumer("nothing", kind="test", scope=()),
)


class Machine(RuleBasedStateMachine):
    """Mounts, updates, policies, grants, requests, calls that wait, and time, against what is promised always."""

    reached: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.grants: set[str] = {APPROVER}
        self.mood: dict[str, str] = {}
        self.authorized = Reached()
        self.surface = Surface(
            AUTHORITY,
            principal=lambda: Principal("operator", grants=self.grants),
            host=self.mood,
            policies=[Mood(), self.authorized],
            clock=self.clock,
        )
        self.surface.confirmations.subscribe(lambda view: None)
        self.mounts: dict[tuple[str, str], tuple[Mount, Life]] = {}
        self.log = Log()
        self.calls: dict[str, tuple[Consumer, asyncio.Task[Outcome]]] = {}
        self.cleared: list[tuple[float, Consumer, str, dict[str, str], Ok]] = []
        self.evidence: dict[str, tuple[Consumer, str, dict[str, str]]] = {}
        self.seen: dict[str, tuple[int, str]] = {}
        self.asked = 0
        self.steps = 0
        self.disposed = False
        self.surface.subscribe(self._count)
        self.started: set[object] = set()

    def _count(self, event: Event) -> None:
        match event.type:
            case EventType.INVOCATION_STARTED:
                assert event.data["invocation"] not in self.started
                self.started.add(event.data["invocation"])
            case EventType.INVOCATION_SETTLED:  # a refused call settles without having started
                self.started.discard(event.data["invocation"])
            case EventType.CONFIRMATION_RESOLVED:
                self.reached[f"request {event.data['status']}"] += 1
            case _:
                pass

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run to its end; what waits behind a call that hangs waits until its time is over."""

        async def to_the_end() -> Any:
            task = asyncio.ensure_future(work)
            for turn in range(1, 10_000):
                if task.done():
                    break
                await asyncio.sleep(0)
                if turn % 100 == 0:
                    self.clock.advance(1)
            return task.result()

        return self.loop.run_until_complete(to_the_end())

    def turn(self) -> None:
        async def turns() -> None:
            for _ in range(10):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    def call(self, capability: str, consumer: Consumer, input: dict[str, str] | None = None, **more: Any) -> Outcome:
        outcome: Outcome = self.run(self.surface.connect(consumer).call(capability, input, **more))
        return outcome

    def going_on(self) -> list[str]:
        return [id for id, (_, task) in self.calls.items() if not task.done()]

    # The view

    @initialize(instances=st.sets(st.sampled_from(INSTANCES), min_size=1))
    def open_the_view(self, instances: set[str]) -> None:
        for instance in sorted(instances):
            self.mount_one("open", instance, "reject")

    @rule(kind=st.sampled_from(TYPES), instance=st.sampled_from(INSTANCES), how=st.sampled_from(["reject", "replace"]))
    def mount(self, kind: str, instance: str, how: Any) -> None:
        self.mount_one(kind, instance, how)

    def mount_one(self, kind: str, instance: str, how: Any) -> None:
        life = Life(self.log)
        component = Open(life, self.grants) if kind == "open" else Locked(life)
        held = self.mounts.get((kind, instance))
        mount = self.surface.mount(component, instance, on_duplicate=how)
        assert (mount.status == "rejected") is (self.disposed or (held is not None and how == "reject"))
        self.reached["replaced" if held is not None and mount.status == "mounted" else mount.status] += 1
        if mount.status == "mounted":
            if held is not None:
                held[1].over = True
            self.mounts[kind, instance] = mount, life
        self.turn()

    @precondition(lambda self: self.mounts)
    @rule(data=st.data())
    def unmount(self, data: st.DataObject) -> None:
        self.unmount_one(data)

    def unmount_one(self, data: st.DataObject) -> None:
        before = len(self.going_on())
        mount, life = self.mounts.pop(data.draw(st.sampled_from(sorted(self.mounts))))
        mount.unmount()
        life.over = True
        self.turn()
        self.reached["unmounted" if len(self.going_on()) == before else "unmounted with a call"] += 1

    @precondition(lambda self: self.mounts)
    @rule(data=st.data(), enabled=st.booleans(), pushed=st.sampled_from([True, "busy"]), busy=st.booleans())
    def update(self, data: st.DataObject, enabled: bool, pushed: Any, busy: bool) -> None:
        mount, life = self.mounts[data.draw(st.sampled_from(sorted(self.mounts)))]
        mount.update(enabled=enabled, available={"read": pushed})
        life.busy = busy
        self.reached["disabled" if not enabled else "pushed" if pushed == "busy" else "predicate"] += 1

    # Who may what

    @rule(instance=st.sampled_from(INSTANCES), mood=st.sampled_from(["hide", "disable", "fine"]))
    def change_mood(self, instance: str, mood: str) -> None:
        self.mood[instance] = mood
        self.surface.policies_changed()

    @rule(grant=st.sampled_from(["keys", APPROVER]), held=st.booleans())
    def change_grants(self, grant: str, held: bool) -> None:
        self.reached["revoked"] += grant in self.grants and not held
        self.grants.add(grant) if held else self.grants.discard(grant)

    @rule(what=st.sampled_from([*CAPABILITIES, *CONSUMERS]), off=st.booleans())
    def suspend(self, what: Any, off: bool) -> None:
        change = self.surface.suspend if off else self.surface.reinstate
        change(capability=what) if isinstance(what, str) else change(consumer=what)
        self.reached["suspended" if off else "reinstated"] += 1

    # Time

    @rule(seconds=st.sampled_from([1, 11, 60, 121, 601]))
    def wait(self, seconds: int) -> None:
        self.wait_for(seconds)

    def wait_for(self, seconds: int) -> None:
        before = len(self.going_on())
        self.clock.advance(seconds)
        self.turn()
        self.reached["timed out"] += len(self.going_on()) < before

    # Calls

    def an_instance(self, data: st.DataObject) -> str:
        live = sorted(instance for kind, instance in self.mounts if kind == "open")
        return data.draw(st.sampled_from(live or INSTANCES))

    @rule(data=st.data(), consumer=st.sampled_from(CONSUMERS[:2]), label=st.sampled_from(["x", "y"]))
    def ask(self, data: st.DataObject, consumer: Consumer, label: str) -> None:
        self.request(self.an_instance(data), consumer, label)

    def request(self, instance: str, consumer: Consumer, label: str) -> str | None:
        """Ask for a clearing, which needs a person: the id of the request, None if there is none."""
        self.asked += 1
        input = {"label": label}
        outcome = self.call("view:open.clear", consumer, input, instance=instance, id=f"clear-{self.asked}")
        assert isinstance(outcome, Failed), "it ran without anybody's approval"
        if outcome.error.code != "CONFIRMATION_REQUIRED":
            return None
        id = str(outcome.error.details["confirmation_id"])
        self.evidence[id] = consumer, instance, input
        return id

    @precondition(lambda self: self.mounts and not self.disposed)
    @rule(
        data=st.data(),
        consumer=st.sampled_from(CONSUMERS[:2]),
        meanwhile=st.sampled_from(["nothing", "nothing", "revoked", "late", "unmounted", "denied"]),
    )
    def ask_decide_and_retry(self, data: st.DataObject, consumer: Consumer, meanwhile: str) -> None:
        """One request from its beginning to its end; between the approval and the retry something happens, or not."""
        self.surface.confirmations.lift()
        self.grants.add(APPROVER)
        instance = self.an_instance(data)
        id = self.request(instance, consumer, f"only {self.asked}")
        if id is None:
            return
        yes = meanwhile != "denied"
        confirmations = self.surface.confirmations
        with pytest.raises(PermissionError):
            self.run(confirmations.approve(id, Decider("operator")))
        self.reached["not the decider"] += 1
        self.run((confirmations.approve if yes else confirmations.deny)(id, Decider("operator", self.grants)))
        busy = self.going_on()
        match meanwhile:
            case "revoked":
                self.grants.discard(APPROVER)
            case "late":
                self.clock.advance(121)
            case "unmounted":
                mount, life = self.mounts.pop(("open", instance))
                mount.unmount()
                life.over = True
            case _:
                pass
        ran = self.log.spent[id]
        outcomes = self.retry_at_once(id)
        if meanwhile != "nothing":
            assert self.log.spent[id] == ran == 0, f"{meanwhile}, and it ran"
            refused = {"revoked": "revoked, not spent", "late": "expired evidence refused"}
            self.reached[refused.get(meanwhile, "evidence of what has gone refused")] += meanwhile != "denied"
        elif not busy:
            assert self.log.spent[id] == 1, outcomes
            self.reached["evidence spent by one of many"] += 1
            self.come_again(id)
            self.repeat(self.cleared[-1])

    @precondition(lambda self: self.evidence)
    @rule(data=st.data())
    def come_with_evidence(self, data: st.DataObject) -> None:
        self.come_again(data.draw(st.sampled_from(list(self.evidence))))

    def come_again(self, id: str) -> None:
        consumer, instance, input = self.evidence[id]
        before = self.log.spent[id]
        runs = self.log.entered.total()
        outcome = self.call("view:open.clear", consumer, input, instance=instance, confirmation=id)
        if before:
            assert self.log.spent[id] == 1 and self.log.entered.total() == runs
            # As long as the ledger has it, the answer is the stored one; it belongs to the first invocation.
            assert isinstance(outcome, Failed) or (outcome.output == outcome.invocation_id)
            self.reached["spent evidence ran nothing"] += 1

    @precondition(lambda self: self.cleared)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        self.repeat(data.draw(st.sampled_from(self.cleared)))

    def repeat(self, one: tuple[float, Consumer, str, dict[str, str], Ok]) -> None:
        at, consumer, instance, input, before = one
        if self.clock.monotonic() - at > REPLAYED_S:
            return
        again = self.call("view:open.clear", consumer, input, instance=instance, id=before.invocation_id)
        if isinstance(again, Ok):
            assert again.output == before.output
            self.reached["replayed"] += 1

    @rule(data=st.data(), consumer=st.sampled_from(CONSUMERS[:2]))
    def start(self, data: st.DataObject, consumer: Consumer) -> None:
        self.begin(data, consumer)

    def begin(self, data: st.DataObject, consumer: Consumer) -> None:
        self.begin_at(self.an_instance(data), consumer)

    def begin_at(self, instance: str, consumer: Consumer) -> None:
        id = f"slow-{len(self.calls)}"
        work = self.surface.connect(consumer).call("view:open.slow", instance=instance, id=id)
        self.calls[id] = consumer, self.loop.create_task(work)
        self.turn()

    @precondition(lambda self: self.going_on())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.cancel_call(data.draw(st.sampled_from(self.going_on())))

    @precondition(lambda self: self.mounts and not self.disposed)
    @rule(
        data=st.data(),
        consumer=st.sampled_from(CONSUMERS[:2]),
        end=st.sampled_from(["first", "last", "wait", "unmount", "replace", "dispose"]),
    )
    def begin_two_and_end(self, data: st.DataObject, consumer: Consumer, end: str) -> None:
        """The second waits for the first; they are cancelled in either order, or something else ends both."""
        before = set(self.going_on())
        self.begin(data, consumer)
        self.begin(data, consumer)
        begun = [id for id in self.going_on() if id not in before]
        match end:
            case "first" | "last":
                for id in begun if end == "first" else reversed(begun):
                    if not self.calls[id][1].done():
                        self.cancel_call(id)
            case "wait":
                self.wait_for(11)
            case "unmount":
                self.unmount_one(data)
            case "replace":
                kind, instance = data.draw(st.sampled_from(sorted(self.mounts)))
                self.mount_one(kind, instance, "replace")
            case _:
                if self.steps > 20:
                    self.end()

    def cancel_call(self, id: str) -> None:
        consumer, task = self.calls[id]
        waiting = not self.log.entered[id]
        self.surface.cancel(id, consumer)
        self.turn()
        assert task.done()
        if waiting:
            assert not self.log.entered[id], "a cancelled call ran"
        self.reached["cancelled before it ran" if waiting else "cancelled while it ran"] += 1

    @precondition(lambda self: self.mounts)
    @rule(data=st.data())
    def open_the_gate(self, data: st.DataObject) -> None:
        _, life = self.mounts[data.draw(st.sampled_from(sorted(self.mounts)))]
        life.gate.set()
        self.turn()
        life.gate.clear()

    # People

    @precondition(lambda self: self.surface.confirmations.pending())
    @rule(data=st.data(), yes=st.booleans(), lift=st.booleans())
    def decide(self, data: st.DataObject, yes: bool, lift: bool) -> None:
        confirmations = self.surface.confirmations
        view = data.draw(st.sampled_from(confirmations.pending()))
        operator = Decider("operator", self.grants)
        answer = confirmations.approve if yes else confirmations.deny
        if APPROVER in self.grants:
            self.run(answer(view.id, operator))
        else:
            with pytest.raises(PermissionError):
                self.run(answer(view.id, operator))
            self.reached["not the decider"] += 1
        if lift:
            confirmations.lift()

    @precondition(lambda self: self.evidence)
    @rule(data=st.data())
    def come_at_once(self, data: st.DataObject) -> None:
        self.retry_at_once(data.draw(st.sampled_from(list(self.evidence))))

    def retry_at_once(self, evidence: str) -> list[Outcome]:
        """Every consumer comes with the same evidence, three times each, at once; only its own gets anything."""

        async def all_at_once() -> list[Outcome]:
            return await asyncio.gather(*(self.surface.continue_(evidence, each) for each in CONSUMERS * 3))

        answers: list[Outcome] = self.run(all_at_once())
        consumer, instance, input = self.evidence[evidence]
        for each, answer in zip(CONSUMERS * 3, answers, strict=True):
            assert isinstance(answer, Failed) or each is consumer, "somebody else's evidence was taken"
        done = [answer for answer in answers if isinstance(answer, Ok)]
        assert len({repr(answer.output) for answer in done}) <= 1
        self.cleared += [(self.clock.monotonic(), consumer, instance, input, answer) for answer in done[:1]]
        return answers

    @precondition(lambda self: not self.disposed and self.steps > 25)
    @rule()
    def dispose(self) -> None:
        self.end()

    def end(self) -> None:
        for instance in INSTANCES:
            self.begin_at(instance, CONSUMERS[0])
        self.reached["disposed with a call" if self.going_on() else "disposed"] += 1
        self.surface.dispose()
        self.disposed = True
        for _, life in self.mounts.values():
            life.over = True
        self.mounts.clear()
        self.turn()
        assert self.going_on() == [] and running(self.surface) == []

    # What always holds

    @invariant()
    def nothing_runs_that_must_not_and_nothing_twice(self) -> None:
        self.steps += 1
        assert self.log.wrong == []
        assert [id for id, times in self.log.spent.items() if times > 1] == []
        assert [id for id, times in self.log.entered.items() if times > 1] == []

    @invariant()
    def what_ended_without_effect_never_ran(self) -> None:
        for id, (_, task) in self.calls.items():
            if task.done() and isinstance(outcome := task.result(), Failed):
                ran = outcome.error.details.get("outcome") == "unknown"
                assert ran is (self.log.entered[id] > 0), outcome

    @invariant()
    def a_version_moves_exactly_when_the_listing_does(self) -> None:
        """By how much is not said: it is computed when read, and a call that a replacing mount ends reads it, too."""
        for consumer in CONSUMERS if not self.disposed else ():
            snapshot = self.surface.snapshot(consumer)
            # What a predicate says is state, and moves no version.
            shown = [[c.id, c.registration, c.available or c.reason == AT_WORK] for c in snapshot.capabilities()]
            now = (int(snapshot.surface_version), json.dumps(shown))
            number, listing = self.seen.get(consumer.id, now)
            assert now[0] == number if now[1] == listing else now[0] > number
            self.reached["moved twice"] += now[0] > number + 1
            self.seen[consumer.id] = now

    @invariant()
    def what_is_listed_as_available_is_what_gets_to_authorization(self) -> None:
        for consumer in CONSUMERS if not self.disposed else ():
            listed = {(c.id, c.instance) for c in self.surface.snapshot(consumer).capabilities() if c.available}
            self.authorized.who.clear()
            self.run(self.look_ahead(consumer))
            assert self.authorized.who == listed

    async def look_ahead(self, consumer: Consumer) -> None:
        for id in CAPABILITIES:
            for instance in INSTANCES:
                await self.surface.preflight(Invocation(id, instance=instance), consumer)

    @invariant()
    def what_is_hidden_is_unknown(self) -> None:
        """One consumer a step, in turn; also that what is listed as available can be read, and else is not."""
        if self.disposed:
            return
        consumer = CONSUMERS[self.steps % 3]
        shown = {(c.id, c.instance): c.available for c in self.surface.snapshot(consumer).capabilities()}
        unknown = self.call(INVENTED, consumer, instance="a")
        assert isinstance(unknown, Failed)
        for id in CAPABILITIES:
            for instance in INSTANCES:
                available = shown.get((id, instance))
                if available and not id.endswith("read"):
                    continue
                outcome = self.call(id, consumer, instance=instance)
                code = outcome.error.code if isinstance(outcome, Failed) else "ok"
                match available:
                    case True:
                        assert code == "ok"
                    case False:
                        assert code == "CAPABILITY_NOT_AVAILABLE"
                    case None:  # what it had been shown of an earlier one is told to have gone
                        assert isinstance(outcome, Failed)
                        assert code == "COMPONENT_UNMOUNTED" or outcome.error == unknown.error
                        self.reached["hidden"] += 1

    @invariant()
    def what_has_ended_is_empty_and_answers_so(self) -> None:
        for consumer in CONSUMERS if self.disposed else ():
            assert self.surface.snapshot(consumer).capabilities() == ()
            outcome = self.call("view:open.read", consumer)
            assert isinstance(outcome, Failed) and outcome.error.code == "CANCELLED"

    @invariant()
    def every_started_call_has_settled_once(self) -> None:
        assert self.started <= set(self.going_on())

    def teardown(self) -> None:
        assert over_capacity(self.surface) == []
        self.surface.dispose()
        self.turn()
        assert self.going_on() == []
        assert running(self.surface) == []
        self.loop.close()


SETTINGS: Final = settings(
    max_examples=6,
    stateful_step_count=35,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
Machine.TestCase.settings = SETTINGS


@pytest.mark.requirement("2.6-exactly-when-the-listing-moves", "4.8-listing-equals-calling", "7.6-one-approval-one-run")
@pytest.mark.requirement("9.1-one-settled-per-started", "6.3-cancelled-never-runs", "15.3-nothing-is-left")
@pytest.mark.requirement("4.4-nothing-executable-outlives-the-mount", "7.4-grants-are-checked-when-spending")
class TestWhateverHappens(Machine.TestCase):  # type: ignore[misc, valid-type]
    """The machine, run."""


def test_a_run_comes_to_every_kind_of_thing_that_can_happen() -> None:
    class Counted(Machine):
        reached: ClassVar[Counter[str]] = Counter()

    run_state_machine_as_test(seed(2)(Counted), settings=settings(SETTINGS, max_examples=24, database=None))
    assert [kind for kind in sorted(REACHED) if not Counted.reached[kind]] == []
