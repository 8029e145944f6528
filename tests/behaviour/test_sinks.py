"""Sinks: every entry goes to them, and no call is failed or delayed by one (SPEC 9.2)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from remit import AuditEntry, AuditSink, Component, ManualClock, Surface, action
from tests.behaviour.conftest import AGENT, authority_of, failed, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    @action(audit="full")
    def put(self, count: int = 1) -> int:
        """Put."""
        return count


class Kept:
    """A plain sink."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []

    def write(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


class Later:
    """An async sink that takes an entry when its gate is open."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.gate = asyncio.Event()
        self.fault: BaseException | None = None

    async def write(self, entry: AuditEntry) -> None:
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.entries.append(entry)


def opened(*sinks: AuditSink, clock: ManualClock | None = None) -> Surface:
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    for sink in sinks:
        surface.audit_to(sink)
    surface.mount(Desk())
    return surface


def faults(surface: Surface) -> list[tuple[str, str]]:
    return [(str(entry.why), str(entry.cause).splitlines()[-1]) for entry in surface.audit(types={"fault"})]


@pytest.mark.requirement("9.2-sinks-get-every-entry")
async def test_plain_and_async_sinks_get_every_entry_in_order_payloads_too() -> None:
    plain, later = Kept(), Later()
    surface = opened(plain, later)
    later.gate.set()
    agent = surface.connect(AGENT)
    for count in (1, 2):
        output(await agent.call(Desk.put, {"count": count}))
    failed(await agent.call("view:desk.none"))
    surface.dispose()
    await turns()
    assert tuple(plain.entries) == tuple(later.entries) == surface.audit()
    assert [entry.type.value for entry in plain.entries] == ["registration", *["invocation"] * 3, "registration"]
    assert [entry.input for entry in plain.entries[1:3]] == [{"count": 1}, {"count": 2}]


@pytest.mark.requirement("9.2-a-sink-costs-no-call")
async def test_a_sink_that_raises_fails_no_call_and_is_journalled() -> None:
    class Broken:
        def write(self, entry: AuditEntry) -> None:
            raise OSError("disk full")

    later, kept = Later(), Kept()
    later.gate.set()
    later.fault = OSError("no network")
    surface = opened(Broken(), later, kept)
    assert output(await surface.connect(AGENT).call(Desk.put)) == 1
    await turns()
    assert sorted(faults(surface)) == [
        *[("an audit sink raised", "OSError: disk full")] * 2,
        *[("an audit sink raised", "OSError: no network")] * 2,
    ]
    assert [entry.type.value for entry in kept.entries] == ["registration", "invocation"]


@pytest.mark.requirement("9.2-a-sink-costs-no-call")
async def test_a_plain_sink_that_returns_something_to_await_is_told_to_be_async() -> None:
    class Careless:
        def __init__(self, answer: Callable[[], Awaitable[None]]) -> None:
            self.answer = answer

        def write(self, entry: AuditEntry) -> Any:
            return self.answer()

    async def writing() -> None:
        pass

    for answer in (asyncio.get_running_loop().create_future, writing):
        surface = opened(Careless(answer))
        assert output(await surface.connect(AGENT).call(Desk.put)) == 1
        told = "TypeError: a plain write returned something to await; declare it with `async def`"
        assert set(faults(surface)) == {("an audit sink raised", told)}


@pytest.mark.requirement("9.2-a-sink-costs-no-call")
async def test_a_sink_that_hangs_delays_no_call_and_loses_what_it_did_not_take() -> None:
    clock, later = ManualClock(), Later()
    surface = opened(later, clock=clock)
    agent = surface.connect(AGENT)
    for count in range(3):
        assert output(await agent.call(Desk.put, {"count": count})) == count
    await turns()
    assert later.entries == [] and faults(surface) == []
    clock.advance(10)
    await turns()
    ((why, cause),) = faults(surface)
    assert why == "an audit sink was too slow" and cause.endswith("4 entries were not given to it")
    later.gate.set()
    output(await agent.call(Desk.put, {"count": 9}))
    await turns()
    assert [entry.input for entry in later.entries] == [{"count": 9}], "it gets what comes after"


@pytest.mark.requirement("9.2-a-sink-costs-no-call")
async def test_no_more_than_a_thousand_entries_wait_for_a_slow_sink() -> None:
    later = Later()
    surface = opened(later)
    agent = surface.connect(AGENT)
    await turns()
    for _ in range(1_005):
        await agent.call(Desk.put)
    later.gate.set()
    await turns(8_000)
    assert len(later.entries) == 1_001, "one in its hands, a thousand waiting"
    assert [cause.rpartition(": ")[2] for _, cause in faults(surface)] == ["5 entries were not given to it"]


@pytest.mark.requirement("9.2-sinks-get-every-entry")
def test_entries_from_before_the_loop_reach_an_async_sink_with_the_next_one() -> None:
    later = Later()
    later.gate.set()
    surface = opened(later)
    assert later.entries == []

    async def call() -> None:
        output(await surface.connect(AGENT).call(Desk.put))
        await turns()

    asyncio.run(call())
    assert [entry.type.value for entry in later.entries] == ["registration", "invocation"]


@pytest.mark.requirement("9.2-sinks-get-every-entry")
async def test_a_sink_that_was_ended_gets_nothing_more_and_a_wrong_one_is_told() -> None:
    class Undeclared:
        def write(self, entry: AuditEntry) -> Any:
            return asyncio.sleep(0)

    later, kept = Later(), Kept()
    surface = Surface(authority_of(Desk), principal="operator")
    ends = [surface.audit_to(later), surface.audit_to(kept)]
    surface.mount(Desk())
    for end in ends:
        end()
    later.gate.set()
    surface.audit_to(Undeclared())
    output(await surface.connect(AGENT).call(Desk.put))
    await turns()
    assert later.entries == [] and [entry.type.value for entry in kept.entries] == ["registration"]
    assert [cause.partition(": ")[2] for _, cause in faults(surface)] == [
        "a plain write returned something to await; declare it with `async def`"
    ]
    with pytest.raises(TypeError, match="takes what has write"):
        surface.audit_to(cast(Any, object()))
