"""The one place that enters the application's `within` around the application's code (SPEC 4.0)."""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, ParamSpec, TypeVar, cast

from remit._base.clock import Clock

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Raised:
    """What application code raised instead of answering."""

    cause: BaseException


Within = Callable[[], AbstractContextManager[object]]
Slow = Callable[[Callable[..., object], float], None]

INLINE_S: Final = 0.05
"""Seconds that inline code may take unremarked (SPEC 6.7)."""


class NotEntered(Exception):
    """`within()` raised before the application's code was reached: nothing of that has run."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"within() raised {type(cause).__name__}")
        self.cause = cause


class _Inside:
    """One `within()`; what it does with an exception on its way out decides nothing (SPEC 4.0)."""

    __slots__ = ("_manager", "_within")

    def __init__(self, within: Within) -> None:
        self._within = within

    def __enter__(self) -> None:
        try:
            self._manager = self._within()
            self._manager.__enter__()
        except KeyboardInterrupt:
            raise
        except BaseException as cause:
            raise NotEntered(cause) from cause

    def __exit__(self, *raised: Any) -> None:
        self._manager.__exit__(*raised)


class Entered:
    """Runs application code inside `within()`, in the very task or thread that runs it; without one, plainly.

    It changes where code runs, never a decision: `NotEntered` says that it could not be entered, and an exception it
    swallows is raised all the same. With a clock, `slow` gets each function that held the loop for more than 50 ms,
    with the seconds; what an async function does after its call is not measured.
    """

    __slots__ = ("_monotonic", "_slow", "within")

    def __init__(self, within: Within | None, clock: Clock | None = None, slow: Slow | None = None) -> None:
        self.within = within
        self._monotonic = None if clock is None or slow is None else clock.monotonic
        self._slow = slow

    def call(self, function: Callable[..., T], *arguments: object, **named: object) -> T:
        """Call a synchronous function."""
        if self.within is None:
            return self._timed(function, arguments, named)
        with _Inside(self.within):
            return self._timed(function, arguments, named)

    def call_blocking(self, function: Callable[..., T], *arguments: object, **named: object) -> T:
        """Call a synchronous function in a thread, where it may take its time."""
        if self.within is None:
            return function(*arguments, **named)
        with _Inside(self.within):
            return function(*arguments, **named)

    def attempt(self, function: Callable[..., T], *arguments: object) -> T | Raised:
        """Call a function whose raising is an answer too: predicates, bindings, notes, summaries."""
        try:
            return self.call(function, *arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the application's edge: what its code raises is an answer
            return Raised(error)

    async def attempted(self, function: Callable[..., T | Awaitable[T]], *arguments: object) -> T | Raised:
        """Call a function that may be async and whose raising is an answer too: redactors, for the journal."""
        try:
            return await self.run(function, *arguments)
        except (KeyboardInterrupt, CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - the application's edge: what its code raises is an answer
            return Raised(error)

    async def run(self, function: Callable[..., T | Awaitable[T]], *arguments: object, **named: object) -> T:
        """Call a function and await what it returns if that can be awaited, all inside one `within()`."""
        if self.within is None:
            result = self._timed(function, arguments, named)
            return await cast("Awaitable[T]", result) if isawaitable(result) else result
        with _Inside(self.within):
            result = self._timed(function, arguments, named)
            return await cast("Awaitable[T]", result) if isawaitable(result) else result

    def watched(self, function: Callable[P, T]) -> Callable[P, T]:
        """The same function, measured: for code that decides, which `within` is not entered for."""
        if self._monotonic is None:
            return function

        def measured(*arguments: P.args, **named: P.kwargs) -> T:
            return self._timed(function, arguments, named)

        return measured

    def _timed(self, function: Callable[..., T], arguments: tuple[object, ...], named: dict[str, Any]) -> T:
        if self._monotonic is None:
            return function(*arguments, **named)
        begun = self._monotonic()
        try:
            return function(*arguments, **named)
        finally:
            took = self._monotonic() - begun
            if took > INLINE_S and self._slow is not None:
                self._slow(function, took)
