"""What is known of a call that ends before its code has (SPEC 8.1, 10.1)."""

from remit._base.codes import FailedReason
from remit._invocation.call import Call
from remit.errors import Happened


def blame(call: Call) -> FailedReason:
    """Who raised: the way to a backend, of whose answer nothing is known, or code of the application (SPEC 10.1)."""
    return "transport" if call.running and call.live.plan.operation is not None else "handler-error"


def known_of(call: Call) -> Happened:
    """What is known of the effect of a call that ends before its code has: nothing began, or nobody can say."""
    bound = call.bound
    if not call.running or bound is None or bound.plan.descriptor.effect.reads_only:
        return Happened.NONE
    return Happened.DONE if call.acted else Happened.UNKNOWN
