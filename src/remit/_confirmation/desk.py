"""The requests of one surface and every change of their state (SPEC 7.2, 7.4, 7.6)."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import Final, Literal

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._base.text import clean_line
from remit._confirmation.backlog import Backlog, Write
from remit._confirmation.refusals import NotPending, NotTheDecider, PartAway
from remit._confirmation.request import Approved, Ask, DecideFn, Denied, RequestRecord
from remit._confirmation.restraint import Restraint
from remit._confirmation.standing import DeciderNow, Standings
from remit._journal.audit import AuditLog, AuditType, Durations
from remit._journal.hub import EventHub
from remit._journal.listeners import Listeners
from remit._model.consumer import Decider
from remit._model.event import EventType
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit.errors import Happened, Refusal, confirmation_invalid
from remit.store.protocol import ConfirmationChanges, ConfirmationStore

REMEMBERED: Final = 128
SOONEST_S: Final = 0.001

_KNOWN: Final = {Happened.UNKNOWN: 0, Happened.NONE: 1, Happened.DONE: 2}

Status = ConfirmationStatus
Enter = Callable[[], AbstractContextManager[object]]


class Desk:
    """Owns the request records. Every change happens here: first the state, then the journal, then whoever listens.

    A decision and spending go through the store's compare-and-set before they count. An end (expiry, unmount,
    withdrawal) counts at once, so that an unmount can be synchronous; the store learns of it right after, and before
    any later question to it.
    """

    def __init__(  # noqa: PLR0913 - the wiring of one owner of state
        self,
        store: ConfirmationStore,
        clock: Clock,
        limits: Limits,
        hub: EventHub,
        *,
        audit: AuditLog,
        report: Callable[[BaseException], None],
        decide: DecideFn | None,
        enter: Enter | None,
        decider_now: DeciderNow | None,
        standings: Standings,
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._hub = hub
        self._audit = audit
        self._report = report
        self._decide = decide
        self._enter = enter or nullcontext
        self._decider_now = decider_now
        self._records: Bounded[str, RequestRecord] = Bounded(REMEMBERED, None, clock, keep=lambda _, one: one.open)
        self._open: dict[str, RequestRecord] = {}  # by digest; in the order of asking
        self._backlog = Backlog(store, report)
        self.pages = 0
        self.on_end: Callable[[str], None] | None = None
        """Hears of each request that has ended, after everybody else."""
        self.standings = standings
        self.restraint = Restraint(clock, limits)
        self.listeners: Listeners[ConfirmationView] = Listeners(report, backlog=limits.events_backlog)

    @property
    def has_channel(self) -> bool:
        """True when somebody could be asked: an inline `decide`, a subscriber or an attached page (SPEC 7.8)."""
        return self._decide is not None or bool(self.listeners.audience) or self.pages > 0

    # Reading

    def find(self, id: object) -> RequestRecord | None:
        """The request with this id in its present state, or None."""
        record = self._records.get(id) if isinstance(id, str) else None
        return None if record is None else self.freshen(record)

    def of_digest(self, digest: str) -> RequestRecord | None:
        """The open request with this digest, or None."""
        record = self._open.get(digest)
        return record if record is not None and self.freshen(record).open else None

    def open_records(self) -> tuple[RequestRecord, ...]:
        """All open requests, oldest first."""
        return tuple(record for record in tuple(self._open.values()) if self.freshen(record).open)

    def pending(self) -> tuple[RequestRecord, ...]:
        """All pending requests, oldest first."""
        return tuple(record for record in self.open_records() if record.status is Status.PENDING)

    def freshen(self, record: RequestRecord) -> RequestRecord:
        """End the request if its time is over; the same record."""
        if record.open and self._clock.monotonic() >= record.ends_at:
            if record.status is Status.PENDING:
                self.restraint.expired(record.ask.consumer)
            self.end(record, Status.EXPIRED)
        return record

    async def left_pending(self, record: RequestRecord, timeout: float | None) -> ConfirmationStatus:
        """Wait until the request is not pending, at most `timeout` seconds; return its status."""
        if self.freshen(record).status is not Status.PENDING or (timeout is not None and timeout <= 0):
            return record.status
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        record.waiters.append(left)
        timer = None if timeout is None else self._clock.call_later(timeout, lambda: _release(left))
        try:
            await left
        finally:
            record.waiters.remove(left)
            if timer is not None:
                timer.cancel()
        return record.status

    # Changing

    async def open(self, record: RequestRecord, decide_s: float) -> None:
        """Take a new request in: kept by the store, told to listeners, asked of `decide`. Raises what the store raises.

        `Full` when nothing may be forgotten.
        """
        record.ends_at = self._clock.monotonic() + decide_s
        self._records.put(record.id, record)
        self._open[record.digest] = record
        try:
            await self._store.put(record.row())
        except BaseException:
            self._forget(record)
            raise
        if not record.open:  # ended while the store was busy: nobody has heard of it
            self._later_write(record, Status.PENDING, record.status)
            return
        record.listed = True
        self._arm(record)
        self._tell(record, EventType.CONFIRMATION_REQUESTED)
        self._ask_inline(record)

    def renew(self, record: RequestRecord, ask: Ask, form: bytes, digest: str) -> None:
        """A pending request goes on for another registration: same id and time, new digest (SPEC 7.12)."""
        before = record.ask.registration
        self._open = {digest if other is record else key: other for key, other in self._open.items()}
        record.moved_from = (*record.moved_from, before)
        record.ask, record.form, record.digest = ask, form, digest
        changes = ConfirmationChanges(registration=ask.registration, digest=digest, form=form.decode())
        self._backlog.add(Write(id=record.id, before=record.status, after=record.status, changes=changes))
        if record.task is not None:
            record.task.cancel()
        self._journal(record, f"moved from {before}, which was mounted again")
        if self.listeners.audience:
            self.listeners.send(record.view())
        self._ask_inline(record)

    async def approve(self, record: RequestRecord, decider: Decider, standing: Collection[str] | None) -> None:
        """Count a person's yes; with `standing` for the session, too, these fields left free (SPEC 7.9).

        What `decide` raises, `NotStanding` or `TooManyStanding` when it does not, and nothing changes then.
        """
        with self.standings.room(record.ask, standing):
            await self.decide(record, decider, Status.APPROVED)
            if standing is not None:
                self.standings.give(record, decider, standing)

    async def decide(
        self,
        record: RequestRecord,
        decider: Decider,
        to: Literal[ConfirmationStatus.APPROVED, ConfirmationStatus.DENIED],
        reason: str | None = None,
    ) -> None:
        """Count a person's answer; `NotTheDecider` or `NotPending` when it does not, and nothing changes then.

        `PartAway` for approving one whose registration has gone and may come back: it will ask for something else.
        """
        if not record.may_be_decided_by(decider):
            raise NotTheDecider
        await self.flush()
        if self.freshen(record).status is not Status.PENDING:
            raise NotPending(record.status)
        if to is Status.APPROVED and record.homeless:
            raise PartAway
        why = None if reason is None else clean_line(reason, self._limits.runtime_text)
        spend_s = self._limits.spend_s if record.ask.spend_s is None else record.ask.spend_s
        spend_by = self._clock.now() + timedelta(seconds=spend_s) if to is Status.APPROVED else None
        won = await self._store.transition(
            record.id,
            Status.PENDING.value,
            to.value,
            decided_by=decider.id,
            reason=why,
            spend_by=None if spend_by is None else spend_by.isoformat(),
        )
        if record.status is not Status.PENDING:  # ended while the store was busy; the end stands
            if won:
                self._later_write(record, to, record.status)
            raise NotPending(record.status)
        if not won:
            row = await self._store.get(record.id)
            raise NotPending(record.status if row is None else ConfirmationStatus(row.status))
        record.decider = decider
        record.decided_by = decider.id
        record.person_s = (self._clock.now() - record.created_at).total_seconds()
        record.spend_by = spend_by
        self.restraint.acted()
        if to is Status.DENIED:
            self.restraint.denied(record.digest, record.ask.descriptor.id, record.ask.consumer)
            self.standings.denied(record.ask.descriptor.id, record.ask.consumer.key)
        if to is Status.APPROVED:
            record.ends_at = self._clock.monotonic() + spend_s
        self._become(record, to, why=why)
        if record.open:
            self._arm(record)

    async def spend(self, record: RequestRecord) -> None:
        """Use the approval up, or raise `Refusal`: the last step before the handler (SPEC 7.6)."""
        await self.flush()
        if self.freshen(record).status is not Status.APPROVED:
            raise Refusal(record.asked() if record.open else record.ended())
        if record.decider is None or not self._still_decides(record, record.decider):
            raise Refusal(confirmation_invalid("no-decider"), why="the decider may not decide this any more")
        won = await self._store.transition(
            record.id, Status.APPROVED.value, Status.SPENT.value, outcome=Happened.UNKNOWN.value
        )
        if record.status is not Status.APPROVED:
            raise Refusal(record.ended(), why="ended while it was being spent")
        if not won:
            raise Refusal(confirmation_invalid(Status.SPENT.value, happened=Happened.UNKNOWN), why="spent elsewhere")
        record.happened = Happened.UNKNOWN
        self._become(record, Status.SPENT)

    async def settled(self, record: RequestRecord, happened: Happened) -> None:
        """Remember what became of the run that spent the approval.

        What is known is not forgotten again: `done` beats `none`, and both beat `unknown`.
        """
        if record.status is not Status.SPENT or _KNOWN[happened] <= _KNOWN[record.happened or Happened.UNKNOWN]:
            return
        record.happened = happened
        # A store that is down does not forget it: it is told with the next question.
        changes = ConfirmationChanges(outcome=happened.value)
        self._backlog.owe(Write(id=record.id, before=Status.SPENT, after=Status.SPENT, changes=changes))
        await self.flush()

    def end(self, record: RequestRecord, status: ConfirmationStatus, cause: CancelCause | None = None) -> None:
        """End an open request without a person's answer; of an ended one nothing changes."""
        if not record.open:
            return
        record.cause = cause
        self._later_write(record, record.status, status)
        self._become(record, status)

    async def flush(self) -> None:
        """Bring the store up to date with what ended."""
        await self._backlog.flush()

    def _become(self, record: RequestRecord, status: ConfirmationStatus, *, why: str | None = None) -> None:
        record.status = status
        if record.timer is not None:
            record.timer.cancel()
            record.timer = None
        if not record.open and self._open.get(record.digest) is record:
            del self._open[record.digest]
        for waiter in record.waiters:
            _release(waiter)
        if record.task is not None and record.task is not _current_task():
            record.task.cancel()
        if record.listed:
            self._tell(record, EventType.CONFIRMATION_RESOLVED, why)
        if self.on_end is not None and not record.open:
            self.on_end(record.id)

    def _forget(self, record: RequestRecord) -> None:
        """The store did not take the request: whoever waits for it already is let go."""
        record.status, record.cause = Status.CANCELLED, CancelCause.STOPPING
        self._records.pop(record.id)
        if self._open.get(record.digest) is record:
            del self._open[record.digest]
        for waiter in record.waiters:
            _release(waiter)

    def _still_decides(self, record: RequestRecord, decider: Decider) -> bool:
        now = decider if self._decider_now is None else self._decider_now(decider)
        return now is not None and now.id == decider.id and record.may_be_decided_by(now)

    def _arm(self, record: RequestRecord) -> None:
        left = record.ends_at - self._clock.monotonic()
        record.timer = self._clock.call_later(max(left, SOONEST_S), lambda: self._time_is_up(record))

    def _time_is_up(self, record: RequestRecord) -> None:
        if self.freshen(record).open:  # a loop's timer may run a little early
            self._arm(record)

    def _later_write(self, record: RequestRecord, before: Status, after: Status) -> None:
        cause = None if record.cause is None else record.cause.value
        self._backlog.add(Write(id=record.id, before=before, after=after, changes={"cause": cause}))

    def _ask_inline(self, record: RequestRecord) -> None:
        if self._decide is None or not record.open:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no loop runs: nobody answers inline
        record.task = loop.create_task(self._decide_inline(record, self._decide))

    async def _decide_inline(self, record: RequestRecord, decide: DecideFn) -> None:
        try:
            with self._enter():
                answer = await decide(record.view())
            with suppress(NotPending, PartAway):
                match answer:
                    case Approved(by=by, standing=standing):
                        await self.approve(record, by, standing)
                    case Denied(by=by, reason=reason):
                        await self.decide(record, by, Status.DENIED, reason)
                    case None:
                        pass
                    case _:
                        raise TypeError(f"decide returned {type(answer).__name__}: Approved, Denied or None")
        except Exception as raised:  # noqa: BLE001 - the application's code: the request stays pending, the operator knows
            self._report(raised)

    def _tell(self, record: RequestRecord, type: EventType, why: str | None = None) -> None:
        ask = record.ask
        data = {
            "confirmation": record.id,
            "capability": ask.descriptor.id,
            "registration": ask.registration,
            "status": record.status.value,
        }
        if record.cause is not None:
            data["cause"] = record.cause.value
        self._journal(record, why)
        self._hub.emit(type, data, ask.consumer.key)
        if self.listeners.audience:
            self.listeners.send(record.view())

    def _journal(self, record: RequestRecord, why: str | None) -> None:
        ask = record.ask
        self._audit.append(
            AuditType.CONFIRMATION,
            registration=ask.registration,
            capability=ask.descriptor.id,
            invocation=ask.invocation.id,
            correlation_id=ask.invocation.correlation_id,
            consumer=ask.consumer.key,
            principal=ask.principal.key,
            decider=record.decided_by,
            confirmation=record.id,
            status=record.status.value,
            why=why,
            durations=Durations(person=record.person_s),
            contract_hash=ask.contract_hash,
        )


def _release(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _current_task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
