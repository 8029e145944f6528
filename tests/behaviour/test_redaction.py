"""What `.redact` keeps from agents and from the journal (SPEC 3.1, 6.2, 8.4, 9.2; decision 18)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from remit import (
    CancelCause,
    Component,
    DefinitionError,
    ManualClock,
    Outcome,
    Payload,
    PayloadPart,
    PayloadReader,
    Principal,
    Procedures,
    Surface,
    action,
    observation,
    reference,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, contract_of, failed, journal, output, turns

TOKEN = "secret-4711"


@dataclass
class Secret:
    """A serial and what is said of it."""

    serial: str
    note: str


def without_token(payload: Payload) -> object:
    """The value with every `serial` masked."""
    if isinstance(payload.value, dict) and "serial" in payload.value:
        payload.value["serial"] = "***"
    return payload.value


class Settings(Component, type="settings"):
    """Settings with a serial."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.given: list[tuple[str, str]] = []
        self.fault: BaseException | None = None
        self.fault_for: PayloadReader | None = None

    @observation
    def read(self) -> Secret:
        """Read."""
        return Secret(TOKEN, "a")

    @action(audit="full")
    def put(self, serial: str) -> Secret:
        """Put."""
        self.stored.append(serial)
        return Secret(serial, "stored")

    @action(audit="full")
    def clear(self) -> None:
        """Clear."""

    @action
    def quiet(self, serial: str) -> Secret:
        """Put, at the level metadata."""
        return Secret(serial, "")

    @read.redact
    @put.redact
    @clear.redact
    @quiet.redact
    def hide(self, payload: Payload) -> object:
        self.given.append((payload.part.value, payload.reader.value))
        if self.fault is not None and payload.reader is (self.fault_for or payload.reader):
            raise self.fault
        return without_token(payload)


def opened(clock: ManualClock | None = None) -> tuple[Surface, Settings]:
    surface = Surface(authority_of(Settings), principal="operator", clock=clock)
    settings = Settings()
    surface.mount(settings)
    return surface, settings


@pytest.mark.requirement("3.1-redact-for-the-agent")
async def test_the_agent_gets_what_the_redactor_let_through_and_so_does_a_repeat() -> None:
    surface, settings = opened()
    agent = surface.connect(AGENT)
    assert output(await agent.call(Settings.read)) == {"serial": "***", "note": "a"}
    first = await agent.call(Settings.put, {"serial": TOKEN}, id="same")
    assert output(first) == {"serial": "***", "note": "stored"} and settings.stored == [TOKEN]
    assert await agent.call(Settings.put, {"serial": TOKEN}, id="same") == first and settings.stored == [TOKEN]


@pytest.mark.requirement("3.1-redact-before-the-schema")
@pytest.mark.parametrize("returned", [{"serial": 5, "note": ""}, ["a"], None, object(), {"serial": ("a",)}])
async def test_what_a_redactor_returns_is_held_against_the_output_schema(returned: object) -> None:
    class Card(Component, type="card"):
        """A card."""

        @action
        def put(self) -> Secret:
            """Put."""
            return Secret(TOKEN, "")

        @put.redact
        def _(self, payload: Payload) -> object:
            return returned

    surface = Surface(authority_of(Card), principal="operator")
    surface.mount(Card())
    error = failed(await surface.connect(AGENT).call(Card.put), "EXECUTION_FAILED")
    assert error.details["reason"] == "output-invalid" and error.details["outcome"] == "done"
    assert TOKEN not in repr(error)


@pytest.mark.requirement("3.1-redact-fails-closed")
@pytest.mark.parametrize("fault", [RuntimeError(TOKEN), SystemExit(TOKEN), KeyError(TOKEN)])
async def test_a_failing_redactor_hands_nothing_out_and_what_was_done_is_done(fault: BaseException) -> None:
    surface, settings = opened()
    settings.fault = fault
    agent = surface.connect(AGENT)
    for capability, input, happened in ((Settings.read, {}, "none"), (Settings.quiet, {"serial": TOKEN}, "done")):
        outcome = await agent.call(capability, input)
        error = failed(outcome, "EXECUTION_FAILED")
        assert error.details["reason"] == "handler-error" and error.details["outcome"] == happened
        assert str(error.details["correlation_id"]).startswith("err_")
        assert TOKEN not in repr(outcome)
        (entry,) = [each for each in journal(surface) if str(error.details["correlation_id"]) in str(each.why)]
        assert "in hide" in str(entry.cause) and type(fault).__name__ in str(entry.cause)
    assert TOKEN not in repr(surface.audit()), "what a redactor raises may hold what it was to hide"


@pytest.mark.requirement("9.2-payloads-through-the-redactor")
async def test_the_journal_keeps_at_full_what_the_redactor_let_through_and_nothing_below() -> None:
    surface, settings = opened()
    agent = surface.connect(AGENT)
    output(await agent.call(Settings.quiet, {"serial": TOKEN}))
    assert settings.given == [("output", "agent")]
    (below,) = journal(surface)
    assert (below.payload, below.input, below.output, below.dropped) == (False, None, None, None)
    settings.given.clear()
    output(await agent.call(Settings.put, {"serial": TOKEN}))
    assert settings.given == [("output", "agent"), ("input", "journal"), ("output", "journal")]
    entry = journal(surface)[-1]
    assert (entry.input, entry.output) == ({"serial": "***"}, {"serial": "***", "note": "stored"}) and entry.payload
    settings.given.clear()
    assert output(await agent.call(Settings.clear)) is None
    assert settings.given == [("input", "journal")], "null holds nothing"
    assert TOKEN not in repr(surface.audit())


@pytest.mark.requirement("9.2-a-failing-redactor-drops-the-payload")
@pytest.mark.parametrize("fault", [RuntimeError(TOKEN), SystemExit(TOKEN)])
async def test_a_redactor_that_fails_for_the_journal_drops_the_payload_and_never_the_call(fault: BaseException) -> None:
    surface, settings = opened()
    settings.fault, settings.fault_for = fault, PayloadReader.JOURNAL
    assert output(await surface.connect(AGENT).call(Settings.put, {"serial": TOKEN})) == {
        "serial": "***",
        "note": "stored",
    }
    *faults, entry = journal(surface)
    assert (entry.payload, entry.input, entry.output) == (False, None, None)
    assert entry.dropped == "input: the redactor failed; output: the redactor failed"
    assert [(each.type.value, each.capability) for each in faults] == [("fault", "view:settings.put")] * 2
    assert TOKEN not in repr(surface.audit())


@pytest.mark.requirement("9.2-payloads-through-the-redactor")
async def test_a_refused_call_at_full_is_redacted_too_and_its_payload_is_cut_to_its_size() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe(serial: str) -> Secret:
        """Wipe."""
        return Secret(serial, "x" * 9_000)

    class Page(Component, type="page"):
        """A page."""

        wipe = reference("domain:wipe")

        @wipe.redact
        def _(self, payload: Payload) -> object:
            return without_token(payload)

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Page())
    agent = surface.connect(AGENT)
    asked = failed(await agent.call("domain:wipe", {"serial": TOKEN}), "CONFIRMATION_REQUIRED")
    entry = journal(surface)[-1]
    assert (entry.code, entry.input, entry.output) == ("CONFIRMATION_REQUIRED", {"serial": "***"}, None)
    evidence = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    told = output(await agent.call("domain:wipe", {"serial": TOKEN}, confirmation=evidence))
    assert isinstance(told, dict) and told["serial"] == "***"
    entry = journal(surface)[-1]
    assert (entry.input, entry.output) == ({"serial": "***"}, None)
    assert entry.payload and entry.dropped == "output: 9026 bytes"
    assert TOKEN not in repr(surface.audit())


class Vault(Component, type="vault"):
    """A vault with an async redactor."""

    def __init__(self) -> None:
        self.gates = {reader: asyncio.Event() for reader in PayloadReader}
        self.parts: list[tuple[PayloadReader, PayloadPart]] = []
        self.ran = 0
        self.fault: BaseException | None = None

    @action(audit="full")
    def put(self, serial: str) -> Secret:
        """Put."""
        self.ran += 1
        return Secret(serial, "")

    @observation
    async def read(self) -> Secret:
        """Read."""
        return Secret(TOKEN, "")

    @action(effect="navigation")
    async def leave(self) -> Secret:
        """Leave."""
        return Secret(TOKEN, "")

    @put.redact
    @read.redact
    @leave.redact
    async def hide(self, payload: Payload) -> object:
        self.parts.append((payload.reader, payload.part))
        await self.gates[payload.reader].wait()
        if self.fault is not None:
            raise self.fault
        return without_token(payload)


def vault(clock: ManualClock | None = None) -> tuple[Surface, Vault]:
    surface = Surface(authority_of(Vault), principal="operator", clock=clock)
    component = Vault()
    surface.mount(component)
    return surface, component


@pytest.mark.requirement("3.1-redact-async")
async def test_an_async_redactor_is_awaited_for_the_agent_and_not_for_the_journal() -> None:
    surface, component = vault()
    component.gates[PayloadReader.AGENT].set()
    told = await surface.connect(AGENT).call(Vault.put, {"serial": TOKEN}, id="one")
    assert output(told) == {"serial": "***", "note": ""}
    (entry,) = journal(surface)
    assert not entry.payload and "see the payload entry" in (entry.dropped or "")
    component.gates[PayloadReader.JOURNAL].set()
    await turns()
    (kept,) = surface.audit(types={"payload"}, invocation="one")
    assert (kept.input, kept.output, kept.dropped) == ({"serial": "***"}, {"serial": "***", "note": ""}, None)
    assert component.parts == [
        (PayloadReader.AGENT, PayloadPart.OUTPUT),
        (PayloadReader.JOURNAL, PayloadPart.INPUT),
        (PayloadReader.JOURNAL, PayloadPart.OUTPUT),
    ]
    assert (kept.capability, kept.consumer, kept.principal) == ("view:vault.put", AGENT.key, "operator")
    assert TOKEN not in repr(surface.audit())


@pytest.mark.requirement("3.1-redact-within-the-deadline")
async def test_a_redactor_that_hangs_ends_with_the_deadline_and_the_effect_is_done() -> None:
    clock = ManualClock()
    surface, component = vault(clock)
    agent = surface.connect(AGENT)
    running = asyncio.create_task(agent.call(Vault.put, {"serial": TOKEN}, id="one"))
    reading = asyncio.create_task(agent.call(Vault.read))
    await turns()
    clock.advance(5)
    assert failed(await reading, "TIMEOUT").details["outcome"] == "none"
    assert not running.done() and component.ran == 1
    clock.advance(5)
    error = failed(await running, "TIMEOUT")
    assert error.details["outcome"] == "done" and TOKEN not in repr(error)
    assert await agent.call(Vault.put, {"serial": TOKEN}, id="one") == await running and component.ran == 1
    await turns()
    clock.advance(10)  # the one for the journal hangs as well
    await turns()
    (kept,) = surface.audit(types={"payload"})
    assert (kept.payload, kept.dropped) == (False, "input: the redactor failed")
    assert any("NotInTime" in (entry.cause or "") for entry in journal(surface))
    assert TOKEN not in repr(surface.audit())


@pytest.mark.requirement("3.1-redact-within-the-deadline")
async def test_a_plain_redactor_that_held_the_loop_beyond_the_deadline_is_a_timeout_of_what_is_done() -> None:
    clock = ManualClock()

    class Slow(Component, type="slow"):
        """Slow."""

        @action
        def put(self) -> str:
            """Put."""
            return "a"

        @put.redact
        def _(self, payload: Payload) -> object:
            clock.advance(11)
            return payload.value

    surface = Surface(authority_of(Slow), principal="operator", clock=clock)
    surface.mount(Slow())
    error = failed(await surface.connect(AGENT).call(Slow.put), "TIMEOUT")
    assert (error.details["outcome"], error.details["timeout_ms"]) == ("done", 10_000)
    assert [entry.type.value for entry in surface.audit()][-2:] == ["slow", "invocation"]


@pytest.mark.requirement("3.1-redact-async")
@pytest.mark.parametrize("how", ["raise", "cancel", "unmount", "dispose"])
async def test_whatever_ends_a_call_while_its_output_is_redacted_says_that_it_is_done(how: str) -> None:
    surface, component = vault()
    mount = surface.mount(component2 := Vault(), "second")
    running = asyncio.create_task(
        surface.connect(AGENT).call(Vault.put, {"serial": TOKEN}, id="one", instance="second")
    )
    await turns()
    assert component2.ran == 1 and not running.done() and component.ran == 0
    if how == "raise":
        component2.fault = RuntimeError(TOKEN)
        component2.gates[PayloadReader.AGENT].set()
    elif how == "cancel":
        assert surface.cancel("one", AGENT)
    elif how == "unmount":
        mount.unmount(CancelCause.UNMOUNTED)
    else:
        surface.dispose()
    outcome = await running
    code = {"raise": "EXECUTION_FAILED", "unmount": "COMPONENT_UNMOUNTED"}.get(how, "CANCELLED")
    assert failed(outcome, code).details["outcome"] == "done" and TOKEN not in repr(outcome)


@pytest.mark.requirement("3.1-redact-async")
async def test_a_navigation_that_outlives_its_component_is_redacted_all_the_same() -> None:
    surface, component = vault()
    surface.mount(leaving := Vault(), "second").unmount()
    mount = surface.mount(leaving, "third")
    running = asyncio.create_task(surface.connect(AGENT).call(Vault.leave, instance="third"))
    await turns()
    mount.unmount()
    leaving.gates[PayloadReader.AGENT].set()
    assert output(await running) == {"serial": "***", "note": ""}
    assert component.ran == 0


@pytest.mark.requirement("3.1-redact-is-in-the-contract")
def test_the_contract_says_which_capabilities_have_a_redactor() -> None:
    class Plain(Component, type="settings"):
        """Settings with a serial."""

        @action
        def quiet(self) -> str:
            """Put."""
            return ""

    assert contract_of(Settings).count(b'"redact": true') == 4
    assert b"redact" not in contract_of(Plain)
    surface = Surface(authority_of(Settings), principal="operator")
    recorded = authority_of(Plain)

    class Edited(Component, type="settings"):
        """Settings with a serial."""

        @action
        def quiet(self) -> str:
            """Put."""
            return ""

        @quiet.redact
        def _(self, payload: Payload) -> object:
            return payload.value

    with pytest.raises(DefinitionError, match="redact differs"):
        Surface(recorded, principal="operator").mount(Edited())
    assert surface.mounted(Settings) == ()


@pytest.mark.requirement("3.1-redact-takes-a-payload")
def test_a_redactor_takes_the_instance_and_a_payload_and_is_no_generator() -> None:
    def nothing(self: Any) -> object:
        return None

    def more(self: Any, payload: Payload, other: int) -> object:
        return other

    def generator(self: Any, payload: Payload) -> Any:
        yield payload

    async def stream(self: Any, payload: Payload) -> Any:
        yield payload

    wrongs: tuple[Any, ...] = (nothing, more, generator, stream, "text")
    for wrong in wrongs:

        @observation
        def read(self: Any) -> str:
            """Read."""
            return ""

        with pytest.raises(DefinitionError, match=r"\.redact takes"):
            read.redact(wrong)


class Closet(Component, type="closet"):
    """A closet whose redactors are a plain and an async one."""

    def __init__(self) -> None:
        self.asked = 0
        self.before: Callable[[], None] = lambda: None
        self.answer: object = {"serial": "***"}

    @action(audit="full")
    def put(self, serial: str) -> None:
        """Put."""

    @put.precondition
    def _(self) -> None:
        self.before()

    @put.redact
    def _(self, payload: Payload) -> object:
        self.asked += 1
        return self.answer

    @action(audit="full")
    def hide(self, serial: str) -> None:
        """Hide."""

    @hide.precondition
    def _(self) -> None:
        self.before()

    @hide.redact
    async def _(self, payload: Payload) -> object:
        self.asked += 1
        return self.answer


@pytest.mark.requirement("9.2-a-failing-redactor-drops-the-payload")
@pytest.mark.parametrize("capability", [Closet.put, Closet.hide])
async def test_where_the_component_had_gone_no_redactor_is_asked_and_no_payload_kept(capability: Any) -> None:
    person: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Closet), principal=lambda: person[0])
    closet = Closet()
    surface.mount(closet)

    def leave() -> None:
        person[0] = None
        surface.snapshot(AGENT)

    closet.before = leave
    failed(await surface.connect(AGENT).call(capability, {"serial": TOKEN}), "COMPONENT_UNMOUNTED")
    entry = journal(surface)[-1]
    assert (entry.payload, closet.asked) == (False, 0)
    assert entry.dropped == "the component had gone before its redactor could be asked"
    assert TOKEN not in repr(surface.audit())


@pytest.mark.requirement("9.2-a-failing-redactor-drops-the-payload")
async def test_what_a_redactor_gives_the_journal_and_is_no_json_is_not_kept() -> None:
    surface = Surface(authority_of(Closet), principal="operator")
    closet = Closet()
    surface.mount(closet)
    closet.answer = object()
    assert output(await surface.connect(AGENT).call(Closet.put, {"serial": TOKEN})) is None
    entry = journal(surface)[-1]
    assert (entry.input, closet.asked) == (None, 1)
    assert str(entry.dropped).startswith("input: what the redactor returned is no JSON: ")


@pytest.mark.requirement("9.2-a-failing-redactor-drops-the-payload")
def test_a_call_that_ends_outside_its_loop_asks_no_async_redactor() -> None:
    class Slow(Component, type="slow"):
        """Something slow."""

        @action(audit="full")
        async def put(self, serial: str) -> None:
            """Put."""
            await asyncio.Event().wait()

        @put.redact
        async def _(self, payload: Payload) -> object:
            raise AssertionError("there is no loop to ask it in")

    loop = asyncio.new_event_loop()
    surface = Surface(authority_of(Slow), principal="operator")
    surface.mount(Slow())

    async def begin() -> "asyncio.Task[Outcome]":
        running = asyncio.create_task(surface.connect(AGENT).call(Slow.put, {"serial": TOKEN}))
        await turns()
        return running

    running = loop.run_until_complete(begin())
    surface.dispose()
    failed(loop.run_until_complete(running), "CANCELLED")
    loop.run_until_complete(turns())
    loop.close()
    entry = next(each for each in surface.audit() if each.type == "invocation")
    assert entry.input is None
    assert entry.dropped == "the event loop had ended before the redactor could be asked"
