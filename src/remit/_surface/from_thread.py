"""A surface for other threads than its own: each use waits for the surface's loop (SPEC 4.0)."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast, overload

from remit._contract.component import Component
from remit._model.consumer import Consumer
from remit._model.ids import DEFAULT_INSTANCE
from remit._model.listing import Snapshot
from remit._model.outcome import Outcome
from remit._surface.belonging import Belonging
from remit._surface.connection import Connection, Named
from remit._surface.mount import Mount

P = ParamSpec("P")
T = TypeVar("T")

LOOK_S: Final = 0.5
"""Seconds between two looks whether the loop still runs."""


class Served(Protocol):
    """The surface, as far as it is served here."""

    def connect(self, consumer: Consumer) -> Connection:
        """Say once who is asking."""
        ...

    def snapshot(self, consumer: Consumer) -> Snapshot:
        """What this consumer may see now."""
        ...

    def mount(self, component: Component, instance: str = DEFAULT_INSTANCE, *, enabled: bool = True) -> Mount:
        """Make an instance callable."""
        ...


class SurfaceFromThread:
    """What worker threads use of a surface; every use runs in the surface's own loop and waits for its answer.

    In the surface's own thread, and in a thread that runs an event loop of its own, each use is a RuntimeError at once,
    because waiting there would stop the loop. So it is when the surface's loop does not run, or ends meanwhile. After
    `dispose` it answers as the surface does: CANCELLED, empty, dead. Any number of threads may share one.
    """

    __slots__ = ("_belongs", "_surface")

    def __init__(self, surface: Served, belongs: Belonging) -> None:
        self._surface = surface
        self._belongs = belongs

    def call(
        self,
        consumer: Consumer,
        capability: str | Named,
        input: Mapping[str, object] | None = None,
        *,
        instance: str | None = None,
        confirmation: str | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Call a capability and wait for how it ended, as `Connection.call`; never raises for a refusal."""
        connection = self._surface.connect(consumer)
        return self.run(
            connection.call, capability, input, instance=instance, confirmation=confirmation, timeout=timeout
        )

    def snapshot(self, consumer: Consumer) -> Snapshot:
        """Capture what this consumer may see now; a snapshot never changes, so any thread may read it."""
        return self.run(self._surface.snapshot, consumer)

    def mount(self, component: Component, instance: str = DEFAULT_INSTANCE, *, enabled: bool = True) -> Mount:
        """Mount a component; the mount itself is used in the surface's thread: `run(mount.update, enabled=False)`."""
        return self.run(self._surface.mount, component, instance, enabled=enabled)

    @overload
    def run(self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...
    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call any function in the surface's thread and loop, await what it returns if that can be awaited, and wait.

        For everything that has no method here: `run(mount.unmount)`, `run(surface.set_route, "/devices")`,
        `run(surface.confirmations.approve, id, decider)`. What it raises is raised here, `SystemExit`
        too: it ends this thread, not the surface's loop.
        """
        loop = self._belongs.from_elsewhere()
        work = _answered(function, args, kwargs)
        try:
            answer = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:  # closed since it was looked at
            work.close()
            raise
        try:
            while not concurrent.futures.wait((answer,), timeout=LOOK_S).done:
                if not loop.is_running():
                    work.close()
                    raise _ended()
            result = answer.result()
            if isinstance(result, _Exit):
                raise result.cause
            return result
        except concurrent.futures.CancelledError:
            raise _ended() from None
        finally:
            answer.cancel()  # whoever stops waiting has left


@dataclass(frozen=True, slots=True)
class _Exit:
    """What would have ended the loop, to be raised where it was asked for."""

    cause: BaseException


async def _answered(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    try:
        answer = function(*args, **kwargs)
        return await cast("Awaitable[object]", answer) if isawaitable(answer) else answer
    except (SystemExit, KeyboardInterrupt) as cause:  # a task that raises one of them stops the loop of everybody
        return _Exit(cause)


def _ended() -> RuntimeError:
    return RuntimeError("the event loop of this surface ended before it answered")
