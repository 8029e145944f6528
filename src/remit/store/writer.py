"""The one thread that works a database: what waits together is kept together (SPEC 15.1)."""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final, Generic, TypeVar, cast

from remit.store.database import Database, Engine, Lasts, Value
from remit.store.failures import StoreError

T = TypeVar("T")
NAME: Final = "remit-store"
TOGETHER: Final = 500
"""At most so many questions in one transaction."""

logger = logging.getLogger(__name__)


class _Question(Generic[T]):
    __slots__ = ("answer", "lasts", "work")

    def __init__(self, lasts: Lasts, work: Callable[[Database], T]) -> None:
        self.lasts = lasts
        self.work = work
        self.answer: Future[T] = Future()

    def begins(self) -> bool:
        """Whether somebody waits for it; from the first time this is True nobody can take it back."""
        if self.answer.cancelled():
            return False
        return self.answer.running() or self.answer.set_running_or_notify_cancel()


Write = tuple[str, Sequence[Value]]
"""A statement, and what it takes."""


class Writer:
    """Asks a connection in a thread of its own, so that no event loop ever waits for a disk.

    What waits when a transaction has ended goes into the next one, which is written to the disk once. When that fails
    each question is asked by itself, so that one of them fails no other. `each` is called every `poll_s` seconds, in
    the thread, between two transactions, and `at_end` before the connection is closed.
    """

    def __init__(
        self, engine: Engine, poll_s: float, each: Callable[[], None], at_end: Callable[[], None] | None = None
    ) -> None:
        self._engine = engine
        self._poll_s = poll_s
        self._each = each
        self._at_end = at_end or _at_once
        self._waiting: queue.SimpleQueue[_Question[object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._owed: dict[tuple[str, str], Write] = {}
        self._problem: StoreError | None = None
        self._ended = False
        self._said = ""
        self._thread = threading.Thread(target=self._serve, name=NAME, daemon=True)
        self._thread.start()

    async def ask(self, lasts: Lasts, work: Callable[[Database], T]) -> T:
        """Do it in the thread; what it kept is kept when this returns. Raises what it raises, or a StoreError.

        One that is cancelled before its turn is not done.
        """
        question = _Question(lasts, work)
        self._put(cast("_Question[object]", question))
        return await asyncio.wrap_future(question.answer)

    def later(self, table: str, key: str, statement: str, values: Sequence[Value]) -> None:
        """Write it soon, and again until it is written; what was owed for this key before is not."""
        with self._lock:
            self._owed.pop((table, key), None)
            self._owed[table, key] = (statement, values)
            if not self._ended:
                self._waiting.put(_Question(Lasts.READS, _nothing))

    async def flush(self) -> None:
        """Return when nothing is owed; StoreError where that cannot be."""
        await self.ask(Lasts.READS, _nothing)
        if self._problem is not None:
            raise self._problem

    def end(self) -> None:
        """Do what waits, then close the connection and end the thread; returns when that has happened."""
        with self._lock:
            ended, self._ended = self._ended, True
        if not ended:
            self._waiting.put(None)
        self._thread.join()

    def _put(self, question: "_Question[object]") -> None:
        with self._lock:
            if self._ended:
                raise StoreError(f"{self._engine.name} has been closed")
            self._waiting.put(question)

    def _serve(self) -> None:
        due = time.monotonic() + self._poll_s
        try:
            while True:
                questions = self._next(max(due - time.monotonic(), 0.0))
                ends = None in questions
                self._turn([question for question in questions if question is not None])
                if ends:
                    self._try(self._at_end)
                    return
                if time.monotonic() >= due:
                    self._try(self._each)
                    due = time.monotonic() + self._poll_s
        finally:
            self._engine.close()

    def _next(self, seconds: float) -> "list[_Question[object] | None]":
        found: list[_Question[object] | None] = []
        try:
            found.append(self._waiting.get(timeout=seconds))
            while len(found) < TOGETHER and found[-1] is not None:
                found.append(self._waiting.get_nowait())
        except queue.Empty:
            pass
        return found

    def _turn(self, questions: "list[_Question[object]]") -> None:
        with self._lock:
            owed, self._owed = self._owed, {}
        if owed:
            behind = _Question[object](Lasts.SAFELY, lambda db: _write(db, owed))
            # Before anybody behind it hears of anything: `flush` must not tell of what was.
            behind.answer.add_done_callback(lambda written: self._owe(owed, written.exception()))
            self._together([behind, *questions])
        elif questions:
            self._together(questions)

    def _owe(self, owed: dict[tuple[str, str], Write], problem: BaseException | None) -> None:
        if problem is None:
            self._problem = None
            return
        with self._lock:
            self._owed = {**owed, **self._owed}
        if self._problem is None:
            logger.error("%d changes are not kept yet, and are tried again: %s", len(owed), problem)
        self._problem = problem if isinstance(problem, StoreError) else StoreError(str(problem))

    def _together(self, questions: "list[_Question[object]]") -> None:
        try:
            answers = self._kept(questions)
        except Exception as problem:  # noqa: BLE001 - whoever asked gets it; the thread serves the others
            if len(questions) > 1:
                for question in questions:
                    self._together([question])
                return
            answers = [self._engine.told(problem) or problem]
        for question, answer in zip(questions, answers, strict=True):
            if not question.begins():
                continue
            if isinstance(answer, BaseException):
                question.answer.set_exception(answer)
            else:
                question.answer.set_result(answer)

    def _kept(self, questions: "list[_Question[object]]") -> list[object]:
        """Ask all in one transaction; what one of them raises by itself, before it wrote anything, is its answer."""
        engine = self._engine
        try:
            engine.begin(max(question.lasts for question in questions))
            engine.check_version()
            answers = [_answer(question, engine.db) for question in questions]
            engine.commit()
        except BaseException:
            engine.rollback()
            raise
        return answers

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._said = ""
        except Exception as problem:  # noqa: BLE001 - it is tried again soon, and calls say by themselves what fails
            if str(problem) != self._said:
                logger.warning("%s: %s", self._engine.name, self._engine.told(problem) or problem)
            self._said = str(problem)


def _answer(question: _Question[object], db: Database) -> object:
    try:
        return question.work(db) if question.begins() else None
    except (ValueError, OverflowError) as problem:
        return problem


def _write(db: Database, owed: dict[tuple[str, str], Write]) -> None:
    for statement, values in owed.values():
        db.execute(statement, values)


def _at_once() -> None:
    """Nothing is to be done at the end."""


def _nothing(db: Database) -> None:
    del db
