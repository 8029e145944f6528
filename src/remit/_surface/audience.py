"""What one consumer is told: its subscriptions, and how its handoffs stand (SPEC 2.6, 9.1, 11.7)."""

from collections.abc import Callable

from remit._invocation import handoff
from remit._model.consumer import Consumer
from remit._model.event import Event, EventType
from remit._model.handoff_view import HandoffState
from remit._registry.audience import hears
from remit._surface.wiring import Wired
from remit.errors import Refusal


def audience_of(consumer: Consumer, parts: Wired) -> Callable[[Event], bool]:
    """The filter of one subscription; each is told of a version once, and of nothing after the consumer's end."""
    told = _version(consumer, parts)

    def moved() -> bool:
        nonlocal told
        before, told = told, _version(consumer, parts) or told
        return told != before

    def heard(event: Event) -> bool:
        until = parts.versions.newest(consumer).until
        if until is not None and parts.parts.clock.now() >= until:
            return False
        if event.type is EventType.ROUTE_CHANGED and parts.registry.suspended.has_consumer(consumer.key):
            return False
        return hears(event, consumer.key, moved)

    return heard


def standing_of(handoff_id: object, consumer: Consumer, parts: Wired) -> HandoffState | None:
    """How a handoff stands for this consumer; None once the person has gone, too."""
    try:
        viewer = parts.viewers.of(consumer)
    except Refusal:
        return None
    return handoff.standing(parts.parts.handoff, handoff_id, viewer)


def changed_by(capability: str, parts: Wired) -> tuple[str, ...]:
    """The types of the live components in which this capability does more than read, each once."""
    return tuple(
        {
            registration.sealed.type: None
            for registration in parts.registry.in_order()
            for bound in registration.bounds
            if bound.plan.id == capability and not bound.plan.descriptor.effect.reads_only
        }
    )


def _version(consumer: Consumer, parts: Wired) -> str | None:
    try:
        return parts.versions.fresh(parts.viewers.of(parts.versions.newest(consumer)))
    except Refusal:
        return None
