"""A backend that does not answer is left alone for a while (SPEC 10.4)."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from remit._base.clock import Clock
from remit.procedures.errors import NotSent
from remit.procedures.http.address import Origin

_UNAVAILABLE: Final = 503
_MOST: Final = 256
"""Origins at a time."""


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
        """None when a call may go out, which then is the one that tries if one has to; else the seconds to wait."""
        wait_s = self.wait_s()
        if wait_s is None and self._failed >= self._most:
            self._trying = True
        return wait_s

    def wait_s(self) -> float | None:
        """The seconds to wait, None when a call may go out."""
        if self._failed < self._most:
            return None
        left = self._until - self._clock.monotonic()
        if left > 0:
            return left
        return self._pause_s if self._trying else None

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


class Circuits:
    """A circuit for each origin: what one backend does says nothing of another. At most `most`, well ones go first."""

    def __init__(self, clock: Clock, *, failures: int, pause_s: float, most: int = _MOST) -> None:
        self._new = partial(Circuit, clock, failures=failures, pause_s=pause_s)
        self._new()  # arguments that cannot be meant are told here
        self._most = most
        self._of: dict[Origin, Circuit] = {}

    def trial(self, origin: Origin) -> "Trial":
        """A call to this origin; NotSent when none goes out at present."""
        circuit = self._of.get(origin)
        if circuit is None:
            if len(self._of) >= self._most:
                well = (each for each, had in self._of.items() if not had.status().failures)
                del self._of[next(well, next(iter(self._of)))]
            circuit = self._of[origin] = self._new()
        return Trial(circuit, origin)

    def status(self) -> CircuitStatus:
        """How the one stands that fares worst."""
        return max((each.status() for each in self._of.values()), key=_badness, default=self._new().status())


def _badness(status: CircuitStatus) -> tuple[int, int, float]:
    order = (CircuitState.CLOSED, CircuitState.HALF_OPEN, CircuitState.OPEN)
    return order.index(status.state), status.failures, status.retry_after_s


class Trial:
    """One call under the circuit of its origin: it counts from `begin` on, and once."""

    __slots__ = ("_circuit", "_counts", "_origin")

    def __init__(self, circuit: Circuit, origin: Origin) -> None:
        self._circuit = circuit
        self._origin = origin
        self._counts: bool | None = None
        self._held(circuit.wait_s())

    def begin(self) -> None:
        """Nothing of this side keeps the request from being sent; NotSent when the circuit does."""
        if self._counts is None:
            self._held(self._circuit.admit())
            self._counts = True

    def answered(self) -> None:
        """The backend works."""
        if self._counts:
            self._counts = False
            self._circuit.answered()

    def failed(self) -> None:
        """The backend did not answer, or said that it is out of order."""
        if self._counts:
            self._counts = False
            self._circuit.failed()

    def left(self) -> None:
        """The call was given up before anything was known."""
        if self._counts:
            self._counts = False
            self._circuit.left()

    def _held(self, wait_s: float | None) -> None:
        if wait_s is not None:
            raise NotSent(_UNAVAILABLE, f"{self._origin} did not answer lately", retry_after=wait_s)
