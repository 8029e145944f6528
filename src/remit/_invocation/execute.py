"""Step 14: `around` policies, then the handler or the backend's operation (SPEC 6.2, 8.4, 8.5, 10.4, 10.5)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from remit._base.boundary import SAFE_INTEGER, Json, NotJson, take
from remit._base.clock import Clock
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._base.paths import reworded
from remit._base.text import clean_line
from remit._invocation.call import Call, Later
from remit._model.answers import DETAIL_BYTES, Refused
from remit._model.context import Context
from remit._model.progress import Progress
from remit._policy.chain import PolicyFault
from remit._registry.entered import Entered
from remit._registry.viewer import Viewer
from remit._schema.derive import OutputRefused
from remit.errors import (
    REASON_CHARACTERS,
    AgentError,
    Happened,
    Issue,
    Refusal,
    execution_failed,
    invalid_input,
    not_authenticated,
    not_authorized,
    precondition_failed,
    rate_limited,
    server_approval_required,
    timeout,
)
from remit.procedures.errors import BackendError

_CODE_CHARACTERS: Final = 80
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]+")
_ISSUES: Final = Limits().issues
_LONGEST_WAIT_S: Final = SAFE_INTEGER // 1_000


class Runnable(Protocol):
    """A backend's operation, as execution needs it."""

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> object:
        """Run with exactly this input."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs.

    `idempotency_key` is made of the call's identity and tells nothing of the agent's id; `fault` takes what a listener
    to progress raised.
    """

    entered: Entered
    clock: Clock
    limits: Limits
    fault: Callable[[str, BaseException], None]
    operation: Callable[[str], Runnable | None]
    idempotency_key: Callable[[Call], str]


def execute(call: Call, part: Part) -> Later | None:
    """Run the call once; what it gives or raises is its own verdict."""
    if call.live.plan.redact is not None:  # what it gives is redacted even if its component goes meanwhile
        call.owner = call.live.registration.component
    if not call.live.inline:
        return partial(_await, call, part)
    call.executed_at = part.clock.monotonic()
    try:
        call.result = _handler(call, part)
    except (Refused, BackendError) as error:
        call.result = _verdict(call, error)
    finally:
        call.execution_s = part.clock.monotonic() - call.executed_at
    _hold(call, part)
    return None


async def _await(call: Call, part: Part) -> None:
    bound = call.live
    call.executed_at = part.clock.monotonic()
    try:
        if bound.chain.has_around:
            call.result = await bound.chain.around(call.sight.context(bound), lambda: _run(call, part))
        else:
            call.result = await _run(call, part)
    except (Refused, PolicyFault, BackendError, OutputRefused, NotJson) as error:
        call.result = _verdict(call, error)
    finally:
        call.execution_s = part.clock.monotonic() - call.executed_at
    _hold(call, part)


def _verdict(call: Call, error: Refused | PolicyFault | BackendError | OutputRefused | NotJson) -> Refused:
    """What the code raised as its answer: its own refusal, or one in the agent's terms."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, PolicyFault):
        correlation = new_id("err_")
        failed = execution_failed("handler-error", error.happened, correlation_id=correlation)
        raise Refusal(failed, why=f"{correlation}: {error}", cause=error.cause) from None
    if isinstance(error, OutputRefused | NotJson):  # the operation has run; what it gave is not what it declares
        happened = Happened.NONE if call.live.plan.descriptor.effect.reads_only else Happened.DONE
        raise Refusal(execution_failed("output-invalid", happened), why=error.told, cause=error) from None
    told = backend_refusal(error, call)
    why = f"backend answered {error.status}"
    if error.approval is not None:
        why += ", wanting an approval of its own" + (
            "" if _small(error.approval) is not None else " that cannot be told"
        )
    if error.code is not None and "data" not in _declared(error):
        why += "; its declared code or data cannot be told"
    raise Refusal(told, why=why, cause=error) from None


def _hold(call: Call, part: Part) -> None:
    """Hold what came against the author's own refusal and the deadline."""
    if isinstance(call.result, Refused):
        answer = call.result
        raise Refusal(precondition_failed(answer.reason, {**answer.shown(), "outcome": answer.outcome.value}))
    if call.outcome is None and part.clock.monotonic() - call.begun > call.timeout_s:
        raise _too_late(call)


def _too_late(call: Call) -> Refusal:
    """Inline code held the loop beyond the deadline: no timer could fire, and what it did is done (SPEC 6.7)."""
    descriptor = call.live.plan.descriptor
    happened = Happened.NONE if descriptor.effect.reads_only else Happened.DONE
    error = timeout(round(call.timeout_s * 1_000), idempotent=descriptor.idempotent, happened=happened)
    return Refusal(error, why="inline code ran beyond the deadline")


def _handler(call: Call, part: Part) -> object:
    bound = call.live
    handler = bound.plan.handler
    assert handler is not None
    if bound.plan.injected:
        return part.entered.call(handler, bound.registration.component, **call.arguments, **_injected(call, part))
    return part.entered.call(handler, bound.registration.component, **call.arguments)


async def _run(call: Call, part: Part) -> object:
    bound = call.live
    plan = bound.plan
    if plan.operation is None:
        assert plan.handler is not None
        injected = _injected(call, part) if plan.injected else {}
        return await part.entered.run(plan.handler, bound.registration.component, **call.arguments, **injected)
    operation = part.operation(plan.operation)
    if operation is None:
        raise Refusal(execution_failed("transport", Happened.NONE), why="the backend no longer offers the operation")
    context = _context(call, part)
    return await part.entered.run(operation.run, call.effective, call.canonical, context)


def _injected(call: Call, part: Part) -> dict[str, Any]:
    context = _context(call, part)
    injected = call.live.plan.injected
    return {name: context if role == "context" else context.principal for name, role in injected.items()}


def _context(call: Call, part: Part) -> Context:
    viewer: Viewer = call.sight
    assert viewer.principal is not None
    return Context(
        capability=call.live.plan.descriptor.id,
        registration=call.live.registration.id,
        invocation=call.invocation_id,
        consumer=call.consumer,
        principal=viewer.principal,
        host=viewer.host,
        cancelled=call.signal,
        evidence=None if call.approval is None else call.approval.id,
        idempotency_key=part.idempotency_key(call),
        reporter=partial(_report, call, part),
    )


def _report(call: Call, part: Part, done: float, total: float | None, text: str | None) -> None:
    """Pass on what the code says, not too often; once answered, a call has no progress (decision 10)."""
    if call.outcome is not None or not call.told:
        return
    now = part.clock.monotonic()
    all_done = total is not None and done >= total and not call.reported_all
    if now < call.next_report and not all_done:
        return
    call.next_report = now + part.limits.progress_s
    call.reported_all = call.reported_all or all_done
    line = None if text is None else clean_line(text, part.limits.runtime_text)
    report = Progress(invocation=call.invocation_id, done=done, total=total, text=line)
    for listener in tuple(call.told):
        try:
            listener(report)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # noqa: BLE001 - the host's code: it must not fail the handler that reports
            part.fault("a listener to progress raised", raised)


def backend_refusal(error: BackendError, call: Call) -> AgentError:
    """A backend's answer in the agent's terms (SPEC 10.5); undeclared text never gets there.

    What is declared is data and bounded: 20 issues with plain paths and lines of 200 characters, a code of 80
    characters of `[A-Za-z0-9_.-]`, data of 2,048 bytes of JSON. A code or data that is not so is left out (SPEC 3.12,
    6.12).
    """
    plan = call.live.plan
    unknown = Happened.NONE if plan.descriptor.effect.reads_only else Happened.UNKNOWN
    declared = _declared(error) or None
    if error.approval is not None:
        descriptor = plan.descriptor
        approval = _small(error.approval) or {}
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
        case 400 | 422 if error.issues:
            return invalid_input([_told(issue) for issue in error.issues[:_ISSUES]])
        case 429:
            return rate_limited("rate", 1_000 if after_ms is None else after_ms)
        case 408 | 504:
            return timeout(round(call.timeout_s * 1_000), idempotent=plan.descriptor.idempotent, happened=unknown)
        case status if 400 <= status < 500:
            return execution_failed("rejected", Happened.NONE, declared=declared)
        case _:
            return execution_failed("transport", unknown, declared=declared, retry_after_ms=after_ms)


def _small(data: Mapping[str, object]) -> dict[str, Json] | None:
    try:
        told, _ = take(dict(data), max_bytes=DETAIL_BYTES)
    except NotJson:
        return None
    return told if isinstance(told, dict) else None


def _declared(error: BackendError) -> dict[str, object]:
    code = clean_line(error.code, _CODE_CHARACTERS)
    if error.code is None or not _CODE.fullmatch(code):
        return {}
    try:
        return {"code": code, "data": take(error.data, max_bytes=DETAIL_BYTES)[0]}
    except NotJson:
        return {"code": code}


def _told(issue: Issue) -> Issue:
    return Issue(path=reworded(issue.path), message=clean_line(issue.message, REASON_CHARACTERS))
