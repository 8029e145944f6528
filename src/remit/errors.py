"""Every error remit knows, in four families that never mix (SPEC 8.2).

agent-facing     ErrorCode, AgentError             values in a returned `Failed`, fixed sentences
(carrier)        Refusal                           raised inside the pipeline, never out of it
author-facing    DefinitionError                   raised where a declaration, a mount or a surface is wrong
build-facing     CompileError(findings)            raised by the compiler
operator-facing  (journal entries)                 causes and stacks; see `remit._journal`
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from remit._base.codes import (
    MATRIX,
    FailedReason,
    InvalidReason,
    LimitedReason,
    Origin,
    StaleReason,
    UnmountedPhase,
)
from remit._base.codes import ErrorCode as ErrorCode
from remit._base.codes import Happened as Happened
from remit._base.codes import RetryAdvice as RetryAdvice
from remit._base.text import clean_line

REASON_CHARACTERS = 200
"""The usual of `Limits.runtime_text`; whoever knows the surface's own gives it as `most`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One problem of an input: the field and the rule, never the value sent (SPEC 8.3)."""

    path: str
    message: str


NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentError:
    """What an agent is told: a code, a fixed sentence, what to do, and typed details (SPEC 6.1)."""

    code: ErrorCode
    message: str
    retry: RetryAdvice
    details: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class Refusal(Exception):
    """Carries an `AgentError` from a phase to the pipeline; `why` is the true reason, for the journal only."""

    def __init__(self, error: AgentError, *, why: str | None = None, cause: BaseException | None = None) -> None:
        super().__init__(error.code)
        self.error = error
        self.why = why
        self.cause = cause


# One constructor a code. Sentences and advice are the matrix's; only `details` vary.


def _error(
    code: ErrorCode, details: Mapping[str, object] = NOTHING, *, retry: RetryAdvice | None = None, sentence: int = 0
) -> AgentError:
    ruling = MATRIX[code]
    return AgentError(code=code, message=ruling.messages[sentence], retry=retry or ruling.retries[0], details=details)


def capability_not_found() -> AgentError:
    """One answer for the hidden, the unmounted that was never shown, the malformed and the made-up."""
    return _error(ErrorCode.CAPABILITY_NOT_FOUND)


def capability_not_available(reason: str, *, most: int = REASON_CHARACTERS) -> AgentError:
    """Listed, but not possible now; `reason` is the author's, the framework's or a policy's run-time text."""
    return _error(ErrorCode.CAPABILITY_NOT_AVAILABLE, {"reason": clean_line(reason, most)})


def ambiguous_instance(instances: Sequence[str]) -> AgentError:
    """Several visible instances answer to the id."""
    return _error(ErrorCode.AMBIGUOUS_INSTANCE, {"instances": list(instances)})


def ambiguous_view(views: Sequence[Mapping[str, object]]) -> AgentError:
    """Several views are open and none is chosen (SPEC 11.12)."""
    return _error(ErrorCode.AMBIGUOUS_INSTANCE, {"views": [dict(view) for view in views]}, sentence=1)


def component_unmounted(phase: UnmountedPhase, happened: Happened | None = None) -> AgentError:
    """The component has gone: `resolve` before anything ran, `mid-flight` while it ran."""
    details: dict[str, object] = {"phase": phase}
    if happened is not None:
        details["outcome"] = happened.value
    return _error(ErrorCode.COMPONENT_UNMOUNTED, details)


def stale_capability(reason: StaleReason) -> AgentError:
    """What was named is no longer the live one (SPEC 6.5)."""
    return _error(ErrorCode.STALE_CAPABILITY, {"reason": reason})


def invocation_conflict() -> AgentError:
    """One invocation id, two different calls."""
    return _error(ErrorCode.INVOCATION_CONFLICT, {"reason": "different-call"})


def invalid_input(issues: Sequence[Issue], locked_fields: Sequence[str] = ()) -> AgentError:
    """The input breaks its schema, or names fields that the view has locked."""
    details: dict[str, object] = {"issues": [{"path": i.path, "message": i.message} for i in issues]}
    if locked_fields:
        details["locked_fields"] = list(locked_fields)
    return _error(ErrorCode.INVALID_INPUT, details)


def record_unavailable() -> AgentError:
    """The record is none that this consumer may act on; nothing is said about why (SPEC 11.6)."""
    return _error(ErrorCode.RECORD_UNAVAILABLE)


def not_authenticated(origin: Origin = "client") -> AgentError:
    """Nobody vouches for the caller: `client` here, `server` when a backend said so."""
    return _error(ErrorCode.NOT_AUTHENTICATED, {"origin": origin})


def not_authorized(
    origin: Origin = "client", reason: str | None = None, *, most: int = REASON_CHARACTERS
) -> AgentError:
    """A policy or a backend said no; `reason` only if the policy gave one."""
    details: dict[str, object] = {"origin": origin}
    if reason is not None:
        details["reason"] = clean_line(reason, most)
    return _error(ErrorCode.NOT_AUTHORIZED, details)


def precondition_failed(
    reason: str,
    details: Mapping[str, object] | None = None,
    *,
    retry: RetryAdvice = RetryAdvice.WITH_CHANGES,
    most: int = REASON_CHARACTERS,
) -> AgentError:
    """The author's check, a handler's refusal, a failed binding or a backend's state said no."""
    told = {**(details or {}), "reason": clean_line(reason, most)}
    return _error(ErrorCode.PRECONDITION_FAILED, told, retry=retry)


def confirmation_required(confirmation_id: str, *, summary: str, expires_at: str, effect: str) -> AgentError:
    """A person must approve this exact call; retry it with the id as evidence."""
    details = {"confirmation_id": confirmation_id, "summary": summary, "expires_at": expires_at, "effect": effect}
    return _error(ErrorCode.CONFIRMATION_REQUIRED, {**details, "origin": "client"})


def server_approval_required(approval: Mapping[str, object], *, summary: str, effect: str) -> AgentError:
    """A backend wants an approval of its own; nothing here waits for it or stands for it (SPEC 7.11)."""
    details = {"server_approval": dict(approval), "summary": summary, "effect": effect, "origin": "server"}
    return _error(ErrorCode.CONFIRMATION_REQUIRED, details, retry=RetryAdvice.AFTER_APPROVAL, sentence=1)


def confirmation_invalid(
    reason: InvalidReason, *, cause: str | None = None, happened: Happened | None = None
) -> AgentError:
    """The evidence does not cover the call, or nobody could give any (SPEC 7.5)."""
    details: dict[str, object] = {"reason": reason}
    if cause is not None:
        details["cause"] = cause
    if happened is not None:
        details["outcome"] = happened.value
    again = reason in {"expired", "cancelled", "mismatch"}
    return _error(
        ErrorCode.CONFIRMATION_INVALID, details, retry=RetryAdvice.WITH_CONFIRMATION if again else RetryAdvice.NO
    )


def handoff_required(handoff_id: str, *, reason: str, url: str, expires_at: str) -> AgentError:
    """Only the person may do this step, at `url`; `expires_at` is an ISO 8601 UTC time (SPEC 11.7)."""
    line = clean_line(reason, REASON_CHARACTERS)
    details = {"handoff_id": handoff_id, "reason": line, "url": url, "expires_at": expires_at}
    return _error(ErrorCode.HANDOFF_REQUIRED, details)


def rate_limited(reason: LimitedReason, retry_after_ms: int) -> AgentError:
    """Too much at once; when to come back, in milliseconds."""
    return _error(ErrorCode.RATE_LIMITED, {"reason": reason, "retry_after_ms": retry_after_ms})


def timeout(timeout_ms: int, *, idempotent: bool, happened: Happened) -> AgentError:
    """The deadline passed; whether the effect took place is in `outcome`."""
    again = happened is Happened.NONE or (idempotent and happened is Happened.UNKNOWN)
    details = {"timeout_ms": timeout_ms, "idempotent": idempotent, "outcome": happened.value}
    return _error(ErrorCode.TIMEOUT, details, retry=RetryAdvice.YES if again else RetryAdvice.NO)


def cancelled(happened: Happened) -> AgentError:
    """The caller or the surface ended the call."""
    retry = RetryAdvice.YES if happened is Happened.NONE else RetryAdvice.NO
    return _error(ErrorCode.CANCELLED, {"outcome": happened.value}, retry=retry)


def execution_failed(
    reason: FailedReason,
    happened: Happened,
    *,
    correlation_id: str | None = None,
    declared: Mapping[str, object] | None = None,
    retry_after_ms: int | None = None,
) -> AgentError:
    """The code, its output, the way to the backend, or the backend itself failed (SPEC 8.4, 10.5)."""
    details: dict[str, object] = {"reason": reason, "outcome": happened.value}
    if correlation_id is not None:
        details["correlation_id"] = correlation_id
    if declared is not None:
        details["declared"] = dict(declared)
    if retry_after_ms is not None:
        details["retry_after_ms"] = retry_after_ms
    retry = RetryAdvice.NO if retry_after_ms is None else RetryAdvice.AFTER_DELAY
    return _error(ErrorCode.EXECUTION_FAILED, details, retry=retry)


def surface_unreachable(reason: str, happened: Happened = Happened.NONE, **details: object) -> AgentError:
    """No view of this person can be reached; `reason` is a fixed text such as "no view is open"."""
    return _error(ErrorCode.SURFACE_UNREACHABLE, {"outcome": happened.value, "reason": reason, **details})


# Author-facing


class DefinitionCode(StrEnum):
    """Why a declaration, a mount or a surface is refused (SPEC 2.3)."""

    INVALID_ID = "INVALID_ID"
    INVALID_DEFINITION = "INVALID_DEFINITION"
    UNSUPPORTED_SCHEMA = "UNSUPPORTED_SCHEMA"
    PLANE_VIOLATION = "PLANE_VIOLATION"
    DUPLICATE_CAPABILITY = "DUPLICATE_CAPABILITY"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    CONTRACT_MISMATCH = "CONTRACT_MISMATCH"


class DefinitionError(Exception):
    """A declaration cannot stand: what, where, why, and what to do about it (SPEC 2.3)."""

    def __init__(
        self,
        code: DefinitionCode,
        subject: str,
        rule: str,
        *,
        place: str | None = None,
        do: str | None = None,
        facts: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.code = code
        self.subject = subject
        self.rule = rule
        self.place = place
        self.do = do
        self.facts = facts
        super().__init__(self._text())

    def _text(self) -> str:
        head = f"[{self.code}] {self.subject}: {self.rule}"
        if self.place:
            head += f"        {self.place}"
        tail = [f"{name}  {value}" for name, value in self.facts]
        if self.do:
            tail.append(f"do  {self.do}")
        return head if not tail else head + "\n  " + "        ".join(tail)


# Build-facing


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing the compiler cannot accept: where, what was found, what to write instead.

    `path` is relative to the project, never absolute; `line` counts from 1.
    """

    path: str | None = None
    line: int | None = None
    found: str
    write: str | None = None

    def __str__(self) -> str:
        """`devices.py:27  found …  write …`, with what is unknown left out."""
        place = "" if self.path is None else self.path if self.line is None else f"{self.path}:{self.line}"
        text = f"{place}  {self.found}" if place else self.found
        return text if self.write is None else f"{text}\n  write  {self.write}"


class CompileError(Exception):
    """The compiler stopped; `findings` says why, in source order."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))
