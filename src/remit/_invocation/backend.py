"""What a backend's answer means to an agent (SPEC 10.5)."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from remit._base.boundary import SAFE_INTEGER, Json, NotJson, take
from remit._base.limits import Limits
from remit._base.paths import reworded
from remit._base.text import clean_line
from remit._contract.plan import Plan
from remit._invocation.call import Call
from remit._model.answers import DETAIL_BYTES
from remit.errors import (
    REASON_CHARACTERS,
    AgentError,
    Happened,
    Issue,
    execution_failed,
    invalid_input,
    not_authenticated,
    not_authorized,
    precondition_failed,
    rate_limited,
    server_approval_required,
    timeout,
)
from remit.procedures.errors import BackendError, NoAnswer, NotSent, WronglyRaised

_CODE_CHARACTERS: Final = 80
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]+")
_ISSUES: Final = Limits().issues
_LONGEST_WAIT_S: Final = SAFE_INTEGER // 1_000


def backend_refusal(error: BackendError, call: Call) -> AgentError:
    """A backend's answer in the agent's terms (SPEC 10.5); undeclared text never gets there.

    What is declared is data and bounded: 20 issues with plain paths and lines of 200 characters, a code of 80
    characters of `[A-Za-z0-9_.-]`, data of 2,048 bytes of JSON. A code or data that is not so is left out (SPEC 3.12,
    6.12). Issues of what the view fills are not the agent's, who can change nothing there (SPEC 10.3).
    """
    plan = call.live.plan
    nothing = plan.descriptor.effect.reads_only or isinstance(error, NotSent)
    unknown = Happened.NONE if nothing else Happened.UNKNOWN
    declared = declared_of(error) or None
    if error.approval is not None:
        descriptor = plan.descriptor
        approval = small(error.approval) or {}
        return server_approval_required(approval, summary=descriptor.description, effect=descriptor.effect.value)
    after_ms = None if error.retry_after is None else round(min(error.retry_after, _LONGEST_WAIT_S) * 1_000)
    match error.status:
        case 401:
            return not_authenticated("server")
        case 403:
            return not_authorized("server")
        case 404 | 409 | 410 | 412:
            details = {} if declared is None else {"declared": declared}
            return precondition_failed("the backend's state does not allow it", {**details, "outcome": "none"})
        case 400 | 422 if issues := _of_the_agent(error.issues, plan):
            return invalid_input([_told(issue) for issue in issues[:_ISSUES]])
        case 429:
            return rate_limited("rate", 1_000 if after_ms is None else after_ms)
        case 408 | 504:
            within_s = error.within_s if isinstance(error, NoAnswer) and error.within_s is not None else call.timeout_s
            return timeout(round(within_s * 1_000), idempotent=plan.descriptor.idempotent, happened=unknown)
        case status if 400 <= status < 500:
            return execution_failed("rejected", Happened.NONE, declared=declared)
        case _:
            safe = unknown is Happened.NONE or plan.descriptor.idempotent  # else it may happen twice, whenever it is
            return execution_failed("transport", unknown, declared=declared, retry_after_ms=after_ms if safe else None)


def small(data: Mapping[str, object]) -> dict[str, Json] | None:
    """What a backend says of its own approval, if that is JSON and small enough to be told."""
    try:
        told, _ = take(dict(data), max_bytes=DETAIL_BYTES)
    except NotJson:
        return None
    return told if isinstance(told, dict) else None


def declared_of(error: BackendError) -> dict[str, object]:
    """The declared code and data of an answer, as far as they can be told; empty without a code."""
    code = clean_line(error.code, _CODE_CHARACTERS)
    if error.code is None or not _CODE.fullmatch(code):
        return {}
    if isinstance(error, WronglyRaised):
        return {"code": code}
    try:
        return {"code": code, "data": take(error.data, max_bytes=DETAIL_BYTES)[0]}
    except NotJson:
        return {"code": code}


def _of_the_agent(issues: Sequence[Issue], plan: Plan) -> list[Issue]:
    """The issues without those at or inside of a locked field."""
    locked = tuple(each.path for each in plan.bindings if not each.overridable)
    inside = tuple(f"{path}{mark}" for path in locked for mark in ".[")
    return [issue for issue in issues if issue.path not in locked and not issue.path.startswith(inside)]


def _told(issue: Issue) -> Issue:
    return Issue(path=reworded(issue.path), message=clean_line(issue.message, REASON_CHARACTERS))
