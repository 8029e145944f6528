"""The closed words of errors, and what holds for each code (SPEC 8.1).

`spec/error-matrix.toml` says the same and more (steps, details); a gate holds the two equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, TypeAlias


class ErrorCode(StrEnum):
    """The closed set of codes an agent can meet (SPEC 8.1)."""

    CAPABILITY_NOT_FOUND = "CAPABILITY_NOT_FOUND"
    CAPABILITY_NOT_AVAILABLE = "CAPABILITY_NOT_AVAILABLE"
    AMBIGUOUS_INSTANCE = "AMBIGUOUS_INSTANCE"
    COMPONENT_UNMOUNTED = "COMPONENT_UNMOUNTED"
    STALE_CAPABILITY = "STALE_CAPABILITY"
    INVOCATION_CONFLICT = "INVOCATION_CONFLICT"
    INVALID_INPUT = "INVALID_INPUT"
    RECORD_UNAVAILABLE = "RECORD_UNAVAILABLE"
    NOT_AUTHENTICATED = "NOT_AUTHENTICATED"
    NOT_AUTHORIZED = "NOT_AUTHORIZED"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED"
    CONFIRMATION_INVALID = "CONFIRMATION_INVALID"
    HANDOFF_REQUIRED = "HANDOFF_REQUIRED"
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
    AFTER_APPROVAL = "after-approval"
    AFTER_HANDOFF = "after-handoff"
    AFTER_DELAY = "after-delay"


class Happened(StrEnum):
    """What is known of the effect of a call that failed (SPEC 8.1): none, done or unknown."""

    NONE = "none"
    DONE = "done"
    UNKNOWN = "unknown"


Origin: TypeAlias = Literal["client", "server"]
UnmountedPhase: TypeAlias = Literal["resolve", "mid-flight"]
StaleReason: TypeAlias = Literal["registration-replaced", "surface-reloaded", "surface-version-mismatch"]
InvalidReason: TypeAlias = Literal["mismatch", "denied", "expired", "cancelled", "spent", "no-decider"]
LimitedReason: TypeAlias = Literal["rate", "queue-full", "denied-often", "unanswered", "probing", "store-unavailable"]
FailedReason: TypeAlias = Literal[
    "handler-error", "output-invalid", "output-too-large", "transport", "rejected", "audit-unavailable"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What holds for every error of one code.

    `messages` are its fixed sentences and `retries` what may be advised, the usual one first; `stored`: an answer given
    after the call has started is kept for repeats of its invocation id (SPEC 6.4).
    """

    messages: tuple[str, ...]
    retries: tuple[RetryAdvice, ...]
    stored: bool = False


MATRIX: Final[Mapping[ErrorCode, Ruling]] = MappingProxyType(
    {
        ErrorCode.CAPABILITY_NOT_FOUND: Ruling(
            messages=(
                "There is no such capability here. Stop: do not look for another way; list what is available now.",
            ),
            retries=(RetryAdvice.AFTER_REFRESH,),
        ),
        ErrorCode.CAPABILITY_NOT_AVAILABLE: Ruling(
            messages=("This capability is not available at the moment.",), retries=(RetryAdvice.AFTER_REFRESH,)
        ),
        ErrorCode.AMBIGUOUS_INSTANCE: Ruling(
            messages=(
                "Several instances offer this capability. Name one of them.",
                "Several views are open. Choose one of them first.",
            ),
            retries=(RetryAdvice.WITH_CHANGES,),
        ),
        ErrorCode.COMPONENT_UNMOUNTED: Ruling(
            messages=("The part of the view that offered this capability has been closed.",),
            retries=(RetryAdvice.AFTER_REFRESH,),
            stored=True,
        ),
        ErrorCode.STALE_CAPABILITY: Ruling(
            messages=("The view has changed since this capability was listed. List again, look, then decide.",),
            retries=(RetryAdvice.AFTER_REFRESH,),
        ),
        ErrorCode.INVOCATION_CONFLICT: Ruling(
            messages=("This invocation id was already used for a different call.",), retries=(RetryAdvice.WITH_CHANGES,)
        ),
        ErrorCode.INVALID_INPUT: Ruling(
            messages=("The input does not fit. Correct the named fields.",),
            retries=(RetryAdvice.WITH_CHANGES,),
            stored=True,
        ),
        ErrorCode.RECORD_UNAVAILABLE: Ruling(
            messages=("This record is not available here. List again.",), retries=(RetryAdvice.AFTER_REFRESH,)
        ),
        ErrorCode.NOT_AUTHENTICATED: Ruling(
            messages=("The person is not signed in here. Stop and say so.",), retries=(RetryAdvice.NO,)
        ),
        ErrorCode.NOT_AUTHORIZED: Ruling(
            messages=("This is not permitted. Stop: do not look for another way.",), retries=(RetryAdvice.NO,)
        ),
        ErrorCode.PRECONDITION_FAILED: Ruling(
            messages=("The call cannot run in the present state.",),
            retries=(RetryAdvice.WITH_CHANGES, RetryAdvice.AFTER_REFRESH),
            stored=True,
        ),
        ErrorCode.CONFIRMATION_REQUIRED: Ruling(
            messages=(
                "A person must approve this exact call. Ask them; then repeat it with the confirmation id.",
                "The backend wants an approval of its own. Say so; repeat the call once it has been given there.",
            ),
            retries=(RetryAdvice.WITH_CONFIRMATION, RetryAdvice.AFTER_APPROVAL),
        ),
        ErrorCode.CONFIRMATION_INVALID: Ruling(
            messages=("The confirmation does not cover this call.",),
            retries=(RetryAdvice.NO, RetryAdvice.WITH_CONFIRMATION),
        ),
        ErrorCode.HANDOFF_REQUIRED: Ruling(
            messages=("Only the person can do this step. Give them the link and wait.",),
            retries=(RetryAdvice.AFTER_HANDOFF,),
        ),
        ErrorCode.RATE_LIMITED: Ruling(
            messages=("Too much at once. Wait, then try again.",), retries=(RetryAdvice.AFTER_DELAY,)
        ),
        ErrorCode.TIMEOUT: Ruling(
            messages=("The call took too long.",), retries=(RetryAdvice.NO, RetryAdvice.YES), stored=True
        ),
        ErrorCode.CANCELLED: Ruling(
            messages=("The call was cancelled.",), retries=(RetryAdvice.YES, RetryAdvice.NO), stored=True
        ),
        ErrorCode.EXECUTION_FAILED: Ruling(
            messages=("The call failed. The operator has the details.",),
            retries=(RetryAdvice.NO, RetryAdvice.AFTER_DELAY),
            stored=True,
        ),
        ErrorCode.SURFACE_UNREACHABLE: Ruling(
            messages=("The view cannot be reached.",), retries=(RetryAdvice.AFTER_REFRESH,)
        ),
    }
)
