"""The JSON form of an error, equal at every door."""

from collections.abc import Mapping
from typing import Any

from remit.errors import AgentError, ErrorCode, RetryAdvice


def error_to_json(error: AgentError) -> dict[str, object]:
    """`{code, message, retry, details}`; details are left out when there are none."""
    form: dict[str, object] = {"code": error.code.value, "message": error.message, "retry": error.retry.value}
    if error.details:
        form["details"] = dict(error.details)
    return form


def error_from_json(form: Mapping[str, Any]) -> AgentError:
    """The error of `error_to_json`; a code or an advice that there is not is a ValueError."""
    return AgentError(
        code=ErrorCode(form["code"]),
        message=form["message"],
        retry=RetryAdvice(form["retry"]),
        details=dict(form.get("details", {})),
    )
