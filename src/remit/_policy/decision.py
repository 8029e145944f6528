"""The closed answers of a policy (SPEC 5.2)."""

from dataclasses import dataclass

from remit.errors import ErrorCode

DENIALS = frozenset({ErrorCode.NOT_AUTHORIZED, ErrorCode.NOT_AUTHENTICATED, ErrorCode.RATE_LIMITED})


@dataclass(frozen=True, slots=True)
class Expose:
    """`discover` has no objection: other policies and the state of the view decide on."""


@dataclass(frozen=True, slots=True)
class Disable:
    """`discover` leaves the capability listed as unavailable; `reason` is shown to the agent (200 characters)."""

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"Disable(reason) says in text why, not {type(self.reason).__name__}")


@dataclass(frozen=True, slots=True)
class Hide:
    """`discover` makes the capability not exist for this consumer: absent everywhere, like a made-up id (SPEC 4.7)."""


Decision = Expose | Disable | Hide


@dataclass(frozen=True, slots=True)
class Deny:
    """`authorize` or `review` says no.

    `reason` is shown to the agent (data, 200 characters); without it the agent gets a fixed sentence. `code` is one of
    NOT_AUTHORIZED, NOT_AUTHENTICATED, RATE_LIMITED; RATE_LIMITED, and nothing else, has a `retry_after_ms`. Anything
    else is a `ValueError`, a reason that is no text a `TypeError`. That of `review` is told as NOT_AUTHORIZED whatever
    its code (SPEC 6.2); the journal has it.
    """

    reason: str | None = None
    code: ErrorCode = ErrorCode.NOT_AUTHORIZED
    retry_after_ms: int | None = None

    def __post_init__(self) -> None:
        if self.reason is not None and not isinstance(self.reason, str):
            raise TypeError(f"Deny(reason=…) is text, not {type(self.reason).__name__}")
        if self.code not in DENIALS:
            raise ValueError(f"Deny(code=…) is one of {', '.join(sorted(DENIALS))}")
        if (self.code == ErrorCode.RATE_LIMITED) is (self.retry_after_ms is None):
            raise ValueError("Deny(retry_after_ms=…) goes with RATE_LIMITED, and RATE_LIMITED needs it")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequireConfirmation:
    """`review` asks for a person's approval of this exact call.

    `summary` stands beside the exact input that the person sees, never instead of it; `approver` is the grant a decider
    needs, None for the principal (SPEC 7.4). Any other value is a `TypeError`: an approver that no decider can be
    would be asked in vain.
    """

    summary: str | None = None
    approver: str | None = None

    def __post_init__(self) -> None:
        if self.summary is not None and not isinstance(self.summary, str):
            raise TypeError(f"RequireConfirmation(summary=…) is text, not {type(self.summary).__name__}")
        if self.approver is not None and not (isinstance(self.approver, str) and self.approver):
            raise TypeError(f"RequireConfirmation(approver=…) is the name of a grant, not {self.approver!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """A person is needed: the first summary that a policy gave, and every approver that any of them named.

    `standing` says that a standing approval may satisfy it: the declaration alone asks, for no more than `required`.
    """

    summary: str | None = None
    approvers: tuple[str, ...] = ()
    standing: bool = False
