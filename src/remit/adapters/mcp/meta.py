"""The `_meta` keys that travel beside arguments and results, and how values become results (SPEC 12.1, 12.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import mcp_types as types

from remit._model.outcome import Failed, Ok, untrusted_to_json
from remit._toolset.result import ToolResult, refusal, to_text, told, with_details
from remit.errors import AgentError, Issue, invalid_input

REGISTRATION: Final = "remit/registration"
SURFACE: Final = "remit/surface"
VERSION: Final = "remit/version"
INSTANCE: Final = "remit/instance"
INVOCATION: Final = "remit/invocation"
CONFIRMATION: Final = "remit/confirmation"
AVAILABILITY: Final = "remit/availability"
CHANGED: Final = "remit/changed"
UNTRUSTED: Final = "remit/untrusted"
META: Final = "remit/meta"

_SENT: Final = (REGISTRATION, SURFACE, VERSION, INSTANCE, INVOCATION, CONFIRMATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a caller sent beside its arguments."""

    registration: str | None = None
    surface: str | None = None
    version: str | None = None
    instance: str | None = None
    invocation: str | None = None
    confirmation: str | None = None


def beside(meta: Mapping[str, object] | None) -> Beside | AgentError:
    """Read a request's `_meta`; a value that is no text is the caller's mistake, and an answer."""
    values: dict[str, str | None] = {}
    for key in _SENT:
        value = None if meta is None else meta.get(key)
        if value is not None and not isinstance(value, str):
            return invalid_input([Issue(path=f"_meta.{key}", message="must be text")])
        values[key.removeprefix("remit/")] = value
    return Beside(**values)


def to_call_result(result: ToolResult) -> types.CallToolResult:
    """A tool's answer on the wire; refusals are results too, never protocol errors."""
    meta: dict[str, object] = {SURFACE: result.surface_id, VERSION: result.surface_version}
    if result.outcome.invocation_id:
        meta[INVOCATION] = result.outcome.invocation_id
    if result.outcome.surface_changed:
        meta[CHANGED] = True
    if isinstance(result.outcome, Ok) and result.outcome.untrusted:
        meta[UNTRUSTED] = untrusted_to_json(result.outcome.untrusted)
    if result.registration is not None:
        meta[REGISTRATION] = result.registration
    if result.confirmation_id is not None:
        meta[CONFIRMATION] = result.confirmation_id
    structured = None if result.structured is None else dict(result.structured)
    return _result(result.text, structured, is_error=result.is_error, meta=meta)


def to_pending_result(result: ToolResult, url: str | None) -> types.CallToolResult:
    """CONFIRMATION_REQUIRED as an ordinary result: code, confirmation id and link stand in its text (SPEC 12.5)."""
    if not isinstance(result.outcome, Failed):
        raise TypeError("only a refusal can wait for a person")
    if url is None:
        return to_call_result(result)
    text, form = told(with_details(result.outcome, url=url))
    answer = to_call_result(result)
    return answer.model_copy(update={"content": [_text(text)], "structured_content": form})


def to_error_result(error: AgentError) -> types.CallToolResult:
    """A refusal that no surface gave: no view, several views, a fault of the door."""
    text, form = refusal(error)
    return _result(text, form, is_error=True, meta={})


def to_plain_result(form: dict[str, object]) -> types.CallToolResult:
    """The answer of one of the door's own tools."""
    return _result(to_text(form), form, is_error=False, meta={})


def told_of(answer: types.CallToolResult | types.InputRequiredResult) -> str:
    """Every text that an answer would tell; what stands beside a result is in its text, or an id."""
    if isinstance(answer, types.InputRequiredResult):
        return answer.model_dump_json()
    texts = [part.text for part in answer.content if isinstance(part, types.TextContent)]
    return "\n".join([*texts, *(value for value in (answer.meta or {}).values() if isinstance(value, str))])


def _result(
    text: str, structured: Mapping[str, object] | None, *, is_error: bool, meta: Mapping[str, object]
) -> types.CallToolResult:
    return types.CallToolResult(
        content=[_text(text)],
        structured_content=structured,
        is_error=is_error,
        _meta=dict(meta) or None,
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
