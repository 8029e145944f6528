"""One run of a flow's method: from step to step, across the calls that carry it on (SPEC 11.8).

The method runs once, in a task of its own. Where a step waits for a person, that task waits, and the call that carried
the run is answered; the next call for the same thing carries it on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from remit._base.awaiting import current_task
from remit._base.boundary import take
from remit._base.clock import TimerHandle
from remit._base.codes import MATRIX
from remit._confirmation.request import RequestRecord
from remit._contract.plan import Plan
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.context import LazySignal
from remit._model.handoff_view import HandoffStatus
from remit._model.outcome import Ok, Outcome
from remit._model.request import Invocation
from remit._model.steps import StepRefused, Steps, StepsDone
from remit._registry.state import Bound
from remit.errors import (
    AgentError,
    ErrorCode,
    Happened,
    Refusal,
    RetryAdvice,
    cancelled,
    execution_failed,
    precondition_failed,
)

RunStep = Callable[["Run", Invocation], Awaitable[Outcome]]
"""Makes the call of one step, through every phase."""

Handed = Callable[[str], tuple[HandoffStatus, object] | None]
"""How a handoff stands, and what was told when it was completed; None: nobody knows it any more."""

Method = Callable[[Steps], Awaitable[object]]
Identity = tuple[ConsumerKey, str, str, bytes]
"""Who runs what of which registration with which effective input."""

_TELL: Final = frozenset(
    {
        ErrorCode.COMPONENT_UNMOUNTED,
        ErrorCode.PRECONDITION_FAILED,
        ErrorCode.CONFIRMATION_INVALID,
        ErrorCode.TIMEOUT,
        ErrorCode.CANCELLED,
        ErrorCode.EXECUTION_FAILED,
    }
)
"""The codes that tell what has happened (SPEC 8.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What a run waits for: a person's answer to a request, or a step that the person does."""

    error: AgentError
    confirmation: str | None = None
    handoff: str | None = None

    @property
    def waits_for(self) -> tuple[str | None, str | None]:
        """The ids of what it waits for."""
        return self.confirmation, self.handoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """What goes between a run and the call that carries it: how far it has come, and that it should stop.

    The signal is that of the first call, which is what the method was given.
    """

    told: Callable[[int, int], None]
    signal: LazySignal


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The call that begins a run; `request` is that call to be made again, `named` says that its id is the caller's."""

    bound: Bound
    consumer: Consumer
    request: Invocation
    canonical: bytes
    fingerprint: str
    named: bool


class Run:
    """One run of one flow, for one consumer.

    `request`, `fingerprint` and `named` are of the call that began it, `consumer` is as it came with the last. `done`
    counts its steps, and `acted` says that one of them did more than read. `over`: its method has ended, or nothing
    more of it runs.
    """

    __slots__ = (
        "_carriers",
        "_doing",
        "_ended",
        "_failed",
        "_handed",
        "_paused",
        "_step",
        "_stepping",
        "_stop",
        "_task",
        "_wake",
        "acted",
        "bound",
        "consumer",
        "done",
        "evidence",
        "fingerprint",
        "identity",
        "named",
        "over",
        "pause",
        "request",
        "timer",
    )

    def __init__(
        self,
        begun: Beginning,
        handed: Handed,
        paused: "Callable[[Run], None]",
    ) -> None:
        self.bound = begun.bound
        self.consumer = begun.consumer
        self.request = begun.request
        self.fingerprint = begun.fingerprint
        self.named = begun.named
        self.identity: Identity = (begun.consumer.key, self.bound.plan.id, self.bound.registration.id, begun.canonical)
        self.done = 0
        self.acted = False
        self.pause: Pause | None = None
        self.over = False
        self.evidence: RequestRecord | None = None
        """What was spent on the whole, to be told how that ended."""
        self.timer: TimerHandle | None = None
        self._handed = handed
        self._paused = paused
        self._carriers: dict[Hashable, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop: asyncio.Future[Pause | None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._step: RunStep | None = None
        self._doing: Doing | None = None
        self._stepping = False
        self._failed: Refusal | None = None
        self._ended: tuple[object, BaseException | None] | None = None

    @property
    def begun(self) -> bool:
        """Whether its method has begun: then nobody is asked again whether it may."""
        return self._task is not None

    @property
    def count(self) -> StepsDone:
        """How many steps are done, of how many."""
        return StepsDone(self.done, len(self._plans))

    @property
    def invocation_id(self) -> str:
        """The invocation id that those of the steps begin with."""
        return self.request.id or ""

    def is_of(self, key: ConsumerKey, invocation_id: str | None) -> bool:
        """Whether a call of this consumer and id began it."""
        return self.identity[0] == key and self.invocation_id == invocation_id

    @property
    def dropped(self) -> bool:
        """Whether nothing more of it runs although its method had not ended."""
        return self.over and self._ended is None

    async def carry(self, by: Hashable, consumer: Consumer, method: Method, step: RunStep, doing: Doing) -> object:
        """Begin the method, or carry it on; return what it gave.

        Raises what the method raised; a `Refusal` where a step was refused, whatever the method made of that, and where
        one waits for a person.
        """
        if self.over:
            return self._verdict()
        self._carriers[by] = None
        if self._task is None:
            self._go(consumer, step, doing)
            self._task = asyncio.get_running_loop().create_task(self._method(method))
        elif self.pause is not None:
            self.pause = None
            if self.timer is not None:
                self.timer.cancel()
            self._go(consumer, step, doing)
            if self._wake is not None:
                self._wake.set_result(None)
        stop = self._stop
        assert stop is not None
        await asyncio.wait((stop,))
        if (pause := stop.result()) is not None:
            raise Refusal(pause.error, why=f"the flow waits for a person: {self.count}")
        return self._verdict()

    def leave(self, by: Hashable) -> bool:
        """A call that carries it is answered; the last one's going ends it: whether this was that."""
        if self._carriers.pop(by, self) is self or self._carriers or self.pause is not None or self.over:
            return False
        self.end()
        return True

    def end(self) -> None:
        """Run nothing more of it."""
        if self.over:
            return
        self.over = True
        self.pause = None
        if self.timer is not None:
            self.timer.cancel()
        if self._doing is not None:
            self._doing.signal.set()
        if self._task is not None and self._task is not current_task():
            self._task.cancel()

    # The method, and what it calls

    def _go(self, consumer: Consumer, step: RunStep, doing: Doing) -> None:
        self.consumer, self._step = consumer, step
        self._doing = doing if self._doing is None else replace(doing, signal=self._doing.signal)
        self._stop = asyncio.get_running_loop().create_future()

    async def _method(self, method: Method) -> None:
        ended: tuple[object, BaseException | None]
        try:
            ended = (await method(Steps(self._next, lambda: self.count)), None)
        except BaseException as raised:  # noqa: BLE001 - the calls that carry it raise it again
            ended = (None, raised)
        if not self.over:  # else nobody asks any more
            self._ended, self.over = ended, True
        self._halt(None)
        if isinstance(ended[1], KeyboardInterrupt):
            raise ended[1]

    def _halt(self, pause: Pause | None) -> None:
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(pause)

    def _verdict(self) -> object:
        if self._failed is not None:
            raise self._failed
        if self._ended is None:
            raise Refusal(cancelled(Happened.UNKNOWN), why="the flow was ended")
        value, raised = self._ended
        if raised is not None:
            raise raised
        return value

    @property
    def _plans(self) -> tuple[Plan, ...]:
        composite = self.bound.plan.flow
        return () if composite is None else composite.steps

    async def _next(self, input: Mapping[str, object] | None) -> object:
        """Run the next step; StepRefused where it ends the flow."""
        if self._failed is not None or self.over:
            raise self._refused(cancelled(Happened.NONE) if self._failed is None else self._failed.error)
        if self._stepping:
            raise RuntimeError("one step at a time: await each steps.run(…) before the next")
        if self.done >= len(self._plans):
            raise RuntimeError(f"steps.run(…): all {len(self._plans)} declared steps are done")
        self._stepping = True
        try:
            return await self._one(self._plans[self.done], input)
        finally:
            self._stepping = False

    async def _one(self, plan: Plan, input: Mapping[str, object] | None) -> object:
        request = Invocation(
            plan.id,
            input,
            id=f"{self.invocation_id}/{self.done + 1}",
            registration=self.bound.registration.id,
            correlation_id=self.request.correlation_id,
            trace=self.request.trace,
        )
        while True:
            assert self._step is not None
            outcome = await self._step(self, request)
            if self.over:
                raise self._refused(cancelled(Happened.NONE))
            if isinstance(outcome, Ok):
                return self._gave(plan, outcome.output)
            pause = _pause(outcome.error)
            if pause is None:
                raise self._fail(plan, outcome.error)
            if pause.handoff is None:
                await self._waits(pause)
                request = replace(request, confirmation=pause.confirmation)
                continue
            while (stands := self._handed(pause.handoff)) is not None and stands[0] is HandoffStatus.PENDING:
                await self._waits(pause)
            status, data = (HandoffStatus.EXPIRED, None) if stands is None else stands
            if status is HandoffStatus.COMPLETED:
                return self._gave(plan, data)
            raise self._fail(plan, precondition_failed(f"handoff-{status.value}"))

    def _gave(self, plan: Plan, output: object) -> object:
        """The output of a step that is done, as a copy of the method's own."""
        self.done += 1
        self.acted = self.acted or not plan.descriptor.effect.reads_only
        if self._doing is not None:
            self._doing.told(self.done, len(self._plans))
        own = take(output)[0]
        if plan.output is not None and not plan.output.is_valid(own):  # a repeat, of which only the outcome was kept
            raise self._fail(plan, execution_failed("output-too-large", Happened.DONE))
        return own

    async def _waits(self, pause: Pause) -> None:
        self._wake = asyncio.get_running_loop().create_future()
        self.pause = pause
        self._carriers.clear()
        self._paused(self)
        self._halt(pause)
        await self._wake

    def _fail(self, plan: Plan, error: AgentError) -> StepRefused:
        why = f"step {self.done + 1}, {plan.id}, answered {error.code.value}: {self.count}"
        self._failed = Refusal(_of_the_whole(error, acted=self.acted), why=why)
        return self._refused(error)

    def _refused(self, error: AgentError) -> StepRefused:
        at = min(self.done, len(self._plans) - 1)
        return StepRefused(self._plans[at].id, error, self.count)


def _pause(error: AgentError) -> Pause | None:
    """What a step waits for; None where waiting changes nothing. A backend's own approval is none of ours."""
    if error.code is ErrorCode.HANDOFF_REQUIRED:
        return Pause(error=error, handoff=str(error.details["handoff_id"]))
    request = error.details.get("confirmation_id")
    if error.code is ErrorCode.CONFIRMATION_REQUIRED and isinstance(request, str):
        return Pause(error=error, confirmation=request)
    return None


def _of_the_whole(error: AgentError, *, acted: bool) -> AgentError:
    """The answer of a step as that of its flow: where another step has acted, something is done."""
    if not acted or error.code not in _TELL or error.details.get("outcome", "none") != Happened.NONE.value:
        return error
    advice = RetryAdvice.NO if RetryAdvice.NO in MATRIX[error.code].retries else error.retry
    return replace(error, retry=advice, details={**error.details, "outcome": Happened.DONE.value})
