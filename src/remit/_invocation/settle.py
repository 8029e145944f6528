"""Step 15: redact, check and size the output, then close the call: ledger, broker, audit, events (SPEC 6.2, 9)."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from remit._base.boundary import Json, NotJson, take
from remit._base.clock import Clock
from remit._base.codes import MATRIX
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.request import RequestRecord
from remit._invocation.call import Call, Later
from remit._invocation.lasting import Lasting
from remit._invocation.ledger import Ledger, keeps
from remit._invocation.redaction import Kept, RedactorFailed, payload_of, redact_later, redacted
from remit._invocation.run import Run
from remit._invocation.runs import Runs
from remit._journal.audit import AuditLog, AuditType, Durations
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer
from remit._model.effects import Audit
from remit._model.event import EventType
from remit._model.ids import MAX_ID
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.payload import Payload, PayloadPart, PayloadReader
from remit._registry.entered import Entered, Raised
from remit._registry.viewer import Viewer
from remit._schema.derive import OutputRefused
from remit.errors import AgentError, ErrorCode, Happened, Refusal, execution_failed, timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What this phase needs.

    `version` gives the version of a consumer that has been seen, recomputed only if something moved; `known_version`
    the last one of a consumer that was refused before anything was looked at. `settled` tells the broker what came of
    a spent request; `errand` runs what no call waits for; `lasting` keeps how calls ended that must not run twice;
    `runs` holds the flows that wait.
    """

    clock: Clock
    limits: Limits
    ledger: Ledger
    hub: EventHub
    audit: AuditLog
    version: Callable[[Viewer], str]
    known_version: Callable[[Consumer], str]
    settled: Callable[[RequestRecord, Happened], None]
    contract_hash: str
    entered: Entered
    runs: Runs
    errand: Callable[[Coroutine[Any, Any, None]], None]
    lasting: Lasting | None = None


_NOTHING: Final = Kept()


@dataclass(frozen=True, slots=True)
class Reason:
    """The true reason and the exception behind a refusal, for the journal only."""

    why: str | None = None
    cause: BaseException | None = None


def check_output(call: Call, part: Part) -> Later | None:
    """Turn the result into JSON, let the author's redactor see it, and hold it against its schema and the limit.

    A write whose output broke them, or whose redactor fails or does not answer in time, is done (SPEC 8.4).
    """
    plan = call.live.plan
    try:
        output, canonical = plan.dump(call.result)
    except (NotJson, OutputRefused) as error:
        raise _invalid(call, error) from None
    if plan.redact is None or output is None:
        _hold(call, part, output, canonical)
        return None
    call.acted = True
    payload = Payload(value=output, part=PayloadPart.OUTPUT, reader=PayloadReader.AGENT)
    if plan.redact_is_async:
        return partial(_redact, call, part, payload)
    _hold_redacted(call, part, part.entered.attempt(plan.redact, call.owner, payload))
    return None


async def _redact(call: Call, part: Part, payload: Payload) -> None:
    redact = call.live.plan.redact
    assert redact is not None
    _hold_redacted(call, part, await part.entered.attempted(redact, call.owner, payload))


def _hold_redacted(call: Call, part: Part, shown: object) -> None:
    if part.clock.monotonic() - call.begun > call.timeout_s:  # a plain one held the loop: no timer could fire
        idempotent = call.live.plan.descriptor.idempotent
        error = timeout(round(call.timeout_s * 1_000), idempotent=idempotent, happened=_acted(call))
        raise Refusal(error, why="the redactor ran beyond the deadline")
    if isinstance(shown, Raised):
        correlation = new_id("err_")
        failed = execution_failed("handler-error", _acted(call), correlation_id=correlation)
        raise Refusal(failed, why=f"{correlation}: the redactor failed", cause=RedactorFailed.of(shown.cause))
    try:
        output, canonical = take(shown)
    except NotJson as error:
        raise _invalid(call, error) from None
    _hold(call, part, output, canonical)


def _invalid(call: Call, error: NotJson | OutputRefused) -> Refusal:
    return Refusal(execution_failed("output-invalid", _acted(call)), why=error.told, cause=error)


def _acted(call: Call) -> Happened:
    return Happened.NONE if call.live.plan.descriptor.effect.reads_only else Happened.DONE


def _hold(call: Call, part: Part, output: Json, canonical: bytes) -> None:
    plan = call.live.plan
    if plan.output is not None and not plan.output.is_valid(output):
        first = plan.output.issues(output)[0]
        why = f"the output breaks its schema at `{first.path}`: {first.message}"
        raise Refusal(execution_failed("output-invalid", _acted(call)), why=why)
    if len(canonical) > part.limits.output_bytes:
        why = f"the output has {len(canonical)} bytes, the limit is {part.limits.output_bytes}"
        raise Refusal(execution_failed("output-too-large", _acted(call)), why=why)
    call.output = output
    call.output_bytes = canonical


def close(call: Call, error: AgentError | None, part: Part, reason: Reason) -> None:
    """Fix the outcome and write it everywhere, once."""
    viewer = call.viewer
    version = part.known_version(call.consumer) if viewer is None else part.version(viewer)
    run = _run(call, part)
    call.outcome = _outcome(call, error, version, run)
    bound = call.bound
    reads = bound is not None and bound.plan.descriptor.effect.reads_only
    stored = call.running and not reads and (error is None or MATRIX[error.code].stored)
    part.ledger.end(call, stored=stored, keep=stored and keeps(call), size=len(call.output_bytes))
    happened = _happened(run, error)
    evidence = _spent(call)
    if evidence is not None:
        part.settled(evidence, happened)
    if call.recorded and part.lasting is not None:
        part.errand(part.lasting.settled(call, stored=stored))
    _note_reading(call, call.outcome)
    if not call.joined:  # who leaves a join says nothing of the call that goes on under the same id
        _tell(call, error, part)
    _journal(call, error, part, reason, happened)


def _tell(call: Call, error: AgentError | None, part: Part) -> None:
    part.hub.emit(
        EventType.INVOCATION_SETTLED,
        {
            "invocation": call.invocation_id,
            "capability": _named(call),
            "ok": error is None,
            "code": None if error is None else error.code.value,
        },
        call.key,
    )


def _named(call: Call) -> str | None:
    """The id as it was asked for, cut where no id goes on: what a caller makes up fills no journal."""
    id: object = call.request.capability_id
    return id[:MAX_ID] if isinstance(id, str) else None


def repeat(call: Call, outcome: Outcome) -> None:
    """Answer a repeat with the outcome of the call it repeats; nothing more happens, so nothing more is written."""
    call.outcome = outcome
    _note_reading(call, outcome)


def _note_reading(call: Call, outcome: Outcome) -> None:
    """Remember that an agent is given text from outside: a marked output, words of a backend or a page (SPEC 11.15)."""
    if call.bound is None:
        return
    plan = call.bound.plan
    if isinstance(outcome, Ok):
        reads = bool(outcome.untrusted) and outcome.output is not None
    else:
        # Its demand for an approval is none: who has got that repeats the call, and no person here adds to it (7.11).
        issues = call.running and outcome.error.code is ErrorCode.INVALID_INPUT
        reads = plan.operation is not None and (issues or "declared" in outcome.error.details)
        reads = reads or (plan.page and call.running and outcome.error.code is ErrorCode.PRECONDITION_FAILED)
    if reads:
        viewer = call.sight
        viewer.site.outside.read(call.consumer, plan.descriptor.id, viewer.principal)


def late(call: Call, error: AgentError | None, part: Part, cause: BaseException | None) -> None:
    """The code of a call that was answered before has come back: only the journal hears of it (SPEC 6.7)."""
    if not call.running:
        return
    bound, principal = call.live, call.sight.principal
    part.audit.append(
        AuditType.LATE_RESULT,
        registration=bound.registration.id,
        capability=bound.plan.descriptor.id,
        invocation=call.invocation_id,
        correlation_id=call.correlation_id,
        consumer=call.key,
        principal=None if principal is None else principal.key,
        code=None if error is None else error.code,
        why="the call had been answered before",
        durations=Durations(execution=call.execution_s),
        outcome=_happened(call.run, error),
        contract_hash=part.contract_hash,
        cause=cause,
    )


def _outcome(call: Call, error: AgentError | None, version: str, run: Run | None) -> Outcome:
    changed = call.viewer is not None and version != call.version_before
    capability = call.request.capability_id
    if error is None:
        return Ok(
            invocation_id=call.invocation_id,
            capability_id=capability,
            output=call.output,
            surface_version=version,
            surface_changed=changed,
            untrusted=call.live.plan.descriptor.untrusted,
            steps=None if run is None else run.count,
        )
    unbegun = run is not None and not run.done and error.code is ErrorCode.INVOCATION_CONFLICT
    return Failed(
        invocation_id=call.invocation_id,
        capability_id=capability,
        error=error,
        surface_version=version,
        surface_changed=changed,
        steps=None if run is None or unbegun else run.count,
    )


def _spent(call: Call) -> RequestRecord | None:
    """The evidence that was used up for what has ended now; a flow that waits for a person has not ended."""
    if call.run is not None and call.run.begun:
        return None if call.run.pause is not None else call.run.evidence
    return call.evidence if call.spent else None


def _run(call: Call, part: Part) -> Run | None:
    """The run of a flow that an answer is about: the one it carried, or the one that waits under its invocation id.

    A call that was refused before it took up its run says all the same what that has done.
    """
    if call.run is not None:
        return call.run if call.run.begun else None
    if call.bound is None or call.bound.plan.flow is None or not part.runs.held:
        return None
    run = part.runs.waits(call.key, call.invocation_id)
    return run if run is not None and run.fingerprint == call.fingerprint else None


def _happened(run: Run | None, error: AgentError | None) -> Happened:
    if error is None or (run is not None and run.acted and "outcome" not in error.details):
        return Happened.DONE
    told = error.details.get("outcome")
    return Happened(told) if isinstance(told, str) else Happened.NONE


def _journal(call: Call, error: AgentError | None, part: Part, reason: Reason, happened: Happened) -> None:
    bound, viewer, approval = call.bound, call.viewer, call.approval
    plan = None if bound is None else bound.plan
    level = Audit.METADATA if plan is None else plan.audit
    kept = _kept(call, part) if level is Audit.FULL else _NOTHING
    part.audit.append(
        AuditType.INVOCATION,
        level=level,
        registration=None if bound is None else bound.registration.id,
        capability=_named(call),
        invocation=call.invocation_id or None,
        correlation_id=call.correlation_id,
        consumer=call.key,
        principal=None if viewer is None or viewer.principal is None else viewer.principal.key,
        decider=None if approval is None else approval.decided_by,
        confirmation=None if approval is None else approval.id,
        code=None if error is None else error.code,
        why=reason.why,
        votes=call.votes,
        repairs=call.repairs,
        durations=Durations(
            call.policy_s,
            call.queue_s,
            None if call.evidence is None else call.evidence.person_s,
            call.execution_s if call.running else None,
        ),
        outcome=happened,
        contract_hash=part.contract_hash,
        input=kept.input,
        output=kept.output,
        dropped=kept.dropped,
        cause=reason.cause,
        about=call.request.trace,
    )


def _kept(call: Call, part: Part) -> Kept:
    plan = call.live.plan
    if plan.redact is None or not (call.canonical or call.output_bytes):
        return payload_of(call)
    if plan.redact_is_async:
        return redact_later(call, part.entered, part.audit, part.clock, part.errand)
    return redacted(call, part.entered, part.audit)
