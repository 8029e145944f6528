"""A surface to which anything may happen: its mounts, what is said of them, who may what, and time."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from remit import (
    Consumer,
    Event,
    EventType,
    ManualClock,
    Mount,
    Ok,
    Outcome,
    Principal,
    Surface,
)
from tests.properties.surface_scene import (
    APPROVER,
    AUTHORITY,
    CAPABILITIES,
    CONSUMERS,
    INSTANCES,
    TYPES,
    Life,
    Locked,
    Log,
    Mood,
    Open,
    Reached,
)


class Viewed(RuleBasedStateMachine):
    """Mounts, updates, policies, grants and time."""

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
