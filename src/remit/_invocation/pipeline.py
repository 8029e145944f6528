"""The order of the phases, as data, and the only place that turns a raise into a returned `Failed` (DESIGN 1.3)."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any

from remit._base.awaiting import current_task, in_a_loop
from remit._base.boundary import loads
from remit._base.codes import FailedReason
from remit._base.ident import new_id
from remit._base.threads import Job
from remit._invocation import (
    admit,
    authorize,
    confirm,
    dispatch,
    effective_input,
    envelope,
    execute,
    flow,
    handoff,
    identity,
    precondition,
    resolve,
    review,
    settle,
)
from remit._invocation.call import Call, Later, seconds_of
from remit._invocation.known import blame, known_of
from remit._invocation.parts import Ahead, Parts
from remit._invocation.run import Run
from remit._invocation.seen import passing, refused
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.context import DEADLINE
from remit._model.effects import Effect
from remit._model.outcome import Outcome
from remit._model.preflight import Preflight
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.withheld import masked
from remit._registry.entered import NotEntered
from remit._registry.state import Registration
from remit.errors import (
    AgentError,
    Happened,
    Refusal,
    cancelled,
    component_unmounted,
    execution_failed,
    not_authenticated,
    timeout,
)

_EAGER: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}


Step = tuple[Callable[[Call, Any], Later | None], object]


class Pipeline:
    """Runs calls of one surface, each under one deadline (SPEC 5.6).

    As long as no phase has anything to wait for, a call runs at once in a copy of its caller's context; from then on in
    a task of its own, so that whoever asked may leave.
    """

    __slots__ = ("_clock", "_errand", "_flows", "_newest", "_running", "_settle", "_stepping", "_steps", "_threads")

    def __init__(self, parts: Parts) -> None:
        self._flows = parts.flow.runs
        self._newest = parts.dispatch.newest
        self._stepping: dict[Run, Call] = {}
        self._errand = parts.settle.errand
        parts.flow.desk.on_end = self._decided
        parts.flow.broker.on_end(self._decided)
        self._clock = parts.clock
        self._threads = parts.execute.threads
        self._settle = parts.settle
        self._running: dict[Call, None] = {}
        ledger = identity.Part(parts.ledger, parts.named, self.leave, self._flows, parts.dispatch.lasting)
        self._steps: Sequence[Step] = (
            (envelope.accept, parts.envelope),
            (identity.look_up, ledger),
            (resolve.resolve, parts.resolve),
            (authorize.authorize, parts.authorize),
            (identity.hand_over, ledger),
            (effective_input.make, parts.effective_input),
            (handoff.stop, parts.handoff),
            (flow.take_up, parts.flow),
            (review.review, parts.review),
            (precondition.check, parts.precondition),
            (confirm.confirm, parts.confirm),
            (admit.admit, parts.admit),
            (dispatch.dispatch, parts.dispatch),
            (execute.execute, replace(parts.execute, run_step=self._step)),
            (settle.check_output, parts.settle),
        )

    async def invoke(
        self,
        request: Invocation,
        consumer: Consumer,
        host_timeout: float | None,
        progress: ProgressListener | None = None,
    ) -> Outcome:
        """Run one call and return how it ended; cancelling this leaves the call, and ends it when nobody is left."""
        return await self._answer(Call(request, consumer, seconds_of(host_timeout), progress), progress)

    async def _answer(self, call: Call, progress: ProgressListener | None = None) -> Outcome:
        call.begun = self._clock.monotonic()
        self._running[call] = None
        copy_context().run(self._start, call)
        if call.outcome is not None:
            return call.outcome
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        call.listeners.append(answer)
        try:
            return await answer
        except asyncio.CancelledError:
            if progress is not None:
                call.told.remove(progress)
            self.leave(call)
            raise

    async def _step(self, run: Run, request: Invocation) -> Outcome:
        """Run one step of a flow as a call of its own, through every phase (SPEC 11.8)."""
        call = self._stepping[run] = Call(request, run.consumer, None, step_of=run)
        try:
            return await self._answer(call)
        finally:
            del self._stepping[run]

    def _decided(self, id: str) -> None:
        """A handoff or a request has ended: the flow that waits for it goes on, although nobody calls (SPEC 11.8)."""
        for run in self._flows.waiting_for(id) if self._flows.held and in_a_loop() else ():
            self._errand(self._carry_on(run))

    async def _carry_on(self, run: Run) -> None:
        if run.pause is not None:  # else somebody has called meanwhile
            await self._answer(Call(run.request, self._newest(run.consumer), None, carries=run))

    def leave(self, call: Call) -> None:
        """One of those who wait for this call has gone; the last one's going cancels it."""
        call.waiters -= 1
        if call.waiters <= 0:
            self.abort(call, cancelled(self._happened(call)))

    def cancel(self, invocation_id: str, key: ConsumerKey) -> bool:
        """Cancel the running call of this id and consumer."""
        found = [call for call in self._running if call.invocation_id == invocation_id and call.key == key]
        for call in found:
            self.abort(call, cancelled(self._happened(call)))
        return self._flows.drop_if(lambda run: run.is_of(key, invocation_id)) or bool(found)

    def unmounted(self, registration: Registration) -> None:
        """End running work of a registration that has gone; a navigation that runs settles by itself (SPEC 6.8)."""
        for call in sorted(self._running, key=lambda call: call.step_of is None):  # steps before their flows
            bound = call.bound
            if bound is None or bound.registration is not registration or self._navigates(call):
                continue
            self.abort(call, component_unmounted("mid-flight", self._happened(call)))
        self._flows.drop_of(registration)

    def _navigates(self, call: Call) -> bool:
        """Whether it settles by itself although its view goes: a navigation that runs, and the flow it is a step of."""
        if call.running and call.live.plan.descriptor.effect is Effect.NAVIGATION:
            return True
        step = None if call.run is None else self._stepping.get(call.run)
        return step is not None and self._navigates(step)

    def end_all(self, *, but_asking: bool = False) -> None:
        """End every running call as cancelled; with `but_asking`, not the one in whose own steps this was found out."""
        asking = current_task() if but_asking else None
        for call in tuple(self._running):
            if call.task is not None and call.task is asking and not call.started:
                continue
            self.abort(call, cancelled(self._happened(call)))
        self._flows.drop_of()

    def cut_off(self, has_ended: Callable[[Consumer], bool], why: str) -> bool:
        """Stop what waits for consumers that nobody vouches for any more; code that runs is not interrupted."""
        found = [call for call in self._running if not call.started and has_ended(call.consumer)]
        for call in found:
            self.abort(call, not_authenticated(), why=why)
        return self._flows.drop_if(lambda run: has_ended(run.consumer)) or bool(found)

    def abort(self, call: Call, error: AgentError, *, why: str | None = None, message: str | None = None) -> None:
        """Answer now, tell the code that runs, and do not wait for it; what it gives later is ignored."""
        if call.outcome is not None:
            return
        call.signal.set()
        self._close(call, error, why=why)
        if call.task is not None and call.task is not current_task():
            call.task.cancel(message)
        step = self._stepping.get(call.run) if call.run is not None and call.run.leave(call) else None
        if step is not None:
            self.abort(step, cancelled(self._happened(step)), message=message)

    def _start(self, call: Call) -> None:
        """Run the phases up to the first that has to wait; from there on in a task of its own, under the deadline."""
        call.task = asyncio.current_task()
        steps = iter(self._steps)
        later: Later | None = None
        try:
            for phase, part in steps:
                later = phase(call, part)
                if later is not None or call.outcome is not None:
                    break
            if later is None or call.outcome is not None:  # done, or answered from within: nothing more may run for it
                self._close(call, None)
                return
        except BaseException as error:  # the pipeline's edge, see `_stop`
            self._stop(call, error)
            if isinstance(error, KeyboardInterrupt):
                raise
            return
        left = call.timeout_s - (self._clock.monotonic() - call.begun)
        call.timer = self._clock.call_later(left, partial(self._expired, call))
        call.waited = call.waited or not _EAGER  # the task begins in another turn of the loop
        call.task = asyncio.Task(self._go_on(call, later, steps), loop=asyncio.get_running_loop(), **_EAGER)

    async def _go_on(self, call: Call, later: Later, steps: Iterator[Step]) -> None:
        call.task = asyncio.current_task()  # one that starts eagerly is here before its maker knows it
        try:
            await later()
            for phase, part in steps:
                if call.outcome is not None:  # answered meanwhile: nothing more may run for it
                    break
                more = phase(call, part)
                if more is not None:
                    await more()
            self._close(call, None)
        except BaseException as error:  # the pipeline's edge, see `_stop`
            self._stop(call, error)
            if isinstance(error, KeyboardInterrupt):
                raise

    def _stop(self, call: Call, error: BaseException) -> None:
        """Whatever was raised on the way becomes a value here.

        `sys.exit()` in a handler ends that call, not the server; only the person at the keyboard ends the process.
        """
        match error:
            case identity.HandedOver(outcome=outcome):
                self._hand_over(call, outcome)
            case Refusal():
                self._close(call, error.error, why=error.why, cause=error.cause)
            case asyncio.CancelledError():
                self._close(call, cancelled(self._happened(call)))
            case NotEntered(cause=cause):
                self._fail(call, "handler-error", Happened.NONE, cause)
            case _:
                self._fail(call, blame(call), self._happened(call), error)

    def _fail(self, call: Call, reason: FailedReason, happened: Happened, cause: BaseException) -> None:
        correlation = new_id("err_")
        failed = execution_failed(reason, happened, correlation_id=correlation)
        self._close(call, failed, why=correlation, cause=cause)

    def _close(
        self, call: Call, error: AgentError | None, *, why: str | None = None, cause: BaseException | None = None
    ) -> None:
        if call.outcome is not None:
            if not call.held and (call.work is None or call.work.begun):  # its thread tells by itself, or never began
                settle.late(call, error, self._settle, cause)
            return
        settle.close(call, error, self._settle, settle.Reason(why, cause))
        self._finish(call)

    def _hand_over(self, call: Call, outcome: Outcome) -> None:
        settle.repeat(call, outcome)
        if self._flows.held:
            self._flows.claimed(call.key, call.invocation_id)
        self._finish(call)

    def _finish(self, call: Call) -> None:
        self._running.pop(call, None)
        if call.timer is not None:
            call.timer.cancel()
        call.held = call.work is not None and not call.work.over.done()
        if call.held and call.work is not None:
            call.work.over.add_done_callback(partial(self._thread_ended, call, call.work))
        elif call.release is not None:
            call.release()
        assert call.outcome is not None
        for answer in call.listeners:
            if not answer.done():
                answer.set_result(call.outcome)

    def _thread_ended(self, call: Call, work: Job, over: "asyncio.Future[None]") -> None:
        """The thread of a call that was answered before has come back: its place is free only now (SPEC 6.6, 6.9)."""
        assert call.release is not None  # it was admitted before it got a thread
        call.release()
        try:
            work.take()
            settle.late(call, None, self._settle, None)
        except BaseException as raised:  # noqa: BLE001 - the answer was given; only the journal hears of it
            settle.late(call, execution_failed("handler-error", Happened.UNKNOWN), self._settle, raised)

    def _happened(self, call: Call) -> Happened:
        """What is known of the effect of a call that ends before its code has; what has not begun never will."""
        if call.work is not None and not call.work.over.done() and self._threads.drop(call.work) and not call.tried:
            return Happened.NONE
        return known_of(call)

    def _expired(self, call: Call) -> None:
        descriptor = call.live.plan.descriptor
        milliseconds = round(call.timeout_s * 1_000)
        error = timeout(milliseconds, idempotent=descriptor.idempotent, happened=self._happened(call))
        self.abort(call, error, message=DEADLINE)


class LookAhead:
    """The steps up to the precondition, over parts that cannot create: what a call would come to (SPEC 6.11).

    It runs in a task of its own, in a copy of its caller's context, under the deadline the call would have.
    """

    __slots__ = ("_clock", "_confirm", "_fault", "_steps")

    def __init__(self, parts: Ahead) -> None:
        self._clock = parts.clock
        self._confirm = parts.confirm
        self._fault = parts.fault
        self._steps: Sequence[Step] = (
            (envelope.accept, parts.envelope),
            (identity.compare, parts.known),
            (resolve.resolve, parts.resolve),
            (authorize.authorize, parts.authorize),
            (identity.would_repeat, parts.known),
            (effective_input.make, parts.effective_input),
            (handoff.would_stop, parts.handoff),
            (review.review, parts.review),
            (precondition.check, parts.precondition),
        )

    async def look(self, request: Invocation, consumer: Consumer) -> Preflight:
        """Take the steps; whatever is raised on the way is an answer."""
        call = Call(request, consumer, None)
        call.begun = self._clock.monotonic()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        work = asyncio.get_running_loop().create_task(self._walk(call, over))
        watched: set[asyncio.Future[Any]] = {work, over}
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if call.timer is not None:
                call.timer.cancel()
            work.cancel()
        if work.done():
            return work.result()
        idempotent = call.live.plan.descriptor.idempotent
        error = timeout(round(call.timeout_s * 1_000), idempotent=idempotent, happened=Happened.NONE)
        return refused(call, error)

    async def _walk(self, call: Call, over: "asyncio.Future[None]") -> Preflight:
        try:
            await self._take(call, over)
            return self._passed(call)
        except identity.WouldRepeat:
            return passing(call, repeat=True)
        except Refusal as refusal:
            if refusal.cause is not None:
                self._fault(f"a preflight: {refusal.why}", refusal.cause)
            return refused(call, refusal.error)
        except asyncio.CancelledError:
            return refused(call, cancelled(Happened.NONE))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the edge of a look ahead: application code raised
            correlation = new_id("err_")
            self._fault(f"a preflight: {correlation}", error)
            return refused(call, execution_failed("handler-error", Happened.NONE, correlation_id=correlation))

    async def _take(self, call: Call, over: "asyncio.Future[None]") -> None:
        for phase, part in self._steps:
            later = phase(call, part)
            if later is None:
                continue
            if call.timer is None:
                left = call.timeout_s - (self._clock.monotonic() - call.begun)
                call.timer = self._clock.call_later(left, lambda: None if over.done() else over.set_result(None))
            await later()
            if not call.live.registration.live:
                raise Refusal(component_unmounted("mid-flight", Happened.NONE))

    def _passed(self, call: Call) -> Preflight:
        input = loads(call.canonical)
        assert isinstance(input, dict)
        standing = confirm.standing(call, self._confirm)
        question = confirm.question(call, self._confirm) if standing is None else None
        shown = masked(input, call.live.plan.sensitive)
        return passing(call, input=shown, question=question, standing=standing)
