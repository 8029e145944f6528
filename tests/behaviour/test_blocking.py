"""`blocking=True`: plain handlers in threads, with the context copied (SPEC 6.9, 6.7)."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from remit import (
    Component,
    Consumer,
    Context,
    DefinitionError,
    Limits,
    ManualClock,
    Outcome,
    Principal,
    Progress,
    Refused,
    Retry,
    Surface,
    action,
    observation,
    parallel,
)
from tests.behaviour.conftest import AGENT, authority_of, failed, output, turns

LOCALE: ContextVar[str] = ContextVar("LOCALE", default="none")
PATIENCE_S = 30


class Hold:
    """A gate for threads: a test sees who came in, and lets them out."""

    def __init__(self) -> None:
        self._came = threading.Semaphore(0)
        self._let = threading.Semaphore(0)
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()

    def pass_through(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._came.release()
        assert self._let.acquire(timeout=PATIENCE_S)
        with self._lock:
            self._inside -= 1

    async def came(self, count: int = 1) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self._came.acquire, timeout=PATIENCE_S)

    def let(self, count: int = 1) -> None:
        self._let.release(count)


class Archive(Component, type="archive"):
    """An archive on a slow disk."""

    def __init__(self, hold: Hold) -> None:
        self.hold = hold
        self.seen: list[Any] = []

    @action(blocking=True)
    def pack(self, name: str, context: Context, who: Principal) -> str:
        """Pack."""
        self.hold.pass_through()
        self.seen.append((name, context.consumer.id, who.id, context.host, LOCALE.get(), context.cancelled.is_set()))
        return name

    @action(blocking=True, concurrency=parallel(8))
    def pack_beside(self, name: str) -> str:
        """Pack beside others."""
        self.hold.pass_through()
        return name

    @observation(blocking=True)
    def look(self, name: str) -> str:
        """Look."""
        self.hold.pass_through()
        return threading.current_thread().name + name

    @observation
    def quick(self) -> str:
        """Answer from memory."""
        return threading.current_thread().name


def start(surface: Surface, who: str, capability: Any, name: str, **more: Any) -> "asyncio.Task[Outcome]":
    return asyncio.create_task(surface.connect(Consumer(who, kind="test")).call(capability, {"name": name}, **more))


async def until(done: Callable[[], bool]) -> None:
    """Give threads and loop their turns until something is so; the test's own timeout ends what never comes."""
    while not done():
        await asyncio.to_thread(threading.Event().wait, 0.001)


@pytest.mark.requirement("6.9-blocking-handlers-run-in-threads")
async def test_blocking_handlers_overlap_and_stop_neither_listings_nor_other_calls() -> None:
    hold = Hold()
    surface = Surface(authority_of(Archive), principal="operator", host="the host")
    archives = [Archive(hold) for _ in range(5)]
    for number, archive in enumerate(archives):
        surface.mount(archive, f"i{number}")
    running = []
    for number in range(5):
        LOCALE.set(f"locale-{number}")
        running.append(start(surface, f"agent-{number}", Archive.pack, f"n{number}", instance=f"i{number}"))
    await hold.came(5)
    assert len(surface.connect(AGENT).capabilities()) == 4 * 5
    here = threading.current_thread().name
    assert output(await surface.connect(AGENT).call(Archive.quick, instance="i0")) == here
    assert not any(task.done() for task in running) and hold.most == 5
    hold.let(5)
    assert [output(await task) for task in running] == [f"n{number}" for number in range(5)]
    assert [archive.seen for archive in archives] == [
        [(f"n{number}", f"agent-{number}", "operator", "the host", f"locale-{number}", False)] for number in range(5)
    ]
    hold.let()
    assert str(output(await start(surface, "x", Archive.look, "!", instance="i0"))).startswith("remit-blocking")


@pytest.mark.requirement("6.9-within-in-the-thread")
async def test_within_is_entered_and_left_in_the_thread_and_its_context() -> None:
    inside: list[tuple[str, str]] = []

    @contextmanager
    def within() -> Iterator[None]:
        token = LOCALE.set("entered")
        inside.append(("in", threading.current_thread().name))
        yield
        inside.append(("out", threading.current_thread().name))
        LOCALE.reset(token)

    hold = Hold()
    hold.let()
    archive = Archive(hold)
    surface = Surface(authority_of(Archive), principal="operator", within=within)
    surface.mount(archive)
    output(await start(surface, "a", Archive.pack, "n"))
    assert inside == [("in", "remit-blocking"), ("out", "remit-blocking")]
    assert archive.seen[0][4] == "entered" and LOCALE.get() == "none"


@pytest.mark.requirement("6.9-deadline-of-a-thread", "6.9-a-thread-keeps-its-place")
async def test_a_blocking_handler_over_its_deadline_answers_at_once_and_keeps_its_place_until_it_ends() -> None:
    hold, clock = Hold(), ManualClock()
    archive = Archive(hold)
    surface = Surface(authority_of(Archive), principal="operator", clock=clock)
    surface.mount(archive)
    late = start(surface, "a", Archive.pack, "late", id="late")
    await hold.came()
    clock.advance(10)
    outcome = await late
    assert failed(outcome, "TIMEOUT").details == {"timeout_ms": 10_000, "idempotent": False, "outcome": "unknown"}
    second = start(surface, "b", Archive.pack, "second")
    await turns()
    clock.advance(5)
    assert failed(await second, "RATE_LIMITED").details["reason"] == "queue-full"
    third = start(surface, "b", Archive.pack, "third")
    await turns()
    assert hold.most == 1, "two threads never run the actions of one instance"
    hold.let(2)
    assert output(await third) == "third"
    assert [(seen[0], seen[5]) for seen in archive.seen] == [("late", True), ("third", False)]
    assert await start(surface, "a", Archive.pack, "late", id="late") == outcome, "stored as it was answered"
    entries = [(entry.type.value, entry.code) for entry in surface.audit() if entry.invocation == "late"]
    assert entries == [("invocation", "TIMEOUT"), ("late-result", None)]


@pytest.mark.requirement("6.9-deadline-of-a-thread")
async def test_what_a_thread_raises_after_the_answer_is_journalled() -> None:
    hold, clock = Hold(), ManualClock()

    class Bad(Component, type="bad"):
        """Bad."""

        @action(blocking=True)
        def act(self) -> None:
            """Act."""
            hold.pass_through()
            raise SystemExit("secret-4711")

    surface = Surface(authority_of(Bad), principal="operator", clock=clock)
    surface.mount(Bad())
    running = asyncio.create_task(surface.connect(AGENT).call(Bad.act))
    await hold.came()
    clock.advance(10)
    failed(await running, "TIMEOUT")
    hold.let()
    await until(lambda: surface.audit()[-1].type == "late-result")
    entry = surface.audit()[-1]
    assert entry.code == "EXECUTION_FAILED" and "secret-4711" in str(entry.cause)
    assert entry.outcome == "unknown"


@pytest.mark.requirement("6.9-threads-are-bounded")
async def test_a_call_that_waits_for_a_thread_until_its_deadline_has_done_nothing_and_never_runs() -> None:
    hold, clock = Hold(), ManualClock()
    surface = Surface(authority_of(Archive), principal="operator", clock=clock, limits=Limits(threads=2))
    surface.mount(Archive(hold))
    running = [start(surface, "a", Archive.pack_beside, f"n{number}") for number in range(4)]
    await hold.came(2)
    await turns()
    clock.advance(10)
    ended = [failed(await task, "TIMEOUT").details["outcome"] for task in running]
    assert ended == ["unknown", "unknown", "none", "none"]
    again = start(surface, "a", Archive.pack_beside, "again")
    hold.let(3)
    assert output(await again) == "again"
    assert hold.most == 2
    await until(lambda: sum(entry.type == "late-result" for entry in surface.audit()) == 2)


@pytest.mark.requirement("6.9-threads-end-with-the-surface")
async def test_dispose_answers_and_waits_for_no_thread() -> None:
    hold = Hold()
    surface = Surface(authority_of(Archive), principal="operator", limits=Limits(threads=1))
    surface.mount(Archive(hold))
    begun = start(surface, "a", Archive.pack_beside, "begun")
    waiting = start(surface, "a", Archive.pack_beside, "waiting")
    await hold.came()
    surface.dispose()
    assert failed(await begun, "CANCELLED").details["outcome"] == "unknown"
    assert failed(await waiting, "CANCELLED").details["outcome"] == "none"
    failed(await start(surface, "a", Archive.pack_beside, "later"), "CANCELLED")
    hold.let()
    await until(lambda: any(entry.type == "late-result" for entry in surface.audit()))
    assert hold.most == 1


@pytest.mark.requirement("6.9-cancel-in-the-thread")
@pytest.mark.parametrize("how", ["cancel", "unmount", "leave"])
async def test_a_thread_sees_that_its_call_is_over(how: str) -> None:
    hold = Hold()
    archive = Archive(hold)
    surface = Surface(authority_of(Archive), principal="operator")
    mount = surface.mount(archive)
    running = start(surface, "a", Archive.pack, "n", id="i")
    await hold.came()
    match how:
        case "cancel":
            assert surface.cancel("i", Consumer("a", kind="test"))
            assert failed(await running, "CANCELLED").details["outcome"] == "unknown"
        case "unmount":
            mount.unmount()
            error = failed(await running, "COMPONENT_UNMOUNTED")
            assert error.details == {"phase": "mid-flight", "outcome": "unknown"}
        case _:
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
    hold.let()
    await until(lambda: bool(archive.seen))
    assert archive.seen[0][5] is True


@pytest.mark.requirement("6.9-progress-from-a-thread")
async def test_progress_from_a_thread_reaches_listeners_in_the_loop_before_the_answer() -> None:
    class Copier(Component, type="copier"):
        """Copies."""

        @action(blocking=True)
        def copy(self, context: Context) -> str:
            """Copy."""
            with pytest.raises(ValueError, match="finite"):
                context.progress(-1)
            context.progress(1, 2, "half")
            context.progress(2, 2)
            return threading.current_thread().name

    heard: list[tuple[float, float | None, str | None, str]] = []

    def listen(progress: Progress) -> None:
        heard.append((progress.done, progress.total, progress.text, threading.current_thread().name))
        asyncio.get_running_loop()

    surface = Surface(authority_of(Copier), principal="operator")
    surface.mount(Copier())
    assert output(await surface.connect(AGENT).call(Copier.copy, progress=listen)) == "remit-blocking"
    here = threading.current_thread().name
    assert heard == [(1, 2, "half", here), (2, 2, None, here)]


class Odd(BaseException):
    """No Exception."""


@pytest.mark.requirement("6.9-what-a-thread-raises")
@pytest.mark.parametrize("raised", [ValueError("secret"), SystemExit(3), Odd("secret"), StopIteration("secret")])
async def test_whatever_a_blocking_handler_raises_ends_its_call_only(raised: BaseException) -> None:
    class Bad(Component, type="bad"):
        """Bad."""

        @action(blocking=True)
        def act(self, fail: bool) -> str:
            """Act."""
            if fail:
                raise raised
            return "done"

    surface = Surface(authority_of(Bad), principal="operator")
    surface.mount(Bad())
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Bad.act, {"fail": True}), "EXECUTION_FAILED")
    assert error.details["reason"] == "handler-error" and error.details["outcome"] == "unknown"
    assert "secret" not in str(error)
    assert output(await agent.call(Bad.act, {"fail": False})) == "done"


@pytest.mark.requirement("6.9-what-a-thread-raises")
async def test_a_refusal_of_a_blocking_handler_is_its_verdict_and_its_output_is_checked() -> None:
    class Odd(Component, type="odd"):
        """Odd."""

        @action(blocking=True)
        def act(self, how: str) -> int | Refused:
            """Act."""
            if how == "raise":
                raise Refused("No", outcome="done")
            return Refused("No") if how == "return" else how  # type: ignore[return-value]

    surface = Surface(authority_of(Odd), principal="operator")
    surface.mount(Odd())
    agent = surface.connect(AGENT)
    assert failed(await agent.call(Odd.act, {"how": "raise"}), "PRECONDITION_FAILED").details["outcome"] == "done"
    assert failed(await agent.call(Odd.act, {"how": "return"}), "PRECONDITION_FAILED").details["outcome"] == "none"
    assert failed(await agent.call(Odd.act, {"how": "x"}), "EXECUTION_FAILED").details["reason"] == "output-invalid"


@pytest.mark.requirement("6.9-blocking-is-for-plain-methods")
def test_an_async_handler_cannot_be_blocking() -> None:
    with pytest.raises(DefinitionError, match="is async and blocking=True"):

        class Table(Component, type="table"):
            """A table."""

            @action(blocking=True)
            async def put(self) -> None:
                """Put."""

    with pytest.raises(DefinitionError, match="blocking= is True or False"):

        class Other(Component, type="other"):
            """Another."""

            @observation(blocking="yes")  # type: ignore[call-overload, untyped-decorator]
            def read(self) -> int:
                """Read."""
                return 1


@pytest.mark.requirement("6.9-blocking-is-not-inline")
async def test_a_blocking_handler_is_no_slow_inline_code() -> None:
    clock = ManualClock()

    class Table(Component, type="table"):
        """A table."""

        @action(blocking=True)
        def put(self) -> None:
            """Put."""
            clock.advance(1)

    surface = Surface(authority_of(Table), principal="operator", clock=clock)
    surface.mount(Table())
    output(await surface.connect(AGENT).call(Table.put))
    assert surface.findings() == ()
    assert all(entry.type != "slow" for entry in surface.audit())


@pytest.mark.requirement("6.13-attempts")
async def test_a_blocking_read_is_run_again_in_a_thread() -> None:
    ran: list[str] = []

    class Table(Component, type="table"):
        """A table."""

        @observation(blocking=True, retry=Retry(3, backoff=0, jitter=0))
        def read(self) -> int:
            """Read."""
            ran.append(threading.current_thread().name)
            if len(ran) < 3:
                raise OSError("busy")
            return len(ran)

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    assert output(await surface.connect(AGENT).call(Table.read)) == 3
    assert ran == ["remit-blocking"] * 3


@pytest.mark.requirement("6.8-navigation-settles-by-itself")
async def test_a_blocking_navigation_settles_when_its_handler_settles() -> None:
    hold = Hold()

    class Menu(Component, type="menu"):
        """A menu."""

        @action(effect="navigation", blocking=True)
        def go(self) -> str:
            """Go."""
            hold.pass_through()
            return "/reports"

    surface = Surface(authority_of(Menu), principal="operator")
    mount = surface.mount(Menu())
    running = asyncio.create_task(surface.connect(AGENT).call(Menu.go))
    await hold.came()
    mount.unmount()
    hold.let()
    assert output(await running) == "/reports"


@pytest.mark.requirement("6.9-progress-from-a-thread")
def test_progress_that_a_thread_reports_after_the_loop_was_closed_reaches_nobody_and_raises_nothing() -> None:
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    raised: list[BaseException] = []
    heard: list[Progress] = []

    class Press(Component, type="press"):
        """A press."""

        @action(blocking=True)
        def run(self, call: Context) -> None:
            """Run."""
            begun.set()
            go_on.wait(PATIENCE_S)
            try:
                call.progress(1)
            except BaseException as error:
                raised.append(error)
                raise
            finally:
                over.set()

    async def begin() -> None:
        surface = Surface(authority_of(Press), principal="operator")
        surface.mount(Press())
        running = asyncio.create_task(surface.connect(AGENT).call(Press.run, progress=heard.append))
        await turns()
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        surface.dispose()
        failed(await running, "CANCELLED")

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    go_on.set()
    assert over.wait(PATIENCE_S)
    assert (raised, heard) == ([], [])


@pytest.mark.requirement("6.13-attempts")
async def test_a_call_that_waits_for_a_thread_once_more_may_have_done_something_before() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(blocking=True, idempotent=True, retry=Retry(2, backoff=1, jitter=0))
        def put(self) -> None:
            """Put."""
            raise OSError("busy")

    hold, clock = Hold(), ManualClock()
    surface = Surface(authority_of(Archive, Table), principal="operator", clock=clock, limits=Limits(threads=1))
    surface.mount(Archive(hold))
    surface.mount(Table())
    running = asyncio.create_task(surface.connect(AGENT).call(Table.put, id="put"))
    await until(lambda: any(entry.type == "attempt" for entry in surface.audit()))
    packing = start(surface, "a", Archive.pack, "p")
    await hold.came()
    clock.advance(1)
    await turns()
    assert surface.cancel("put", AGENT)
    assert failed(await running, "CANCELLED").details == {"outcome": "unknown"}
    hold.let()
    assert output(await packing) == "p"
