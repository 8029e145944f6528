"""Asks the guard about a mount, once, before anything of it is live (SPEC 4.5)."""

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from remit._base.text import clean_line
from remit._policy.guard import Accept, Candidate, Guard, Reject, Restrict, Withheld, check_guard
from remit._policy.policy import Policy
from remit._registry.entered import Entered, Raised
from remit._registry.state import REASON_CHARACTERS
from remit._registry.wanted import Wanted

RAISED: Final = "the guard could not decide"


class Guarded:
    """One surface's guard, or none; a guard that raises, or answers anything else, keeps the component out."""

    __slots__ = ("_entered", "_fault", "_guard")

    def __init__(self, guard: Guard | None, entered: Entered, fault: Callable[[str, BaseException], None]) -> None:
        check_guard(guard)
        self._guard = guard
        self._entered = entered
        self._fault = fault

    def judge(self, wanted: Wanted) -> Reject | tuple[Policy, ...]:
        """Why the component stays out, or the policies that stand over this mount; none, when nothing is narrowed."""
        if self._guard is None:
            return ()
        answer: object = self._entered.attempt(self._guard, candidate_of(wanted))
        match answer:
            case Accept():
                return ()
            case Reject(reason=reason):
                return Reject(clean_line(reason, REASON_CHARACTERS) or RAISED)
            case Restrict(hide=hide, policies=policies):
                ids = frozenset(plan.id for plan in wanted.sealed.plans if plan.id in hide)
                return (Withheld(ids), *policies) if hide.texts else policies
            case Raised(cause=cause):
                self._fault(f"the guard raised for {wanted.place}", cause)
            case _:
                if inspect.iscoroutine(answer):
                    answer.close()
                wrong = TypeError(f"the guard returned {type(answer).__name__}, not Accept, Reject or Restrict")
                self._fault(f"the guard gave no answer for {wanted.place}", wrong)
        return Reject(RAISED)


def candidate_of(wanted: Wanted) -> Candidate:
    """What the guard is shown: a copy of its own."""
    descriptors = [plan.descriptor for plan in wanted.sealed.plans]
    return Candidate(
        origin=wanted.origin,
        type=wanted.sealed.type,
        instance=wanted.instance,
        capabilities=tuple(descriptor.id for descriptor in descriptors),
        effects=MappingProxyType({descriptor.id: descriptor.effect for descriptor in descriptors}),
    )
