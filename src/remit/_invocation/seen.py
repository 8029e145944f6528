"""What a look ahead answers (SPEC 6.11)."""

from collections.abc import Mapping

from remit._base.boundary import Json
from remit._invocation.call import Call
from remit._model.preflight import Preflight, Question
from remit.errors import AgentError


def passing(
    call: Call,
    *,
    input: Mapping[str, Json] | None = None,
    question: Question | None = None,
    standing: str | None = None,
    repeat: bool = False,
) -> Preflight:
    """What a call would come to that nothing stops."""
    bound = call.live
    return Preflight(
        capability_id=bound.plan.id,
        registration=bound.registration.id,
        instance=bound.registration.instance,
        input=input,
        question=question,
        standing=standing,
        repeat=repeat,
    )


def refused(call: Call, error: AgentError) -> Preflight:
    """What a call would be refused with."""
    return Preflight(capability_id=call.request.capability_id, error=error)
