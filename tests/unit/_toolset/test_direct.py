"""A toolset sends what was listed; the surface decides. Here the surface is a script, so that every request is seen."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import orjson
import pytest

from remit._base.clock import ManualClock
from remit._model.consumer import Consumer
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Kind
from remit._model.event import EventListener, EventType
from remit._model.handoff_view import HandoffState
from remit._model.ids import CapabilityId, RegistrationId, SurfaceId
from remit._model.listing import Listed, ListedComponent, Snapshot
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.request_view import ConfirmationStatus
from remit._toolset.calling import ToolCall
from remit._toolset.direct import Toolset
from remit._toolset.meta import MetaToolset
from remit._toolset.pins import UNLISTED
from remit.errors import (
    AgentError,
    ErrorCode,
    RetryAdvice,
    capability_not_found,
    confirmation_required,
    precondition_failed,
    stale_capability,
)

READ = Descriptor(
    id=CapabilityId("view:devices.table.readState"),
    kind=Kind.OBSERVATION,
    effect=Effect.READ,
    component="devices.table",
    title=None,
    description="The rows.",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema={"type": "array", "items": {"type": "string"}},
    idempotent=True,
    reversible=None,
    confirmation=Confirmation.NEVER,
)
SELECT = replace(
    READ,
    id=CapabilityId("view:devices.table.selectRows"),
    kind=Kind.ACTION,
    effect=Effect.LOCAL_STATE,
    output_schema=None,
)
DISABLE = replace(
    READ,
    id=CapabilityId("domain:devices.disable"),
    kind=Kind.REFERENCE,
    effect=Effect.DESTRUCTIVE,
    confirmation=Confirmation.ALWAYS,
    output_schema=None,
)
READ_NAME = "view_devices__table__readState"
SELECT_NAME = "view_devices__table__selectRows"


class ScriptedSurface:
    """Lists what it is told, answers what it is told, and keeps what was asked."""

    surface_id = "srf_1"

    def __init__(self) -> None:
        self.asked: list[Invocation] = []
        self.listed: list[Listed] = []
        self.answers: list[AgentError | object] = []
        self.waited: list[str] = []

    def show(self, registration: str, *descriptors: Descriptor, instance: str = "default", **state: object) -> None:
        reason = state.get("reason")
        self.listed += [
            Listed(
                descriptor=descriptor,
                registration=RegistrationId(registration),
                instance=instance,
                available=reason is None,
                reason=reason if isinstance(reason, str) else None,
            )
            for descriptor in descriptors
        ]

    def snapshot(self, consumer: Consumer) -> Snapshot:
        component = ListedComponent(
            type="devices.table",
            instance="default",
            registration=RegistrationId("-"),
            title=None,
            description="",
            priority=0,
            capabilities=tuple(one for one in self.listed if one.descriptor.kind is not Kind.REFERENCE),
        )
        return Snapshot(
            surface_id=SurfaceId(self.surface_id),
            surface_version="7",
            captured_at="2026-01-01T12:00:00Z",
            route=None,
            components=(component,),
            references=tuple(one for one in self.listed if one.descriptor.kind is Kind.REFERENCE),
        )

    async def invoke(
        self,
        invocation: Invocation,
        consumer: Consumer,
        *,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> Outcome:
        self.asked.append(invocation)
        answer = self.answers.pop(0) if self.answers else None
        own, named = invocation.id or "inv_1", invocation.capability_id
        if isinstance(answer, AgentError):
            return Failed(
                invocation_id=own, capability_id=named, error=answer, surface_version="7", surface_changed=False
            )
        return Ok(invocation_id=own, capability_id=named, output=answer, surface_version="8", surface_changed=False)

    async def continue_(
        self, confirmation_id: str, consumer: Consumer, *, progress: ProgressListener | None = None
    ) -> Outcome:
        stored = Invocation("domain:devices.disable", confirmation=confirmation_id)
        return await self.invoke(stored, consumer, progress=progress)

    async def decided(self, confirmation_id: str, consumer: Consumer, *, timeout: float) -> ConfirmationStatus | None:
        self.waited.append(confirmation_id)
        return ConfirmationStatus.APPROVED

    async def withdraw(self, confirmation_id: str, consumer: Consumer) -> bool:
        return False

    def handoff(self, handoff_id: str, consumer: Consumer) -> HandoffState | None:
        return None

    def cancel(self, invocation_id: str, consumer: Consumer) -> bool:
        return False

    def subscribe(
        self, listener: EventListener, *, types: Collection[EventType] | None = None, consumer: Consumer | None = None
    ) -> Callable[[], None]:
        return lambda: None


def toolset(surface: ScriptedSurface, *, waits: bool = False) -> Toolset:
    kind = "embedded" if waits else "mcp"
    return Toolset(surface, Consumer("copilot", kind=kind, scope=["view:**"]), waits=waits, clock=ManualClock())


def required() -> AgentError:
    return confirmation_required("cnf_1", summary="Disable", expires_at="2026-01-01T12:02:00Z", effect="destructive")


@pytest.mark.requirement("12.1-the-pinned-registration-is-sent")
async def test_an_action_carries_the_registration_it_was_listed_with() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ, SELECT)
    tools = toolset(surface)
    tools.definitions()
    await tools.call(SELECT_NAME, {"ids": ["d1"]}, call_id="call_1")
    assert surface.asked == [Invocation("view:devices.table.selectRows", {"ids": ["d1"]}, "call_1", "default", "reg_1")]


@pytest.mark.requirement("12.1-a-listing-moves-no-pin", "12.1-the-stale-answer-shows-the-successor")
async def test_an_action_listed_for_an_earlier_mount_is_sent_with_the_earlier_registration() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    tools = toolset(surface)
    tools.definitions()
    surface.listed.clear()
    surface.show("reg_2", SELECT)
    tools.definitions()  # clients list by themselves; no model has seen that
    surface.answers = [stale_capability("registration-replaced")]
    stale = await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_1"
    assert orjson.loads(stale.text)["error"]["details"]["present"]["registration"] == "reg_2"
    assert stale.registration == "reg_2"
    await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_2"


@pytest.mark.requirement("12.1-an-observation-renews-pins")
async def test_reading_a_component_is_seeing_it() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ, SELECT)
    tools = toolset(surface)
    tools.definitions()
    surface.listed.clear()
    surface.show("reg_2", READ, SELECT)
    read = await tools.call(READ_NAME)
    assert (surface.asked[-1].registration, read.registration) == (None, "reg_2")
    await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_2"


@pytest.mark.requirement("12.1-an-observation-renews-pins")
async def test_a_read_that_failed_is_not_seeing() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ, SELECT)
    tools = toolset(surface)
    tools.definitions()
    surface.listed.clear()
    surface.show("reg_2", READ, SELECT)
    surface.answers = [capability_not_found()]
    await tools.call(READ_NAME)
    await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_1"


@pytest.mark.requirement("12.1-unlisted")
async def test_an_action_that_was_never_listed_names_a_registration_that_lives_nowhere() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    surface.answers = [stale_capability("registration-replaced")]
    tools = toolset(surface)
    result = await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == UNLISTED
    assert result.registration == "reg_1"
    await tools.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_1"


@pytest.mark.requirement("12.1-the-pinned-registration-is-sent")
async def test_a_tool_that_has_gone_is_sent_as_it_was_listed() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ, SELECT)
    tools = toolset(surface)
    tools.definitions()
    surface.listed.clear()
    await tools.call(READ_NAME)
    await tools.call(SELECT_NAME)
    assert [(i.capability_id, i.registration) for i in surface.asked] == [(READ.id, "reg_1"), (SELECT.id, "reg_1")]


@pytest.mark.requirement("12.1-resolved-through-the-listing")
async def test_made_up_hidden_and_raw_names_are_equally_unknown() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ)
    surface.answers = [capability_not_found()] * 3
    tools = toolset(surface)
    results = [await tools.call(name) for name in ("made-up", SELECT_NAME, READ.id)]
    assert {result.text for result in results} == {results[0].text}
    assert [i.capability_id for i in surface.asked] == ["tool:made-up", f"tool:{SELECT_NAME}", f"tool:{READ.id}"]


@pytest.mark.requirement("12.1-a-registration-beside-overrides-the-pin")
async def test_what_stands_beside_the_arguments_overrides_the_pin() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    tools = toolset(surface)
    tools.definitions()
    await tools.invoke(ToolCall(name=SELECT_NAME, registration="reg_0", instance="main", confirmation="cnf_9"))
    sent = surface.asked[-1]
    assert (sent.registration, sent.instance, sent.confirmation) == ("reg_0", "main", "cnf_9")


@pytest.mark.requirement("12.1-instances-are-named")
async def test_several_instances_have_a_tool_each_and_the_bare_name_keeps_its_meaning() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT, instance="main")
    tools = toolset(surface)
    tools.definitions()
    surface.show("reg_2", SELECT, instance="comparison")
    names = [definition["name"] for definition in tools.definitions()]
    assert names == [f"{SELECT_NAME}_at_main", f"{SELECT_NAME}_at_comparison"]
    await tools.call(SELECT_NAME)
    assert (surface.asked[-1].instance, surface.asked[-1].registration) == ("main", "reg_1")


@pytest.mark.requirement("10.10-one-id-for-all-references")
async def test_a_reference_is_addressed_by_type_and_instance() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", DISABLE)
    tools = toolset(surface)
    tools.definitions()
    await tools.call("domain_devices__disable")
    assert surface.asked[-1].instance == "devices.table/default"


@pytest.mark.requirement("12.2-availability-leaves-definitions-equal")
def test_availability_leaves_definitions_equal_and_is_told_apart() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    tools = toolset(surface)
    before = orjson.dumps(tools.definitions())
    surface.listed.clear()
    surface.show("reg_1", SELECT, reason="nothing selected")
    assert orjson.dumps(tools.definitions()) == before
    assert tools.states() == {SELECT_NAME: {"available": False, "reason": "nothing selected"}}


@pytest.mark.requirement("12.5-structured-content")
async def test_an_output_is_text_labelled_with_its_source_and_structured_content() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ)
    surface.answers = [["d1"]]
    result = await toolset(surface).call(READ_NAME)
    assert orjson.loads(result.text) == {"source": READ.id, "data": ["d1"]}
    assert result.structured == {"result": ["d1"]}
    assert not result.is_error


@pytest.mark.requirement("7.7-embedded-waits")
async def test_an_embedded_toolset_waits_for_the_person_and_answers_once() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", DISABLE)
    surface.answers = [required(), None]
    tools = toolset(surface, waits=True)
    tools.definitions()
    result = await tools.call("domain_devices__disable", call_id="call_1")
    assert not result.is_error
    assert surface.waited == ["cnf_1"]
    assert [(i.id, i.confirmation, i.registration) for i in surface.asked] == [
        ("call_1", None, "reg_1"),
        ("call_1", "cnf_1", "reg_1"),
    ]


@pytest.mark.requirement("7.7-remote-returns")
async def test_a_remote_toolset_answers_that_a_person_is_needed() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", DISABLE)
    surface.answers = [required()]
    result = await toolset(surface).call("domain_devices__disable")
    assert result.confirmation_id == "cnf_1"
    assert (surface.waited, len(surface.asked)) == ([], 1)


@pytest.mark.requirement("7.11-never-waited-on")
async def test_a_backends_own_approval_is_not_waited_for() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", DISABLE)
    own = AgentError(
        code=ErrorCode.CONFIRMATION_REQUIRED,
        message="The backend asks for an approval of its own.",
        retry=RetryAdvice.NO,
        details={"origin": "server"},
    )
    surface.answers = [own]
    result = await toolset(surface, waits=True).call("domain_devices__disable")
    assert isinstance(result.outcome, Failed)
    assert result.outcome.error.code is ErrorCode.CONFIRMATION_REQUIRED
    assert (surface.waited, len(surface.asked)) == ([], 1)


async def test_a_call_id_outside_the_grammar_becomes_a_digest_of_itself() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ)
    tools = toolset(surface)
    await tools.call(READ_NAME, call_id="toolu 1/ä")
    await tools.call(READ_NAME, call_id="toolu 1/ä")
    first, second = (invocation.id for invocation in surface.asked)
    assert first == second
    assert first is not None
    assert first.startswith("call-")


async def test_a_call_id_that_is_no_text_is_an_error_of_the_host_before_anything_is_sent() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ)
    meta = MetaToolset(surface, Consumer("copilot", kind="mcp", scope=["view:**"]), waits=False)
    wrong: Any = 5
    for tools, name in ((toolset(surface), READ_NAME), (meta, "surface_read")):
        with pytest.raises(
            TypeError, match=r"call_id= is the text that a model gave to this call, not int\n  do  pass"
        ):
            await tools.call(name, {}, call_id=wrong)
    assert surface.asked == []


async def test_details_that_are_no_json_are_left_out_of_the_answer() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", READ)
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    odd = {"object": object(), "bytes": b"raw", "text": "\ud800", "keys": {1: 2}, "big": 2**70, "deep": deep}
    error = precondition_failed("not now", {"row": 3, **odd})
    surface.answers = [error]
    result = await toolset(surface).call(READ_NAME)
    details = {"row": 3, "reason": "not now"}
    form = {"code": "PRECONDITION_FAILED", "message": error.message, "retry": "with-changes", "details": details}
    assert orjson.loads(result.text) == result.structured == {"source": result.outcome.capability_id, "error": form}


@pytest.mark.requirement("12.1-the-stale-answer-shows-the-successor")
async def test_a_stale_answer_about_what_has_gone_shows_nothing_and_names_no_registration() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    tools = toolset(surface)
    tools.definitions()
    surface.listed.clear()
    surface.answers = [stale_capability("registration-replaced")]
    stale = await tools.call(SELECT_NAME)
    assert "present" not in orjson.loads(stale.text)["error"]["details"]
    assert stale.registration is None


@pytest.mark.requirement("12.1-a-listing-moves-no-pin")
async def test_a_toolset_that_succeeds_another_keeps_what_its_names_meant() -> None:
    surface = ScriptedSurface()
    surface.show("reg_1", SELECT)
    earlier, later = toolset(surface), toolset(surface)
    earlier.definitions()
    surface.listed.clear()
    surface.show("reg_2", SELECT)
    later.succeed(earlier)
    later.definitions()
    await later.call(SELECT_NAME)
    assert surface.asked[-1].registration == "reg_1"


@pytest.mark.requirement("7.7-embedded-waits")
async def test_a_request_that_nobody_knows_any_more_leaves_the_answer_as_it_was() -> None:
    class Forgetful(ScriptedSurface):
        async def decided(
            self, confirmation_id: str, consumer: Consumer, *, timeout: float
        ) -> ConfirmationStatus | None:
            return None

    surface = Forgetful()
    surface.show("reg_1", DISABLE)
    surface.answers = [required()]
    result = await toolset(surface, waits=True).call("domain_devices__disable")
    assert result.confirmation_id == "cnf_1"
    assert len(surface.asked) == 1


async def test_a_success_that_moved_the_listing_says_so() -> None:
    class Moving(ScriptedSurface):
        async def invoke(
            self,
            invocation: Invocation,
            consumer: Consumer,
            *,
            timeout: float | None = None,
            progress: ProgressListener | None = None,
        ) -> Outcome:
            outcome = await super().invoke(invocation, consumer, timeout=timeout, progress=progress)
            return replace(outcome, surface_changed=True)

    surface = Moving()
    surface.show("reg_1", SELECT)
    result = await toolset(surface).call(SELECT_NAME)
    assert orjson.loads(result.text) == {"source": SELECT.id, "data": None, "surfaceChanged": True}
