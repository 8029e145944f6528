"""Invocation ids and what became of them: bounded, apart per consumer (SPEC 6.4)."""

from typing import Final

from remit._base.bounded import Bounded, Full
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._invocation.call import Call
from remit._model.consumer import ConsumerKey
from remit._model.outcome import Ok, Outcome

CONSUMERS: Final = 100
"""With so many, those without a stored outcome are looked for and forgotten."""


class Entry:
    """What is known of one invocation id: the running call, or how it ended."""

    __slots__ = ("call", "fingerprint", "keep", "outcome", "size")

    def __init__(self, fingerprint: str, call: Call) -> None:
        self.fingerprint = fingerprint
        self.call: Call | None = call
        self.outcome: Outcome | None = None
        self.size = 0
        self.keep = False


class Ledger:
    """Invocation ids of one surface, apart per consumer; bounded in entries, bytes and time.

    Only what settled after it had started is stored; an entry of a non-idempotent call is not evicted before its time;
    a running call never blocks eviction.
    """

    __slots__ = ("_at_most", "_clock", "_limits", "_of", "running")

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._of: dict[ConsumerKey, Bounded[str, Entry]] = {}
        self._at_most: dict[
            ConsumerKey, int
        ] = {}  # no less than the bytes held; counted anew only when that is too many
        self.running: dict[tuple[ConsumerKey, str], Entry] = {}

    def find(self, key: ConsumerKey, invocation_id: str) -> Entry | None:
        """The entry of this id, running or stored."""
        entry = self.running.get((key, invocation_id))
        if entry is None and key in self._of:
            entry = self._of[key].get(invocation_id)
        return entry

    def peek(self, key: ConsumerKey, invocation_id: str) -> Entry | None:
        """What `find` would give; what is evicted next does not change."""
        entry = self.running.get((key, invocation_id))
        if entry is None and key in self._of:
            entry = self._of[key].peek(invocation_id)
        return entry

    def begin(self, call: Call) -> None:
        """Remember a running call under its id."""
        self.running[call.key, call.invocation_id] = Entry(call.fingerprint, call)

    def end(self, call: Call, *, stored: bool, keep: bool, size: int) -> None:
        """The call has settled; keep its outcome if it is to be stored. `size` is the output's in bytes."""
        entry = self.running.get((call.key, call.invocation_id))
        if entry is None or entry.call is not call:
            return
        del self.running[call.key, call.invocation_id]
        if not stored or call.outcome is None:
            return
        outcome = call.outcome
        if isinstance(outcome, Ok) and size > self._limits.replay_output_bytes:
            outcome, size = _without_output(outcome), 0
        entry.call, entry.outcome, entry.keep, entry.size = None, outcome, keep, size
        self._store(call.key, call.invocation_id, entry)

    def _store(self, key: ConsumerKey, invocation_id: str, entry: Entry) -> None:
        entries = self._of.get(key)
        if entries is None:
            self._forget_consumers()
            entries = self._of[key] = Bounded(
                self._limits.replay_entries,
                self._limits.replay_s,
                self._clock,
                keep=lambda _id, held: held.keep,
            )
        held = self._at_most.get(key, 0)
        if held + entry.size > self._limits.replay_bytes:
            held = self._make_room(entries, entry)
        self._at_most[key] = held + entry.size
        try:
            entries.put(invocation_id, entry)
        except Full:  # every entry must be kept, and this one need not: nobody was told its id beforehand
            return

    def _make_room(self, entries: Bounded[str, Entry], entry: Entry) -> int:
        """Evict until the entry fits, or keep it without its output; return the bytes that stay."""
        held = sum(other.size for _, other in entries.items())
        while held + entry.size > self._limits.replay_bytes:
            if not entries.evict():
                entry.outcome = _without_output(entry.outcome) if isinstance(entry.outcome, Ok) else entry.outcome
                entry.size = 0
                break
            held = sum(other.size for _, other in entries.items())
        return held

    @property
    def wait_ms(self) -> int:
        """After how many milliseconds every entry there is now will have had its time."""
        return round(self._limits.replay_s * 1_000)

    def reserve(self, call: Call) -> bool:
        """Hold a place for the outcome of a running call that must be kept; False when none is left for it.

        The others that run hold theirs: what runs side by side is not kept until all of it has ended.
        """
        entries, most = self._of.get(call.key), self._limits.replay_entries
        running = sum(1 for (key, _), entry in self.running.items() if entry.keep and key == call.key)
        stored = 0 if entries is None else len(entries)
        if entries is not None and stored + running >= most:  # those that need not be kept would make room
            stored = sum(held.keep for _, held in entries.items())
        if stored + running >= most:
            return False
        self.running[call.key, call.invocation_id].keep = True
        return True

    def _forget_consumers(self) -> None:
        """Where many came, forget those of whom nothing is left: each token's bearer is a consumer of its own."""
        if len(self._of) < CONSUMERS:
            return
        for key in [key for key, entries in self._of.items() if not len(entries)]:
            del self._of[key]
            self._at_most.pop(key, None)


def _without_output(outcome: Ok) -> Ok:
    return Ok(
        invocation_id=outcome.invocation_id,
        capability_id=outcome.capability_id,
        output=None,
        surface_version=outcome.surface_version,
        surface_changed=outcome.surface_changed,
        untrusted=outcome.untrusted,
        steps=outcome.steps,
    )


def keeps(call: Call) -> bool:
    """Whether the outcome must be kept for its whole time: not idempotent, and named by a caller who may repeat it.

    That of a step is kept where its flow was named.
    """
    named = call.request.id is not None if call.step_of is None else call.step_of.named
    return named and not call.live.plan.descriptor.idempotent
