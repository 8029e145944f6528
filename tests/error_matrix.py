"""The matrix of errors as the tests use it: read from the data, held against everything the product answers.

`watch` wraps the few places through which every error goes. Whatever breaks the matrix, in any test, is noted; the
fixture in `tests/conftest.py` fails the test that caused it. A raise would be swallowed: raises become answers.
"""

import functools
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit._invocation import settle
from remit._invocation.call import Call
from remit._invocation.ledger import Ledger
from remit._invocation.pipeline import Pipeline
from remit._model.outcome import Failed
from remit.errors import AgentError

FILE: Final = Path(__file__).parents[1] / "spec" / "error-matrix.toml"
PHASES: Final[Mapping[str, frozenset[int]]] = {
    "accept": frozenset({1}),
    "look_up": frozenset({2}),
    "resolve": frozenset({3, 4, 5}),
    "authorize": frozenset({6}),
    "hand_over": frozenset({6}),
    "make": frozenset({7}),
    "stop": frozenset({8}),
    "take_up": frozenset({11}),
    "review": frozenset({9}),
    "check": frozenset({10}),
    "confirm": frozenset({11}),
    "admit": frozenset({12}),
    "dispatch": frozenset({13}),
    "execute": frozenset({14}),
    "check_output": frozenset({15}),
}
"""The steps of SPEC 6.2 that each phase takes; a phase that is not here fails every test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One code of the matrix."""

    code: str
    retry: tuple[str, ...]
    stored: bool
    steps: frozenset[int]
    sentences: tuple[str, ...]
    open: bool
    details: Mapping[str, str | tuple[str, ...]]
    beyond: Mapping[str, str]
    later: Mapping[str, str | Mapping[str, str]]

    def values(self, key: str) -> tuple[str, ...]:
        """The closed set of values of a detail; () for a detail that is free."""
        held = self.details[key]
        return held if isinstance(held, tuple) else ()


def read() -> dict[str, Row]:
    """The rows by code."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["code"]
    return {
        row["code"]: Row(
            code=row["code"],
            retry=tuple(row["retry"]),
            stored=row["stored"] == "after start",
            steps=frozenset(row["steps"]),
            sentences=tuple(row["sentences"]),
            open=row.get("open", False),
            details={k: tuple(v) if isinstance(v, list) else v for k, v in row.get("details", {}).items()},
            beyond=row.get("beyond", {}),
            later=row.get("later", {}),
        )
        for row in rows
    }


MATRIX: Final = read()


def error_faults(error: AgentError) -> list[str]:
    """Where one error breaks its row."""
    row = MATRIX.get(error.code.value)
    if row is None:
        return [f"{error.code} is no row of the matrix"]
    found: list[str] = []
    if row.later.get("code"):
        found.append(f"{row.code} is given, though it is marked as later")
    if error.retry.value not in row.retry:
        found.append(f"{row.code} advises {error.retry.value}")
    if error.message not in row.sentences:
        found.append(f"{row.code} says {error.message!r}")
    for key, value in error.details.items():
        if key == "correlation_id":
            continue
        if key not in row.details:
            found += [] if row.open else [f"{row.code} has the detail {key}"]
            continue
        closed, later = row.values(key), row.later.get(key, {})
        if closed and value not in closed:
            found.append(f"{row.code} has {key}={value!r}")
        if isinstance(later, Mapping) and isinstance(value, str) and value in later:
            found.append(f"{row.code} has {key}={value!r}, though it is marked as later")
    return found


@dataclass(slots=True)
class Watch:
    """What was seen, and what of it broke the matrix."""

    broken: list[str] = field(default_factory=list)
    at: dict[Call, frozenset[int]] = field(default_factory=dict)

    def made(self, error: AgentError) -> None:
        """An error was made, by whatever part of the product."""
        self.broken += error_faults(error)

    def closed(self, call: Call, error: AgentError | None) -> None:
        """A call ends; the step it had come to may give this answer."""
        if call.outcome is not None:
            return
        steps = self.at.pop(call, None)
        if error is None or steps is None:
            return
        if call.run is not None and call.run.begun:  # a flow answers with the answer of its step, which was held before
            return
        row = MATRIX.get(error.code.value)
        if row is not None and not steps & row.steps:
            self.broken.append(f"{row.code} is given in step {'/'.join(map(str, sorted(steps)))}")

    def ended(self, call: Call, stored: bool) -> None:
        """A call was kept for repeats, or not."""
        if not isinstance(call.outcome, Failed):
            return
        row = MATRIX[call.outcome.error.code.value]
        kept = row.stored and call.running and not call.live.plan.descriptor.effect.reads_only
        if stored is not kept:
            self.broken.append(f"{row.code} is {'stored' if stored else 'not stored'}")


def watch() -> Watch:
    """Wrap what every error goes through; once a process."""
    seen = Watch()
    made, closed, ended, built = AgentError.__init__, settle.close, Ledger.end, Pipeline.__init__

    @functools.wraps(made)
    def make(self: AgentError, *given: Any, **fields: Any) -> None:
        made(self, *given, **fields)
        if _by_the_product():
            seen.made(self)

    @functools.wraps(closed)
    def close(call: Call, error: AgentError | None, part: Any, reason: Any) -> None:
        seen.closed(call, error)
        closed(call, error, part, reason)

    @functools.wraps(ended)
    def end(self: Ledger, call: Call, *, stored: bool, keep: bool, size: int) -> None:
        seen.ended(call, stored)
        ended(self, call, stored=stored, keep=keep, size=size)

    @functools.wraps(built)
    def build(self: Pipeline, parts: Any) -> None:
        built(self, parts)
        steps: Any = tuple((_noting(seen, phase), part) for phase, part in self._steps)
        self._steps = steps

    for owner, name, wrapper in (
        (AgentError, "__init__", make),
        (settle, "close", close),
        (Ledger, "end", end),
        (Pipeline, "__init__", build),
    ):
        setattr(owner, name, wrapper)
    return seen


def _noting(seen: Watch, phase: Callable[[Call, Any], Any]) -> Callable[[Call, Any], Any]:
    steps = PHASES[phase.__name__]

    @functools.wraps(phase)
    def noted(call: Call, part: Any) -> Any:
        seen.at[call] = steps
        return phase(call, part)

    return noted


def _by_the_product() -> bool:
    """Whether the error is made by the product, and not by a test for itself; `replace` goes through two modules."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in {"dataclasses", "copy"}:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")).startswith("remit.")


def page_rows() -> list[str]:
    """The table of the page of errors."""
    lines = ["| code | retry | stored | steps | details |", "|---|---|---|---|---|"]
    for row in MATRIX.values():
        steps = ", ".join(str(step) if step else "outside" for step in sorted(row.steps))
        told = [_shown(row, key) for key in row.details] + (["the author's own"] if row.open else [])
        if row.later.get("code"):
            told.append("*not given yet*")
        stored = "after start" if row.stored else "no"
        lines.append(
            f"| {row.code} | {', '.join(row.retry)} | {stored} | {steps} | {'; '.join(told) or 'none, ever'} |"
        )
    return lines


def _shown(row: Row, key: str) -> str:
    values = row.values(key)
    if not values:
        return f"`{key}`: {row.details[key]}"
    later = row.later.get(key, {})
    return f"`{key}`: " + ", ".join(f"{each} (not yet)" if each in later else each for each in values)
