"""The pipeline's side of confirmation: ask a person, check evidence, spend it (SPEC 7)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from remit._base.bounded import Full
from remit._base.clock import Clock
from remit._base.digest import keyed_hex, same
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.confirmations import Confirmations
from remit._confirmation.desk import Desk, Enter
from remit._confirmation.earlier import Earlier
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.moving import Moving, Place
from remit._confirmation.outside import Outside
from remit._confirmation.request import Ask, DecideFn, RequestRecord, Signed, signed
from remit._confirmation.standing import DeciderNow, Standings
from remit._journal.audit import AuditLog
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer, ConsumerKey
from remit._model.request import Invocation
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit.errors import AgentError, Happened, Issue, Refusal, confirmation_invalid, invalid_input, rate_limited
from remit.store.protocol import ConfirmationStore, StandingStore

MILLISECONDS = 1_000
_NOT_KEPT = Issue(path="", message="the input has withheld values and was not kept: repeat the call itself")


class Broker:
    """The confirmation requests of one surface, for the pipeline and the port.

    `keys` are the secrets of the digests. `decide` is the application's inline answer, run in a task of its own inside
    `enter()`. `decider_now` asks for a decider's grants again when an approval is spent; without it the grants it was
    given with count. `standing` is where approvals for the session are kept. `report` gets what the application's code
    raises; without it the audit does.
    """

    __slots__ = ("_clock", "_desk", "_keys", "_limits", "confirmations", "earlier", "moving", "outside", "standings")

    def __init__(  # noqa: PLR0913 - the wiring of one owner of state
        self,
        store: ConfirmationStore,
        clock: Clock,
        limits: Limits,
        keys: ConfirmationKeys,
        hub: EventHub,
        decide: DecideFn | None = None,
        enter: Enter | None = None,
        *,
        audit: AuditLog,
        report: Callable[[BaseException], None] | None = None,
        decider_now: DeciderNow | None = None,
        standing: StandingStore | None = None,
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._keys = keys
        self.standings = Standings(clock, limits, audit, decider_now, standing)
        """What people approved for the session."""
        self.outside = Outside(clock, audit)
        """Who has read text from outside."""
        self._desk = Desk(
            store,
            clock,
            limits,
            hub,
            audit=audit,
            report=report or partial(audit.fault, "a confirmation callback raised"),
            decide=decide,
            enter=enter,
            decider_now=decider_now,
            standings=self.standings,
        )
        self.moving = Moving(self._desk, clock, limits, keys)
        """What waits for the next mount of a part of the view."""
        self.earlier = Earlier(store)
        """What the store knows of requests that are not held here."""
        self.confirmations = Confirmations(self._desk, self.outside)
        """The host's side: the only one that decides."""

    def on_end(self, hears: Callable[[str], None]) -> None:
        """Have every request that has ended told to this, after everybody else."""
        self._desk.on_end = hears

    @property
    def has_channel(self) -> bool:
        """True when somebody could be asked: an inline `decide`, a subscriber or an attached page (SPEC 7.8)."""
        return self._desk.has_channel

    async def ask(self, ask: Ask) -> RequestRecord:
        """Return the request for this exact call: the open one if there is one, else a new one (SPEC 7.3).

        It may be approved already; then it is evidence for this call. Refused, with nothing created: INVALID_INPUT over
        8,192 bytes, CONFIRMATION_INVALID{denied, no-decider}, RATE_LIMITED{denied-often, unanswered, queue-full}.
        """
        if len(ask.canonical) > self._limits.confirmation_input_bytes:
            rule = f"at most {self._limits.confirmation_input_bytes} bytes can be confirmed by a person"
            raise Refusal(invalid_input([Issue(path="", message=rule)]), why="too large to be shown")
        wanted = self._signed(ask)
        await self._desk.flush()
        record = next((found for each in wanted if (found := self._desk.of_digest(each.digest)) is not None), None)
        if record is None:
            record = await self._create(wanted)
        if not record.open:
            raise Refusal(record.ended(), why="ended while it was being asked")
        return record

    def is_approved(self, ask: Ask) -> bool:
        """Whether this exact call has an approval that nobody has spent yet."""
        records = (self._desk.of_digest(each.digest) for each in self._signed(ask))
        return any(record is not None and record.status is ConfirmationStatus.APPROVED for record in records)

    async def check(self, evidence_id: object, ask: Ask) -> RequestRecord:
        """Return the approved request that covers this exact call; spends nothing (SPEC 7.5).

        An unknown id, another consumer's and a request for another call are one answer, {mismatch}. A pending one is
        CONFIRMATION_REQUIRED with the same id; denied, expired, cancelled and spent ones say so, those of an earlier
        process that a durable store still knows, too.
        """
        record = self._desk.find(evidence_id)
        wanted = {each.kid: each for each in self._signed(ask)}  # for an unknown id, too: it takes as long
        if record is None:
            earlier = await self.earlier.of_call(evidence_id, ask, wanted)
            raise (
                _mismatch("no such request") if earlier is None else Refusal(earlier, why="of a surface that has gone")
            )
        if record.ask.consumer.key != ask.consumer.key:
            raise _mismatch("another consumer's request")
        if record.status is ConfirmationStatus.CANCELLED and record.ask.descriptor.id == ask.descriptor.id:
            # Its registration has gone, so the digest of the present one differs: say what really happened.
            raise Refusal(record.ended())
        now = wanted.get(record.kid)
        if now is None:
            raise _mismatch("the key of the request has been dropped")
        if not same(record.digest, now.digest) or record.form != now.form:
            raise _mismatch("a request for another call")
        if record.status is ConfirmationStatus.APPROVED:
            return record
        raise Refusal(record.asked() if record.open else record.ended())

    async def spend(self, record: RequestRecord) -> None:
        """Use the approval up, the last step before the handler; of any number of tries one wins (SPEC 7.6).

        The decider's grants are checked again. Refused: CONFIRMATION_INVALID{spent, expired, cancelled, no-decider}.
        """
        await self._desk.spend(record)

    async def settled(self, record: RequestRecord, happened: Happened) -> None:
        """Remember what became of the run; later answers {spent} tell it. Before this they say `unknown`."""
        await self._desk.settled(record, happened)

    async def withdraw(self, id: str, consumer_key: ConsumerKey) -> bool:
        """End a pending request of this consumer (cancelled, `withdrawn`); False when there was none (SPEC 7.5)."""
        record = self._own(id, consumer_key)
        if record is None or record.status is not ConfirmationStatus.PENDING:
            return False
        self._desk.end(record, ConfirmationStatus.CANCELLED, CancelCause.WITHDRAWN)
        await self._desk.flush()
        return True

    def end_registration(self, registration: str, cause: CancelCause, place: Place | None = None) -> None:
        """Cancel every open request of a registration, and end what stands for it (SPEC 4.4).

        With `place`, what it showed, a pending one waits for its next mount (SPEC 7.12).
        """
        self.standings.end_registration(registration)
        for record in self._desk.open_records():
            if record.ask.registration == registration:
                self.moving.leave(record, place, cause)

    def end_all(self, cause: CancelCause) -> None:
        """Cancel every open request, and end what stands."""
        self.standings.end_registration(None)
        self.moving.end_all()
        for record in self._desk.open_records():
            self._desk.end(record, ConfirmationStatus.CANCELLED, cause)

    def cut_off(self, has_ended: Callable[[Consumer], bool]) -> bool:
        """Take back the open requests of consumers that nobody vouches for any more, and end what stands for them."""
        found = [record for record in self._desk.open_records() if has_ended(record.ask.consumer)]
        for record in found:
            self._desk.end(record, ConfirmationStatus.CANCELLED, CancelCause.WITHDRAWN)
        return self.standings.cut_off(has_ended) or bool(found)

    async def decided(self, id: str, consumer_key: ConsumerKey, timeout: float) -> ConfirmationStatus | None:
        """Wait at most `timeout` seconds until the request is not pending; None: unknown id, or another's."""
        record = self._own(id, consumer_key)
        return None if record is None else await self._desk.left_pending(record, timeout)

    def stored(self, id: str, consumer_key: ConsumerKey) -> Invocation | None:
        """The stored exact call with the request as its evidence, for `continue_`; None: unknown id, or another's."""
        record = self._own(id, consumer_key)
        return None if record is None else replace(record.ask.invocation, confirmation=record.id)

    def named(self, id: str, consumer_key: ConsumerKey, fingerprint: str) -> str | None:
        """The invocation id of the request, for a retry of that very call; None for any other, and for another's."""
        record = self._own(id, consumer_key)
        secret = None if record is None else self._keys.secret(record.kid)
        if record is None or secret is None:
            return None
        if not same(record.ask.fingerprint, keyed_hex(secret, fingerprint.encode())):
            return None
        return record.ask.invocation.id

    def of_a_step(self, id: object, consumer_key: ConsumerKey) -> AgentError | None:
        """What is said of evidence for a step of a flow that does not wait any more; None for every other evidence."""
        record = self._own(id, consumer_key)
        if record is None or record.ask.invocation.capability_id == record.ask.descriptor.id:
            return None
        return confirmation_invalid("mismatch") if record.open else record.ended()

    def moved(self, id: str, consumer_key: ConsumerKey, registration: str) -> str | None:
        """The registration for which a request of this consumer asks now, if it asked for this one before (7.12)."""
        record = self._own(id, consumer_key)
        return record.ask.registration if record is not None and registration in record.moved_from else None

    def requester(self, id: str) -> Consumer | None:
        """Who asked, for the host's `resume`; None: unknown id."""
        record = self._desk.find(id)
        return None if record is None else record.ask.consumer

    def ended(self, id: str, consumer_key: ConsumerKey) -> AgentError | None:
        """Why a request of this consumer cannot be continued; None when it is open or spent, or not its own.

        It has ended without being spent, or it holds sensitive fields: then only the call itself carries its input.
        """
        record = self._own(id, consumer_key)
        if record is None or (not record.ask.sensitive and (record.open or record.status is ConfirmationStatus.SPENT)):
            return None
        return invalid_input([_NOT_KEPT]) if record.open else record.ended()

    def _signed(self, ask: Ask) -> list[Signed]:
        """The call as each key holds it, the active one first; there are two while a key is being replaced."""
        keys = self._keys
        return [signed(ask, kid, secret) for kid in keys.kids if (secret := keys.secret(kid)) is not None]

    async def _create(self, wanted: list[Signed]) -> RequestRecord:
        bound, ask = wanted[0], wanted[0].ask
        self._refuse_if_restrained(ask, [each.digest for each in wanted])
        decide_s = self._limits.decide_s if ask.decide_s is None else ask.decide_s
        now = self._clock.now()
        record = RequestRecord(new_id("cnf_"), bound, now, now + timedelta(seconds=decide_s))
        try:
            await self._desk.open(record, decide_s)
        except Full:
            raise Refusal(self._queue_full()) from None
        return record

    def _refuse_if_restrained(self, ask: Ask, digests: list[str]) -> None:
        if not self._desk.has_channel:
            raise Refusal(confirmation_invalid("no-decider"), why="no decide, page or subscriber")
        restraint = self._desk.restraint
        if any(restraint.is_final(digest) for digest in digests):
            raise Refusal(confirmation_invalid("denied"), why="the identical request was denied a short while ago")
        reason = restraint.reason(ask.descriptor.id, ask.consumer)
        if reason is not None:
            after = self._limits.denial_window_s if reason == "denied-often" else self._limits.decide_s
            raise Refusal(rate_limited(reason, round(after * MILLISECONDS)), why="until a person lifts it")
        pending = self._desk.pending()
        own = sum(record.ask.consumer.key == ask.consumer.key for record in pending)
        if own >= self._limits.confirmations_per_consumer or len(pending) >= self._limits.confirmations_per_surface:
            raise Refusal(self._queue_full())

    def _queue_full(self) -> AgentError:
        now = self._clock.monotonic()
        soonest = min((record.ends_at - now for record in self._desk.pending()), default=self._limits.decide_s)
        return rate_limited("queue-full", max(round(soonest * MILLISECONDS), 1))

    def _own(self, id: object, consumer_key: ConsumerKey) -> RequestRecord | None:
        record = self._desk.find(id)
        return record if record is not None and record.ask.consumer.key == consumer_key else None


def _mismatch(why: str) -> Refusal:
    return Refusal(confirmation_invalid("mismatch"), why=why)
