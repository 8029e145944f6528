"""Assertions that say what was expected, what came, and which detail differs (SPEC 16.1)."""

from collections.abc import Coroutine, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, Protocol

from remit._base.closed import one_of
from remit._model.listing import Listed
from remit._model.outcome import Failed, Ok, Outcome
from remit._surface.connection import Connection, Named
from remit._surface.surface import Surface
from remit._toolset.direct import addressed
from remit.errors import AgentError, ErrorCode
from remit.testing.token import id_of

_ABSENT: Final = "(absent)"


class Lists(Protocol):
    """What says which capabilities there are: a harness, a connection, a snapshot."""

    def capabilities(self) -> tuple[Listed, ...]:
        """All that is visible now, available or not."""
        ...


def assert_ok(outcome: Outcome) -> object:
    """The output of a call that succeeded; an AssertionError with code, message and details when it did not.

    What is no outcome, such as a call that was not awaited, is a TypeError.
    """
    _check(outcome, "assert_ok")
    match outcome:
        case Ok(output=output):
            return output
        case Failed(error=error):
            raise AssertionError(_told(f"{outcome.capability_id} was expected to succeed", "Ok", error))


def assert_failed(outcome: Outcome, code: ErrorCode | str, /, **details: object) -> Failed:
    """The refusal, when it has this code and these details; more details may be there.

    The AssertionError names each detail that differs. A text that is no code is a ValueError, what is no outcome, such
    as a call that was not awaited, a TypeError.
    """
    _check(outcome, "assert_failed")
    wanted = one_of(ErrorCode, code, "assert_failed")
    expected = "  ".join([wanted.value, *(f"{name}={value!r}" for name, value in details.items())])
    head = f"{outcome.capability_id} was expected to fail"
    match outcome:
        case Ok(output=output):
            raise AssertionError(f"{head}\n  expected  {expected}\n  got       Ok  output={output!r}")
        case Failed(error=error) if error.code is not wanted:
            raise AssertionError(_told(head, expected, error))
        case Failed(error=error):
            differing = _differences(details, error.details)
            if differing:
                raise AssertionError("\n".join([f"{head} with {wanted.value} and other details", *differing]))
            return outcome


def assert_available(where: Lists, capability: str | Named) -> Listed:
    """The one listed capability that can be called now."""
    listed = _one(where, capability, "available")
    if not listed.available:
        raise AssertionError(_state(listed, "available", f"unavailable  reason={listed.reason!r}"))
    return listed


def assert_unavailable(where: Lists, capability: str | Named, reason: str | None = None) -> Listed:
    """The one listed capability that cannot be called now, for this reason if one is given."""
    wanted = "unavailable" if reason is None else f"unavailable  reason={reason!r}"
    listed = _one(where, capability, wanted)
    if listed.available:
        raise AssertionError(_state(listed, wanted, "available"))
    if reason is not None and listed.reason != reason:
        raise AssertionError(_state(listed, wanted, f"unavailable  reason={listed.reason!r}"))
    return listed


def assert_hidden(where: Lists, capability: str | Named) -> None:
    """It is not listed at all, as if there were none; unavailable is not hidden (SPEC 4.7).

    ValueError: an id that the contract does not hold is hidden from everybody, so it proves nothing. TypeError: a text
    with a snapshot, which knows no contract.
    """
    wanted = id_of(capability)
    _check_known(where, capability, wanted)
    for listed in _visible(where, "assert_hidden"):
        if listed.id == wanted:
            got = "available" if listed.available else f"unavailable  reason={listed.reason!r}"
            raise AssertionError(_state(listed, "hidden", got))


def _check(outcome: object, name: str) -> None:
    if isinstance(outcome, Ok | Failed):
        return
    if isinstance(outcome, Coroutine):
        outcome.close()
    raise TypeError(f"{name} takes how a call ended, not {type(outcome).__name__}\n  do  await harness.call(…)")


def _check_known(where: Lists, capability: str | Named, wanted: str) -> None:
    surface = where._port if isinstance(where, Connection) else getattr(where, "surface", None)
    if isinstance(surface, Surface):
        known = surface._authority.capability_ids
        if wanted not in known:
            near = get_close_matches(wanted, known, n=3) or sorted(known)
            raise ValueError(f"{wanted!r:.80} is no capability of this contract\n  do  name one: {', '.join(near)}")
    elif isinstance(capability, str):
        raise TypeError(
            f"assert_hidden: {type(where).__name__} knows no contract, so {capability!r:.80} may be misspelt\n"
            "  do  ask the harness, or name the attribute: DevicesTable.read_rows"
        )


def _visible(where: Lists, name: str) -> tuple[Listed, ...]:
    if isinstance(where, type) or not callable(getattr(where, "capabilities", None)):
        what = f"the class {where.__name__}" if isinstance(where, type) else type(where).__name__
        raise TypeError(
            f"{name} takes what lists capabilities, a harness, a connection or a snapshot, not {what}"
            f"\n  do  {name}(harness, …)"
        )
    return where.capabilities()


def _one(where: Lists, capability: str | Named, wanted: str) -> Listed:
    named = id_of(capability)
    visible = _visible(where, f"assert_{wanted.partition(' ')[0]}")
    found = [listed for listed in visible if listed.id == named]
    if not found:
        listed_now = ", ".join(sorted({listed.id for listed in visible})) or "nothing"
        raise AssertionError(f"{named}\n  expected  {wanted}\n  got       hidden: not listed\n  listed    {listed_now}")
    if len(found) > 1:
        instances = ", ".join(addressed(listed) for listed in found)
        raise AssertionError(f"{named} is listed {len(found)} times: {instances}")
    return found[0]


def _state(listed: Listed, expected: str, got: str) -> str:
    return f"{listed.id} of {addressed(listed)}\n  expected  {expected}\n  got       {got}"


def _told(head: str, expected: str, error: AgentError) -> str:
    lines = [head, f"  expected  {expected}", f"  got       {error.code.value}: {error.message}"]
    lines += [f"            {name}={value!r}" for name, value in error.details.items()]
    return "\n".join([*lines, f"            retry={error.retry.value}"])


def _differences(wanted: Mapping[str, object], got: Mapping[str, object]) -> Iterable[str]:
    lines: list[str] = []
    for name, value in wanted.items():
        there = name in got
        if not there or got[name] != value:
            lines += [f"- {name}={value!r}", f"+ {name}={got[name]!r}" if there else f"+ {name}  {_ABSENT}"]
    if lines:
        lines += [f"  {name}={value!r}" for name, value in got.items() if name not in wanted]
    return lines
