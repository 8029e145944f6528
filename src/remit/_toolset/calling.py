"""One call of a tool, and waiting for the person whom its answer needs: the same in either mode (SPEC 7.7)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from remit._base.ident import is_invocation_id
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.port import SurfacePort
from remit._model.progress import ProgressListener
from remit._model.request_view import ConfirmationStatus
from remit._model.trace import Trace
from remit._toolset.result import ToolResult

ENDED: Final = frozenset({ConfirmationStatus.DENIED, ConfirmationStatus.EXPIRED, ConfirmationStatus.CANCELLED})
"""How a request ends without having been spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of one tool; what stands beside the arguments overrides what the listing said."""

    name: str
    arguments: Mapping[str, object] | None = None
    id: str | None = None
    instance: str | None = None
    registration: str | None = None
    surface_id: str | None = None
    surface_version: str | None = None
    confirmation: str | None = None
    correlation_id: str | None = None
    trace: Trace | None = None


class Calling(Protocol):
    """What calls tools: the toolset of either mode."""

    async def invoke(
        self, call: ToolCall, *, timeout: float | None = None, progress: ProgressListener | None = None
    ) -> ToolResult:
        """Run one call and answer at once."""
        ...

    async def continue_(self, confirmation_id: str) -> ToolResult:
        """Run the stored exact call of a request."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """Where the answer of a person is waited for."""

    port: SurfacePort
    consumer: Consumer
    limits: Limits


def model_call(name: str, arguments: Mapping[str, object] | None, call_id: str | None) -> ToolCall:
    """A call as a model makes it; its id of the call becomes the invocation id.

    TypeError for an id that is no text: the host wrote it, or passes on what its model's provider did not mean as one.
    """
    if call_id is not None and not isinstance(call_id, str):
        raise TypeError(
            f"call_id= is the text that a model gave to this call, not {type(call_id).__name__}\n"
            "  do  pass its text on, or leave it out"
        )
    if not isinstance(name, str):
        raise TypeError(f"call(name, …) takes the name of a tool, as it was listed, not {type(name).__name__}")
    return ToolCall(name=name, arguments=arguments, id=None if call_id is None else as_invocation_id(call_id))


async def answered(
    tools: Calling, call: ToolCall, person: Person | None, *, timeout: float | None, progress: ProgressListener | None
) -> ToolResult:
    """Run one call; with a person to wait for, wait where its answer needs one, then answer once."""
    asked = await tools.invoke(call, timeout=timeout, progress=progress)
    request: str | None = None
    while person is not None and asked.confirmation_id not in {None, request}:  # a flow asks for each of its steps
        request = asked.confirmation_id or ""
        # The request expires by itself, so this wait has an end; the extra second lets the expiry win.
        decided = await person.port.decided(request, person.consumer, timeout=person.limits.decide_s + 1.0)
        if decided in ENDED:
            # The call itself could not say it: its component or the whole view may have ended too.
            return replace(await tools.continue_(request), name=call.name)
        if decided is None:
            return asked
        evidence = replace(call, confirmation=request, registration=asked.registration)
        asked = await tools.invoke(evidence, timeout=timeout, progress=progress)
    return asked


def as_invocation_id(call_id: str) -> str:
    """A model's call id as an invocation id: itself where the grammar allows it, else a digest of it (SPEC 2.5)."""
    if is_invocation_id(call_id):
        return call_id
    return "call-" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
