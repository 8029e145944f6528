"""How many ids and records that are not there a consumer may ask for, and which ids it was shown (SPEC 11.6, 11.14)."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from remit._base.boundary import Json, canonical
from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import ConsumerKey
from remit._registry.snapshot import Capture

CONSUMERS: Final = 1_000
IDS: Final = 2_000
"""Ids that are remembered of one consumer after they left its listing; the longest gone are forgotten first."""


class _Shown:
    """What one consumer was shown last, and until when it had been shown what is gone."""

    __slots__ = ("at", "capture", "gone", "ids", "version")

    def __init__(self, version: str, capture: Capture, at: float) -> None:
        self.version = version
        self.capture = capture
        self.at = at
        self.ids: dict[str, None] | None = None
        self.gone: dict[str, float] = {}

    def now(self) -> dict[str, None]:
        """The ids of the latest listing in its order, collected when first needed."""
        if self.ids is None:
            self.ids = dict.fromkeys(_ids(self.capture))
        return self.ids


class Shown:
    """Which ids each consumer was shown within ten minutes; costs a listing next to nothing while it stays the same."""

    __slots__ = ("_clock", "_known_s", "_of")

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._clock = clock
        self._known_s = limits.known_s
        self._of: Bounded[ConsumerKey, _Shown] = Bounded(CONSUMERS, None, clock)

    def told(self, key: ConsumerKey, version: str, capture: Capture) -> None:
        """A listing was made for this consumer."""
        now, shown = self._clock.monotonic(), self._of.get(key)
        if shown is None:
            self._of.put(key, _Shown(version, capture, now))
            return
        if shown.version != version:
            for id in shown.now():
                shown.gone.pop(id, None)  # so that the dictionary stays in the order of time
                shown.gone[id] = shown.at
            for id in tuple(shown.gone)[: max(len(shown.gone) - IDS, 0)]:
                del shown.gone[id]
            shown.version, shown.capture, shown.ids = version, capture, None
        shown.at = now

    def knows(self, key: ConsumerKey, id: str) -> bool:
        """Whether this consumer was shown the id, by whatever component, within the last ten minutes."""
        shown = self._of.peek(key)
        if shown is None:
            return False
        since = self._clock.monotonic() - self._known_s
        return shown.gone.get(id, since) > since or (shown.at > since and id in shown.now())


class _Asked:
    """The ids one consumer asked for in vain, as hashes with the time of the latest asking, and how long it waits."""

    __slots__ = ("ids", "until")

    def __init__(self) -> None:
        self.ids: dict[int, float] = {}
        self.until: float | None = None


class Probing:
    """Counts what is not found, hidden and made-up ids alike: it is not told which is which."""

    __slots__ = ("_clock", "_ids", "_of", "_of_records", "_seconds", "shown")

    def __init__(self, limits: Limits, clock: Clock, shown: Shown) -> None:
        self._clock = clock
        self._ids = limits.probing
        self._seconds = limits.probing_s
        self.shown = shown
        self._of: Bounded[ConsumerKey, _Asked] = Bounded(CONSUMERS, None, clock)
        self._of_records: Bounded[tuple[ConsumerKey, str], _Asked] = Bounded(CONSUMERS, None, clock)

    def missed(self, key: ConsumerKey, id: object) -> int | None:
        """One more not-found answer: None when it may be given, else for how many milliseconds there is none."""
        name = id if isinstance(id, str) else type(id).__name__
        if self.shown.knows(key, name):
            return None
        asked = self._of.get(key)
        if asked is None:
            asked = _Asked()
            self._of.put(key, asked)
        return self._count(asked, hash(name))

    def missed_record(self, key: ConsumerKey, capability: str, record: Json) -> int | None:
        """One more record that is not available: as `missed`, counted for one consumer and capability (SPEC 11.6)."""
        asked = self._of_records.get((key, capability))
        if asked is None:
            asked = _Asked()
            self._of_records.put((key, capability), asked)
        return self._count(asked, hash(canonical([record])))

    def would_miss_record(self, key: ConsumerKey, capability: str, record: Json) -> int | None:
        """What `missed_record` would answer; counts nothing."""
        return self._left(self._of_records.peek((key, capability)))

    def _count(self, asked: _Asked, mark: int) -> int | None:
        now = self._clock.monotonic()
        if asked.until is not None:
            if asked.until > now:
                return ceil((asked.until - now) * 1_000)
            asked.until = None
            asked.ids.clear()
        asked.ids.pop(mark, None)
        asked.ids[mark] = now
        for old in [each for each, at in asked.ids.items() if at <= now - self._seconds]:
            del asked.ids[old]
        if len(asked.ids) >= self._ids:
            asked.until = now + self._seconds
        return None

    def would_miss(self, key: ConsumerKey, id: object) -> int | None:
        """What `missed` would answer; counts nothing."""
        name = id if isinstance(id, str) else type(id).__name__
        return None if self.shown.knows(key, name) else self._left(self._of.peek(key))

    def _left(self, asked: _Asked | None) -> int | None:
        if asked is None or asked.until is None:
            return None
        left = asked.until - self._clock.monotonic()
        return ceil(left * 1_000) if left > 0 else None


def _ids(capture: Capture) -> Iterator[str]:
    for component in capture.components:
        for listed in component.capabilities:
            yield listed.id
    for listed in capture.references:
        yield listed.id
