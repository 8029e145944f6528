"""What the journal keeps of a payload after its author's redactor: what that let through, or nothing (SPEC 9.2)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from remit._base.awaiting import awaited_within
from remit._base.boundary import NotJson, canonical, loads, take
from remit._base.clock import Clock
from remit._invocation.call import Call
from remit._journal.audit import AuditLog, AuditType
from remit._model.effects import Audit
from remit._model.payload import Payload, PayloadPart, PayloadReader
from remit._model.withheld import masked
from remit._registry.entered import Entered, Raised

_NULL: Final = b"null"
_GONE: Final = "the component had gone before its redactor could be asked"
_FAILED: Final = "a redactor raised, and its payload was dropped"


class RedactorFailed(Exception):
    """Stands for what a redactor raised: its kind and its stack; its text may hold what was to be hidden."""

    @classmethod
    def of(cls, raised: BaseException) -> "RedactorFailed":
        """Without the text, and without what it was raised from."""
        return cls(f"{type(raised).__name__}; its text is not kept").with_traceback(raised.__traceback__)


class NotInTime(Exception):
    """The redactor did not answer in time."""


class Kept(NamedTuple):
    """Canonical bytes of what may be kept, None where there is nothing; `dropped` says why something is not."""

    input: bytes | None = None
    output: bytes | None = None
    dropped: str | None = None


def payload_of(call: Call) -> Kept:
    """The payload without what is withheld from everybody (SPEC 7.2): for capabilities without a redactor."""
    sensitive = call.live.plan.sensitive
    hidden = sensitive and call.effective
    input = canonical(masked(call.effective, sensitive)) if hidden else call.canonical or None
    return Kept(input, call.output_bytes or None)


def redacted(call: Call, entered: Entered, audit: AuditLog) -> Kept:
    """The payload after a plain redactor, asked now."""
    owner, redact = _owner(call), call.live.plan.redact
    assert redact is not None
    if owner is None:
        return Kept(dropped=_GONE)
    given = payload_of(call)
    answers = (
        None if value is None or value == _NULL else entered.attempt(redact, owner, _payload(part, value))
        for part, value in ((PayloadPart.INPUT, given.input), (PayloadPart.OUTPUT, given.output))
    )
    return _kept(given, tuple(answers), call, audit)


def redact_later(
    call: Call, entered: Entered, audit: AuditLog, clock: Clock, errand: Callable[[Coroutine[Any, Any, None]], None]
) -> Kept:
    """Ask an async redactor beside the call, which waits for nothing; what it lets through is an entry of its own."""
    owner = _owner(call)
    if owner is None:
        return Kept(dropped=_GONE)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return Kept(dropped="the event loop had ended before the redactor could be asked")
    errand(_keep(call, owner, entered, audit, clock))
    return Kept(dropped="an async redactor is asked; see the payload entry of this invocation")


async def _keep(call: Call, owner: object, entered: Entered, audit: AuditLog, clock: Clock) -> None:
    redact, given = call.live.plan.redact, payload_of(call)
    assert redact is not None
    answers: list[object] = []
    for part, value in ((PayloadPart.INPUT, given.input), (PayloadPart.OUTPUT, given.output)):
        if value is None or value == _NULL:
            answers.append(None)
            continue
        asked = entered.attempted(redact, owner, _payload(part, value))
        done = await awaited_within(asked, call.timeout_s, clock)
        answers.append(Raised(NotInTime()) if done is None or done.cancelled() else done.result())
    kept = _kept(given, tuple(answers), call, audit)
    principal = call.sight.principal
    audit.append(
        AuditType.PAYLOAD,
        level=Audit.FULL,
        registration=call.live.registration.id,
        capability=call.live.plan.id,
        invocation=call.invocation_id,
        correlation_id=call.correlation_id,
        consumer=call.key,
        principal=None if principal is None else principal.key,
        input=kept.input,
        output=kept.output,
        dropped=kept.dropped,
    )


def _owner(call: Call) -> object | None:
    return call.live.registration.component if call.owner is None else call.owner


def _payload(part: PayloadPart, value: bytes) -> Payload:
    return Payload(value=loads(value), part=part, reader=PayloadReader.JOURNAL)


def _kept(given: Kept, answers: tuple[object, ...], call: Call, audit: AuditLog) -> Kept:
    bytes_of: list[bytes | None] = []
    dropped: list[str] = []
    for part, value, answer in zip(PayloadPart, (given.input, given.output), answers, strict=True):
        kept: bytes | None = None
        if value is None or value == _NULL:
            kept = value
        elif isinstance(answer, Raised):
            audit.fault(_FAILED, RedactorFailed.of(answer.cause), capability=call.live.plan.id)
            dropped.append(f"{part.value}: the redactor failed")
        else:
            try:
                kept = take(answer)[1]
            except NotJson as problem:
                dropped.append(f"{part.value}: what the redactor returned is no JSON: {problem.reason}")
        bytes_of.append(kept)
    return Kept(bytes_of[0], bytes_of[1], "; ".join(dropped) or None)
