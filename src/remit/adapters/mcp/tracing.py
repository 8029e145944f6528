"""The trace that a request of a client belongs to (SPEC 6.14)."""

from starlette.requests import Request

from remit._model.trace import TRACEPARENT, Trace
from remit.adapters.mcp.confirming import Context


def trace_of(ctx: Context, *, trusts: bool) -> Trace | None:
    """`traceparent` of the request's `_meta`, else of its header; what is malformed counts as absent.

    It is a link unless the site trusts what comes through this door. `baggage` and `tracestate` are not read.
    """
    sent = Trace.read(None if ctx.meta is None else ctx.meta.get(TRACEPARENT), linked=not trusts)
    if sent is not None or not isinstance(ctx.request, Request):
        return sent
    return Trace.carried(ctx.request.headers.getlist(TRACEPARENT), linked=not trusts)
