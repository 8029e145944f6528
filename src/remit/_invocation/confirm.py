"""Step 11: evidence for a call that needs a person; created or checked here, never spent (SPEC 7)."""

from dataclasses import dataclass, replace
from functools import partial

from remit._confirmation.broker import Broker
from remit._confirmation.request import Ask
from remit._invocation.call import Call, Later
from remit._model.preflight import Question
from remit._model.request_view import ConfirmationStatus
from remit._policy.decision import Required
from remit._registry.entered import Entered, Raised
from remit.errors import Refusal, confirmation_invalid


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    broker: Broker
    entered: Entered
    surface_id: str
    contract_hash: str


def confirm(call: Call, part: Part) -> Later | None:
    """Without evidence: create the request or return the one there is. With evidence: check it."""
    return None if call.confirmation_needed is None else partial(_evidence, call, part)


async def _evidence(call: Call, part: Part) -> None:
    call.waited = True
    ask = _ask(call, part)
    evidence = call.request.confirmation
    if evidence is not None:
        call.evidence = await part.broker.check(evidence, ask)
        return
    if not part.broker.has_channel:
        raise Refusal(confirmation_invalid("no-decider"))
    record = await part.broker.ask(ask)
    if record.status is not ConfirmationStatus.APPROVED:
        raise Refusal(record.asked())
    call.evidence = record


def question(call: Call, entered: Entered) -> Question | None:
    """What the person would be shown if this call came here; None when no person is needed."""
    needed = call.confirmation_needed
    if needed is None:
        return None
    descriptor = call.live.plan.descriptor
    return Question(
        title=descriptor.title or descriptor.id,
        description=descriptor.description,
        effect=descriptor.effect,
        bound=descriptor.bound,
        required=descriptor.required,
        summary=_summary(call, needed, entered),
        approvers=_approvers(call, needed),
    )


def _summary(call: Call, needed: Required, entered: Entered) -> str | None:
    """The policy's text, else the author's; one that raises is none."""
    plan = call.live.plan
    if needed.summary is not None or plan.summary is None:
        return needed.summary
    text = entered.attempt(plan.summary, call.live.registration.component)
    return None if isinstance(text, Raised) or text is None else str(text)


def _approvers(call: Call, needed: Required) -> tuple[str, ...]:
    approver = call.live.plan.approver
    return tuple(sorted({*needed.approvers, *([approver] if approver else [])}))


def _ask(call: Call, part: Part) -> Ask:
    bound, viewer = call.live, call.sight
    plan = bound.plan
    needed = call.confirmation_needed
    assert needed is not None and viewer.principal is not None
    return Ask(
        surface_id=part.surface_id,
        registration=bound.registration.id,
        instance=bound.registration.instance,
        component=bound.registration.sealed.type,
        descriptor=plan.descriptor,
        consumer=call.consumer,
        principal=viewer.principal,
        contract_hash=part.contract_hash,
        input=call.effective,
        canonical=call.canonical,
        invocation=replace(call.request, id=call.invocation_id, input=call.input, confirmation=None),
        approvers=_approvers(call, needed),
        summary=_summary(call, needed, part.entered),
        spend_s=plan.spend_s,
    )
