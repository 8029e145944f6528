"""Policies: the base class for your own, its answers, and the built-in ones (SPEC 5)."""

import inspect
from collections.abc import Callable, Iterable
from typing import TypeVar

from remit._model.consumer import ConsumerKind
from remit._model.effects import Kind
from remit._policy.context import Counter, PolicyContext, ReviewContext
from remit._policy.decision import Decision, Deny, Disable, Expose, Hide, RequireConfirmation
from remit._policy.meters import StoreUnavailable
from remit._policy.policy import Policy, at_once, named, quick
from remit._policy.untrusted import AFTER_UNTRUSTED, NETWORK_DOORS, asks
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
    "StoreUnavailable",
    "after_untrusted",
    "authenticated",
    "environment",
    "only_doors",
    "only_kinds",
    "rate_limit",
    "read_only",
    "require_confirmation",
    "require_grant",
    "require_permission",
    "tenant_boundary",
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


def require_permission(check: Callable[[PolicyContext], bool]) -> Policy:
    """Only where the application's own `check(ctx)` says True; elsewhere the capability does not exist (SPEC 4.7, 5.5).

    Authority hides. The check is synchronous and quick, because it runs for every listing, and again for every call and
    before the call runs if it waited. It sees no input; `ctx.capability` is None for a made-up id. What is no `bool`,
    and what raises, hides, and the operator reads the cause. A service that is slow to ask is asked in `principal=` or
    `host=` of the surface; the check looks at its answer. The policy's name holds the function's.
    """
    if not callable(check) or inspect.iscoroutinefunction(check):
        raise TypeError("require_permission(check) needs a synchronous function of the PolicyContext")
    return _RequirePermission(check)


def tenant_boundary(tenant: str | Callable[[PolicyContext], str | None]) -> Policy:
    """Only for principals of this tenant; for everybody else the capability does not exist (SPEC 4.7, 5.5).

    `tenant` is a name, or a synchronous function of the context, say of `ctx.host`, that gives it; when it gives None,
    the data belongs to no tenant and nobody is kept out. Nobody signed in, or a principal without a tenant, is outside
    every tenant. Authority hides.
    """
    if not _text_or_function(tenant):
        raise TypeError("tenant_boundary needs a tenant (text), or a synchronous function that gives one or None")
    return _TenantBoundary(tenant)


def environment(*names: str, now: str | Callable[[PolicyContext], str]) -> Policy:
    """Only in these environments: `environment("development", now=settings.environment)`; elsewhere hidden (SPEC 5.5).

    `now` is the name of the environment that runs, or a synchronous function of the context that gives it. What is not
    meant for production is no state of production that an agent could wait for: it does not exist there. The policy's
    name holds `names`, and not `now`, which is another one wherever the program runs. Names without commas.
    """
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeError("environment needs the names (text) of the environments in which the capability exists")
    if several := [name for name in names if "," in name]:
        raise ValueError(f"environment({several[0]!r:.80}): the name of an environment has no comma")
    if not _text_or_function(now):
        raise TypeError("environment(now=…) is the environment that runs (text), or a synchronous function of it")
    return _Environment(names, now)


def rate_limit(calls: int, *, per_s: float, each_capability: bool = False, shared: bool = False) -> Policy:
    """At most `calls` calls at once, renewed evenly over `per_s` seconds, for each principal and consumer (SPEC 5.5).

    A token bucket that holds `calls`, full at first. It denies, as RATE_LIMITED{rate} with the exact time until the
    next call passes, and hides nothing: the capability stays listed, because what is spent is state. Refused calls and
    listings cost nothing. A call counts once, when it is authorized, and not again before it runs. A made-up id and a
    hidden capability cost equally, which is nothing: neither gets as far (SPEC 4.7).

    With `each_capability` every capability has a bucket of its own. Policies of equal numbers share their buckets,
    wherever they stand. With `shared` the buckets are in the store, so that all surfaces over it count together; when
    it raises or does not answer in time, the call is RATE_LIMITED{store-unavailable}. Otherwise the buckets live in the
    surface's counters: constant work a call, at most 10,000 in memory, the longest unused forgotten first. `calls` is a
    positive integer, `per_s` at most 3,600, else a `ValueError`.
    """
    if isinstance(calls, bool) or not isinstance(calls, int) or calls < 1:
        raise ValueError("rate_limit(calls, …) is a positive number of calls")
    if isinstance(per_s, bool) or not isinstance(per_s, int | float):
        raise TypeError(f"rate_limit(per_s=…) is a number of seconds, not {type(per_s).__name__}")
    if not 0 < per_s <= _LONGEST_S:
        raise ValueError("rate_limit(per_s=…) is above 0 and at most 3,600 seconds: counters are kept for an hour")
    return (_SharedRateLimit if shared else _RateLimit)(calls, per_s, each_capability)


def read_only() -> Policy:
    """Only what reads: observations and server queries; everything that changes anything is hidden (SPEC 4.7, 5.5).

    What changes only the view (`local-state`, `navigation`) is hidden too. This is authority, not state: to say "not
    just now", answer `Disable` in a policy of your own.
    """
    return _ReadOnly()


def only_kinds(*kinds: Kind | str) -> Policy:
    """Only capabilities of these kinds (`observation`, `action`, `reference`); others are hidden (SPEC 4.7, 5.5).

    Another name is a `ValueError`.
    """
    return _OnlyKinds(_members(Kind, kinds, "only_kinds"))


def only_doors(*doors: ConsumerKind | str) -> Policy:
    """Only at these doors (`embedded`, `mcp`, `webmcp`, `page`, `test`, `other`); elsewhere hidden (SPEC 4.7, 5.5).

    A door is named by the kind of the consumer that comes through it. This can only close: what the site's exposure or
    a capability's own `doors=` keeps shut stays shut. Another name is a `ValueError`.
    """
    return _OnlyDoors(_members(ConsumerKind, doors, "only_doors"))


def require_confirmation(*, when: Callable[[ReviewContext], bool] | None = None, summary: str | None = None) -> Policy:
    """A person approves each exact call (SPEC 7), or those for which `when(ctx)` is true.

    `when` is synchronous and sees the effective input; raising denies the call. `summary` stands beside the exact input
    that the person is shown, never instead of it. With `when` the policy's name says that it narrows,
    `require-confirmation:when`: adding one asks a person less often, and a reviewer sees it (SPEC 3.9).
    """
    if when is not None and (not callable(when) or inspect.iscoroutinefunction(when)):
        raise TypeError("require_confirmation(when=…) is a synchronous function of the ReviewContext")
    return _RequireConfirmation(when, summary)


def after_untrusted(*, doors: Iterable[ConsumerKind | str] = NETWORK_DOORS) -> Policy:
    """After an agent read text from outside, `optional` asks a person, and approvals for the session do not count.

    It holds at these `doors`, for the rest of the session or until a person clears the agent
    (`surface.confirmations.clear_untrusted`). Every surface has it by itself, at the network doors; one among the
    policies of a surface stands in its place: `after_untrusted(doors=("mcp", "embedded"))`, and with `doors=()` nothing
    at all. Over a component or a capability it holds besides (SPEC 11.15, 5.5).
    """
    if isinstance(doors, str) or not isinstance(doors, Iterable):
        raise TypeError(f"after_untrusted(doors=…) is a collection of doors, not {doors!r:.80}")
    given = tuple(doors)
    return _AfterUntrusted(_members(ConsumerKind, given, "after_untrusted") if given else ())


class _Authenticated(Policy, name="authenticated"):
    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        return _HIDE if ctx.principal is None else _EXPOSE

    @at_once
    def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny(code=ErrorCode.NOT_AUTHENTICATED) if ctx.principal is None else None


class _RequireGrant(Policy, name="require-grant"):
    def __init__(self, grant: str) -> None:
        self.name = named("require_grant", f"require-grant:{grant}")
        self._grant = grant

    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        principal = ctx.principal
        return _EXPOSE if principal is not None and self._grant in principal.grants else _HIDE

    @at_once
    def authorize(self, ctx: PolicyContext) -> Deny | None:
        if ctx.principal is None:
            return Deny(code=ErrorCode.NOT_AUTHENTICATED)
        return None if self._grant in ctx.principal.grants else Deny()


class _RequirePermission(Policy, name="require-permission"):
    def __init__(self, check: Callable[[PolicyContext], bool]) -> None:
        name: object = getattr(check, "__name__", "")
        if isinstance(name, str) and name.isidentifier():
            self.name = named("require_permission", f"require-permission:{name}")
        self._check = check

    def discover(self, ctx: PolicyContext) -> Decision:
        answer: object = self._check(ctx)
        if isinstance(answer, bool):
            return _EXPOSE if answer else _HIDE
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(f"the check of {self.name} returned {type(answer).__name__}, not a bool")


class _TenantBoundary(Policy, name="tenant-boundary"):
    def __init__(self, tenant: str | Callable[[PolicyContext], str | None]) -> None:
        if isinstance(tenant, str):
            self.name = named("tenant_boundary", f"tenant-boundary:{tenant}")
        self._tenant = tenant

    def discover(self, ctx: PolicyContext) -> Decision:
        tenant = self._tenant if isinstance(self._tenant, str) else self._tenant(ctx)
        own = None if ctx.principal is None else ctx.principal.tenant
        return _EXPOSE if tenant is None or tenant == own else _HIDE


class _Environment(Policy, name="environment"):
    def __init__(self, names: tuple[str, ...], now: str | Callable[[PolicyContext], str]) -> None:
        self.name = named("environment", f"environment:{','.join(names)}")
        self._names = frozenset(names)
        self._now = now

    def discover(self, ctx: PolicyContext) -> Decision:
        now = self._now if isinstance(self._now, str) else self._now(ctx)
        return _EXPOSE if now in self._names else _HIDE


class _RateLimit(Policy, name="rate-limit"):
    """Keeps of each bucket only the instant, in nanoseconds, at which it will be full again.

    Each call moves that instant on by what one token takes to come back; a call passes if the bucket is full no later
    than in one period. That is a token bucket in one whole number, and a counter is a whole number.
    """

    def __init__(self, calls: int, per_s: float, each_capability: bool) -> None:
        self.name = f"rate-limit:{calls}/{_seconds(per_s)}s{'/capability' if each_capability else ''}"
        self._each_capability = each_capability
        self._period = round(per_s * _NANOSECONDS)
        self._token = max(self._period // calls, 1)

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        capability = ctx.capability.id if self._each_capability and ctx.capability is not None else None
        principal = None if ctx.principal is None else ctx.principal.id
        counter = ctx.counter((self.name, principal, ctx.consumer.key, capability))
        now = round(ctx.clock.monotonic() * _NANOSECONDS)
        cost = max(now - counter.value, 0) + self._token
        # A call that was charged before is not charged again, and its bucket, which passed then, passes now.
        over = counter.add(cost) - now - self._period
        if over <= 0:
            return None
        counter.add(-cost)
        return Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=-(-over // 1_000_000))


class _SharedRateLimit(Policy, name="rate-limit"):
    """The same with a bucket that the store keeps."""

    def __init__(self, calls: int, per_s: float, each_capability: bool) -> None:
        self.name = f"rate-limit:{calls}/{_seconds(per_s)}s{'/capability' if each_capability else ''}/shared"
        self._each_capability = each_capability
        self._calls = calls
        self._per_s = per_s

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        capability = ctx.capability.id if self._each_capability and ctx.capability is not None else None
        principal = None if ctx.principal is None else ctx.principal.id
        key = (self.name, principal, ctx.consumer.key, capability)
        wait_ms = await ctx.take(key, calls=self._calls, per_s=self._per_s)
        return Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=wait_ms) if wait_ms else None


class _ReadOnly(Policy, name="read-only"):
    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        return _EXPOSE if ctx.capability is not None and ctx.capability.effect.reads_only else _HIDE


class _OnlyKinds(Policy, name="only-kinds"):
    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self.name = f"only-kinds:{','.join(kinds)}"
        self._kinds = frozenset(kinds)

    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        return _EXPOSE if ctx.capability is not None and ctx.capability.kind in self._kinds else _HIDE


class _OnlyDoors(Policy, name="only-doors"):
    def __init__(self, doors: tuple[ConsumerKind, ...]) -> None:
        self.name = f"only-doors:{','.join(doors)}"
        self._doors = frozenset(door.value for door in doors)

    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        return _EXPOSE if ctx.door in self._doors else _HIDE


class _RequireConfirmation(Policy, name="require-confirmation"):
    def __init__(self, when: Callable[[ReviewContext], bool] | None, summary: str | None) -> None:
        if when is not None:
            self.name = "require-confirmation:when"
        self._when = when
        self._asked = RequireConfirmation(summary=summary)

    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        return self._asked if self._when is None or self._when(ctx) else None


class _AfterUntrusted(Policy, name=AFTER_UNTRUSTED):
    def __init__(self, doors: tuple[ConsumerKind, ...]) -> None:
        if doors != NETWORK_DOORS:
            self.name = f"{AFTER_UNTRUSTED}:{','.join(doors) or 'off'}"
        self._doors = frozenset(door.value for door in doors)

    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        capability = ctx.capability
        if capability is None or ctx.door not in self._doors or not asks(capability.confirmation):
            return None
        return RequireConfirmation() if ctx.read_untrusted else None


_EXPOSE = Expose()
_HIDE = Hide()
_NANOSECONDS = 1_000_000_000
_LONGEST_S = 3_600

E = TypeVar("E", Kind, ConsumerKind)


def _members(kind: type[E], given: tuple[E | str, ...], what: str) -> tuple[E, ...]:
    """The named members in the order of their enumeration, so that the policy's name says what, not how it was put."""
    if not given:
        raise TypeError(f"{what} needs at least one of {', '.join(kind)}")
    if unknown := [each for each in given if each not in list(kind)]:
        raise ValueError(f"{what}: {unknown[0]!r} is none of {', '.join(kind)}")
    wanted = {kind(each) for each in given}
    return tuple(each for each in kind if each in wanted)


def _seconds(number: float) -> str:
    """Every digit of it, so that equal names are equal limits: `10` for 10.0, `0.5`."""
    return repr(float(number)).removesuffix(".0")


def _text_or_function(value: object) -> bool:
    if isinstance(value, str):
        return bool(value)
    return callable(value) and not inspect.iscoroutinefunction(value)
