"""The parts of a store that a deployment gave, and in memory those that it lacks."""

from dataclasses import dataclass
from typing import Final, cast

from remit.store.memory import MemoryStore
from remit.store.protocol import (
    CallStore,
    ConfirmationStore,
    DelegationStore,
    HandoffStore,
    MeterStore,
    RevocationStore,
    SessionStore,
    StandingStore,
    Store,
    SuspensionStore,
)

_NEEDS: Final = {
    "confirmations": ("put", "get", "transition", "list"),
    "meters": ("take",),
    "suspensions": ("holds", "set", "subscribe"),
    "revocations": ("holds", "add", "subscribe"),
    "standing": ("put", "list"),
    "handoffs": ("put", "list", "lost"),
    "sessions": ("put", "end", "lost", "list"),
    "delegations": ("put", "get", "list"),
    "calls": ("begin", "settle", "lost"),
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Every part of a store; fits `Store`. `in_memory` says that none of them outlives or leaves this process.

    `durable` says that requests outlive it; `whole` is the store itself.
    """

    confirmations: ConfirmationStore
    meters: MeterStore
    suspensions: SuspensionStore
    revocations: RevocationStore
    standing: StandingStore
    handoffs: HandoffStore
    sessions: SessionStore
    delegations: DelegationStore
    calls: CallStore
    in_memory: bool
    whole: object

    @property
    def durable(self) -> bool:
        """Whether requests are kept beyond this process."""
        return self.confirmations.durable

    @property
    def hands_over(self) -> bool:
        """Whether a handoff that waits goes on in the next process."""
        return self.durable and getattr(self.whole, "handoffs", None) is self.handoffs

    async def flush(self) -> None:
        """Return when everything that was said before is kept; a store that cannot say so keeps it at once."""
        flush = getattr(self.whole, "flush", None)
        if flush is not None:
            await flush()


def parts_of(store: ConfirmationStore | Store | None, spare: MemoryStore) -> Parts:
    """Take the parts that are there; a store of confirmation requests alone leaves the others to `spare`.

    What is no store, a part that lacks a method, or one that does not say whether it is durable, is a TypeError.
    """
    given = spare if store is None else store
    if isinstance(given, Parts):
        return given
    parts: dict[str, object] = {
        name: getattr(given, name, given if name == "confirmations" else getattr(spare, name)) for name in _NEEDS
    }
    for name, needs in _NEEDS.items():
        part = parts[name]
        lacking = [each for each in needs if isinstance(given, type) or not callable(getattr(part, each, None))]
        if lacking:
            found = f"{given!r:.80}" if part is given else f"{type(given).__name__} with {part!r:.80}"
            raise TypeError(
                f"{found} is no store: it has no {lacking[0]}()\n  do  write store=MemoryStore(), or leave store= out"
            )
    if not isinstance(getattr(parts["confirmations"], "durable", None), bool):
        raise TypeError(
            f"{type(given).__name__} does not say whether requests outlive the process"
            "\n  do  give its confirmations durable = True, or False"
        )
    return Parts(
        confirmations=cast("ConfirmationStore", parts["confirmations"]),
        meters=cast("MeterStore", parts["meters"]),
        suspensions=cast("SuspensionStore", parts["suspensions"]),
        revocations=cast("RevocationStore", parts["revocations"]),
        standing=cast("StandingStore", parts["standing"]),
        handoffs=cast("HandoffStore", parts["handoffs"]),
        sessions=cast("SessionStore", parts["sessions"]),
        delegations=cast("DelegationStore", parts["delegations"]),
        calls=cast("CallStore", parts["calls"]),
        in_memory=isinstance(given, MemoryStore),
        whole=given,
    )
