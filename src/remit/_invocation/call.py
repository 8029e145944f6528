"""The one travelling value: a call, each field written once by the phase that owns it (DESIGN 1.3)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from remit._base.boundary import Json
from remit._base.clock import TimerHandle
from remit._base.threads import Job
from remit._confirmation.request import Ask, RequestRecord
from remit._confirmation.standing import Standing
from remit._invocation.run import Run
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.context import LazySignal
from remit._model.outcome import Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._policy.chain import Vote
from remit._policy.decision import Required
from remit._registry.state import Bound
from remit._registry.viewer import Viewer
from remit._schema.repair import Repair

Release = Callable[[], None]
Later = Callable[[], Awaitable[None]]
"""What a phase gives back when it has to wait: how to go on. A function, so that a call that ends before leaves no
coroutine that nobody awaits."""


class Call:
    """One invocation on its way through the phases; private to the pipeline.

    `owner` is the instance whose code runs and `acted` says that it has returned, both for a redactor only. `waited` is
    set by whoever let other code run since authorization, so that the dispatch gate looks again; `votes`
    and the durations (seconds) are for the journal. `work` is what runs in a thread, `held` that it still ran when the
    call was answered, `tried` how many attempts have failed that another follows. `run` is the run of a flow that this
    call carries, `step_of` that of which it is one step, `carries` the waiting one that it was made to carry on.
    `recorded` says that a durable store knows of it.
    """

    __slots__ = (
        "acted",
        "arguments",
        "begun",
        "bound",
        "canonical",
        "carries",
        "confirmation_needed",
        "consumer",
        "correlation_id",
        "covered",
        "effective",
        "evidence",
        "evidence_fits",
        "executed_at",
        "execution_s",
        "fingerprint",
        "held",
        "host_timeout",
        "input",
        "input_bytes",
        "invocation_id",
        "joined",
        "key",
        "listeners",
        "next_report",
        "outcome",
        "output",
        "output_bytes",
        "owner",
        "policy_s",
        "queue_s",
        "recorded",
        "release",
        "repairs",
        "reported_all",
        "request",
        "result",
        "run",
        "running",
        "signal",
        "spent",
        "standing",
        "started",
        "step_of",
        "task",
        "timeout_s",
        "timer",
        "told",
        "tried",
        "version_before",
        "viewer",
        "votes",
        "waited",
        "waiters",
        "work",
    )

    def __init__(
        self,
        request: Invocation,
        consumer: Consumer,
        host_timeout: float | None,
        progress: ProgressListener | None = None,
        *,
        step_of: Run | None = None,
        carries: Run | None = None,
    ) -> None:
        self.request, self.consumer = request, consumer
        self.key: ConsumerKey = consumer.key
        self.host_timeout = host_timeout
        self.step_of, self.carries = step_of, carries
        self.begun = 0.0
        self.listeners: list[asyncio.Future[Outcome]] = []
        self.told: list[ProgressListener] = [] if progress is None else [progress]
        self.task: asyncio.Task[Any] | None = None
        self.timer: TimerHandle | None = None
        self.waiters = 1
        self.outcome: Outcome | None = None
        self.held = False
        # envelope, identity
        self.input: dict[str, Json] = {}
        self.input_bytes = b""
        self.correlation_id: str | None = None
        self.invocation_id = ""
        self.fingerprint, self.evidence_fits = "", False
        self.joined = False
        # resolve
        self.viewer: Viewer | None = None
        self.bound: Bound | None = None
        self.timeout_s = 0.0
        self.version_before = ""
        # effective_input, flow, review, confirm, admit
        self.repairs: tuple[Repair, ...] = ()
        self.effective: dict[str, Json] = {}
        self.canonical = b""
        self.arguments: Mapping[str, Any] = {}
        self.run: Run | None = None
        self.confirmation_needed: Required | None = None
        self.evidence: RequestRecord | None = None
        self.covered: Ask | None = None
        self.release: Release | None = None
        # dispatch, execute
        self.started = self.spent = self.running = self.acted = self.recorded = False
        self.standing: Standing | None = None
        self.signal = LazySignal()
        self.work: Job | None = None
        self.tried = 0
        self.result: object = None
        self.owner: object = None
        self.output: Json = None
        self.output_bytes = b""
        self.executed_at = self.next_report = 0.0
        self.reported_all = False
        # for the journal
        self.votes: tuple[Vote, ...] = ()
        self.waited = False
        self.policy_s = self.queue_s = self.execution_s = 0.0

    @property
    def approval(self) -> RequestRecord | Standing | None:
        """What a person said that lets it run: the evidence, or the standing approval that was used up."""
        return self.standing if self.evidence is None else self.evidence

    @property
    def live(self) -> Bound:
        """The resolved capability; only after `resolve`."""
        assert self.bound is not None
        return self.bound

    @property
    def sight(self) -> Viewer:
        """The viewer; only after `resolve`."""
        assert self.viewer is not None
        return self.viewer


def seconds_of(timeout: float | None) -> float | None:
    """The host's own deadline, checked: it is the host's mistake, so it is raised."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise ValueError("timeout= is a positive number of seconds; more than 600 count as 600")
    return timeout
