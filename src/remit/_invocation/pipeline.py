"""The order of the phases, as data, and the only place that turns a raise into a returned `Failed` (DESIGN 1.3)."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

from remit._base.ident import new_id
from remit._invocation import (
    admit,
    authorize,
    confirm,
    dispatch,
    effective_input,
    envelope,
    execute,
    identity,
    precondition,
    resolve,
    review,
    settle,
)
from remit._invocation.call import Call
from remit._invocation.parts import Parts
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.effects import Effect
from remit._model.outcome import Outcome
from remit._model.request import Invocation
from remit._registry.state import Registration
from remit.errors import (
    AgentError,
    Happened,
    Refusal,
    cancelled,
    component_unmounted,
    execution_failed,
    timeout,
)

_EAGER: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}


Phase = Callable[[Call, Any], Awaitable[None] | None]
Step = tuple[Phase, object, bool]


class Pipeline:
    """Runs calls of one surface; every call in a task of its own, under one deadline (SPEC 5.6)."""

    __slots__ = ("_clock", "_running", "_settle", "_steps")

    def __init__(self, parts: Parts) -> None:
        self._clock = parts.clock
        self._settle = parts.settle
        self._running: dict[Call, None] = {}
        ledger = identity.Part(parts.ledger, parts.stored_call, self.leave)
        self._steps: Sequence[Step] = (
            (envelope.accept, parts.envelope, False),
            (identity.look_up, ledger, False),
            (resolve.resolve, parts.resolve, False),
            (_arm, self, False),
            (authorize.authorize, parts.authorize, True),
            (identity.hand_over, ledger, True),
            (effective_input.make, parts.effective_input, False),
            (review.review, parts.review, True),
            (precondition.check, parts.precondition, True),
            (confirm.confirm, parts.confirm, True),
            (admit.admit, parts.admit, True),
            (dispatch.dispatch, parts.dispatch, True),
            (execute.execute, parts.execute, True),
            (settle.check_output, parts.settle, False),
        )

    async def invoke(self, request: Invocation, consumer: Consumer, host_timeout: float | None) -> Outcome:
        """Run one call and return how it ended; cancelling this leaves the call, and ends it when nobody is left."""
        call = Call(request, consumer, host_timeout)
        call.begun = self._clock.monotonic()
        self._running[call] = None
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()
        call.listeners.append(answer)
        call.task = asyncio.Task(self._drive(call), loop=loop, **_EAGER)
        try:
            return await answer
        except asyncio.CancelledError:
            self.leave(call)
            raise

    def leave(self, call: Call) -> None:
        """One of those who wait for this call has gone; the last one's going cancels it."""
        call.waiters -= 1
        if call.waiters <= 0:
            self.abort(call, cancelled(_happened(call)))

    def cancel(self, invocation_id: str, key: ConsumerKey) -> bool:
        """Cancel the running call of this id and consumer."""
        found = [call for call in self._running if call.invocation_id == invocation_id and call.key == key]
        for call in found:
            self.abort(call, cancelled(_happened(call)))
        return bool(found)

    def unmounted(self, registration: Registration) -> None:
        """End running work of a registration that has gone; a navigation that runs settles by itself (SPEC 6.8)."""
        for call in tuple(self._running):
            bound = call.bound
            if bound is None or bound.registration is not registration:
                continue
            if call.running and bound.plan.descriptor.effect is Effect.NAVIGATION:
                continue
            self.abort(call, component_unmounted("mid-flight", _happened(call)))

    def end_all(self, *, but_asking: bool = False) -> None:
        """End every running call as cancelled; with `but_asking`, not the one in whose own steps this was found out."""
        asking = _current_task() if but_asking else None
        for call in tuple(self._running):
            if call.task is not None and call.task is asking and not call.started:
                continue
            self.abort(call, cancelled(_happened(call)))

    def abort(self, call: Call, error: AgentError) -> None:
        """Answer now, tell the code that runs, and do not wait for it; what it gives later is ignored."""
        if call.outcome is not None:
            return
        call.signal.set()
        self._close(call, error)
        if call.task is not None and call.task is not _current_task():
            call.task.cancel()

    async def _drive(self, call: Call) -> None:
        try:
            for phase, part, awaited in self._steps:
                if awaited:
                    await cast("Awaitable[None]", phase(call, part))
                else:
                    phase(call, part)
            self._close(call, None)
        except identity.HandedOver as repeat:
            self._hand_over(call, repeat.outcome)
        except Refusal as refusal:
            self._close(call, refusal.error, why=refusal.why, cause=refusal.cause)
        except asyncio.CancelledError:
            self._close(call, cancelled(_happened(call)))
        except Exception as error:  # noqa: BLE001 - the pipeline's edge: whatever code raised becomes a value here
            correlation = new_id("err_")
            failed = execution_failed("handler-error", _happened(call), correlation_id=correlation)
            self._close(call, failed, why=correlation, cause=error)

    def _close(
        self, call: Call, error: AgentError | None, *, why: str | None = None, cause: BaseException | None = None
    ) -> None:
        if call.outcome is not None:
            settle.late(call, error, self._settle, cause)
            return
        settle.close(call, error, self._settle, settle.Reason(why, cause))
        self._finish(call)

    def _hand_over(self, call: Call, outcome: Outcome) -> None:
        if call.outcome is None:
            settle.repeat(call, outcome)
            self._finish(call)

    def _finish(self, call: Call) -> None:
        self._running.pop(call, None)
        if call.timer is not None:
            call.timer.cancel()
        if call.release is not None:
            call.release()
        assert call.outcome is not None
        for answer in call.listeners:
            if not answer.done():
                answer.set_result(call.outcome)

    def _expired(self, call: Call) -> None:
        descriptor = call.live.plan.descriptor
        milliseconds = round(call.timeout_s * 1_000)
        self.abort(call, timeout(milliseconds, idempotent=descriptor.idempotent, happened=_happened(call)))

    def arm(self, call: Call) -> None:
        """Start the call's one deadline, counted from its beginning."""
        left = call.timeout_s - (self._clock.monotonic() - call.begun)
        call.timer = self._clock.call_later(left, partial(self._expired, call))


def _arm(call: Call, pipeline: Pipeline) -> None:
    pipeline.arm(call)


def _current_task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # a surface may be looked at and disposed outside its loop
        return None


def _happened(call: Call) -> Happened:
    """What is known of the effect of a call that ends before its code has: nothing began, or nobody can say."""
    bound = call.bound
    if not call.running or bound is None or bound.plan.descriptor.effect.reads_only:
        return Happened.NONE
    return Happened.UNKNOWN
