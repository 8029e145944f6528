"""What was vouched for and was taken back: grants that an operator has revoked (SPEC 11.11)."""

import weakref
from collections.abc import Callable

from remit._model.consumer import Consumer
from remit.store.protocol import RevocationRow, RevocationStore


class Revoked:
    """The revocations of a store, as a surface and the doors see them: they count at the next look at them.

    A grant has ended when it, or one that it was narrowed from, was revoked.
    """

    __slots__ = ("__weakref__", "_held")

    def __init__(self, held: RevocationStore) -> None:
        self._held = held

    def has(self, consumer: Consumer) -> bool:
        """Whether what vouched for this consumer has been revoked."""
        return self._held.any and any(self._held.holds(grant) for grant in consumer.lineage)

    def subscribe(self, listener: Callable[[RevocationRow], None]) -> Callable[[], None]:
        """Tell a bound method of each revocation, as long as its object lives; return what ends it."""
        method = weakref.WeakMethod(listener)  # a store outlives surfaces and gateways

        def told(row: RevocationRow) -> None:
            if (alive := method()) is not None:
                alive(row)

        return self._held.subscribe(told)
