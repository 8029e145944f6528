"""Policies: the base class for your own, its answers, and the built-in ones (SPEC 5)."""

import inspect
from collections.abc import Callable

from remit._policy.context import Counter, PolicyContext, ReviewContext
from remit._policy.decision import Decision, Deny, Disable, Expose, Hide, RequireConfirmation
from remit._policy.policy import Policy
from remit.errors import ErrorCode

__all__ = [
    "Counter",
    "Decision",
    "Deny",
    "Disable",
    "Expose",
    "Hide",
    "Policy",
    "PolicyContext",
    "RequireConfirmation",
    "ReviewContext",
    "authenticated",
    "require_confirmation",
    "require_grant",
]


def authenticated() -> Policy:
    """Nothing exists for an agent while nobody is signed in (SPEC 5.5).

    Without a principal everything is hidden: authority hides. A principal that goes away while a call waits ends it as
    NOT_AUTHENTICATED.
    """
    return _Authenticated()


def require_grant(grant: str) -> Policy:
    """Only for principals that hold `grant`; for everybody else the capability does not exist (SPEC 4.7, 5.5).

    The principal must hold it: an agent acts for a person and can never do more than that person. The grants of the
    consumer, the agent's client, do not stand in for it. A grant revoked while a call waits ends it as NOT_AUTHORIZED.
    """
    if not isinstance(grant, str) or not grant:
        raise TypeError("require_grant needs the name of a grant (text)")
    return _RequireGrant(grant)


def require_confirmation(*, when: Callable[[ReviewContext], bool] | None = None, summary: str | None = None) -> Policy:
    """A person approves each exact call (SPEC 7), or those for which `when(ctx)` is true.

    `when` is synchronous and sees the effective input; raising denies the call. `summary` stands beside the exact input
    that the person is shown, never instead of it.
    """
    if when is not None and (not callable(when) or inspect.iscoroutinefunction(when)):
        raise TypeError("require_confirmation(when=…) is a synchronous function of the ReviewContext")
    return _RequireConfirmation(when, summary)


class _Authenticated(Policy, name="authenticated"):
    def discover(self, ctx: PolicyContext) -> Decision:
        return _HIDE if ctx.principal is None else _EXPOSE

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny(code=ErrorCode.NOT_AUTHENTICATED) if ctx.principal is None else None


class _RequireGrant(Policy, name="require-grant"):
    def __init__(self, grant: str) -> None:
        self.name = f"require-grant:{grant}"
        self._grant = grant

    def discover(self, ctx: PolicyContext) -> Decision:
        principal = ctx.principal
        return _EXPOSE if principal is not None and self._grant in principal.grants else _HIDE

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        if ctx.principal is None:
            return Deny(code=ErrorCode.NOT_AUTHENTICATED)
        return None if self._grant in ctx.principal.grants else Deny()


class _RequireConfirmation(Policy, name="require-confirmation"):
    def __init__(self, when: Callable[[ReviewContext], bool] | None, summary: str | None) -> None:
        self._when = when
        self._asked = RequireConfirmation(summary=summary)

    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        return self._asked if self._when is None or self._when(ctx) else None


_EXPOSE = Expose()
_HIDE = Hide()
