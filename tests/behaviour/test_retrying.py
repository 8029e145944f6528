"""`retry=`: what fails and may pass is run again, within one deadline (SPEC 6.13)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from remit import (
    BackendError,
    Component,
    Context,
    DefinitionError,
    ManualClock,
    Procedures,
    Refused,
    Retry,
    Surface,
    action,
    observation,
    reference,
)
from remit.policies import Policy, PolicyContext
from tests.behaviour.conftest import AGENT, authority_of, failed, output, turns


class Flaky(Component, type="flaky"):
    """Fails as often as it is told to."""

    def __init__(self, fails: list[BaseException]) -> None:
        self.fails = fails
        self.ran: list[str] = []

    def _run(self, context: Context) -> int:
        self.ran.append(context.invocation)
        if self.fails:
            raise self.fails.pop(0)
        return len(self.ran)

    @observation(retry=Retry(3, backoff=0.2, cap=0.3, jitter=0))
    def read(self, context: Context) -> int:
        """Read."""
        return self._run(context)

    @action(idempotent=True, retry=Retry(3, backoff=0, jitter=0))
    async def put(self, context: Context) -> int:
        """Put."""
        return self._run(context)


def surface_of(fails: list[BaseException], clock: ManualClock, **more: Any) -> tuple[Surface, Flaky]:
    surface = Surface(authority_of(Flaky), principal="operator", clock=clock, **more)
    flaky = Flaky(fails)
    surface.mount(flaky)
    return surface, flaky


def attempts(surface: Surface) -> list[tuple[str, str | None, str | None]]:
    return [(e.type.value, e.code, e.why) for e in surface.audit() if e.type in ("attempt", "invocation")]


@pytest.mark.requirement("6.13-attempts", "6.13-attempts-are-journalled")
async def test_a_read_is_run_again_after_growing_pauses_under_one_invocation_id() -> None:
    clock = ManualClock()
    clock.advance(100)
    surface, flaky = surface_of([OSError("one"), OSError("two")], clock)
    running = asyncio.create_task(surface.connect(AGENT).call(Flaky.read, id="i"))
    await turns()
    assert len(flaky.ran) == 1
    clock.advance(0.19)
    await turns()
    assert len(flaky.ran) == 1
    clock.advance(0.02)
    await turns()
    assert len(flaky.ran) == 2
    clock.advance(0.29)
    await turns()
    assert len(flaky.ran) == 2, "twice the first pause would be 0.4 s; the cap is 0.3 s"
    clock.advance(0.02)
    assert output(await running) == 3
    assert flaky.ran == ["i"] * 3
    assert attempts(surface) == [
        ("attempt", "EXECUTION_FAILED", "attempt 1 of 3 failed"),
        ("attempt", "EXECUTION_FAILED", "attempt 2 of 3 failed"),
    ]
    first = next(entry for entry in surface.audit() if entry.type == "attempt")
    assert (first.invocation, first.capability, first.consumer) == ("i", "view:flaky.read", AGENT.key)
    assert first.execution_ms == 0
    assert "OSError: one" in str(first.cause)


@pytest.mark.requirement("6.13-attempts")
async def test_when_every_attempt_fails_the_last_failure_is_the_answer() -> None:
    surface, flaky = surface_of([OSError("one"), OSError("two"), OSError("three"), OSError("four")], ManualClock())
    error = failed(await surface.connect(AGENT).call(Flaky.put), "EXECUTION_FAILED")
    assert error.details["reason"] == "handler-error" and error.details["outcome"] == "unknown"
    assert len(flaky.ran) == 3
    last = surface.audit()[-1]
    assert (last.type, last.code) == ("invocation", "EXECUTION_FAILED") and "OSError: three" in str(last.cause)
    assert [entry[0] for entry in attempts(surface)] == ["attempt", "attempt", "invocation"]


@pytest.mark.requirement("6.13-one-deadline")
async def test_a_pause_that_would_end_after_the_deadline_is_not_begun() -> None:
    clock = ManualClock()
    surface, flaky = surface_of([OSError("one"), OSError("two")], clock)
    error = failed(await surface.connect(AGENT).call(Flaky.read, timeout=0.2), "EXECUTION_FAILED")
    assert error.details["outcome"] == "none" and len(flaky.ran) == 1
    assert attempts(surface) == [("invocation", "EXECUTION_FAILED", surface.audit()[-1].why)]


@pytest.mark.requirement("6.13-one-deadline")
@pytest.mark.parametrize("how", ["deadline", "cancel", "unmount"])
async def test_a_call_that_ends_during_a_pause_runs_no_more(how: str) -> None:
    clock = ManualClock()
    flaky = Flaky([OSError("one"), OSError("two"), OSError("three")])
    surface = Surface(authority_of(Flaky), principal="operator", clock=clock)
    mount = surface.mount(flaky)
    running = asyncio.create_task(surface.connect(AGENT).call(Flaky.read, id="i", timeout=0.45))
    await turns()
    match how:
        case "cancel":
            assert surface.cancel("i", AGENT)
            failed(await running, "CANCELLED")
        case "unmount":
            mount.unmount()
            failed(await running, "COMPONENT_UNMOUNTED")
        case _:
            clock.advance(0.21)
            failed(await running, "EXECUTION_FAILED")
    clock.advance(9)
    await turns()
    assert len(flaky.ran) == (2 if how == "deadline" else 1)


@pytest.mark.requirement("6.13-what-is-run-again")
@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (Refused("No"), "PRECONDITION_FAILED"),
        (SystemExit(1), "EXECUTION_FAILED"),
        (BackendError(403), "NOT_AUTHORIZED"),
    ],
)
async def test_verdicts_and_exits_are_not_run_again(raised: BaseException, code: str) -> None:
    surface, flaky = surface_of([raised], ManualClock())
    failed(await surface.connect(AGENT).call(Flaky.put), code)
    assert len(flaky.ran) == 1


@pytest.mark.requirement("6.13-what-is-run-again")
@pytest.mark.parametrize(
    ("raised", "again"),
    [
        (lambda: BackendError(500), True),
        (lambda: BackendError(503), True),
        (lambda: BackendError(408), True),
        (lambda: BackendError(504), True),
        (lambda: BackendError(429), True),
        (lambda: ConnectionError("reset"), True),
        (lambda: BackendError(401), False),
        (lambda: BackendError(404), False),
        (lambda: BackendError(409), False),
        (lambda: BackendError(418), False),
        (lambda: BackendError(422, issues=[{"path": "name", "message": "too short"}]), False),
    ],
)
async def test_of_a_backend_only_what_may_pass_is_asked_again(raised: Callable[[], Exception], again: bool) -> None:
    keys: list[str] = []
    backend = Procedures()

    @backend.operation("save", effect="server-mutation", idempotent=True)
    async def save(context: Context) -> str:
        """Save."""
        keys.append(context.idempotency_key)
        if len(keys) == 1:
            raise raised()
        return "saved"

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save", retry=Retry(2, backoff=0))

    authority, clock = authority_of(Page, procedures=backend), ManualClock()
    surface = Surface(authority, principal="operator", procedures=backend, clock=clock)
    surface.mount(Page())
    running = asyncio.create_task(surface.connect(AGENT).call(Page.save))
    await turns()
    assert running.done(), "who does not say when is not waited for"
    outcome = await running
    if again:
        assert output(outcome) == "saved"
        assert len(keys) == 2 and len(set(keys)) == 1, "one invocation, one key for the backend"
    else:
        failed(outcome)
        assert len(keys) == 1


@pytest.mark.requirement("6.13-attempts")
async def test_between_two_attempts_without_a_pause_others_get_their_turn() -> None:
    log: list[str] = []

    class Busy(Component, type="busy"):
        """Fails once."""

        @action(idempotent=True, retry=Retry(2, backoff=0, jitter=0))
        async def put(self) -> None:
            """Put."""
            log.append("attempt")
            if len(log) == 1:
                asyncio.get_running_loop().call_soon(log.append, "another")
                raise OSError

    surface = Surface(authority_of(Busy), principal="operator", clock=ManualClock())
    surface.mount(Busy())
    running = asyncio.create_task(surface.connect(AGENT).call(Busy.put))
    await turns()
    assert running.done() and log == ["attempt", "another", "attempt"]


@pytest.mark.requirement("6.13-the-backend-says-when")
async def test_a_backend_that_says_when_is_not_asked_sooner() -> None:
    clock = ManualClock()
    ran: list[float] = []
    backend = Procedures()

    @backend.operation("find", effect="server-query")
    async def find() -> int:
        """Find."""
        ran.append(clock.monotonic())
        if len(ran) == 1:
            raise BackendError(429, retry_after=7)
        if len(ran) == 2:
            raise BackendError(503, retry_after=60)
        return len(ran)

    class Page(Component, type="page"):
        """A page."""

        find = reference("domain:find", retry=Retry(5, backoff=0.1, cap=0.2))

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend, clock=clock)
    surface.mount(Page())
    running = asyncio.create_task(surface.connect(AGENT).call(Page.find))
    await turns()
    clock.advance(6.9)
    await turns()
    assert ran == [0]
    clock.advance(0.1)
    error = failed(await running, "EXECUTION_FAILED")
    assert ran == [0, 7] and error.details["retry_after_ms"] == 60_000, (
        "60 s is after the deadline: told, not waited for"
    )
    assert attempts(surface)[0] == ("attempt", "RATE_LIMITED", "attempt 1 of 5 failed")


@pytest.mark.requirement("6.13-attempts")
async def test_policies_around_a_call_stand_around_all_its_attempts() -> None:
    class Counts(Policy, name="counts"):
        def __init__(self) -> None:
            self._log = log

        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            self._log.append("in")
            given = await call_next()
            self._log.append("out")
            return given

    log: list[str] = []
    surface, flaky = surface_of([OSError("one")], ManualClock(), policies=[Counts()])
    assert output(await surface.connect(AGENT).call(Flaky.put)) == 2
    assert log == ["in", "out"] and len(flaky.ran) == 2


@pytest.mark.requirement("6.13-jitter")
@pytest.mark.parametrize(
    ("chance", "pauses"), [(0.0, [1, 2, 4, 5]), (1.0, [0.5, 1, 2, 2.5]), (0.5, [0.75, 1.5, 3, 3.75])]
)
def test_chance_takes_away_at_most_its_share_of_a_pause(chance: float, pauses: list[float]) -> None:
    retry = Retry(5, backoff=1, cap=5, jitter=0.5)
    assert [retry.pause(failed, chance) for failed in (1, 2, 3, 4)] == pauses


@pytest.mark.requirement("6.13-only-what-is-idempotent")
def test_what_is_not_idempotent_may_not_be_run_again() -> None:
    with pytest.raises(DefinitionError, match="is not idempotent") as refused:

        class Table(Component, type="table"):
            """A table."""

            @action(retry=Retry(2))
            def put(self) -> None:
                """Put."""

    assert refused.value.place is not None
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> None:
        """Save."""

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save", retry=Retry(2))

    with pytest.raises(DefinitionError, match=r"domain:save.*is not idempotent"):
        authority_of(Page, procedures=backend)

    class Vouched(Component, type="vouched"):
        """The author vouches for it."""

        save = reference("domain:save", retry=Retry(2), idempotent=True)

    authority_of(Vouched, procedures=backend)


@pytest.mark.requirement("6.13-a-retry-that-cannot-be-meant")
@pytest.mark.parametrize(
    ("written", "says"),
    [
        (3, "retry=3 is no Retry"),
        (Retry(1), "1 attempts; it takes 2 to 10"),
        (Retry(11), "11 attempts"),
        (Retry(True), "True attempts"),
        (Retry(2.0), "2.0 attempts"),  # type: ignore[arg-type]
        (Retry(2, backoff=-1), "the backoff -1; it is from 0 to 600"),
        (Retry(2, cap=601), "the cap 601; it is from 0 to 600"),
        (Retry(2, jitter=1.5), "the jitter 1.5; it is from 0 to 1"),
        (Retry(2, jitter=float("nan")), "the jitter nan, which is no number"),
        (Retry(2, backoff="1"), "the backoff '1', which is no number"),  # type: ignore[arg-type]
    ],
)
def test_a_retry_that_cannot_be_meant_is_refused_when_the_class_is_created(written: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):

        class Table(Component, type="table"):
            """A table."""

            @observation(retry=written)
            def read(self) -> int:
                """Read."""
                return 1
