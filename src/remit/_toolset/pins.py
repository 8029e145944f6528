"""Pins: what a tool name meant when it was listed, so that no name is silently aimed at a successor (SPEC 12.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits

UNLISTED: Final = "unlisted"
"""Sent as registration with a non-read call of a tool that was never listed to its caller: it is live nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One name as it was listed: capability id, instance as `invoke` takes it, registration, and whether it reads."""

    id: str
    instance: str
    registration: str
    reads: bool = False


class Pins:
    """The pins of one consumer in one view.

    A listing sets a pin only where there is none, because clients list by themselves and no model has seen that. A name
    that is listed no more keeps its pin for `tombstone_s` seconds, at most `tombstones` of them.
    """

    __slots__ = ("_gone", "_listed")

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self._listed: dict[str, Pin] = {}
        self._gone: Bounded[str, Pin] = Bounded(limits.tombstones, limits.tombstone_s, clock)

    def get(self, name: str) -> Pin | None:
        """What the name meant when it was last told to the consumer; None if never, or too long ago."""
        return self._listed.get(name) or self._gone.get(name)

    def observe(self, present: Mapping[str, Pin]) -> None:
        """Take note of what is listed now, without telling anybody: names that have gone begin to age."""
        if not self._listed.keys() <= present.keys():
            for name in [name for name in self._listed if name not in present]:
                self._gone.put(name, self._listed.pop(name))
        for name, pin in self._gone.items():
            if name in present:
                self._gone.pop(name)
                self._listed[name] = pin

    def listed(self, present: Mapping[str, Pin]) -> None:
        """Take note of a listing that goes to the consumer: names without a pin get one."""
        self.observe(present)
        if not present.keys() <= self._listed.keys():
            for name, pin in present.items():
                self._listed.setdefault(name, pin)

    def of_capability(self, capability_id: str) -> tuple[Pin, ...]:
        """All pins of one capability id, gone ones after listed ones."""
        pins = (*self._listed.values(), *(pin for _, pin in self._gone.items()))
        return tuple(pin for pin in pins if pin.id == capability_id)

    def told(self, name: str, pin: Pin) -> None:
        """Renew one pin: an answer has just shown the consumer what the name means now."""
        self._gone.pop(name)
        self._listed[name] = pin

    def observed(self, registration: str, present: Mapping[str, Pin]) -> None:
        """Renew the pins of a component: the consumer has read its present state. Names it never saw stay unseen."""
        for name, pin in present.items():
            if pin.registration == registration and self.get(name) is not None:
                self.told(name, pin)

    def succeed(self, earlier: "Pins") -> None:
        """Take over what names meant in a view that this one has replaced behind its consumer's back."""
        for name, pin in (*earlier._gone.items(), *earlier._listed.items()):
            if name not in self._listed:
                self._gone.put(name, pin)
