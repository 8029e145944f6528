"""Who may hear an event: agents hear of the surface as they see it, and of what is their own (SPEC 9.1)."""

from collections.abc import Callable

from remit._model.consumer import ConsumerKey
from remit._model.event import Event, EventType

_OWN = frozenset(
    {
        EventType.SCOPE_CHANGED,
        EventType.INVOCATION_STARTED,
        EventType.INVOCATION_SETTLED,
        EventType.CONFIRMATION_REQUESTED,
        EventType.CONFIRMATION_RESOLVED,
        EventType.HANDOFF_REQUESTED,
        EventType.HANDOFF_RESOLVED,
    }
)


def hears(event: Event, consumer: ConsumerKey, listing_moved: Callable[[], bool]) -> bool:
    """Whether the consumer of this key may hear the event; `listing_moved` compares its own version, only if needed."""
    if event.type is EventType.SURFACE_CHANGED:
        return listing_moved()
    if event.type is EventType.ROUTE_CHANGED or event.type is EventType.LOST:
        return True
    return event.type in _OWN and event.consumer == consumer
