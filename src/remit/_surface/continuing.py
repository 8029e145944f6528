"""The stored call of a request, or why there is nothing to continue (SPEC 7.5, 7.6)."""

from remit._model.consumer import Consumer
from remit._model.outcome import Failed
from remit._model.request import Invocation
from remit._surface.life import Life
from remit._surface.wiring import Wired
from remit.errors import AgentError, Refusal, confirmation_invalid


async def to_continue(confirmation_id: str, consumer: Consumer, parts: Wired, life: Life) -> Invocation | Failed:
    """The exact call of a request of this consumer that is open or spent, else the answer that says why not."""
    broker = parts.broker
    stored, ended = broker.stored(confirmation_id, consumer.key), broker.ended(confirmation_id, consumer.key)
    if stored is not None and parts.parts.flow.runs.holds(consumer.key, stored.id):
        return stored  # a flow waits for it, and says itself how that ends
    if stored is None or ended is not None:
        told = ended or await _earlier(confirmation_id, consumer, parts)
        return life.no_call(stored, told, consumer)
    return stored


async def _earlier(confirmation_id: str, consumer: Consumer, parts: Wired) -> AgentError:
    """How a request of an earlier process ended; {mismatch} for every id that is none of this consumer's."""
    try:
        told = await parts.broker.earlier.ended(confirmation_id, consumer.key, parts.viewers.principal_key)
    except Refusal as refusal:
        parts.audit.fault("a request could not be looked for", refusal.cause or refusal)
        return refusal.error
    return told or confirmation_invalid("mismatch")
