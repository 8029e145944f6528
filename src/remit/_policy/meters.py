"""Limits that are kept in the store, asked for within a time of their own (SPEC 5.5, 5.7)."""

from collections.abc import Hashable
from math import ceil
from typing import Protocol

from remit._base.awaiting import awaited_within
from remit._base.boundary import Json, canonical
from remit._base.clock import Clock
from remit._policy.decision import Deny
from remit.errors import ErrorCode

RETRY_MS = 1_000


class Buckets(Protocol):
    """The store's part, as far as it is needed here; `remit.store` says what it promises."""

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        """Take a token: 0.0, or the seconds until there is one."""
        ...


class StoreUnavailable(Exception):
    """The store that keeps a limit raised, or did not answer in time: the call is refused, not let through."""


class Unmetered(Deny):
    """A refusal because a limit could not be counted: RATE_LIMITED{store-unavailable}."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(code=ErrorCode.RATE_LIMITED, retry_after_ms=RETRY_MS)


class Meters:
    """The shared limits of one surface; `seconds` is how long the store may take to answer."""

    __slots__ = ("_buckets", "_charges", "_clock", "_seconds")

    def __init__(self, buckets: Buckets, clock: Clock, seconds: float, *, charges: bool = True) -> None:
        self._buckets = buckets
        self._clock = clock
        self._seconds = seconds
        self._charges = charges

    async def take(
        self, tenant: str | None, key: Hashable, calls: int, per_s: float, *, within_s: float | None = None
    ) -> int:
        """Take a token of a bucket: 0, or the milliseconds until there is one; StoreUnavailable when nobody knows."""
        seconds = self._seconds if within_s is None else min(self._seconds, within_s)
        name = canonical([tenant, _json(key)]).decode()
        try:
            asked = self._buckets.take(name, calls=calls, per_s=per_s, charge=self._charges)
            done = await awaited_within(asked, seconds, self._clock)
            if done is None:
                raise TimeoutError
            wait_s = done.result()
        except Exception as cause:
            raise StoreUnavailable("a limit could not be counted: the store gave no answer") from cause
        return ceil(wait_s * 1_000) if wait_s > 0 else 0

    def trial(self) -> "Meters":
        """The same, which only looks: for a call that is not to be charged."""
        return Meters(self._buckets, self._clock, self._seconds, charges=False)


def _json(key: Hashable) -> Json:
    """A key as JSON: a policy's own, of texts, numbers, None and tuples of them."""
    if isinstance(key, tuple):
        return [_json(part) for part in key]
    if key is None or isinstance(key, str | int | float):
        return key
    raise TypeError(f"a key of a shared limit is text, a number, None or a tuple of them, not {type(key).__name__}")
