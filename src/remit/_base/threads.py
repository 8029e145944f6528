"""Code that blocks, run in threads: bounded, and never waited for by a loop (SPEC 6.9)."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

NAME: Final = "remit-blocking"


class Job:
    """One piece of work for a thread.

    `over` is done, in the loop that asked, as soon as nothing of the work runs any more; `take` then gives what came of
    it. Work that has begun cannot be ended from outside.
    """

    __slots__ = ("_begun", "_context", "_dropped", "_loop", "_raised", "_returned", "_work", "over")

    def __init__(self, work: Callable[[], object]) -> None:
        self._work: Callable[[], object] | None = work
        self._context = copy_context()
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self._begun = False
        self._dropped = False
        self._returned: object = None
        self._raised: BaseException | None = None

    def take(self) -> object:
        """Return what the work returned, or raise what it raised; only once, and only when it is over."""
        assert self.over.done() and not self._dropped
        raised, self._raised = self._raised, None  # the traceback holds this frame
        if raised is not None:
            raise raised
        return self._returned

    @property
    def begun(self) -> bool:
        """Whether it has begun."""
        return self._begun

    def begin(self) -> bool:
        """Whether the work may begin now; asked by its thread, under the lock of the threads."""
        self._begun = not self._dropped
        return self._begun

    def drop(self) -> bool:
        """Whether it will never begin; asked under the lock of the threads."""
        self._dropped = not self._begun
        return self._dropped

    def run(self) -> None:
        """Do the work, in a copy of the context of whoever asked."""
        work, self._work = self._work, None
        assert work is not None
        try:
            self._returned = self._context.run(work)
        except BaseException as raised:  # noqa: BLE001 - it is raised again where it is taken, in the loop
            self._raised = raised

    def tell(self) -> None:
        """Say in the loop that it is over; a loop that has been closed needs no word."""
        try:
            self._loop.call_soon_threadsafe(self._is_over)
        except RuntimeError:
            return

    def _is_over(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Threads:
    """At most `most` threads at once; what comes then waits for one of them, in order.

    A thread is made when there is work and ends when there is none, so an idle owner holds no thread. Threads are
    daemons: one that hangs keeps no process alive.
    """

    __slots__ = ("_closed", "_lock", "_most", "_running", "_waiting")

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: deque[Job] = deque()
        self._closed = False

    @property
    def running(self) -> int:
        """How many threads there are now."""
        return self._running

    def start(self, work: Callable[[], object]) -> Job:
        """Begin the work in a thread, or let it wait for one; from a running loop. RuntimeError once it is closed."""
        job = Job(work)
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads of this surface have ended")
            if self._running >= self._most:
                self._waiting.append(job)
                return job
            self._running += 1
        try:
            threading.Thread(target=self._serve, args=(job,), name=NAME, daemon=True).start()
        except BaseException:
            with self._lock:
                self._running -= 1
            raise
        return job

    def drop(self, job: Job) -> bool:
        """Take back what has not begun; False when it has. What was taken back is over, and gives nothing."""
        with self._lock:
            if not job.drop():
                return False
            if job in self._waiting:
                self._waiting.remove(job)
        if not job.over.done():
            job.over.set_result(None)
        return True

    def close(self) -> None:
        """Begin nothing more. Nobody waits for what runs; it ends by itself."""
        with self._lock:
            self._closed = True
            self._waiting.clear()

    def _serve(self, job: Job | None) -> None:
        while job is not None:
            with self._lock:
                begins = job.begin()
            if begins:
                job.run()
                job.tell()
            job = self._next()

    def _next(self) -> Job | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._running -= 1
            return None
