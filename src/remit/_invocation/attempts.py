"""Running the code of one call again while it fails in a way that may pass (SPEC 6.13)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from remit._base.boundary import NotJson
from remit._base.clock import Clock
from remit._invocation.backend import backend_refusal
from remit._invocation.call import Call
from remit._journal.audit import AuditLog, AuditType, Durations
from remit._model.answers import Refused
from remit._model.retry import Retry
from remit._registry.entered import NotEntered
from remit._schema.derive import OutputRefused
from remit.errors import ErrorCode, Refusal
from remit.procedures.errors import BackendError


@dataclass(frozen=True, slots=True)
class _Passing:
    """A failure after which the code may run again: as what it would have been told, and how long to wait at least."""

    code: ErrorCode
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Attempts:
    """What was declared about running again, and what it takes; `chance` gives numbers from 0 to 1."""

    retry: Retry
    clock: Clock
    chance: Callable[[], float]
    audit: AuditLog

    async def run(self, call: Call, code: Callable[[], Awaitable[object]]) -> object:
        """Run the code until it gives something, fails for good, or has neither attempts nor time left.

        An attempt that another follows leaves an entry of its own in the journal; the call's entry tells the last one.
        """
        for failed in range(1, self.retry.attempts):
            begun = self.clock.monotonic()
            try:
                return await code()
            except Exception as raised:
                passing = _passing(raised, call)
                if passing is None or call.outcome is not None:
                    raise
                now = self.clock.monotonic()
                pause = max(self.retry.pause(failed, self.chance()), passing.after_s)
                if now + pause - call.begun >= call.timeout_s:  # what is known now says more than a TIMEOUT then
                    raise
                call.tried = failed
                self._journal(call, failed, passing.code, now - begun, raised)
            await self._wait(pause)
        return await code()

    def _journal(self, call: Call, failed: int, code: ErrorCode, seconds: float, cause: Exception) -> None:
        self.audit.append(
            AuditType.ATTEMPT,
            registration=call.live.registration.id,
            capability=call.live.plan.id,
            invocation=call.invocation_id,
            correlation_id=call.correlation_id,
            consumer=call.key,
            code=code,
            why=f"attempt {failed} of {self.retry.attempts} failed",
            durations=Durations(execution=seconds),
            cause=cause,
        )

    async def _wait(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.clock.call_later(seconds, lambda: None if over.done() else over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()


def _passing(raised: Exception, call: Call) -> _Passing | None:
    """Whether a failure may pass: what nobody meant to raise, and a backend that is busy, slow or out of order.

    An author's refusal and a wrong output are verdicts, and so is every other answer of a backend.
    """
    if isinstance(raised, Refused | Refusal | OutputRefused | NotJson | NotEntered):
        return None
    if not isinstance(raised, BackendError):
        return _Passing(ErrorCode.EXECUTION_FAILED)
    told = backend_refusal(raised, call)
    if told.code is ErrorCode.EXECUTION_FAILED:
        passes = told.details["reason"] == "transport"
    else:
        passes = told.code in (ErrorCode.RATE_LIMITED, ErrorCode.TIMEOUT)
    return _Passing(told.code, raised.retry_after or 0.0) if passes else None
