import asyncio
import threading
from contextvars import ContextVar

import pytest

from remit._base.threads import NAME, Job, Threads

PATIENCE_S = 30
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def _idle(threads: Threads) -> None:
    """A thread tells that its work is over just before it ends by itself."""
    await asyncio.to_thread(_spin, threads)


def _spin(threads: Threads) -> None:
    while threads.running:
        pass


async def test_work_runs_in_a_daemon_thread_in_a_copy_of_the_context() -> None:
    threads = Threads(2)
    WHO.set("ada")

    def work() -> tuple[str, bool, str]:
        thread = threading.current_thread()
        before = WHO.get()
        WHO.set("eve")
        return thread.name, thread.daemon, before

    job = threads.start(work)
    await job.over
    assert job.take() == (NAME, True, "ada")
    assert WHO.get() == "ada"


async def test_what_the_work_raises_is_raised_where_it_is_taken() -> None:
    threads = Threads(1)

    def work() -> None:
        raise StopIteration(3)

    job = threads.start(work)
    await job.over
    with pytest.raises(StopIteration):
        job.take()


async def test_work_waits_for_a_thread_in_order_and_an_idle_owner_has_none() -> None:
    threads = Threads(1)
    gate = threading.Event()
    order: list[int] = []
    first = threads.start(lambda: gate.wait(PATIENCE_S))
    jobs = [threads.start(lambda n=n: order.append(n)) for n in range(3)]  # type: ignore[misc]
    assert threads.running == 1 and order == []
    assert threads.drop(jobs[1]) and jobs[1].over.done()
    assert threads.drop(jobs[1])
    gate.set()
    for job in (first, jobs[0], jobs[2]):
        await job.over
    assert order == [0, 2]
    assert not threads.drop(first)
    await _idle(threads)


async def test_closed_threads_begin_nothing_more_and_are_not_waited_for() -> None:
    threads = Threads(1)
    gate = threading.Event()
    ran: list[bool] = []
    running = threads.start(lambda: gate.wait(PATIENCE_S))
    threads.start(lambda: ran.append(True))
    threads.close()
    with pytest.raises(RuntimeError, match="have ended"):
        threads.start(lambda: None)
    gate.set()
    await running.over
    await _idle(threads)
    assert ran == []


def test_a_thread_that_outlives_its_loop_disturbs_nobody() -> None:
    threads = Threads(1)
    gate, ended = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(PATIENCE_S)
        ended.set()

    async def begin() -> None:
        threads.start(work)

    asyncio.run(begin())
    gate.set()
    assert ended.wait(PATIENCE_S)
    _spin(threads)


async def test_a_thread_that_cannot_be_made_leaves_its_place_free(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = Threads(1)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            threads.start(lambda: None)
    job = threads.start(lambda: 1)
    await job.over
    assert job.take() == 1


async def test_whoever_gave_up_on_running_work_is_told_nothing_when_it_is_over() -> None:
    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    threads, gate = Threads(1), threading.Event()
    job = threads.start(lambda: gate.wait(PATIENCE_S))
    job.over.cancel()
    gate.set()
    await _idle(threads)
    await asyncio.sleep(0)
    assert job.over.cancelled()
    assert told == []


async def test_work_that_was_taken_back_before_its_thread_came_to_it_does_not_run() -> None:
    threads, ran = Threads(1), threading.Event()
    job = Job(ran.set)
    assert threads.drop(job)
    threads._running = 1  # as it is while a thread serves
    await asyncio.to_thread(threads._serve, job)
    assert not ran.is_set()
    assert threads.running == 0
