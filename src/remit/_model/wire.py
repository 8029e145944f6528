"""JSON forms of outcomes, equal at every door."""

from remit._model.outcome import Failed, Ok, Outcome
from remit.errors import AgentError


def error_to_json(error: AgentError) -> dict[str, object]:
    """`{code, message, retry, details}`; details are left out when there are none."""
    form: dict[str, object] = {"code": error.code.value, "message": error.message, "retry": error.retry.value}
    if error.details:
        form["details"] = dict(error.details)
    return form


def outcome_to_json(outcome: Outcome) -> dict[str, object]:
    """`{ok, invocationId, capabilityId, output | error, surfaceVersion, surfaceChanged}`."""
    form: dict[str, object] = {
        "ok": isinstance(outcome, Ok),
        "invocationId": outcome.invocation_id,
        "capabilityId": outcome.capability_id,
        "surfaceVersion": outcome.surface_version,
        "surfaceChanged": outcome.surface_changed,
    }
    match outcome:
        case Ok():
            form["output"] = outcome.output
        case Failed():
            form["error"] = error_to_json(outcome.error)
    return form
