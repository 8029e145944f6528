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

from remit._base.text import clean_line

REASON_CHARACTERS = 200


class ErrorCode(StrEnum):
    """The closed set of codes an agent can meet (SPEC 8.1)."""

    CAPABILITY_NOT_FOUND = "CAPABILITY_NOT_FOUND"
    CAPABILITY_NOT_AVAILABLE = "CAPABILITY_NOT_AVAILABLE"
    AMBIGUOUS_INSTANCE = "AMBIGUOUS_INSTANCE"
    COMPONENT_UNMOUNTED = "COMPONENT_UNMOUNTED"
    STALE_CAPABILITY = "STALE_CAPABILITY"
    INVOCATION_CONFLICT = "INVOCATION_CONFLICT"
    INVALID_INPUT = "INVALID_INPUT"
    NOT_AUTHENTICATED = "NOT_AUTHENTICATED"
    NOT_AUTHORIZED = "NOT_AUTHORIZED"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED"
    CONFIRMATION_INVALID = "CONFIRMATION_INVALID"
    RATE_LIMITED = "RATE_LIMITED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    SURFACE_UNREACHABLE = "SURFACE_UNREACHABLE"


class RetryAdvice(StrEnum):
    """What the caller may do about an error (SPEC 8.1)."""

    NO = "no"
    YES = "yes"
    AFTER_REFRESH = "after-refresh"
    WITH_CHANGES = "with-changes"
    WITH_CONFIRMATION = "with-confirmation"
    AFTER_DELAY = "after-delay"


class Happened(StrEnum):
    """What is known of the effect of a call that failed (SPEC 8.1): none, done or unknown."""

    NONE = "none"
    DONE = "done"
    UNKNOWN = "unknown"


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


# One constructor a code. Messages are fixed; only `details` vary.


def capability_not_found() -> AgentError:
    """One answer for the hidden, the unmounted that was never shown, the malformed and the made-up."""
    return AgentError(
        code=ErrorCode.CAPABILITY_NOT_FOUND,
        message="There is no such capability here. Stop: do not look for another way; list what is available now.",
        retry=RetryAdvice.AFTER_REFRESH,
    )


def capability_not_available(reason: str) -> AgentError:
    """Listed, but not possible now; `reason` is the author's, the framework's or a policy's run-time text."""
    return AgentError(
        code=ErrorCode.CAPABILITY_NOT_AVAILABLE,
        message="This capability is not available at the moment.",
        retry=RetryAdvice.AFTER_REFRESH,
        details={"reason": clean_line(reason, REASON_CHARACTERS)},
    )


def ambiguous_instance(instances: Sequence[str]) -> AgentError:
    """Several visible instances answer to the id."""
    return AgentError(
        code=ErrorCode.AMBIGUOUS_INSTANCE,
        message="Several instances offer this capability. Name one of them.",
        retry=RetryAdvice.WITH_CHANGES,
        details={"instances": list(instances)},
    )


def ambiguous_view(views: Sequence[Mapping[str, object]]) -> AgentError:
    """Several views are open and none is chosen (SPEC 11.12)."""
    return AgentError(
        code=ErrorCode.AMBIGUOUS_INSTANCE,
        message="Several views are open. Choose one of them first.",
        retry=RetryAdvice.WITH_CHANGES,
        details={"views": [dict(view) for view in views]},
    )


def component_unmounted(phase: str, happened: Happened | None = None) -> AgentError:
    """The component has gone: `resolve` before anything ran, `mid-flight` while it ran."""
    details: dict[str, object] = {"phase": phase}
    if happened is not None:
        details["outcome"] = happened.value
    return AgentError(
        code=ErrorCode.COMPONENT_UNMOUNTED,
        message="The part of the view that offered this capability has been closed.",
        retry=RetryAdvice.AFTER_REFRESH,
        details=details,
    )


def stale_capability(reason: str) -> AgentError:
    """`registration-replaced`, `surface-reloaded` or `surface-version-mismatch` (SPEC 6.5)."""
    return AgentError(
        code=ErrorCode.STALE_CAPABILITY,
        message="The view has changed since this capability was listed. List again, look, then decide.",
        retry=RetryAdvice.AFTER_REFRESH,
        details={"reason": reason},
    )


def invocation_conflict() -> AgentError:
    """One invocation id, two different calls."""
    return AgentError(
        code=ErrorCode.INVOCATION_CONFLICT,
        message="This invocation id was already used for a different call.",
        retry=RetryAdvice.WITH_CHANGES,
        details={"reason": "different-call"},
    )


def invalid_input(issues: Sequence[Issue], locked_fields: Sequence[str] = ()) -> AgentError:
    """The input breaks its schema, or names fields that the view has locked."""
    details: dict[str, object] = {"issues": [{"path": i.path, "message": i.message} for i in issues]}
    if locked_fields:
        details["locked_fields"] = list(locked_fields)
    return AgentError(
        code=ErrorCode.INVALID_INPUT,
        message="The input does not fit. Correct the named fields.",
        retry=RetryAdvice.WITH_CHANGES,
        details=details,
    )


def not_authenticated(origin: str = "client") -> AgentError:
    """Nobody vouches for the caller: `client` here, `server` when a backend said so."""
    return AgentError(
        code=ErrorCode.NOT_AUTHENTICATED,
        message="The person is not signed in here. Stop and say so.",
        retry=RetryAdvice.NO,
        details={"origin": origin},
    )


def not_authorized(origin: str = "client", reason: str | None = None) -> AgentError:
    """A policy or a backend said no; `reason` only if the policy gave one."""
    details: dict[str, object] = {"origin": origin}
    if reason is not None:
        details["reason"] = clean_line(reason, REASON_CHARACTERS)
    return AgentError(
        code=ErrorCode.NOT_AUTHORIZED,
        message="This is not permitted. Stop: do not look for another way.",
        retry=RetryAdvice.NO,
        details=details,
    )


def precondition_failed(
    reason: str, details: Mapping[str, object] | None = None, *, retry: RetryAdvice = RetryAdvice.WITH_CHANGES
) -> AgentError:
    """The author's check, a handler's refusal, a failed binding or a backend's state said no."""
    return AgentError(
        code=ErrorCode.PRECONDITION_FAILED,
        message="The call cannot run in the present state.",
        retry=retry,
        details={**(details or {}), "reason": clean_line(reason, REASON_CHARACTERS)},
    )


def confirmation_required(confirmation_id: str, *, summary: str, expires_at: str, effect: str) -> AgentError:
    """A person must approve this exact call; retry it with the id as evidence."""
    return AgentError(
        code=ErrorCode.CONFIRMATION_REQUIRED,
        message="A person must approve this exact call. Ask them; then repeat it with the confirmation id.",
        retry=RetryAdvice.WITH_CONFIRMATION,
        details={
            "confirmation_id": confirmation_id,
            "summary": summary,
            "expires_at": expires_at,
            "effect": effect,
            "origin": "client",
        },
    )


def confirmation_invalid(reason: str, *, cause: str | None = None, happened: Happened | None = None) -> AgentError:
    """`mismatch`, `denied`, `expired`, `cancelled`, `spent` or `no-decider` (SPEC 7.5)."""
    details: dict[str, object] = {"reason": reason}
    if cause is not None:
        details["cause"] = cause
    if happened is not None:
        details["outcome"] = happened.value
    again = reason in {"expired", "cancelled", "mismatch"}
    return AgentError(
        code=ErrorCode.CONFIRMATION_INVALID,
        message="The confirmation does not cover this call.",
        retry=RetryAdvice.WITH_CONFIRMATION if again else RetryAdvice.NO,
        details=details,
    )


def rate_limited(reason: str, retry_after_ms: int) -> AgentError:
    """`rate`, `queue-full`, `denied-often` or `unanswered`; when to come back, in milliseconds."""
    return AgentError(
        code=ErrorCode.RATE_LIMITED,
        message="Too much at once. Wait, then try again.",
        retry=RetryAdvice.AFTER_DELAY,
        details={"reason": reason, "retry_after_ms": retry_after_ms},
    )


def timeout(timeout_ms: int, *, idempotent: bool, happened: Happened) -> AgentError:
    """The deadline passed; whether the effect took place is in `outcome`."""
    again = happened is Happened.NONE or (idempotent and happened is Happened.UNKNOWN)
    return AgentError(
        code=ErrorCode.TIMEOUT,
        message="The call took too long.",
        retry=RetryAdvice.YES if again else RetryAdvice.NO,
        details={"timeout_ms": timeout_ms, "idempotent": idempotent, "outcome": happened.value},
    )


def cancelled(happened: Happened) -> AgentError:
    """The caller or the surface ended the call."""
    return AgentError(
        code=ErrorCode.CANCELLED,
        message="The call was cancelled.",
        retry=RetryAdvice.YES if happened is Happened.NONE else RetryAdvice.NO,
        details={"outcome": happened.value},
    )


def execution_failed(
    reason: str,
    happened: Happened,
    *,
    correlation_id: str | None = None,
    declared: Mapping[str, object] | None = None,
    retry_after_ms: int | None = None,
) -> AgentError:
    """`handler-error`, `output-invalid`, `output-too-large`, `transport`, `rejected` or `audit-unavailable`."""
    details: dict[str, object] = {"reason": reason, "outcome": happened.value}
    if correlation_id is not None:
        details["correlation_id"] = correlation_id
    if declared is not None:
        details["declared"] = dict(declared)
    if retry_after_ms is not None:
        details["retry_after_ms"] = retry_after_ms
    return AgentError(
        code=ErrorCode.EXECUTION_FAILED,
        message="The call failed. The operator has the details.",
        retry=RetryAdvice.NO if retry_after_ms is None else RetryAdvice.AFTER_DELAY,
        details=details,
    )


def surface_unreachable(reason: str, happened: Happened = Happened.NONE, **details: object) -> AgentError:
    """No view of this person can be reached; `reason` is a fixed text such as "no view is open"."""
    return AgentError(
        code=ErrorCode.SURFACE_UNREACHABLE,
        message="The view cannot be reached: " + reason + ".",
        retry=RetryAdvice.AFTER_REFRESH,
        details={"outcome": happened.value, "reason": reason, **details},
    )


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
