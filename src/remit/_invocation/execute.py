"""Step 14: `around` policies, then the handler or the backend's operation (SPEC 6.2, 8.4, 8.5, 10.4, 10.5)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from remit._base.boundary import Json, NotJson
from remit._base.clock import Clock
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._base.text import clean_line
from remit._base.threads import Threads
from remit._contract.plan import Role
from remit._invocation.attempts import Attempts
from remit._invocation.backend import backend_refusal, declared_of, small
from remit._invocation.call import Call, Later
from remit._invocation.run import Doing, Run, RunStep
from remit._invocation.runs import Runs
from remit._journal.audit import AuditLog
from remit._model.answers import Refused
from remit._model.context import Context
from remit._model.progress import Progress, Reporter
from remit._model.retry import Retry
from remit._model.steps import Steps
from remit._policy.chain import PolicyFault
from remit._registry.entered import Entered
from remit._registry.viewer import Viewer
from remit._schema.derive import OutputRefused
from remit.errors import (
    Happened,
    Refusal,
    execution_failed,
    precondition_failed,
    timeout,
)
from remit.procedures.errors import BackendError, NoAnswer, NotSent, WronglyRaised


class Runnable(Protocol):
    """A backend's operation, as execution needs it."""

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> object:
        """Run with exactly this input."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What this phase needs.

    `idempotency_key` is made of the call's identity and tells nothing of the agent's id; `audit` takes attempts, and
    what a listener to progress raised. `chance` gives numbers from 0 to 1. `runs` holds
    the flows that wait for a person; `run_step` is the pipeline's own way to run one of their steps.
    """

    entered: Entered
    clock: Clock
    limits: Limits
    audit: AuditLog
    operation: Callable[[str], Runnable | None]
    idempotency_key: Callable[[Call], str]
    threads: Threads
    chance: Callable[[], float]
    runs: Runs
    run_step: RunStep | None = None


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
        call.result = _verdict(call, part, error)
    finally:
        call.execution_s = part.clock.monotonic() - call.executed_at
    _hold(call, part)
    return None


async def _await(call: Call, part: Part) -> None:
    bound = call.live
    call.executed_at = part.clock.monotonic()
    try:
        if bound.chain.has_around:
            call.result = await bound.chain.around(call.sight.context(bound), partial(_inside, call, part))
        elif bound.plan.retry is not None:
            call.result = await _repeated(call, part, bound.plan.retry)
        else:
            call.result = await _run(call, part)
    except (Refused, PolicyFault, BackendError, OutputRefused, NotJson) as error:
        call.result = _verdict(call, part, error)
    finally:
        call.execution_s = part.clock.monotonic() - call.executed_at
    _hold(call, part)


def _verdict(call: Call, part: Part, error: Refused | PolicyFault | BackendError | OutputRefused | NotJson) -> Refused:
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
    why = _said(error, part.limits.runtime_text)
    if error.approval is not None:
        why += ", wanting an approval of its own" + (
            "" if small(error.approval) is not None else " that cannot be told"
        )
    if isinstance(error, WronglyRaised):
        why += f"; {error}"
    elif error.code is not None and "data" not in declared_of(error):
        why += "; its declared code or data cannot be told"
    raise Refusal(told, why=why, cause=error) from None


def _said(error: BackendError, most: int) -> str:
    """What the journal says of it: only what answered has answered."""
    if isinstance(error, NotSent):
        return f"nothing was sent: {clean_line(str(error), most)}"
    if isinstance(error, NoAnswer):
        return f"no whole answer: {clean_line(str(error), most)}"
    return f"backend answered {error.status}"


def _hold(call: Call, part: Part) -> None:
    """Hold what came against the author's own refusal and the deadline."""
    if isinstance(call.result, Refused):
        answer = call.result
        told = {**answer.shown(), "outcome": answer.outcome.value}
        raise Refusal(precondition_failed(answer.reason, told, most=part.limits.runtime_text))
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


def _inside(call: Call, part: Part) -> Awaitable[object]:
    """What `around` policies stand around: the code, with its repetitions."""
    retry = call.live.plan.retry
    return _run(call, part) if retry is None else _repeated(call, part, retry)


def _repeated(call: Call, part: Part, retry: Retry) -> Awaitable[object]:
    attempts = Attempts(retry, part.clock, part.chance, part.audit)
    return attempts.run(call, lambda: _run(call, part))


async def _run(call: Call, part: Part) -> object:
    bound = call.live
    plan = bound.plan
    if call.run is not None:
        return await _carry(call, part, call.run)
    answering = bound.registration.answering
    if answering is not None and plan.page:
        return await answering.answer(plan.attribute, call.effective, _context(call, part))
    if plan.operation is None:
        assert plan.handler is not None
        injected = _injected(call, part) if plan.injected else {}
        if plan.blocking:
            return await _in_thread(call, part, injected)
        return await part.entered.run(plan.handler, bound.registration.component, **call.arguments, **injected)
    operation = part.operation(plan.operation)
    if operation is None:
        raise Refusal(execution_failed("transport", Happened.NONE), why="the backend no longer offers the operation")
    context = _context(call, part)
    return await part.entered.run(operation.run, call.effective, call.canonical, context)


async def _carry(call: Call, part: Part, run: Run) -> object:
    """Begin the method of a flow, or carry it on, until it ends or waits for a person (SPEC 11.8)."""
    assert part.run_step is not None
    doing = Doing(told=partial(_report, call, part), signal=call.signal)
    try:
        return await run.carry(call, call.consumer, partial(_method, call, part), part.run_step, doing)
    finally:
        part.runs.stopped(run, keep=call.carries is not None and call.outcome is None)


async def _method(call: Call, part: Part, steps: Steps) -> object:
    plan = call.live.plan
    assert plan.handler is not None
    named = {**call.arguments, **_injected(call, part, steps)}
    return await part.entered.run(plan.handler, call.live.registration.component, **named)


async def _in_thread(call: Call, part: Part, injected: dict[str, Any]) -> object:
    """Run the handler in a thread, in a copy of this context, and wait for it here (SPEC 6.9)."""
    handler, component = call.live.plan.handler, call.live.registration.component
    assert handler is not None
    work = part.threads.start(
        partial(part.entered.call_blocking, handler, component, **call.arguments, **injected),
    )
    call.work = work
    await asyncio.shield(work.over)  # whoever ends this call drops what has not begun
    return work.take()


def _injected(call: Call, part: Part, steps: Steps | None = None) -> dict[str, Any]:
    context = _context(call, part)
    given: dict[Role, object] = {"context": context, "principal": context.principal, "steps": steps}
    return {name: given[role] for name, role in call.live.plan.injected.items()}


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
        trace=call.request.trace,
        reporter=_reporter(call, part),
    )


def _reporter(call: Call, part: Part) -> Reporter:
    report = partial(_report, call, part)
    if not call.live.plan.blocking:
        return report
    loop = asyncio.get_running_loop()

    def from_thread(done: float, total: float | None, text: str | None) -> None:
        try:
            loop.call_soon_threadsafe(report, done, total, text)
        except RuntimeError:  # the loop has ended, and with it everybody who listened
            return

    return from_thread


def _report(call: Call, part: Part, done: float, total: float | None, text: str | None = None) -> None:
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
            part.audit.fault("a listener to progress raised", raised)
