"""Step 8: what only a person may do stops here, with a place where the person goes (SPEC 11.7)."""

from dataclasses import dataclass
from datetime import timedelta

from remit._base.boundary import loads
from remit._base.clock import Clock
from remit._base.digest import keyed_hex
from remit._base.limits import Limits
from remit._confirmation.handoff import Handing, HandoffDesk
from remit._confirmation.past import Past
from remit._contract.handing import path_of
from remit._invocation.call import Call
from remit._model.consumer import ConsumerKey
from remit._model.handoff_view import HandoffState
from remit._registry.viewer import Viewer
from remit._registry.visibility import may_reach
from remit.errors import Refusal, handoff_required


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs; `secret` is the key of what two equal calls have in common.

    `past` knows the handoffs of this person that no surface holds any more.
    """

    desk: HandoffDesk
    past: Past
    secret: bytes
    contract_hash: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a look ahead needs of this phase: reading, and nothing else."""

    part: Part
    clock: Clock
    limits: Limits


def stop(call: Call, part: Part) -> None:
    """Open the handoff, or find the open one for the same call; either way the call ends here."""
    if call.live.plan.handing is not None:
        raise _required(call, part)


def _required(call: Call, part: Part) -> Refusal:
    asked = _asked(call, part)
    ended = None if call.step_of is None else _of_this_step(asked, part)
    return part.desk.ask(asked).required() if ended is None else ended


def _of_this_step(asked: Handing, part: Part) -> Refusal | None:
    """The handoff that the person has ended for this very step, before the process ended in which it was asked for.

    No caller can give the id of a step. The flow asks how the handoff stands, and goes on with what came of it.
    """
    id = part.desk.ended_for(asked) or part.past.ended_for(asked)
    if id is None:
        return None
    reason = asked.plan.descriptor.handoff or ""
    return Refusal(handoff_required(id, reason=reason, url=f"{asked.path}?handoff={id}", expires_at=""))


def would_stop(call: Call, part: Known) -> None:
    """The same with nothing opened: a handoff that is not there yet has no id, and its path none either."""
    if call.live.plan.handing is None:
        return
    asked = _asked(call, part.part)
    open_ = part.part.desk.standing(asked)
    if open_ is not None:
        raise open_.required()
    expires = part.clock.now() + timedelta(seconds=part.limits.handoff_s)
    reason = call.live.plan.handing.reason
    raise Refusal(handoff_required("", reason=reason, url=asked.path, expires_at=expires.isoformat()))


def standing(part: Part, handoff_id: object, viewer: Viewer) -> HandoffState | None:
    """How a handoff stands, for the consumer that asked for it and still reaches its capability; else None.

    It may have been asked for on an earlier surface of the same person, which has gone. An unknown id, another's, and
    one of what is out of reach now are one answer.
    """
    consumer = viewer.consumer
    found = _found(part, handoff_id, consumer.key)
    if found is None or viewer.expired or viewer.site.suspended.has_consumer(consumer.key):
        return None
    state, place, doors = found
    if not may_reach(state.capability, place, viewer, doors):
        return None
    if state.untrusted and state.data is not None:
        viewer.site.outside.read(consumer, state.capability, viewer.principal)
    return state


def _found(part: Part, id: object, key: ConsumerKey) -> tuple[HandoffState, str, frozenset[str] | None] | None:
    """One of this consumer, with the place of its capability and the doors that it names for itself."""
    record = part.desk.find(id)
    if record is not None:
        asked = record.asked
        return (record.state(), asked.place, asked.plan.doors) if asked.consumer.key == key else None
    past = part.past.find(id, key)
    return None if past is None else (part.past.state(*past), past[0].place, past[1].doors)


def _asked(call: Call, part: Part) -> Handing:
    bound, principal = call.live, call.sight.principal
    assert bound.plan.handing is not None and principal is not None
    path = path_of(bound.plan.handing, call.effective)
    whole = loads(call.canonical)
    assert isinstance(whole, dict) and path is not None  # what cannot stand in it was refused when the input was made
    withheld = tuple(name for name in bound.plan.sensitive if name in whole)
    return Handing(
        plan=bound.plan,
        registration=bound.registration.id,
        instance=bound.registration.instance,
        place=bound.registration.place,
        consumer=call.consumer,
        principal=principal,
        input={name: value for name, value in whole.items() if name not in withheld},
        withheld=withheld,
        digest=keyed_hex(part.secret, call.canonical),
        path=path,
        invocation=call.invocation_id,
        correlation_id=call.correlation_id,
        contract_hash=part.contract_hash,
    )
