"""The parts of a store that a deployment gave, and in memory those that it lacks."""

from dataclasses import dataclass
from typing import cast

from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationStore, MeterStore, Store, SuspensionStore


@dataclass(frozen=True, slots=True)
class Parts:
    """Every part of a store; fits `Store`. `in_memory` says that none of them outlives or leaves this process."""

    confirmations: ConfirmationStore
    meters: MeterStore
    suspensions: SuspensionStore
    in_memory: bool


def parts_of(store: ConfirmationStore | Store | None, spare: MemoryStore) -> Parts:
    """Take the parts that are there; a store of confirmation requests alone leaves the others to `spare`."""
    given = spare if store is None else store
    if isinstance(given, Parts):
        return given
    confirmations = cast("ConfirmationStore", getattr(given, "confirmations", given))
    meters: MeterStore = getattr(given, "meters", spare.meters)
    suspensions: SuspensionStore = getattr(given, "suspensions", spare.suspensions)
    return Parts(confirmations, meters, suspensions, isinstance(given, MemoryStore))
