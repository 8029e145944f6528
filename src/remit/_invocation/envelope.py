"""Step 1: size, JSON-ness, known fields; nothing of the surface is touched (SPEC 6.2)."""

from dataclasses import dataclass, fields
from operator import attrgetter

from remit._base.boundary import NotJson, take
from remit._base.ident import is_correlation_id, is_invocation_id
from remit._base.limits import Limits
from remit._invocation.call import Call
from remit._model.request import Invocation
from remit._model.trace import Trace
from remit.errors import Issue, Refusal, invalid_input


@dataclass(frozen=True, slots=True)
class Part:
    """What this phase needs."""

    limits: Limits


_TEXTS = tuple(f.name for f in fields(Invocation) if f.name not in {"input", "capability_id", "trace"})
_texts = attrgetter(*_TEXTS)


def accept(call: Call, part: Part) -> None:
    """Take the input inside as an own copy, and check the form of everything beside it."""
    request = call.request
    for value in _texts(request):
        if value is not None and not isinstance(value, str):
            name = next(name for name in _TEXTS if getattr(request, name) is value)
            raise Refusal(invalid_input([Issue(path="", message=f"`{name}` must be text")]))
    if request.id is not None and call.step_of is None and not is_invocation_id(request.id):
        raise Refusal(invalid_input([Issue(path="", message="`id` must be 1 to 128 characters of [A-Za-z0-9._-]")]))
    if request.correlation_id is not None:
        most = part.limits.correlation_id
        if not is_correlation_id(request.correlation_id, most):
            message = f"`correlation_id` must be 1 to {most} characters of [A-Za-z0-9._-]"
            raise Refusal(invalid_input([Issue(path="", message=message)]))
        call.correlation_id = request.correlation_id
    if request.trace is not None and not isinstance(request.trace, Trace):
        raise Refusal(invalid_input([Issue(path="", message="`trace` must be a Trace")]))
    try:
        value, canonical = take({} if request.input is None else request.input, max_bytes=part.limits.input_bytes)
    except NotJson as error:
        raise Refusal(invalid_input([Issue(path=error.path, message=error.reason)])) from None
    if not isinstance(value, dict):
        raise Refusal(invalid_input([Issue(path="", message="the input must be an object")]))
    call.input = value
    call.input_bytes = canonical
