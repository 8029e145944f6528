"""What a call gives back to a model: one JSON text, structured content, and where it came from (SPEC 11.15, 12.5)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import orjson

from remit._model.listing import Listed
from remit._model.outcome import Failed, Ok, Outcome, untrusted_to_json
from remit._model.steps import StepsDone
from remit._model.wire import error_to_json
from remit._toolset.definitions import WRAPPED, Definition
from remit.errors import AgentError, ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One answer to one tool call.

    `text` is one JSON value: `{"source", "data"}` of a success, `{"source", "error"}` of a refusal; run-time text in it
    is data and nothing else, and a success that is from outside says so: `untrusted` (SPEC 3.14).
    `registration` is the one that was called, or the one that the answer shows instead.
    """

    name: str
    call_id: str | None
    outcome: Outcome
    text: str
    structured: Mapping[str, object] | None
    registration: str | None
    surface_id: str

    @property
    def is_error(self) -> bool:
        """True for every refusal and failure."""
        return isinstance(self.outcome, Failed)

    @property
    def surface_version(self) -> str:
        """The version of the surface for this consumer when the call had settled."""
        return self.outcome.surface_version

    @property
    def confirmation_id(self) -> str | None:
        """The id of the request that a person must answer first; None for every other answer."""
        return asked(self.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """Which tool a result belongs to."""

    name: str
    call_id: str | None
    definition: Definition | None
    registration: str | None
    surface_id: str


def to_result(outcome: Outcome, called: Called) -> ToolResult:
    """Shape an outcome; nothing but what the outcome says gets into the text."""
    structured: Mapping[str, object] | None
    if isinstance(outcome, Ok):
        text = success_text(outcome)
        structured = _structured(outcome.output, called.definition)
    else:
        text, structured = told(outcome)
    # What is not there has no registration, whatever was called and whatever the caller had been shown (SPEC 4.7).
    unknown = isinstance(outcome, Failed) and outcome.error.code is ErrorCode.CAPABILITY_NOT_FOUND
    return ToolResult(
        name=called.name,
        call_id=called.call_id,
        outcome=outcome,
        text=text,
        structured=structured,
        registration=None if unknown else called.registration,
        surface_id=called.surface_id,
    )


def success_text(outcome: Ok) -> str:
    """`{"source", "data"}`, `surfaceChanged` when the listing moved, `untrusted` for text from outside, `steps`."""
    form: dict[str, object] = {"source": outcome.capability_id, "data": outcome.output}
    if outcome.surface_changed:
        form["surfaceChanged"] = True
    if outcome.untrusted:
        form["untrusted"] = untrusted_to_json(outcome.untrusted)
    if outcome.steps is not None:
        form["steps"] = outcome.steps.to_json()
    return to_text(form)


def told(outcome: Failed) -> tuple[str, dict[str, object]]:
    """The refusal of a call, with what was called as its source (SPEC 11.15); what is not there is no source."""
    unknown = outcome.error.code is ErrorCode.CAPABILITY_NOT_FOUND
    return refusal(outcome.error, None if unknown else outcome.capability_id, outcome.steps)


def refusal(
    error: AgentError, source: str | None = None, steps: StepsDone | None = None
) -> tuple[str, dict[str, object]]:
    """`{"source", "error"}` as text and as the same JSON value; without a source nobody was called.

    `steps` stands beside it where it is a flow's. Details that are no JSON are left out, so it always succeeds.
    """
    head: dict[str, object] = {} if source is None else {"source": source}
    tail: dict[str, object] = {} if steps is None else {"steps": steps.to_json()}
    try:
        text = to_text({**head, "error": error_to_json(error), **tail})
    except TypeError:  # orjson.JSONEncodeError
        # A refusal is an answer, whatever a backend or an author put beside it.
        kept = {key: value for key, value in error.details.items() if _prints(key, value)}
        head = head if _prints("source", source) else {}
        text = to_text({**head, "error": error_to_json(replace(error, details=kept)), **tail})
    return text, orjson.loads(text)


def to_text(form: Mapping[str, object]) -> str:
    """One line of JSON."""
    return orjson.dumps(form).decode()


def _prints(key: object, value: object) -> bool:
    try:
        # As deep as it will stand.
        orjson.dumps({"error": {"details": {key: value}}})
    except TypeError:
        return False
    return True


def with_details(outcome: Failed, **details: object) -> Failed:
    """The same refusal with more to know about it."""
    return replace(outcome, error=replace(outcome.error, details={**outcome.error.details, **details}))


def with_present(outcome: Failed, name: str, listed: Listed) -> Failed:
    """A stale answer that shows what the name means now (SPEC 12.1)."""
    return with_details(outcome, present={"name": name, **listed.to_json()})


def asked(outcome: Outcome) -> str | None:
    """The id of the local request that has to be decided before this call can run; a backend's own is none."""
    if not isinstance(outcome, Failed) or outcome.error.code is not ErrorCode.CONFIRMATION_REQUIRED:
        return None
    found = outcome.error.details.get("confirmation_id")
    return found if isinstance(found, str) else None


def _structured(output: object, definition: Definition | None) -> Mapping[str, object] | None:
    if definition is not None:
        return definition.structured(output)
    return None if output is None else {WRAPPED: output}
