"""Changes that count at once and reach the store right after, in their order (SPEC 7.6)."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from remit._model.request_view import ConfirmationStatus
from remit.store.protocol import ConfirmationChanges, ConfirmationStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One transition that the store has not been told of."""

    id: str
    before: ConfirmationStatus
    after: ConfirmationStatus
    changes: ConfirmationChanges


class Backlog:
    """What the store is still to learn. Whoever asks it something flushes first, so that it never answers from before.

    A write that fails stays, and is tried again with the next flush; `report` hears of the failure.
    """

    __slots__ = ("_report", "_store", "_unwritten", "_writing")

    def __init__(self, store: ConfirmationStore, report: Callable[[BaseException], None]) -> None:
        self._store = store
        self._report = report
        self._unwritten: deque[Write] = deque()
        self._writing: set[asyncio.Task[None]] = set()

    def owe(self, write: Write) -> None:
        """Write it with the next flush."""
        self._unwritten.append(write)

    def add(self, write: Write) -> None:
        """Write it soon."""
        self.owe(write)
        try:
            task = asyncio.get_running_loop().create_task(self._flush_reporting())
        except RuntimeError:
            return  # no loop runs: the next question to the store is preceded by this write
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def flush(self) -> None:
        """Bring the store up to date; raises what the store raises."""
        while self._unwritten:
            write = self._unwritten.popleft()
            try:
                await self._store.transition(write.id, write.before.value, write.after.value, **write.changes)
            except BaseException:
                self._unwritten.appendleft(write)
                raise

    async def _flush_reporting(self) -> None:
        try:
            await self.flush()
        except Exception as raised:  # noqa: BLE001 - kept for the next flush; whoever ended the request has gone on
            self._report(raised)
