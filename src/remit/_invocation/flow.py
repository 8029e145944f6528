"""Before step 9: a call of a flow begins a run of it, or takes up the one that waits for a person (SPEC 11.8)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from remit._base.boundary import loads
from remit._confirmation.broker import Broker
from remit._confirmation.handoff import HandoffDesk
from remit._confirmation.past import Past
from remit._invocation.call import Call
from remit._invocation.run import Beginning, Run
from remit._invocation.runs import Runs
from remit._journal.audit import AuditLog, AuditType
from remit._model.consumer import ConsumerKey
from remit._model.handoff_view import HandoffStatus
from remit.errors import ErrorCode, Happened, Refusal, cancelled


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    runs: Runs
    broker: Broker
    desk: HandoffDesk
    past: Past


def take_up(call: Call, part: Part) -> None:
    """Find the run that this call carries on, or make the one it begins; refuse evidence of a run that has ended.

    An approval of one of its steps lets nothing begin anew: the steps before it would run again.
    """
    bound = call.live
    if bound.plan.flow is None:
        return
    found = part.runs.find((call.key, bound.plan.id, bound.registration.id, call.canonical)) if part.runs.held else None
    if found is None and call.carries is not None:
        raise Refusal(cancelled(Happened.NONE), why="the flow that waited has ended")
    if found is None and call.request.confirmation is not None:
        spoken = part.broker.of_a_step(call.request.confirmation, call.key)
        if spoken is not None:
            raise Refusal(spoken, why="evidence for a step of a flow that does not wait any more")
    call.run = found or Run(_beginning(call), handed_by(part.desk, part.past, call.key), part.runs.paused)


def _beginning(call: Call) -> Beginning:
    return Beginning(
        bound=call.live,
        consumer=call.consumer,
        request=replace(call.request, id=call.invocation_id, input=call.input, confirmation=None),
        canonical=call.canonical,
        fingerprint=call.fingerprint,
        named=call.request.id is not None,
    )


def handed_by(desk: HandoffDesk, past: Past, key: ConsumerKey) -> Callable[[str], tuple[HandoffStatus, object] | None]:
    """How the handoffs of a consumer stand, at a desk or from before."""

    def stands(id: str) -> tuple[HandoffStatus, object] | None:
        record = desk.find(id)
        return past.stands(id, key) if record is None else (record.status, loads(record.data))

    return stands


def dropping(audit: AuditLog, contract_hash: str) -> Callable[[Run], None]:
    """What the journal is told of a run that ended while no call carried it."""

    def dropped(run: Run) -> None:
        audit.append(
            AuditType.LATE_RESULT,
            registration=run.bound.registration.id,
            capability=run.bound.plan.id,
            invocation=run.invocation_id,
            correlation_id=run.request.correlation_id,
            consumer=run.consumer.key,
            code=ErrorCode.CANCELLED,
            why=f"the flow was not carried on: {run.count}",
            outcome=Happened.DONE if run.acted else Happened.NONE,
            contract_hash=contract_hash,
        )

    return dropped
