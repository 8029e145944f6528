"""What users expect of calls: queues, retries, evidence, navigation. `spec/expectations.toml` names these tests."""

import asyncio
from typing import Any

import pytest

from remit import (
    BackendError,
    Component,
    Consumer,
    Context,
    EventType,
    ManualClock,
    Ok,
    Principal,
    Procedures,
    Refused,
    Surface,
    action,
    observation,
    reference,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Desk(Component, type="desk"):
    """A desk."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.ran: list[str] = []

    @action
    async def hold(self, name: str) -> str:
        """Hold."""
        self.ran.append(name)
        await self.gate.wait()
        return name

    @action
    def put(self, name: str) -> str:
        """Put."""
        self.ran.append(name)
        return name

    @action(confirmation="required")
    def clear(self, count: int = 1, why: str = "") -> int:
        """Clear."""
        self.ran.append(f"clear {count}")
        return count


def opened(clock: ManualClock | None = None) -> tuple[Surface, Desk]:
    surface = Surface(authority_of(Desk), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    surface.mount(desk)
    return surface, desk


async def test_a_call_in_the_queue_never_runs_once_its_component_has_gone() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    desk = Desk()
    mount = surface.mount(desk)
    agent = surface.connect(AGENT)
    calls = [asyncio.create_task(agent.call(Desk.hold, {"name": name})) for name in ("first", "second")]
    await turns()
    assert desk.ran == ["first"]
    mount.unmount()
    desk.gate.set()
    for call in calls:
        failed(await call, "COMPONENT_UNMOUNTED")
    assert desk.ran == ["first"]


async def test_the_same_id_for_something_else_conflicts_with_a_running_call() -> None:
    surface, desk = opened()
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Desk.hold, {"name": "first"}, id="one"))
    await turns()
    for capability, name in ((Desk.hold, "second"), (Desk.put, "first")):
        error = failed(await agent.call(capability, {"name": name}, id="one"), "INVOCATION_CONFLICT")
        assert error.details == {"reason": "different-call"}
    desk.gate.set()
    assert output(await running) == "first"
    assert desk.ran == ["first"]


async def test_after_a_request_expired_the_same_id_asks_again() -> None:
    clock = ManualClock()
    surface, desk = opened(clock)
    agent = surface.connect(AGENT)
    first = failed(await agent.call(Desk.clear, id="one"), "CONFIRMATION_REQUIRED").details["confirmation_id"]
    clock.advance(121)
    second = failed(await agent.call(Desk.clear, id="one"), "CONFIRMATION_REQUIRED").details["confirmation_id"]
    assert second != first
    await surface.confirmations.approve(str(second), OPERATOR)
    assert output(await agent.call(Desk.clear, id="one", confirmation=str(second))) == 1
    assert desk.ran == ["clear 1"]


async def test_evidence_covers_the_same_values_in_any_order_of_keys_and_once() -> None:
    surface, desk = opened()
    agent = surface.connect(AGENT)
    asked = failed(await agent.call(Desk.clear, {"count": 2, "why": "old"}), "CONFIRMATION_REQUIRED")
    evidence = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    changed = await agent.call(Desk.clear, {"why": "older", "count": 2}, confirmation=evidence)
    assert failed(changed, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert output(await agent.call(Desk.clear, {"why": "old", "count": 2}, confirmation=evidence)) == 2
    again = await agent.call(Desk.clear, {"count": 2, "why": "old"}, confirmation=evidence, id="another")
    assert failed(again, "CONFIRMATION_INVALID").details["reason"] == "spent"
    assert desk.ran == ["clear 2"]


async def test_evidence_of_a_component_that_has_gone_runs_nothing() -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    mount = surface.mount(desk)
    agent = surface.connect(AGENT)
    agent.capabilities()
    evidence = str(failed(await agent.call(Desk.clear), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    mount.unmount()
    failed(await agent.call(Desk.clear, confirmation=evidence), "COMPONENT_UNMOUNTED")
    assert desk.ran == []


async def test_a_late_approval_of_an_expired_request_has_no_effect_and_the_journal_says_expired() -> None:
    clock = ManualClock()
    surface, desk = opened(clock)
    agent = surface.connect(AGENT)
    evidence = str(failed(await agent.call(Desk.clear), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    clock.advance(121)
    with pytest.raises(RuntimeError, match="expired"):
        await surface.confirmations.approve(evidence, OPERATOR)
    told = failed(await agent.call(Desk.clear, confirmation=evidence), "CONFIRMATION_INVALID")
    assert told.details["reason"] == "expired" and told.retry == "with-confirmation"
    statuses = [entry.status for entry in surface.audit() if entry.confirmation == evidence and entry.status]
    assert "expired" in statuses and "denied" not in statuses and desk.ran == []


async def test_neither_a_locked_field_nor_a_failing_binding_creates_a_request() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe(ids: list[str], why: str = "") -> int:
        """Wipe."""
        raise AssertionError("nothing was approved")

    class Page(Component, type="page"):
        """A page."""

        broken = False
        wipe = reference("domain:wipe")

        @wipe.bind("ids")
        def _(self) -> list[str]:
            if self.broken:
                raise LookupError
            return ["d1"]

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    page = Page()
    surface.mount(page)
    agent = surface.connect(AGENT)
    assert failed(await agent.call("domain:wipe", {"ids": ["d1"]}), "INVALID_INPUT").details["locked_fields"] == ["ids"]
    page.broken = True
    for input in ({}, {"why": "x"}, {"ids": ["d1"]}):
        failed(await agent.call("domain:wipe", input))
    assert surface.confirmations.pending() == ()
    page.broken = False
    failed(await agent.call("domain:wipe"), "CONFIRMATION_REQUIRED")
    assert len(surface.confirmations.pending()) == 1


async def test_changes_elsewhere_do_not_end_an_open_question() -> None:
    surface, desk = opened()
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    tools.definitions()
    calling = asyncio.create_task(tools.call("view_desk__clear", {"count": 3}))
    await turns()
    (request,) = surface.confirmations.pending()
    with surface.mount(Desk(), "elsewhere") as other:
        other.update(available={"put": "Not now"})
        surface.policies_changed()
        surface.set_route("/elsewhere")
    await turns()
    await surface.confirmations.approve(request.id, OPERATOR)
    assert output((await calling).outcome) == 3
    assert desk.ran == ["clear 3"]


async def test_a_navigation_that_fails_is_a_failure_and_one_called_off_is_cancelled() -> None:
    class Menu(Component, type="menu"):
        """A menu."""

        @action(effect="navigation")
        async def leave(self, to: str) -> None:
            """Leave."""
            if to == "nowhere":
                raise LookupError(to)
            await asyncio.Event().wait()

    surface = Surface(authority_of(Menu), principal="operator")
    surface.mount(Menu())
    agent = surface.connect(AGENT)
    assert failed(await agent.call(Menu.leave, {"to": "nowhere"}), "EXECUTION_FAILED").details["reason"] == (
        "handler-error"
    )
    leaving = asyncio.create_task(agent.call(Menu.leave, {"to": "reports"}, id="leaving"))
    await turns()
    assert surface.cancel("leaving", AGENT)
    failed(await leaving, "CANCELLED")


async def test_a_navigation_of_a_component_that_has_gone_says_so() -> None:
    class Menu(Component, type="menu"):
        """A menu."""

        @action(effect="navigation")
        def leave(self) -> None:
            """Leave."""
            raise AssertionError("it has gone")

    surface = Surface(authority_of(Menu), principal="operator")
    agent = surface.connect(AGENT)
    with surface.mount(Menu()):
        agent.capabilities()
    failed(await agent.call(Menu.leave), "COMPONENT_UNMOUNTED")


async def test_an_async_precondition_is_awaited_and_its_refusal_counts() -> None:
    class Door(Component, type="door"):
        """A door."""

        @action
        def open(self, number: int) -> str:
            """Open."""
            return "open"

        @open.precondition
        async def _(self, number: int) -> Refused | None:
            await turns(3)
            return None if number == 1 else Refused("Wrong code")

    surface = Surface(authority_of(Door), principal="operator")
    surface.mount(Door())
    agent = surface.connect(AGENT)
    assert failed(await agent.call(Door.open, {"number": 2}), "PRECONDITION_FAILED").details["reason"] == "Wrong code"
    assert output(await agent.call(Door.open, {"number": 1})) == "open"


@pytest.mark.parametrize("end", ["deadline", "cancel", "unmount"])
async def test_a_cancelled_or_late_handler_lets_go_of_what_it_holds(end: str) -> None:
    held: list[str] = []
    signals: list[bool] = []

    class Pump(Component, type="pump"):
        """A pump."""

        @action
        async def run(self, call: Context) -> None:
            """Run."""
            held.append("valve")
            try:
                await asyncio.Event().wait()
            finally:
                signals.append(call.cancelled.is_set())
                held.remove("valve")

    clock = ManualClock()
    surface = Surface(authority_of(Pump), principal="operator", clock=clock)
    mount = surface.mount(Pump())
    running = asyncio.create_task(surface.connect(AGENT).call(Pump.run, id="one"))
    await turns()
    assert held == ["valve"]
    if end == "deadline":
        clock.advance(10)
    elif end == "cancel":
        surface.cancel("one", AGENT)
    else:
        mount.unmount()
    codes = {"deadline": "TIMEOUT", "cancel": "CANCELLED", "unmount": "COMPONENT_UNMOUNTED"}
    failed(await running, codes[end])
    await turns()
    assert (held, signals) == ([], [True])


async def test_a_broken_output_after_a_write_is_stored_and_not_run_again() -> None:
    class Table(Component, type="table"):
        """A table."""

        def __init__(self) -> None:
            self.written = 0

        @action
        def write(self) -> int:
            """Write."""
            self.written += 1
            text: Any = "no number"
            return text  # type: ignore[no-any-return]

        @observation
        def read(self) -> int:
            """Read."""
            return self.written

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    first = await agent.call(Table.write, id="one")
    error = failed(first, "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"], error.retry) == ("output-invalid", "done", "no")
    assert await agent.call(Table.write, id="one") == first
    assert output(await agent.call(Table.read)) == 1


async def test_a_persons_own_click_asks_nobody_and_the_backend_still_judges_it() -> None:
    backend = Procedures()
    wiped: list[str] = []

    @backend.operation("wipe", effect="destructive")
    async def wipe(id: str, caller: Principal) -> int:
        """Wipe."""
        if "admin" not in caller.grants:
            raise BackendError(403)
        wiped.append(id)
        return len(wiped)

    class Page(Component, type="page"):
        """A page."""

        wipe = reference("domain:wipe")

        async def clicked(self, caller: Principal) -> int:
            return await wipe("d1", caller)

        @action(confirmation="required")
        def reset(self) -> str:
            """Reset."""
            return "reset"

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type), types={EventType.CONFIRMATION_REQUESTED})
    surface.confirmations.subscribe(lambda view: None)
    page = Page()
    surface.mount(page)
    assert page.reset() == "reset"
    with pytest.raises(BackendError):
        await page.clicked(Principal("operator"))
    assert await page.clicked(Principal("operator", grants={"admin"})) == 1
    assert heard == [] and wiped == ["d1"]
    assert not isinstance(await surface.connect(AGENT).call("domain:wipe", {"id": "d2"}), Ok)
    assert heard == [EventType.CONFIRMATION_REQUESTED] and wiped == ["d1"]
