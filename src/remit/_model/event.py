"""What the journal tells listeners, in the order in which it happened (SPEC 9.1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class EventType(StrEnum):
    """The closed set of events."""

    SURFACE_CHANGED = "surface-changed"
    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    REJECTED = "rejected"
    AVAILABILITY_CHANGED = "availability-changed"
    ROUTE_CHANGED = "route-changed"
    SCOPE_CHANGED = "scope-changed"
    SESSION_OPENED = "session-opened"
    SESSION_CLOSED = "session-closed"
    INVOCATION_STARTED = "invocation-started"
    INVOCATION_SETTLED = "invocation-settled"
    CONFIRMATION_REQUESTED = "confirmation-requested"
    CONFIRMATION_RESOLVED = "confirmation-resolved"
    HANDOFF_REQUESTED = "handoff-requested"
    HANDOFF_RESOLVED = "handoff-resolved"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened on a surface; `data` is JSON, `sequence` grows by one.

    `consumer` is the key of the consumer it concerns, when it concerns one.
    """

    sequence: int
    type: EventType
    surface_id: str
    data: Mapping[str, object]
    consumer: tuple[object, ...] | None = None


EventListener = Callable[[Event], None]
