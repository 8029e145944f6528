"""Runs steps in order, one line each; a line is printed only after the step was checked elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from demo.stage import Red

S = TypeVar("S")
T = TypeVar("T")

STEP_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A step that holds: what happened, and where that was seen; `checked` is False when it is for a person to see."""

    what: str
    where: str
    checked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[S, T]):
    """One step: `do` acts and returns what remit said; `verify` looks elsewhere and raises `Red` if it is not so.

    Together they take `seconds` at most.
    """

    name: str
    do: Callable[[S], Awaitable[T]]
    verify: Callable[[S, T], Awaitable[Seen]]
    seconds: float = STEP_SECONDS


Steps = Sequence[Step[S, Any]]


class CannotRun(Exception):
    """What was asked for cannot be run here; the text says why."""


def up_to(steps: Steps[S], last: str | None) -> Steps[S]:
    """The steps up to and with the one of this name; all when it is None."""
    if last is None:
        return steps
    names = [step.name for step in steps]
    if last not in names:
        raise CannotRun(f"there is no step {last!r}; the steps are {', '.join(names)}")
    return steps[: names.index(last) + 1]


async def tell(steps: Steps[S], stage: S) -> bool:
    """Run the steps and print their lines; stop at the first that is red and return whether there was none."""
    for step in steps:
        try:
            async with asyncio.timeout(step.seconds):
                seen = await step.verify(stage, await step.do(stage))
        except Red as red:
            print(f"RED {step.name}  {red}", flush=True)
            return False
        except TimeoutError:
            print(f"RED {step.name}  expected an end within {step.seconds:g} s … found none", flush=True)
            return False
        except Exception as error:  # noqa: BLE001 - whatever a step meets, it is that step which is red
            found = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"RED {step.name}  expected no exception … found {found}", flush=True)
            return False
        print(f"{'ok ' if seen.checked else 'see'} {step.name:<11} {seen.what:<44} ({seen.where})", flush=True)
    return True
