"""Which calls wait for each other: `concurrency=` and the pool of reads (SPEC 6.6)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Limits,
    ManualClock,
    Outcome,
    Procedures,
    Surface,
    action,
    key,
    observation,
    parallel,
    reference,
)
from tests.behaviour.conftest import authority_of, failed, output, turns


class Log:
    """What runs now and what ran, and a gate that holds each until it is let go."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.inside: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    async def run(self, name: str) -> str:
        self.ran.append(name)
        self.inside.append(name)
        try:
            await self._gates.setdefault(name, asyncio.Event()).wait()
        finally:
            self.inside.remove(name)
        return name

    async def let(self, *names: str) -> None:
        for name in names:
            self._gates.setdefault(name, asyncio.Event()).set()
            await turns()


class Desk(Component, type="desk"):
    """A desk with every way of taking turns."""

    def __init__(self, log: Log) -> None:
        self.log = log

    @action
    async def plain(self, name: str) -> str:
        """By instance."""
        return await self.log.run(name)

    @action(concurrency="instance")
    async def said(self, name: str) -> str:
        """By instance, said aloud."""
        return await self.log.run(name)

    @action(concurrency="capability")
    async def alone(self, name: str) -> str:
        """By capability."""
        return await self.log.run(name)

    @action(concurrency="capability")
    async def other(self, name: str) -> str:
        """By capability."""
        return await self.log.run(name)

    @action(concurrency=key("export"))
    async def export(self, name: str) -> str:
        """By key."""
        return await self.log.run(name)

    @action(concurrency=key("export"))
    async def print(self, name: str) -> str:
        """By the same key."""
        return await self.log.run(name)

    @action(concurrency=key("other"))
    async def elsewhere(self, name: str) -> str:
        """By another key."""
        return await self.log.run(name)

    @action(concurrency=parallel(3))
    async def several(self, name: str) -> str:
        """Three at once."""
        return await self.log.run(name)

    @observation(concurrency=key("export"))
    async def look(self, name: str) -> str:
        """A read that takes turns with the exports."""
        return await self.log.run(name)

    @observation
    async def read(self, name: str) -> str:
        """A read."""
        return await self.log.run(name)


def call_of(surface: Surface) -> "Callable[..., asyncio.Task[Outcome]]":
    def start(who: str, capability: Any, name: str, instance: str | None = None) -> "asyncio.Task[Outcome]":
        agent = surface.connect(Consumer(who, kind="test"))
        return asyncio.create_task(agent.call(capability, {"name": name}, instance=instance))

    return start


@pytest.mark.requirement("6.6-by-capability")
async def test_capabilities_with_their_own_queue_run_side_by_side_and_each_stays_serial() -> None:
    log = Log()
    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk(log))
    call = call_of(surface)
    tasks = [
        call("c", Desk.alone, "a1"),
        call("c", Desk.other, "b1"),
        call("c", Desk.plain, "p1"),
        call("c", Desk.alone, "a2"),
        call("c", Desk.said, "p2"),
    ]
    await turns()
    assert log.inside == ["a1", "b1", "p1"]
    await log.let("a1")
    assert log.inside == ["b1", "p1", "a2"]
    await log.let("p1")
    assert log.inside == ["b1", "a2", "p2"]
    await log.let("b1", "a2", "p2")
    for task in tasks:
        output(await task)


@pytest.mark.requirement("6.6-by-key")
async def test_a_key_is_one_queue_across_capabilities_instances_and_kinds() -> None:
    log = Log()
    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk(log), "a")
    surface.mount(Desk(log), "b")
    call = call_of(surface)
    tasks = [
        call("1", Desk.export, "export-a", "a"),
        call("2", Desk.print, "print-b", "b"),
        call("3", Desk.look, "look-a", "a"),
        call("4", Desk.elsewhere, "elsewhere", "a"),
        call("5", Desk.plain, "plain-a", "a"),
        call("6", Desk.read, "read-a", "a"),
    ]
    await turns()
    assert log.inside == ["export-a", "elsewhere", "plain-a", "read-a"]
    await log.let("elsewhere", "plain-a", "read-a", "export-a")
    assert log.inside == ["print-b"]
    await log.let("print-b")
    assert log.inside == ["look-a"]
    await log.let("look-a")
    for task in tasks:
        output(await task)


@pytest.mark.requirement("6.6-in-parallel")
async def test_so_many_calls_of_one_capability_and_instance_run_at_once_as_parallel_says() -> None:
    log = Log()
    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk(log), "a")
    surface.mount(Desk(log), "b")
    call = call_of(surface)
    tasks = [call("c", Desk.several, f"a{n}", "a") for n in range(5)]
    tasks.append(call("c", Desk.several, "b0", "b"))
    await turns()
    assert log.inside == ["a0", "a1", "a2", "b0"]
    refused = failed(await call("c", Desk.several, "a5", "a"), "RATE_LIMITED")
    assert refused.details["reason"] == "queue-full"
    tasks.append(call("d", Desk.several, "d0", "a"))
    await turns()
    await log.let("a1")
    assert log.inside == ["a0", "a2", "b0", "a3"]
    await log.let("a0")
    assert log.inside == ["a2", "b0", "a3", "d0"], "consumers take turns"
    await log.let("a2", "a3", "a4", "b0", "d0")
    for task in tasks:
        output(await task)
    assert "a5" not in log.ran


@pytest.mark.requirement("6.6-references-by-mode")
async def test_references_may_take_turns_by_key_by_instance_and_in_parallel() -> None:
    log = Log()
    backend = Procedures()

    async def work(name: str) -> str:
        """Work."""
        return await log.run(name)

    for operation in ("one", "two", "three"):
        backend.operation(operation, effect="server-mutation")(work)

    class Page(Component, type="page"):
        """A page."""

        one = reference("domain:one", concurrency=parallel(2))
        two = reference("domain:two", concurrency=key("backend"))
        three = reference("domain:three", concurrency="instance")

        @action
        async def edit(self, name: str) -> str:
            """Edit."""
            return await log.run(name)

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Page(), "a")
    surface.mount(Page(), "b")
    call = call_of(surface)
    tasks = [call("c", "domain:one", f"one-{n}", "page/a") for n in range(3)]
    tasks += [call("c", "domain:two", f"two-{instance}", f"page/{instance}") for instance in "ab"]
    tasks += [call("c", Page.edit, "edit", "a"), call("c", "domain:three", "three", "page/a")]
    await turns()
    assert log.inside == ["one-0", "one-1", "two-a", "edit"]
    await log.let("edit", "two-a", "one-0")
    assert log.inside == ["one-1", "three", "two-b", "one-2"]
    await log.let("one-1", "one-2", "two-b", "three")
    for task in tasks:
        output(await task)


@pytest.mark.requirement("6.6-one-slot-always")
async def test_a_consumer_gets_one_slot_although_the_pool_of_reads_is_full() -> None:
    log = Log()
    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk(log))
    call = call_of(surface)
    full = [call(who, Desk.read, f"{who}{n}") for who in "abcd" for n in range(8)]
    await turns()
    assert len(log.inside) == 32
    fifth = [call("e", Desk.read, f"e{n}") for n in range(2)]
    await turns()
    assert len(log.inside) == 33 and "e0" in log.inside, "one, beyond the 32"
    await log.let("e0")
    assert len(log.inside) == 33 and "e1" in log.inside, "and one again when that is over, although 32 still run"
    await log.let("e1", *(f"{who}{n}" for who in "abcd" for n in range(8)))
    for task in [*full, *fifth]:
        output(await task)


@pytest.mark.requirement("6.6-a-hung-call-blocks-until-its-deadline")
async def test_a_hung_call_blocks_no_other_lane_and_its_own_only_until_its_deadline() -> None:
    log, clock = Log(), ManualClock()
    surface = Surface(authority_of(Desk), principal="operator", clock=clock, limits=Limits(action_s=2.0))
    surface.mount(Desk(log))
    call = call_of(surface)
    hung = call("a", Desk.plain, "hung")
    await turns()
    clock.advance(1.5)
    waiting = call("b", Desk.plain, "waiting")
    elsewhere = call("a", Desk.alone, "elsewhere")
    await turns()
    await log.let("elsewhere")
    assert output(await elsewhere) == "elsewhere" and not waiting.done()
    clock.advance(0.5)
    failed(await hung, "TIMEOUT")
    await log.let("waiting")
    assert output(await waiting) == "waiting"


REFUSED: list[tuple[Any, str]] = [
    (parallel(), r"parallel\(\) says no number of calls"),
    (parallel(0), r"parallel\(0\) says no number of calls"),
    (parallel(1.5), r"parallel\(1.5\) says no number of calls"),  # type: ignore[arg-type]
    (parallel(True), r"parallel\(True\) says no number of calls"),
    (parallel(-1), r"parallel\(-1\) says no number of calls"),
    (parallel(1_001), r"parallel\(1001\) says no number of calls"),
    (parallel("3"), r"parallel\('3'\) says no number of calls"),  # type: ignore[arg-type]
    (key(), r"key\(\) has no name"),
    (key("  "), r"key\(\) has no name"),
    (key(5), r"key\(\) has no name"),  # type: ignore[arg-type]
    (key("a\nb"), "refused character"),
    (key("k" * 81), "81 characters"),
    (parallel, "parallel is not called"),
    (key, "key is not called"),
    ("serial", "'serial' is no mode"),
    (3, "3 is no mode"),
]


@pytest.mark.requirement("6.6-modes-that-cannot-be-meant")
@pytest.mark.parametrize(("written", "says"), REFUSED, ids=[str(index) for index in range(len(REFUSED))])
def test_a_mode_that_cannot_be_meant_is_refused_when_the_class_is_created(written: Any, says: str) -> None:
    def declare_action() -> None:
        class Table(Component, type="table"):
            """A table."""

            @action(concurrency=written)
            def put(self) -> None:
                """Put."""

    def declare_observation() -> None:
        class Table(Component, type="table"):
            """A table."""

            @observation(concurrency=written)
            def read(self) -> int:
                """Read."""
                return 1

    def declare_reference() -> None:
        class Table(Component, type="table"):
            """A table."""

            save = reference("domain:save", concurrency=written)

    for declare in (declare_action, declare_observation, declare_reference):
        with pytest.raises(DefinitionError, match=says) as refused:
            declare()
        assert refused.value.code == "INVALID_DEFINITION" or refused.value.code == "LIMIT_EXCEEDED"
        assert refused.value.place is not None and refused.value.place.startswith("test_turns.py:")
