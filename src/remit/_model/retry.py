"""Running a failed call again by itself (SPEC 6.13)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed call is run again by itself: `@observation(retry=Retry(3))` (SPEC 6.13).

    `attempts` counts the first one: 2 to 10. Before the second there is a pause of `backoff` seconds, before each later
    one twice the last, at most `cap` seconds; `jitter` is the share of a pause, from 0 to 1, that chance may take away.
    A backend that says when to come back is not asked sooner. Everything happens inside the deadline of the call: a
    pause that would end after it is not begun. Judged when the class is created: only what is idempotent may have one.
    """

    attempts: int
    backoff: float = 0.2
    cap: float = 2.0
    jitter: float = 0.5

    def pause(self, failed: int, chance: float) -> float:
        """Seconds to wait after so many failed attempts; `chance` is from 0 to 1."""
        longest = min(self.cap, self.backoff * 2.0 ** (failed - 1))
        return longest * (1.0 - self.jitter * chance)
