"""Step 7: locked fields, record, repair, agent schema, bindings, full schema, defaults: what will run (SPEC 6.2)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from remit._base.boundary import Json, NotJson, canonical, take
from remit._base.limits import Limits
from remit._base.nested import holds, with_field
from remit._contract.handing import path_of
from remit._contract.plan import Plan, Template
from remit._invocation.call import Call
from remit._model.consumer import ConsumerKey
from remit._model.record import PARAM
from remit._registry.entered import Entered, Raised
from remit._registry.records import missing
from remit._registry.state import Bound
from remit._schema.derive import ConversionRefused
from remit.errors import (
    Issue,
    Refusal,
    RetryAdvice,
    invalid_input,
    precondition_failed,
    rate_limited,
    record_unavailable,
)

Missed = Callable[[ConsumerKey, str, Json], int | None]


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs.

    `missed` counts a record that is not available, and says for how many milliseconds the consumer gets no such answer.
    """

    entered: Entered
    limits: Limits
    missed: Missed


def make(call: Call, part: Part) -> None:
    """Make the exact effective input: the digest, policies and the handler see this one value."""
    plan = call.live.plan
    if plan.template is not None:
        _make_for_record(call, part, plan, plan.template)
        return
    given = call.input
    _refuse_locked(plan, given)
    if not plan.agent_input.is_valid(given):
        given = _repaired(call, part, plan, given)
        _refuse_locked(plan, given)
    effective = _object(plan.agent_input.fill(given))
    if plan.bindings:
        effective = _bound(call.live, part, effective)
    call.effective = effective
    call.canonical = call.input_bytes if effective is call.input else canonical(effective)
    if plan.convert is not None:
        call.arguments = _converted(plan.convert, call.canonical)
    if plan.handing is not None and path_of(plan.handing, effective) is None:
        raise _failed("a bound value cannot stand in the path of the handoff", None)


def _refuse_locked(plan: Plan, given: dict[str, Json]) -> None:
    locked = [each.path for each in plan.bindings if not each.overridable and holds(given, each.path)]
    if locked:
        issues = [Issue(path=path, message="this field is set by the view") for path in locked]
        raise Refusal(invalid_input(issues, locked))


def _make_for_record(call: Call, part: Part, plan: Plan, template: Template) -> None:
    """The same for a folded row action: the record is taken out and looked for before the rest is judged (SPEC 11.6).

    It is part of the effective input again, under `record`, so that whoever decides on the call decides on the row.
    """
    record, given = _apart(call.input)
    absent = missing(call.live, template, call.sight, record)
    if absent is not None:
        wait_ms = part.missed(call.key, plan.id, record)
        error = record_unavailable() if wait_ms is None else rate_limited("probing", wait_ms)
        raise Refusal(error, why=absent.why, cause=absent.cause)
    assert plan.convert is not None  # only methods are templates
    if not plan.agent_input.is_valid(given):
        given = _repaired(call, part, plan, given)
    own = _object(plan.agent_input.fill(given))
    call.arguments = {template.parameter: record, **_converted(plan.convert, canonical(own))}
    call.effective = {PARAM: record, **own}
    call.canonical = canonical(call.effective)
    if plan.handing is not None and path_of(plan.handing, call.effective) is None:
        raise Refusal(record_unavailable(), why="the record cannot stand in the path of the handoff")


def _apart(input: dict[str, Json]) -> tuple[Json, dict[str, Json]]:
    """The record, None where there is none, and everything else."""
    return input.get(PARAM), {name: value for name, value in input.items() if name != PARAM}


def _converted(convert: Callable[[bytes], dict[str, object]], data: bytes) -> dict[str, object]:
    try:
        return convert(data)
    except ConversionRefused as error:
        raise Refusal(invalid_input(error.issues)) from None


def _repaired(call: Call, part: Part, plan: Plan, sent: dict[str, Json]) -> dict[str, Json]:
    """Read text where no text is meant if that makes the input valid; explained is what was sent (SPEC 6.12)."""
    given, repairs = plan.agent_input.repair(sent, part.limits.repairs)
    # Numbers may be written shorter inside of text than they are.
    if not repairs or len(canonical(given)) > part.limits.input_bytes:
        beside = () if plan.template is None else (PARAM,)  # taken out before, and sent by the agent as every other key
        raise Refusal(invalid_input(plan.agent_input.issues(sent, beside=beside)))
    call.repairs = repairs
    return _object(given)


def again(bound: Bound, input: Mapping[str, object] | None, part: Part) -> bytes | None:
    """The canonical effective input that this raw input makes of another mount; None when it makes none (SPEC 7.12).

    Whether its record may still be reached is looked at when the call comes.
    """
    agent_input = bound.plan.agent_input
    sent = _object(take({} if input is None else input)[0])
    record, sent = (None, sent) if bound.plan.template is None else _apart(sent)
    given, _ = agent_input.repair(sent, part.limits.repairs)
    own = _object(agent_input.fill(given))
    try:
        return canonical(_bound(bound, part, own) if bound.plan.template is None else {PARAM: record, **own})
    except Refusal:
        return None


def _bound(live: Bound, part: Part, given: dict[str, Json]) -> dict[str, Json]:
    plan = live.plan
    if not plan.bindings:
        return given
    effective = given
    for binding in plan.bindings:
        if binding.overridable and holds(given, binding.path):  # the agent's value wins
            continue
        value = part.entered.attempt(binding.value, live.registration.component)
        if isinstance(value, Raised):
            raise _failed(f"binding `{binding.path}` raised", value.cause)
        try:
            made = with_field(effective, binding.steps, take(value, max_bytes=part.limits.input_bytes)[0])
        except NotJson as error:
            raise _failed(f"binding `{binding.path}` gave what is not JSON: {error.reason}", None) from None
        if made is None:
            # Where other keys are allowed an agent may have put something else in the place of the object.
            outer = ".".join(binding.steps[:-1])
            issue = Issue(path=outer, message="this is an object: the view fills a field inside of it")
            raise Refusal(invalid_input([issue], [] if binding.overridable else [binding.path]))
        effective = made
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
