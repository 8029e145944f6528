"""Step 11: evidence for a call that needs a person; created or checked here, never spent (SPEC 7)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from remit._base.limits import Limits
from remit._base.text import clean_line
from remit._confirmation.broker import Broker
from remit._confirmation.request import Ask, Pins
from remit._confirmation.standing import Standing
from remit._contract.plan import Plan
from remit._invocation.call import Call, Later
from remit._model.preflight import Question
from remit._model.request import Invocation
from remit._model.request_view import ConfirmationStatus
from remit._model.standing import StandingOffer
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
    limits: Limits


@dataclass(frozen=True, slots=True)
class Known:
    """What a look ahead needs of this phase: reading, and nothing else."""

    entered: Entered
    contract_hash: str
    covering: Callable[[Pins], Standing | None]


def confirm(call: Call, part: Part) -> Later | None:
    """Without evidence: what stands, the request there is, or a new one. With evidence: check it."""
    return None if call.confirmation_needed is None else partial(_evidence, call, part)


async def _evidence(call: Call, part: Part) -> None:
    ask = _ask(call, part)
    evidence = call.request.confirmation
    if evidence is None and ask.standing is not None and _stands(ask, part.broker):
        call.covered = ask
        return
    call.waited = True
    if evidence is not None:
        call.evidence = await part.broker.check(evidence, ask)
        return
    if not part.broker.has_channel:
        raise Refusal(confirmation_invalid("no-decider"))
    record = await part.broker.ask(ask)
    if record.status is not ConfirmationStatus.APPROVED:
        raise Refusal(record.asked())
    call.evidence = record


def _stands(ask: Ask, broker: Broker) -> bool:
    """Whether a standing approval answers; one for this very call that nobody has spent is spent first."""
    return broker.standings.covering(ask.pins) is not None and not broker.is_approved(ask)


def standing(call: Call, part: Known) -> str | None:
    """The id of the standing approval under which this call would run; uses none up."""
    needed, viewer = call.confirmation_needed, call.sight
    if needed is None or not needed.standing or viewer.principal is None:
        return None
    pins = Pins(
        registration=call.live.registration.id,
        capability=call.live.plan.descriptor.id,
        contract=part.contract_hash,
        principal=viewer.principal.key,
        consumer=call.consumer,
        input=call.effective,
        size=len(call.canonical),
    )
    found = part.covering(pins)
    return None if found is None else found.id


def question(call: Call, part: Known) -> Question | None:
    """What the person would be shown if this call came here; None when no person is needed."""
    needed = call.confirmation_needed
    if needed is None:
        return None
    descriptor = call.live.plan.descriptor
    return Question(
        title=descriptor.title or descriptor.id,
        description=descriptor.description,
        effect=descriptor.effect,
        bound=descriptor.filled(call.input),
        required=descriptor.required,
        summary=_summary(call, needed, part.entered),
        approvers=_approvers(call, needed),
        withheld=_withheld(call),
    )


def _summary(call: Call, needed: Required, entered: Entered) -> str | None:
    """The policy's text, else the author's, as one line (SPEC 3.12); one that raises or is empty is none."""
    plan = call.live.plan
    text: object = needed.summary
    if text is None and plan.summary is not None:
        text = entered.attempt(plan.summary, call.live.registration.component)
    if isinstance(text, Raised) or text is None:
        return None
    return clean_line(text, call.sight.site.limits.runtime_text) or None


def _approvers(call: Call, needed: Required) -> tuple[str, ...]:
    plan = call.live.plan
    own = (plan.approver,) if plan.approver else ()
    return tuple(sorted({*needed.approvers, *own, *(() if plan.flow is None else plan.flow.approvers)}))


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
        bound=plan.descriptor.filled(call.input),
        invocation=_again(call),
        approvers=_approvers(call, needed),
        summary=_summary(call, needed, part.entered),
        spend_s=plan.spend_s,
        standing=_offer(plan, needed, part.limits),
        fingerprint=call.fingerprint if call.step_of is None else call.step_of.fingerprint,
        sensitive=_withheld(call),
    )


def _again(call: Call) -> Invocation:
    """What is called again with the evidence: this call, or the flow of which it is a step."""
    if call.step_of is not None:
        return call.step_of.request
    return replace(call.request, id=call.invocation_id, input=call.input, confirmation=None)


def _withheld(call: Call) -> tuple[str, ...]:
    return tuple(name for name in call.live.plan.sensitive if name in call.effective)


def _offer(plan: Plan, needed: Required, limits: Limits) -> StandingOffer | None:
    if not needed.standing:
        return None
    return StandingOffer(may_vary=plan.may_vary, seconds=limits.standing_s, uses=limits.standing_uses)
