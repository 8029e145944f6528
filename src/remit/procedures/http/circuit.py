"""A backend that does not answer is left alone for a while (SPEC 10.4)."""

from dataclasses import dataclass
from enum import StrEnum

from remit._base.clock import Clock


class CircuitState(StrEnum):
    """`closed`: calls go out. `open`: none does. `half-open`: one may try."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitStatus:
    """How it stands now: failures in a row, and the seconds until the next call may try."""

    state: CircuitState
    failures: int
    retry_after_s: float


class Circuit:
    """Counts failures in a row: after `failures` of them nothing is sent for `pause_s`, then one call tries."""

    def __init__(self, clock: Clock, *, failures: int, pause_s: float) -> None:
        if failures < 1 or not pause_s > 0:
            raise ValueError("a circuit needs at least one failure and a pause")
        self._clock = clock
        self._most = failures
        self._pause_s = pause_s
        self._failed = 0
        self._until = 0.0
        self._trying = False

    def status(self) -> CircuitStatus:
        """How it stands now."""
        left = max(0.0, self._until - self._clock.monotonic())
        if self._failed < self._most:
            return CircuitStatus(state=CircuitState.CLOSED, failures=self._failed, retry_after_s=0.0)
        if left or self._trying:
            return CircuitStatus(state=CircuitState.OPEN, failures=self._failed, retry_after_s=left)
        return CircuitStatus(state=CircuitState.HALF_OPEN, failures=self._failed, retry_after_s=0.0)

    def admit(self) -> float | None:
        """None when a call may go out; else the seconds to wait."""
        if self._failed < self._most:
            return None
        left = self._until - self._clock.monotonic()
        if left > 0:
            return left
        if self._trying:
            return self._pause_s
        self._trying = True
        return None

    def answered(self) -> None:
        """The backend works."""
        self._failed = 0
        self._trying = False

    def failed(self) -> None:
        """The backend did not answer, or said that it is out of order."""
        self._failed += 1
        self._trying = False
        if self._failed >= self._most:
            self._until = self._clock.monotonic() + self._pause_s

    def left(self) -> None:
        """The call was given up before anything was known."""
        self._trying = False
