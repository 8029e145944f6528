"""Code that wants to end the process ends its call, and nothing else (SPEC 6.1, 8.2, 9.1)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

import pytest

from remit import Component, Context, Event, EventType, Surface, Unavailable, action, observation
from remit.policies import Decision, Policy, PolicyContext
from tests.behaviour.conftest import AGENT, authority_of, failed, output


class Custom(BaseException):
    """No Exception, and no reason to end anything."""


RAISED = [SystemExit(3), GeneratorExit(), Custom("secret"), BaseExceptionGroup("secret", [Custom()])]


class Machine(Component, type="machine"):
    """A machine whose code leaves."""

    def __init__(self, leaves: BaseException) -> None:
        self.leaves = leaves

    @action
    def leave(self) -> None:
        """Leave at once."""
        raise self.leaves

    @action
    async def leave_later(self) -> None:
        """Leave after a turn."""
        await asyncio.sleep(0)
        raise self.leaves

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @observation
    def doubtful(self) -> int:
        """Whether it is available, its code does not say."""
        return 1

    @doubtful.available
    def leaves_too(self) -> Literal[True] | Unavailable:
        raise self.leaves


@pytest.mark.parametrize("leaves", RAISED, ids=[type(each).__name__ for each in RAISED])
@pytest.mark.requirement("6.1-code-that-exits-ends-its-call-only")
async def test_code_that_exits_ends_its_call_and_neither_the_lane_nor_the_server(leaves: BaseException) -> None:
    surface = Surface(authority_of(Machine), principal="operator")
    told: list[Event] = []
    surface.subscribe(told.append, types={EventType.INVOCATION_STARTED, EventType.INVOCATION_SETTLED})
    agent = surface.connect(AGENT)
    surface.mount(Machine(leaves))
    for capability in (Machine.leave, Machine.leave_later, Machine.leave):
        error = failed(await agent.call(capability), "EXECUTION_FAILED")
        assert error.details["reason"] == "handler-error" and error.details["outcome"] == "unknown"
        assert "secret" not in str(error)
    assert output(await agent.call(Machine.read)) == 1
    assert [event.type for event in told[:6]] == [EventType.INVOCATION_STARTED, EventType.INVOCATION_SETTLED] * 3
    assert sum(entry.cause is not None for entry in surface.audit()) == 3


@pytest.mark.parametrize("leaves", RAISED, ids=[type(each).__name__ for each in RAISED])
@pytest.mark.requirement("6.1-code-that-exits-ends-its-call-only")
async def test_a_predicate_or_a_policy_that_exits_closes(leaves: BaseException) -> None:
    class Leaves(Policy, name="leaves"):
        def discover(self, ctx: PolicyContext) -> Decision:
            raise leaves

    surface = Surface(authority_of(Machine), principal="operator")
    surface.mount(Machine(leaves))
    states = {listed.id: (listed.available, listed.reason) for listed in surface.connect(AGENT).capabilities()}
    assert states["view:machine.doubtful"] == (False, "when-error")
    closed = Surface(authority_of(Machine), principal="operator", policies=[Leaves()])
    closed.mount(Machine(leaves))
    assert closed.connect(AGENT).capabilities() == ()
    failed(await closed.connect(AGENT).call(Machine.read), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("6.1-code-that-exits-ends-its-call-only")
async def test_the_person_at_the_keyboard_still_ends_the_process_and_the_call_is_settled() -> None:
    class Interrupted(Component, type="interrupted"):
        """Somebody presses Ctrl-C while it runs."""

        @action
        def run(self) -> None:
            """Run."""
            raise KeyboardInterrupt

    surface = Surface(authority_of(Interrupted), principal="operator")
    told: list[Event] = []
    surface.subscribe(told.append, types={EventType.INVOCATION_SETTLED})
    surface.mount(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        await surface.connect(AGENT).call(Interrupted.run)
    assert len(told) == 1


@pytest.mark.requirement("4.1-update-takes-what-it-says")
async def test_an_update_that_says_neither_yes_nor_why_not_is_refused() -> None:
    surface = Surface(authority_of(Machine), principal="operator")
    mount = surface.mount(Machine(Custom()))
    with pytest.raises(TypeError, match="True or False"):
        mount.update(enabled="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the reason why not"):
        mount.update(available={"read": False})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="takes a mapping, not str"):
        mount.update(available="read")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"update\(reason=…\) is text, not int"):
        mount.update(enabled=False, reason=7)  # type: ignore[arg-type]
    assert output(await surface.connect(AGENT).call(Machine.read)) == 1


async def test_a_call_of_what_names_no_capability_says_what_to_write() -> None:
    agent = Surface(authority_of(Machine), principal="operator").connect(AGENT)
    for wrong in (None, Machine, 5):
        with pytest.raises(TypeError, match="names no capability"):
            await agent.call(wrong)  # type: ignore[arg-type]


class Gate(Component, type="gate"):
    """A gate whose own check ends the call it checks."""

    def __init__(self) -> None:
        self.ran = 0
        self.check: Callable[[], Awaitable[None]] | None = None

    @action(confirmation="required")
    def guarded(self) -> None:
        """Open it, after a person agreed."""
        self.ran += 1

    @action
    def swing(self) -> None:
        """Open it."""
        self.ran += 1

    @guarded.precondition
    @swing.precondition
    async def may(self) -> None:
        if self.check is not None:
            await self.check()


@pytest.mark.requirement("6.3-cancelled-never-runs")
async def test_a_call_that_was_answered_during_its_own_check_never_runs() -> None:
    surface = Surface(authority_of(Gate), principal="operator")
    surface.confirmations.subscribe(lambda request: None)
    gate = Gate()
    mount = surface.mount(gate)
    agent = surface.connect(AGENT)

    async def cancels_itself() -> None:
        surface.cancel("mine", AGENT)

    async def swallows() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    gate.check = cancels_itself
    failed(await agent.call(Gate.swing, id="mine"), "CANCELLED")
    gate.check = swallows
    running = asyncio.create_task(agent.call(Gate.swing, id="other"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert surface.cancel("other", AGENT)
    failed(await running, "CANCELLED")
    await asyncio.sleep(0)

    async def unmounts() -> None:
        mount.unmount()

    gate.check = unmounts
    failed(await agent.call(Gate.guarded), "COMPONENT_UNMOUNTED")
    await asyncio.sleep(0)
    assert gate.ran == 0
    assert surface.confirmations.pending() == ()


@pytest.mark.requirement("4.9-order")
async def test_a_priority_that_is_no_integer_is_refused() -> None:
    surface = Surface(authority_of(Gate), principal="operator")
    with pytest.raises(TypeError, match="integer"):
        surface.mount(Gate(), priority="high")  # type: ignore[arg-type]
    assert surface.connect(AGENT).capabilities() == ()


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, "5", True])
async def test_a_deadline_that_is_none_is_the_hosts_mistake(timeout: Any) -> None:
    surface = Surface(authority_of(Gate), principal="operator")
    gate = Gate()
    surface.mount(gate)
    with pytest.raises(ValueError, match="positive number of seconds"):
        await surface.connect(AGENT).call(Gate.swing, timeout=timeout)
    assert gate.ran == 0


@pytest.mark.requirement("6.1-code-that-exits-ends-its-call-only")
@pytest.mark.parametrize("place", ["handler", "progress", "within"])
def test_the_person_at_the_keyboard_ends_the_process_wherever_the_code_of_a_call_is(place: str) -> None:
    armed: list[str] = []

    def at(here: str) -> None:
        if here in armed:
            raise KeyboardInterrupt

    class Interrupted(Component, type="interrupted"):
        """Somebody presses Ctrl-C while it runs."""

        @action
        async def run(self, call: Context) -> None:
            """Run."""
            call.progress(1)
            await asyncio.sleep(0)
            at("handler")

    @contextmanager
    def within() -> Iterator[None]:
        at("within")
        yield

    surfaces: list[Surface] = []

    async def running() -> None:
        surface = Surface(authority_of(Interrupted), principal="operator", within=within)
        surfaces.append(surface)
        surface.mount(Interrupted())
        armed.append(place)
        await surface.connect(AGENT).call(Interrupted.run, progress=lambda progress: at("progress"))

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(running())
    entries = [entry for entry in surfaces[0].audit() if entry.type == "invocation"]
    assert [entry.code for entry in entries] == ["EXECUTION_FAILED"]
