"""Runs steps in order, one line each; a line is printed only after the step was checked elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from demo.stage import Red, Stage

T = TypeVar("T")

STEP_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A step that holds: what happened, and where that was seen."""

    what: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[T]):
    """One step: `do` acts and returns what remit said; `verify` looks elsewhere and raises `Red` if it is not so."""

    name: str
    do: Callable[[Stage], Awaitable[T]]
    verify: Callable[[Stage, T], Awaitable[Seen]]


Steps = Sequence[Step[Any]]


class UnknownStep(ValueError):
    """`--until` names no step."""


def up_to(steps: Steps, last: str | None) -> Steps:
    """The steps up to and with the one of this name; all when it is None."""
    if last is None:
        return steps
    names = [step.name for step in steps]
    if last not in names:
        raise UnknownStep(f"there is no step {last!r}; the steps are {', '.join(names)}")
    return steps[: names.index(last) + 1]


async def tell(steps: Steps, stage: Stage) -> bool:
    """Run the steps and print their lines; stop at the first that is red and return whether there was none."""
    for step in steps:
        try:
            async with asyncio.timeout(STEP_SECONDS):
                seen = await step.verify(stage, await step.do(stage))
        except Red as red:
            print(f"RED {step.name}  {red}", flush=True)
            return False
        except TimeoutError:
            print(f"RED {step.name}  expected an end within {STEP_SECONDS:g} s … found none", flush=True)
            return False
        except Exception as error:  # noqa: BLE001 - whatever a step meets, it is that step which is red
            print(f"RED {step.name}  expected no exception … found {type(error).__name__}: {error}", flush=True)
            return False
        print(f"ok  {step.name:<11} {seen.what:<52} ({seen.where})", flush=True)
    return True
