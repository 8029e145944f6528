"""Step 7: locked fields, repair, agent schema, bindings, full schema, defaults: what will run (SPEC 10.3, 3.6)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._base.boundary import Json, NotJson, canonical, take
from remit._base.limits import Limits
from remit._contract.plan import Plan
from remit._invocation.call import Call
from remit._registry.entered import Entered, Raised
from remit._registry.state import Bound
from remit._schema.derive import ConversionRefused
from remit.errors import Issue, Refusal, RetryAdvice, invalid_input, precondition_failed


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    entered: Entered
    limits: Limits


def make(call: Call, part: Part) -> None:
    """Make the exact effective input: the digest, policies and the handler see this one value."""
    plan = call.live.plan
    given = call.input
    descriptor = plan.descriptor
    locked = [path for path in descriptor.bound if path in given and path not in descriptor.overridable]
    if locked:
        issues = [Issue(path=path, message="this field is set by the view") for path in locked]
        raise Refusal(invalid_input(issues, locked))
    if not plan.agent_input.is_valid(given):
        given = _repaired(call, part, plan)
    effective = _object(plan.agent_input.fill(given))
    if plan.bindings:
        effective = _bound(call.live, part, effective)
    call.effective = effective
    call.canonical = call.input_bytes if effective is call.input else canonical(effective)
    if plan.convert is not None:
        try:
            call.arguments = plan.convert(call.canonical)
        except ConversionRefused as error:
            raise Refusal(invalid_input(error.issues)) from None


def _repaired(call: Call, part: Part, plan: Plan) -> dict[str, Json]:
    """Read text where no text is meant if that makes the input valid; explained is what was sent (SPEC 6.12)."""
    given, repairs = plan.agent_input.repair(call.input, part.limits.repairs)
    # Numbers may be written shorter inside of text than they are.
    if not repairs or len(canonical(given)) > part.limits.input_bytes:
        raise Refusal(invalid_input(plan.agent_input.issues(call.input)))
    call.repairs = repairs
    return _object(given)


def again(bound: Bound, input: Mapping[str, object] | None, part: Part) -> bytes | None:
    """The canonical effective input that this raw input makes of another mount; None when it makes none (SPEC 7.12)."""
    agent_input = bound.plan.agent_input
    given, _ = agent_input.repair(take({} if input is None else input)[0], part.limits.repairs)
    try:
        return canonical(_bound(bound, part, _object(agent_input.fill(given))))
    except Refusal:
        return None


def _bound(live: Bound, part: Part, given: dict[str, Json]) -> dict[str, Json]:
    plan = live.plan
    if not plan.bindings:
        return given
    effective = dict(given)
    for binding in plan.bindings:
        if binding.path in effective:  # only an overridable one can be: the agent's value wins
            continue
        value = part.entered.attempt(binding.value, live.registration.component)
        if isinstance(value, Raised):
            raise _failed(f"binding `{binding.path}` raised", value.cause)
        try:
            effective[binding.path], _ = take(value, max_bytes=part.limits.input_bytes)
        except NotJson as error:
            raise _failed(f"binding `{binding.path}` gave what is not JSON: {error.reason}", None) from None
    effective = _object(plan.full_input.fill(effective))
    if not plan.full_input.is_valid(effective):
        first = plan.full_input.issues(effective)[0]
        raise _failed(f"the bound input breaks the operation's schema at `{first.path}`: {first.message}", None)
    return effective


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)  # every input schema is an object's
    return value


def _failed(why: str, cause: BaseException | None) -> Refusal:
    return Refusal(precondition_failed("binding-failed", retry=RetryAdvice.AFTER_REFRESH), why=why, cause=cause)
