"""What a guard is shown of a mount, and its closed answers (SPEC 4.5)."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from remit._model.effects import Effect
from remit._model.pattern import Patterns
from remit._policy.context import PolicyContext
from remit._policy.decision import Decision, Expose, Hide
from remit._policy.policy import Policy, methods_of, quick


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A component that is about to be mounted, as a guard sees it: a copy, in which nothing can be changed.

    `origin` is the approved distribution of a dependency's component (SPEC 13.5); else what `mount(origin=…)` said,
    `first-party` if nothing, and code of the same process can lie about that.
    `effects` has the effect of each of its `capabilities`, by id.
    """

    origin: str
    type: str
    instance: str
    capabilities: tuple[str, ...]
    effects: Mapping[str, Effect]


@dataclass(frozen=True, slots=True)
class Accept:
    """The guard lets the component in, as it is."""


@dataclass(frozen=True, slots=True)
class Reject:
    """The guard keeps the component out: the mount is dead, and `reason` stands in the event and the journal."""

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason:
            raise TypeError("Reject(reason) says in text why the component stays out")


@dataclass(frozen=True, slots=True, init=False)
class Restrict:
    """The guard lets the component in, less than it is; it can only narrow.

    `hide` names capability ids or patterns (`domain:devices.**`): they exist for no consumer, as if a policy hid them.
    `policies` stand over every capability of this mount, after the surface's own. A malformed pattern, what is no
    policy, and nothing at all are errors where this is made, so a guard that raises them keeps the component out.
    """

    hide: Patterns
    policies: tuple[Policy, ...]

    def __init__(self, *, hide: Iterable[str] = (), policies: Iterable[Policy] = ()) -> None:
        if isinstance(hide, str):
            raise TypeError(f"Restrict(hide=…) takes several ids or patterns: write [{hide!r}]")
        if not isinstance(hide, Iterable):
            raise TypeError(f"Restrict(hide=…) takes several ids or patterns, not {type(hide).__name__}")
        if isinstance(policies, Policy) or not isinstance(policies, Iterable):
            raise TypeError(
                f"Restrict(policies=…) takes several policies, not {type(policies).__name__}: write [policy]"
            )
        hidden, added = tuple(hide), tuple(policies)
        if not hidden and not added:
            raise ValueError("Restrict() restricts nothing: name what to hide, give policies, or answer Accept()")
        for policy in added:
            methods_of(policy)
        object.__setattr__(self, "hide", Patterns(hidden))
        object.__setattr__(self, "policies", added)


GuardAnswer = Accept | Reject | Restrict
Guard = Callable[[Candidate], GuardAnswer]


def check_guard(guard: object) -> None:
    """Raise a TypeError for what cannot be asked about a mount."""
    if guard is not None and (not callable(guard) or inspect.iscoroutinefunction(guard)):
        raise TypeError("guard= is a synchronous function of the Candidate that returns Accept, Reject or Restrict")


class Withheld(Policy, name="guard"):
    """Hides what a guard's `Restrict(hide=…)` names; stands in the chain, so listing, calling and `explain` agree.

    `ids` are the capabilities of the mount that it names.
    """

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids

    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        """Hide what is named, and have no opinion about the rest."""
        return _HIDE if ctx.capability is not None and ctx.capability.id in self._ids else _EXPOSE


_EXPOSE: Final = Expose()
_HIDE: Final = Hide()
