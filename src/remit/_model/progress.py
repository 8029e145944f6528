"""How far a running call has come, as its code says (SPEC 6.10)."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One report of a running call: `done` of `total`, in a unit of the code's own; `total` is None if unknown.

    `text` is one line of at most 200 characters, without refused characters (SPEC 3.12). It is the application's text,
    so data to an agent.
    """

    invocation: str
    done: float
    total: float | None
    text: str | None


ProgressListener = Callable[[Progress], None]


def check_listener(progress: object) -> None:
    """Raise a TypeError for what cannot hear reports: anything but a plain function."""
    if not callable(progress) or inspect.iscoroutinefunction(progress):
        raise TypeError("progress= is a plain function of one Progress: it is told, and nobody waits for it")


Reporter = Callable[[float, float | None, str | None], None]
