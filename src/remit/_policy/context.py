"""What a policy is told: who asks, for what, when; and counters that live longer than one call (SPEC 5.5)."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from remit._base.boundary import Json, canonical, loads
from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._model.consumer import Consumer, Principal
from remit._model.context import ReadContext
from remit._model.descriptor import Descriptor
from remit._policy.meters import Meters, StoreUnavailable

MAX_COUNTERS = 10_000
COUNTER_S = 3_600.0


class Counters:
    """The numbers that policies keep: bounded, the least recently used go first, idle ones after an hour."""

    __slots__ = ("_values", "meters")

    def __init__(
        self, clock: Clock, meters: Meters | None = None, *, capacity: int = MAX_COUNTERS, idle_s: float = COUNTER_S
    ) -> None:
        self._values: Bounded[Hashable, int] = Bounded(capacity, idle_s, clock)
        self.meters = meters

    def value(self, key: Hashable) -> int:
        """The number under `key`, 0 if there is none."""
        return self._values.get(key) or 0

    def add(self, key: Hashable, amount: int) -> int:
        """Add to the number under `key`; return the sum."""
        total = self.value(key) + amount
        self._values.put(key, total)
        return total

    def trial(self) -> "Counters":
        """The same numbers to count on from; what is added stays in there, and is forgotten with it."""
        return _Trial(self)


class _Trial(Counters):
    """Numbers of one look ahead: begun at the real ones, which it never changes."""

    __slots__ = ("_of", "_own")

    def __init__(self, of: Counters) -> None:
        self._of = of
        self.meters = None if of.meters is None else of.meters.trial()
        self._own: dict[Hashable, int] = {}

    def value(self, key: Hashable) -> int:
        own = self._own.get(key)
        return self._of.value(key) if own is None else own

    def add(self, key: Hashable, amount: int) -> int:
        total = self._own[key] = self.value(key) + amount
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """One number of a policy.

    Count in `authorize`: `discover` runs for every listing, too. It is forgotten after an hour without `add`, and
    when more than 10,000 others were used since. Put the time window into the key, as in
    `ctx.counter(f"mine:{ctx.clock.now():%H%M}")`.
    """

    _counters: Counters
    _key: Hashable
    _charges: bool

    @property
    def value(self) -> int:
        """The number as it is now; 0 at first."""
        return self._counters.value(self._key)

    def add(self, amount: int = 1) -> int:
        """Add and return the sum.

        When a call that was charged already is checked again before it runs, nothing is added: the number, which holds
        this call's charge, is returned as it is (SPEC 6.2, step 13).
        """
        return self._counters.add(self._key, amount) if self._charges else self.value


class PolicyContext(ReadContext):
    """Who asks for what: the view of a call that `discover`, `authorize` and `around` get. Read-only by agreement.

    `principal` is None when nobody is signed in. `host` is the application's own value. `capability` and `instance` are
    None when a made-up id was asked for, so that meters count it like a real one (SPEC 4.7). `door` is the kind of the
    consumer, `read_untrusted` says whether the agent has read text from outside. There is no input here, by type (SPEC
    5.2).
    """

    __slots__ = ("_charges", "_counters", "_outside", "_within_s")

    def __init__(  # noqa: PLR0913 - one keyword a fact; built on every call, so no dataclass with slow frozen fields
        self,
        *,
        principal: Principal | None,
        consumer: Consumer,
        host: object,
        clock: Clock,
        capability: Descriptor | None,
        instance: str | None,
        door: str,
        counters: Counters | None = None,
        charges: bool = True,
        outside: Callable[[Consumer], bool] | None = None,
    ) -> None:
        self.principal = principal
        self.consumer = consumer
        self.host = host
        self.clock = clock
        self.capability = capability
        self.instance = instance
        self.door = door
        self._counters = counters
        self._charges = charges
        self._outside = outside

    @property
    def read_untrusted(self) -> bool:
        """Whether this agent has read text from outside on this surface, and nobody has cleared it since (11.15)."""
        return self._outside is not None and self._outside(self.consumer)

    def counter(self, key: Hashable) -> Counter:
        """The counter under `key`; the principal's tenant is part of the key by itself (SPEC 5.8).

        The key is shared by all policies of the surface: begin it with your policy's name.
        """
        if self._counters is None:
            self._counters = Counters(self.clock)
        tenant = None if self.principal is None else self.principal.tenant
        return Counter(self._counters, (tenant, key), self._charges)

    async def take(self, key: Hashable, *, calls: int, per_s: float) -> int:
        """Take a token of a bucket that is kept in the store: 0, or the milliseconds until there is one.

        All surfaces over one store share it; it holds `calls` and fills evenly in `per_s` seconds. The principal's
        tenant is part of the key by itself; begin the key with your policy's name, and make it of texts, numbers, None
        and tuples. When a call is checked again before it runs, nothing is taken. A store that raises, or does not
        answer within `limits.store_s`, raises `StoreUnavailable`; left alone, that refuses the call as
        RATE_LIMITED{store-unavailable}.
        """
        meters = None if self._counters is None else self._counters.meters
        if meters is None:
            raise StoreUnavailable("no store is there to keep this limit")
        if not self._charges:
            return 0
        tenant = None if self.principal is None else self.principal.tenant
        within_s: float | None = getattr(self, "_within_s", None)
        return await meters.take(tenant, key, calls, per_s, within_s=within_s)

    def hurry(self, seconds: float) -> None:
        """Say how long a store may take at most, because the call's deadline is near; for the pipeline."""
        self._within_s = seconds


class ReviewContext(PolicyContext):
    """What `review` gets: the same, and the effective input, as it will run."""

    __slots__ = ("_copy", "_source")

    def __init__(self, of: PolicyContext, input: dict[str, Json]) -> None:
        super().__init__(
            principal=of.principal,
            consumer=of.consumer,
            host=of.host,
            clock=of.clock,
            capability=of.capability,
            instance=of.instance,
            door=of.door,
            counters=of._counters,
            charges=of._charges,
            outside=of._outside,
        )
        self._source = input
        self._copy: Mapping[str, Json] | None = None

    @property
    def input(self) -> Mapping[str, Json]:
        """The effective input, bound fields and defaults included.

        A copy of this policy's own: writing to the mapping is a `TypeError`, and changing a list inside it reaches
        neither the call nor the next policy (SPEC 5.3).
        """
        if self._copy is None:
            copy = loads(canonical(self._source))
            self._copy = MappingProxyType(copy if isinstance(copy, dict) else {})
        return self._copy

    def renewed(self) -> "ReviewContext":
        """The same for the next policy, with an untouched copy of the input."""
        return ReviewContext(self, self._source)
