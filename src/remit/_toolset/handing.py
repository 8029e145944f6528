"""The fixed tool that says how a handoff stands, for agents that can only call tools (SPEC 11.7)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from remit._base.boundary import Json
from remit._model.consumer import Consumer
from remit._model.handoff_view import HandoffState
from remit._model.listing import Listed
from remit._model.outcome import Failed, Ok
from remit._model.port import SurfacePort
from remit._toolset.calling import ToolCall
from remit._toolset.definitions import Definition, Hints
from remit._toolset.result import Called, ToolResult, to_result
from remit.errors import AgentError, Issue, capability_not_found, invalid_input

HANDOFF: Final = "surface_handoff"
ARGUMENT: Final = "handoff_id"
PREFIX: Final = "hnd_"

_INPUT: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {ARGUMENT: {"type": "string", "description": "The handoff_id of a HANDOFF_REQUIRED answer."}},
    "required": [ARGUMENT],
    "additionalProperties": False,
}
DEFINITION: Final = Definition(
    id=HANDOFF,
    title=None,
    description=(
        "Ask how a step stands that only the person does, and what came of it: pending, completed, declined, expired "
        "or cancelled. It does nothing itself. A flow that waits for the step goes on by itself; repeat its call to "
        "read what came of it."
    ),
    input_schema=_INPUT,
    output_schema=None,
    wraps=False,
    hints=Hints(read_only=True, destructive=False, idempotent=True, open_world=False),
)
"""Equal bytes for everybody."""


def hands(listed: Listed) -> bool:
    """Whether this is a step that only a person does: where one is listed, so is the tool."""
    return listed.descriptor.handoff is not None


def asked_for(arguments: Mapping[str, object] | None) -> str | AgentError:
    """The handoff that a call of the tool names, or why it names none."""
    given = {} if arguments is None else arguments
    id = given.get(ARGUMENT)
    if not isinstance(id, str):
        return invalid_input([Issue(path=ARGUMENT, message="is required, a text")])
    if len(given) > 1:
        return invalid_input([Issue(path="", message=f"only {ARGUMENT} is allowed")])
    return id


def told(port: SurfacePort, consumer: Consumer, call: ToolCall, id: str) -> ToolResult | None:
    """How a handoff of this consumer stands on one surface; None: there it has none of this id, or none in reach."""
    state = port.handoff(id, consumer)
    return None if state is None else _result(port, consumer, call, state)


def handoff_result(port: SurfacePort, consumer: Consumer, call: ToolCall) -> ToolResult:
    """The answer to a call of the tool: every id that is not a handoff of this consumer's gets the same."""
    id = asked_for(call.arguments)
    found = told(port, consumer, call, id) if isinstance(id, str) else None
    return found or _result(port, consumer, call, capability_not_found() if isinstance(id, str) else id)


def _result(port: SurfacePort, consumer: Consumer, call: ToolCall, found: HandoffState | AgentError) -> ToolResult:
    version = port.snapshot(consumer).surface_version
    called = Called(name=call.name, call_id=call.id, definition=None, registration=None, surface_id=port.surface_id)
    if isinstance(found, AgentError):
        failed = Failed(
            invocation_id=call.id or "",
            capability_id=HANDOFF,
            error=found,
            surface_version=version,
            surface_changed=False,
        )
        return to_result(failed, called)
    form = found.to_json()
    ok = Ok(
        invocation_id=call.id or "",
        capability_id=HANDOFF,
        output=form,
        surface_version=version,
        surface_changed=False,
        untrusted="untrusted" in form,
    )
    return replace(to_result(ok, called), structured=form)
