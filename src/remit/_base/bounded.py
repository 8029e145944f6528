"""The one map with a capacity and a lifetime: everything that is held is held in one of these (SPEC 15.3)."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from remit._base.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Full(Exception):
    """Nothing may be evicted: every entry is kept, and its time is not over."""


class Bounded(Generic[K, V]):
    """A map that never holds more than `capacity` entries, each for at most `ttl` seconds after `put` or `touch`.

    When it is full, the least recently used entry goes first. An entry for which `keep(key, value)` is true is not
    evicted before its time; if all are kept, `put` raises `Full` and changes nothing. Reading renews recency, never the
    time to live. `ttl=None` means no time. Every operation is O(1) amortised, but `items`, and a `put` that has to pass
    kept entries.
    """

    __slots__ = ("_aging", "_capacity", "_clock", "_entries", "_keep", "_ttl")

    def __init__(
        self, capacity: int, ttl: float | None, clock: Clock, *, keep: Callable[[K, V], bool] | None = None
    ) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        if ttl is not None and ttl <= 0:
            raise ValueError("ttl must be positive, or None")
        self._capacity = capacity
        self._ttl = ttl
        self._clock = clock
        self._keep = keep
        self._entries: OrderedDict[K, V] = OrderedDict()  # least recently used first
        self._aging: OrderedDict[K, float] = OrderedDict()  # soonest to expire first; one fixed ttl keeps it sorted

    def get(self, key: K) -> V | None:
        """Return the live value and make it the most recently used; `None` if there is none."""
        if self._aging:
            self._expire()
        value = self._entries.get(key)
        if value is not None or key in self._entries:
            self._entries.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """Return the live value, or `None`; recency does not change."""
        self._expire()
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        """Store the value with a full time to live, replacing what the key had; may evict, may raise `Full`."""
        self._expire()
        entries = self._entries
        if key in entries:
            entries.move_to_end(key)
        elif len(entries) >= self._capacity and not self._evict():
            raise Full
        entries[key] = value  # a new key goes to the end by itself
        self._renew(key)

    def pop(self, key: K) -> V | None:
        """Remove the key and return its live value; `None` if there is none."""
        self._expire()
        self._aging.pop(key, None)
        return self._entries.pop(key, None)

    def touch(self, key: K) -> bool:
        """Give a live entry its full time again and make it the most recently used; say whether there was one."""
        self._expire()
        if key not in self._entries:
            return False
        self._entries.move_to_end(key)
        self._renew(key)
        return True

    def evict(self) -> bool:
        """Remove the least recently used entry that is not kept; say whether there was one."""
        self._expire()
        return self._evict()

    def items(self) -> tuple[tuple[K, V], ...]:
        """Return the live entries as they are now, least recently used first; recency does not change."""
        self._expire()
        return tuple(self._entries.items())

    def clear(self) -> None:
        """Remove everything, kept entries too."""
        self._entries.clear()
        self._aging.clear()

    def __len__(self) -> int:
        self._expire()
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        self._expire()
        return key in self._entries

    def _renew(self, key: K) -> None:
        if self._ttl is not None:
            self._aging[key] = self._clock.monotonic() + self._ttl
            self._aging.move_to_end(key)

    def _expire(self) -> None:
        if not self._aging:
            return
        now = self._clock.monotonic()
        while self._aging:
            key = next(iter(self._aging))
            if self._aging[key] > now:
                return
            del self._aging[key]
            del self._entries[key]

    def _evict(self) -> bool:
        for _ in range(len(self._entries)):
            key = next(iter(self._entries))
            if self._keep is None or not self._keep(key, self._entries[key]):
                del self._entries[key]
                self._aging.pop(key, None)
                return True
            # A kept entry goes to the far end, so that the next eviction does not pass it again at once.
            self._entries.move_to_end(key)
        return False
