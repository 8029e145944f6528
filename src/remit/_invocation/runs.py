"""The runs of flows of one surface that wait for a person, and those that ended without a caller (SPEC 11.8)."""

from collections.abc import Callable
from typing import Final

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._invocation.run import Identity, Run
from remit._model.consumer import ConsumerKey
from remit._registry.state import Registration

FINISHED: Final = 32
"""How many that have ended without a caller are kept for the next identical call."""


class Runs:
    """The runs of one surface that wait for a person, and for a while those that ended without a caller."""

    __slots__ = ("_clock", "_dropped", "_finished", "_limits", "_waiting")

    def __init__(self, limits: Limits, clock: Clock, dropped: Callable[[Run], None]) -> None:
        self._limits = limits
        self._clock = clock
        self._dropped = dropped
        self._waiting: dict[Identity, Run] = {}
        self._finished: Bounded[Identity, Run] = Bounded(FINISHED, limits.replay_s, clock)

    @property
    def held(self) -> bool:
        """Whether there are any at all."""
        return bool(self._waiting) or len(self._finished) > 0

    def find(self, identity: Identity) -> Run | None:
        """The run that an identical call carries on, or is answered with."""
        run = self._waiting.get(identity) or self._finished.get(identity)
        return None if run is None or run.dropped else run

    def paused(self, run: Run) -> None:
        """A run waits for a person: it ends when that has taken too long."""
        self._waiting[run.identity] = run
        pause, limits = run.pause, self._limits
        spend = run.bound.plan.spend_s or limits.spend_s
        handing = pause is not None and pause.handoff is not None
        # After a handoff as long as an outcome is kept for repeats; the person's approval lasts as long as it does.
        seconds = limits.handoff_s + limits.replay_s if handing else limits.decide_s + max(spend, limits.spend_s)
        run.timer = self._clock.call_later(seconds, lambda: self.drop(run))

    def stopped(self, run: Run, *, keep: bool) -> None:
        """A call that carried it is answered; one that has ended is kept for the next identical call, or forgotten."""
        if not run.over:
            return
        if self._waiting.get(run.identity) is run:
            del self._waiting[run.identity]
        if keep and not run.dropped:
            self._finished.put(run.identity, run)
        elif self._finished.peek(run.identity) is run:
            self._finished.pop(run.identity)

    def drop(self, run: Run) -> None:
        """Run nothing more of one that waits, and say so."""
        if self._waiting.get(run.identity) is run and run.pause is not None:
            del self._waiting[run.identity]
            run.end()
            self._dropped(run)

    def drop_of(self, registration: Registration | None = None) -> None:
        """Drop what waits, and forget what has ended, of a registration that has gone, or of all."""
        for run in tuple(self._waiting.values()):
            if registration is None or run.bound.registration is registration:
                self.drop(run)
        for identity, run in tuple(self._finished.items()):
            if registration is None or run.bound.registration is registration:
                self._finished.pop(identity)

    def drop_if(self, ends: Callable[[Run], bool]) -> bool:
        """Drop what waits and meets this; whether there was any."""
        found = [run for run in self._waiting.values() if run.pause is not None and ends(run)]
        for run in found:
            self.drop(run)
        return bool(found)

    def claimed(self, key: ConsumerKey, invocation_id: str) -> None:
        """The outcome of this invocation has been handed out by its id: no identical call needs it any more."""
        for identity, run in tuple(self._finished.items()):
            if run.is_of(key, invocation_id):
                self._finished.pop(identity)

    def waiting_for(self, id: str) -> list[Run]:
        """The runs that wait for this handoff or request; there may be several, whose steps are the same."""
        return [run for run in self._waiting.values() if run.pause is not None and id in run.pause.waits_for]

    def waits(self, key: ConsumerKey, invocation_id: str) -> Run | None:
        """The run of this invocation that waits for a person."""
        return next((run for run in self._waiting.values() if run.is_of(key, invocation_id)), None)

    def holds(self, key: ConsumerKey, invocation_id: str | None) -> bool:
        """Whether a run that this call began waits, or has ended without a caller."""
        held = (*self._waiting.values(), *(run for _, run in self._finished.items()))
        return any(run.is_of(key, invocation_id) for run in held)
