"""The parts of a store that a deployment gave, and in memory those that it lacks."""

from dataclasses import dataclass
from typing import Final, cast

from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationStore, MeterStore, RevocationStore, Store, SuspensionStore

_REQUESTS: Final = ("put", "get", "transition", "list")
_METERS: Final = ("take",)
_SUSPENSIONS: Final = ("holds", "set", "subscribe")
_REVOCATIONS: Final = ("holds", "add", "subscribe")


@dataclass(frozen=True, slots=True)
class Parts:
    """Every part of a store; fits `Store`. `in_memory` says that none of them outlives or leaves this process.

    `durable` says that requests outlive it.
    """

    confirmations: ConfirmationStore
    meters: MeterStore
    suspensions: SuspensionStore
    revocations: RevocationStore
    in_memory: bool

    @property
    def durable(self) -> bool:
        """Whether requests are kept beyond this process."""
        return self.confirmations.durable


def parts_of(store: ConfirmationStore | Store | None, spare: MemoryStore) -> Parts:
    """Take the parts that are there; a store of confirmation requests alone leaves the others to `spare`.

    What is no store, a part that lacks a method, or one that does not say whether it is durable, is a TypeError.
    """
    given = spare if store is None else store
    if isinstance(given, Parts):
        return given
    confirmations = cast("ConfirmationStore", getattr(given, "confirmations", given))
    meters: MeterStore = getattr(given, "meters", spare.meters)
    suspensions: SuspensionStore = getattr(given, "suspensions", spare.suspensions)
    revocations: RevocationStore = getattr(given, "revocations", spare.revocations)
    parts = (confirmations, _REQUESTS), (meters, _METERS), (suspensions, _SUSPENSIONS), (revocations, _REVOCATIONS)
    for part, needs in parts:
        lacking = [each for each in needs if isinstance(given, type) or not callable(getattr(part, each, None))]
        if lacking:
            found = f"{given!r:.80}" if part is given else f"{type(given).__name__} with {part!r:.80}"
            raise TypeError(
                f"{found} is no store: it has no {lacking[0]}()\n  do  write store=MemoryStore(), or leave store= out"
            )
    if not isinstance(getattr(confirmations, "durable", None), bool):
        raise TypeError(
            f"{type(given).__name__} does not say whether requests outlive the process"
            "\n  do  give its confirmations durable = True, or False"
        )
    return Parts(confirmations, meters, suspensions, revocations, isinstance(given, MemoryStore))
