"""The one place that enters the application's `within` around the application's code (SPEC 4.0)."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import isawaitable
from typing import TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Raised:
    """What application code raised instead of answering."""

    cause: Exception


Within = Callable[[], AbstractContextManager[object]]


class Entered:
    """Runs application code inside `within()`, in the very task that asks for it; without one, plainly.

    It changes where code runs, never a decision.
    """

    __slots__ = ("within",)

    def __init__(self, within: Within | None) -> None:
        self.within = within

    def call(self, function: Callable[..., T], *arguments: object, **named: object) -> T:
        """Call a synchronous function."""
        if self.within is None:
            return function(*arguments, **named)
        with self.within():
            return function(*arguments, **named)

    def attempt(self, function: Callable[..., T], *arguments: object) -> T | Raised:
        """Call a function whose raising is an answer too: predicates, bindings, notes, summaries."""
        try:
            return self.call(function, *arguments)
        except Exception as error:  # noqa: BLE001 - the application's edge: what its code raises is an answer
            return Raised(error)

    async def run(self, function: Callable[..., T | Awaitable[T]], *arguments: object, **named: object) -> T:
        """Call a function and await what it returns if that can be awaited, all inside one `within()`."""
        if self.within is None:
            result = function(*arguments, **named)
            return await cast("Awaitable[T]", result) if isawaitable(result) else result
        with self.within():
            result = function(*arguments, **named)
            return await cast("Awaitable[T]", result) if isawaitable(result) else result
