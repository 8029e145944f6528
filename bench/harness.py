"""Runs cases and says what they took. The collector stays on, as in an application (see `measure`)."""

import gc
import os
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

ROUNDS = 10
"""Every case is measured in as many slices, in turn with the others, so that a busy moment spoils no case alone."""

Operation = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A case that is set up: what is timed, and what its answer must be for the time to count."""

    run: Operation
    holds: Callable[[object], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is measured: `n` times in all, after a warm-up."""

    name: str
    n: int
    prepare: Callable[[], Ready]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one case took, in `unit`."""

    name: str
    median: float
    p99: float
    n: int
    unit: str = "us"

    def to_json(self) -> dict[str, object]:
        """The case as it stands in the file."""
        return {"name": self.name, "unit": self.unit, "median": self.median, "p99": self.p99, "n": self.n}


async def measure(cases: Sequence[Case], *, scale: float = 1.0, rounds: int = ROUNDS) -> list[Figure]:
    """Measure all cases in slices, one a round; `scale` multiplies every `n`.

    The cyclic collector runs as it does by default and its pauses are in the figures. Before each slice one full
    collection is done outside of the time, so that no case pays for another one's garbage. A wrong answer is a
    RuntimeError: no failure is timed.
    """
    slices = {case.name: max(1, round(case.n * scale / rounds)) for case in cases}
    ready = {case.name: case.prepare() for case in cases}
    taken: dict[str, list[int]] = {case.name: [] for case in cases}
    for name, one in ready.items():
        await _slice(name, one, max(1, slices[name] // 2))
    for _ in range(rounds):
        for name, one in ready.items():
            taken[name] += await _slice(name, one, slices[name])
    return [_figure(name, times) for name, times in taken.items()]


async def _slice(name: str, ready: Ready, count: int) -> list[int]:
    run, holds, now = ready.run, ready.holds, time.perf_counter_ns
    taken: list[int] = []
    gc.collect()
    for _ in range(count):
        begun = now()
        answer = await run()
        taken.append(now() - begun)
        if not holds(answer):
            raise RuntimeError(f"{name}: the answer is wrong: {answer!r:.300}")
    return taken


def _figure(name: str, times: list[int]) -> Figure:
    times.sort()
    rank = -(-99 * len(times) // 100) - 1
    return Figure(
        name=name,
        median=round(statistics.median(times) / 1_000, 2),
        p99=round(times[rank] / 1_000, 2),
        n=len(times),
    )


def machine() -> dict[str, object]:
    """Where the figures come from; `load` is that of the last minute before, `loop_us` a fixed loop of plain Python."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "loop_us": round(min(_loop() for _ in range(20)) / 1_000, 1),
        "gc": f"on, thresholds {gc.get_threshold()}, one collection before each slice",
    }


def _loop() -> int:
    begun = time.perf_counter_ns()
    total = 0
    for number in range(10_000):
        total += number & 7
    return time.perf_counter_ns() - begun
