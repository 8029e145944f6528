"""What keeps agents from wearing a person down: final and repeated denials, unanswered requests (SPEC 7.3, 7.5)."""

from collections import deque
from dataclasses import dataclass

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.codes import LimitedReason
from remit._base.limits import Limits
from remit._model.consumer import Consumer, ConsumerKey

REMEMBERED = 1_000


@dataclass(slots=True, eq=False)
class _Denials:
    consumer: str
    times: deque[float]
    latched: bool = False


@dataclass(slots=True, eq=False)
class _Unanswered:
    consumer: str
    count: int = 0


class Restraint:
    """Remembers answers, per capability and consumer; the least recently used of 1,000 is forgotten first."""

    __slots__ = ("_clock", "_denials", "_final", "_limits", "_unanswered")

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self._clock = clock
        self._limits = limits
        self._final: Bounded[str, None] = Bounded(REMEMBERED, limits.denial_final_s, clock)
        self._denials: Bounded[tuple[str, ConsumerKey], _Denials] = Bounded(REMEMBERED, None, clock)
        self._unanswered: Bounded[ConsumerKey, _Unanswered] = Bounded(REMEMBERED, None, clock)

    def is_final(self, digest: str) -> bool:
        """True while a denial of this exact request is final."""
        return digest in self._final

    def reason(self, capability: str, consumer: Consumer) -> LimitedReason | None:
        """`denied-often` or `unanswered` while a new request is refused, else None."""
        denials = self._denials.get((capability, consumer.key))
        if denials is not None and denials.latched:
            return "denied-often"
        unanswered = self._unanswered.get(consumer.key)
        return "unanswered" if unanswered is not None and unanswered.count >= self._limits.unanswered else None

    def denied(self, digest: str, capability: str, consumer: Consumer) -> None:
        """A person said no: final for this request, and counted."""
        self._final.put(digest, None)
        key = (capability, consumer.key)
        denials = self._denials.get(key)
        if denials is None:
            denials = _Denials(consumer.id, deque(maxlen=self._limits.denials))
            self._denials.put(key, denials)
        now = self._clock.monotonic()
        denials.times.append(now)
        full = len(denials.times) == self._limits.denials
        if full and now - denials.times[0] <= self._limits.denial_window_s:
            denials.latched = True

    def expired(self, consumer: Consumer) -> None:
        """Nobody answered a request of this consumer in time."""
        unanswered = self._unanswered.get(consumer.key)
        if unanswered is None:
            unanswered = _Unanswered(consumer.id)
            self._unanswered.put(consumer.key, unanswered)
        unanswered.count += 1

    def acted(self) -> None:
        """A person acted: nobody's requests count as unanswered any more."""
        self._unanswered.clear()

    def lift(self, capability: str | None, consumer: ConsumerKey | str | None) -> None:
        """Forget what refuses new requests; a text names the consumer by id, None stands for all."""
        for (of_capability, key), denials in self._denials.items():
            if capability in (None, of_capability) and _is(consumer, key, denials.consumer):
                self._denials.pop((of_capability, key))
        for key, unanswered in self._unanswered.items():
            if _is(consumer, key, unanswered.consumer):
                self._unanswered.pop(key)


def _is(wanted: ConsumerKey | str | None, key: ConsumerKey, id: str) -> bool:
    return wanted is None or wanted == (id if isinstance(wanted, str) else key)
