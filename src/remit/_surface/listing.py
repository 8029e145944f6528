"""One version per consumer: it moves exactly when the listing that this consumer may see moves (SPEC 2.6)."""

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._journal.about import ListingCounts
from remit._journal.audit import AuditLog, AuditType
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.event import EventType
from remit._registry.snapshot import fingerprint
from remit._registry.state import State
from remit._registry.viewer import Viewer

CONSUMERS = 1_000


class _Seen:
    __slots__ = ("fingerprint", "generation", "grants", "journalled", "number", "viewer")

    def __init__(self, marks: tuple[int, ...], generation: int, viewer: Viewer) -> None:
        self.fingerprint = marks
        self.generation = generation
        self.viewer = viewer
        self.grants = _grants(viewer)
        self.number = 0
        self.journalled = -1


class Versions:
    """The versions of one surface; computed when read, never per change.

    A consumer that comes with another scope than before is told so; the first listing of each version is journalled.
    """

    __slots__ = ("_audit", "_hub", "_of", "_registry")

    def __init__(self, registry: State, clock: Clock, hub: EventHub, audit: AuditLog) -> None:
        self._registry = registry
        self._hub = hub
        self._audit = audit
        self._of: Bounded[ConsumerKey, _Seen] = Bounded(CONSUMERS, None, clock)

    def captured(self, viewer: Viewer, marks: tuple[int, ...]) -> str:
        """A listing was made: its marks decide whether the version moved."""
        seen = self._renew(viewer, marks)
        if seen.journalled != seen.number:
            seen.journalled = seen.number
            self._journal(viewer, marks)
        return str(seen.number)

    def now(self, viewer: Viewer) -> str:
        """The version now; looks at the registry only if it or the grants moved since the last time."""
        return self._now(viewer, self._of.get(viewer.consumer.key))

    def _now(self, viewer: Viewer, seen: _Seen | None) -> str:
        if (
            seen is not None
            and seen.generation == self._registry.generation
            and (seen.viewer is viewer or seen.grants == _grants(viewer))
        ):
            return str(seen.number)
        return str(self._renew(viewer, fingerprint(self._registry, viewer)).number)

    def settling(self, viewer: Viewer) -> str:
        """The version that a call ends with: a call that came with an older scope does not bring that back."""
        seen = self._of.get(viewer.consumer.key)
        if seen is None or seen.viewer is viewer or seen.viewer.consumer.scope == viewer.consumer.scope:
            return self._now(viewer, seen)
        return self._now(seen.viewer, seen)

    def peek(self, viewer: Viewer) -> str:
        """The version that `now` would give; remembers nothing."""
        seen = self._of.peek(viewer.consumer.key)
        if seen is None:
            return "0"
        return str(seen.number + (seen.fingerprint != fingerprint(self._registry, viewer)))

    def known(self, consumer: Consumer) -> str:
        """The version as it was last computed; "0" before anything was."""
        seen = self._of.get(consumer.key)
        return "0" if seen is None else str(seen.number)

    def newest(self, consumer: Consumer) -> Consumer:
        """This consumer with the grants and the scope with which it was last seen here."""
        seen = self._of.peek(consumer.key)
        return consumer if seen is None else seen.viewer.consumer

    def fresh(self, viewer: Viewer) -> str:
        """The version, computed anew: for notices, which policies may bring about without the registry's doing."""
        return str(self._renew(viewer, fingerprint(self._registry, viewer)).number)

    def _renew(self, viewer: Viewer, marks: tuple[int, ...]) -> _Seen:
        key = viewer.consumer.key
        seen = self._of.get(key)
        if seen is None:
            seen = _Seen(marks, self._registry.generation, viewer)
            self._of.put(key, seen)
            return seen
        if seen.fingerprint != marks:
            seen.fingerprint = marks
            seen.number += 1
        moved = seen.viewer.consumer.scope != viewer.consumer.scope
        seen.generation = self._registry.generation
        seen.viewer = viewer
        seen.grants = _grants(viewer)
        if moved:
            self._hub.emit(EventType.SCOPE_CHANGED, None, key)
        return seen

    def _journal(self, viewer: Viewer, marks: tuple[int, ...]) -> None:
        mounted = sum(len(registration.bounds) for registration in self._registry.in_order())
        self._audit.append(
            AuditType.LISTING,
            consumer=viewer.consumer.key,
            principal=None if viewer.principal is None else viewer.principal.key,
            about=ListingCounts(len(marks), sum(mark < 0 for mark in marks), mounted - len(marks)),
        )


def _grants(viewer: Viewer) -> object:
    principal = viewer.principal
    return viewer.consumer.grants, None if principal is None else principal.grants, viewer.consumer.scope
