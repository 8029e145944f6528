"""Judge mutants: each in a forked, warm process, against the tests that run its line, with a limit."""

from __future__ import annotations

import enum
import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic, process_time

import pytest

from tests.mutants.operators import Mutant
from tests.mutants.plant import functions_of, plant
from tests.mutants.suite import ROOT, Cover, Watch, quietly

AT_LEAST_S, TIMES_AS_LONG = 5.0, 10.0
"""A test that takes so many seconds, and so many times as long as it does otherwise, is looked at: does it hang?"""

LOOK_S, STILL_S = 1.0, 0.02
"""How often that is looked at, and how little processor time between two looks means that a process stands still."""

_NOT_PLANTED, _HANGS = 3, 4


class Fate(enum.Enum):
    """What came of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"
    UNCOVERED = "uncovered"
    FAULTY = "faulty"

    @property
    def alive(self) -> bool:
        """True if no test noticed."""
        return self in (Fate.SURVIVED, Fate.UNCOVERED)


def _end_if_it_hangs(limit_s: float) -> None:
    """From now on, end this process when it has used so much processor time, or stands still after so much time.

    A machine that is busy with other things makes a test slow; that is no verdict.
    """
    begun = monotonic()
    first = last = process_time()

    def look(_signal: int, _frame: object) -> None:
        nonlocal last
        now = process_time()
        if now - first > limit_s or (monotonic() - begun > limit_s and now - last < STILL_S):
            os._exit(_HANGS)
        last = now

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of which mutant; `by` is the test that noticed."""

    mutant: Mutant
    fate: Fate
    by: str | None = None


class Judge:
    """Runs mutants side by side, in `workers` processes at a time.

    The tests that killed near by go first, then the quickest. Who survives has been seen by all that run its line.
    """

    def __init__(self, items: Iterable[pytest.Item], cover: Cover, watch: Watch, workers: int) -> None:
        self._items = {item.nodeid: item for item in items}
        self._cover = cover
        self._watch = watch
        self._workers = workers
        self._functions = functions_of(frozenset(str(ROOT / file) for file in cover.lines))
        self._kills: Counter[tuple[str, str]] = Counter()

    def judge(self, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
        """The verdicts, as they come."""
        gc.collect()
        gc.freeze()
        sys.stdout.flush()
        running: dict[int, tuple[Mutant, int, list[str]]] = {}
        waiting = list(reversed(mutants))
        while waiting or running:
            while waiting and len(running) < self._workers:
                mutant = waiting.pop()
                tests = self._in_order(mutant)
                if not tests:
                    yield Verdict(mutant, Fate.UNCOVERED)
                    continue
                pid, pipe = self._begin(mutant, tests)
                running[pid] = mutant, pipe, tests
            if running:
                pid, status = os.wait()
                if pid in running:
                    yield self._verdict(*running.pop(pid), os.waitstatus_to_exitcode(status))

    def _in_order(self, mutant: Mutant) -> list[str]:
        file, function = mutant.key.file, f"{mutant.key.file}:{mutant.outer_name}"

        def rank(test: str) -> tuple[int, int, float]:
            return -self._kills[function, test], -self._kills[file, test], self._cover.seconds[test]

        return sorted(set(self._cover.tests(mutant)), key=rank)

    def _begin(self, mutant: Mutant, tests: Sequence[str]) -> tuple[int, int]:
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid:
            os.close(theirs)
            return pid, ours
        status = _NOT_PLANTED
        try:
            quietly()
            plant(mutant, str(ROOT / mutant.key.file), self._functions)
            status = 1  # what leaves a test and pytest, as from the keyboard, would have been noticed
            status = self._run(tests, lambda index: os.write(theirs, index.to_bytes(4, "big")))
        finally:
            os._exit(status)

    def _run(self, tests: Sequence[str], tell: Callable[[int], object]) -> int:
        items = [self._items[test] for test in tests]
        for index, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            limit = max(AT_LEAST_S, TIMES_AS_LONG * self._cover.seconds[item.nodeid])
            _end_if_it_hangs(limit)
            if not self._watch.run(item, following):
                tell(index)
                return 1
        return 0

    def _verdict(self, mutant: Mutant, pipe: int, tests: Sequence[str], status: int) -> Verdict:
        told = os.read(pipe, 4)
        os.close(pipe)
        by = tests[int.from_bytes(told, "big")] if told else None
        match status:
            case 0:
                return Verdict(mutant, Fate.SURVIVED)
            case 1 if by is not None:
                self._kills[mutant.key.file, by] += 1
                self._kills[f"{mutant.key.file}:{mutant.outer_name}", by] += 1
                return Verdict(mutant, Fate.KILLED, by)
            case _ if status == _HANGS:
                return Verdict(mutant, Fate.TIMEOUT)
            case status if status == _NOT_PLANTED:
                return Verdict(mutant, Fate.FAULTY)
            case _:  # the process itself went down, which no test would have let pass
                return Verdict(mutant, Fate.KILLED)
