"""Standing approvals: given by a person for the session, pinned to one call, bounded, used up one by one (SPEC 7.9)."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from remit._base.boundary import Json, canonical, loads
from remit._base.clock import Clock, TimerHandle
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.refusals import NotStanding, NotTheDecider, TooManyStanding, UnknownRequest
from remit._confirmation.request import Ask, Pins, RequestRecord
from remit._journal.audit import AuditLog, AuditType
from remit._model.consumer import Consumer, ConsumerKey, Decider
from remit._model.standing import StandingApproval, StandingEnd
from remit.store.protocol import StandingStore
from remit.store.rows import StandingRow

DeciderNow = Callable[[Decider], Decider | None]
PREFIX: Final = "std_"
SOONEST_S: Final = 0.001


@dataclass(slots=True, kw_only=True, eq=False)
class Standing:
    """One approval that stands; only `Standings` changes it."""

    id: str
    ask: Ask
    free: frozenset[str]
    pinned: bytes
    decider: Decider
    confirmation: str
    given_at: datetime
    ends_at: float
    seconds: float
    uses_left: int
    ended: StandingEnd | None = None
    timer: TimerHandle | None = None

    @property
    def decided_by(self) -> str:
        """Who gave it."""
        return self.decider.id

    def row(self) -> StandingRow:
        """It as a store keeps it."""
        ask = self.ask
        kind, issuer, actors, grant = ask.consumer.key
        return StandingRow(
            id=self.id,
            surface_id=ask.surface_id,
            registration=ask.registration,
            capability=ask.descriptor.id,
            tenant=ask.principal.tenant,
            principal=ask.principal.id,
            consumer=canonical([kind, issuer, list(actors), grant]).decode(),
            confirmation=self.confirmation,
            decided_by=self.decider.id,
            pinned=self.pinned.decode(),
            free=tuple(sorted(self.free)),
            given_at=self.given_at.isoformat(),
            until=(self.given_at + timedelta(seconds=self.seconds)).isoformat(),
            uses_left=self.uses_left,
            ended=None if self.ended is None else self.ended.value,
        )

    def view(self) -> StandingApproval:
        """What its person is shown, with a copy of the values of its own."""
        ask = self.ask
        input = loads(self.pinned)
        offer = {} if ask.standing is None else ask.standing.may_vary
        return StandingApproval(
            id=self.id,
            capability=ask.descriptor.id,
            component=ask.component,
            instance=ask.instance,
            registration=ask.registration,
            title=ask.descriptor.title or ask.descriptor.id,
            consumer=ask.consumer.id,
            consumer_kind=ask.consumer.kind.value,
            principal=ask.principal.id,
            tenant=ask.principal.tenant,
            input=MappingProxyType(input if isinstance(input, dict) else {}),
            may_vary=MappingProxyType({name: offer[name] for name in sorted(self.free)}),
            decided_by=self.decider.id,
            confirmation=self.confirmation,
            given_at=self.given_at,
            until=self.given_at + timedelta(seconds=self.seconds),
            uses_left=self.uses_left,
            record=ask.record,
        )


class Standings:
    """The standing approvals of one surface; their number is bounded, and so are the time and the uses of each.

    Nothing in here waits, so looking for one and using it up are one step on one event loop.
    """

    __slots__ = ("_audit", "_clock", "_decider_now", "_limits", "_promised", "_store", "held")

    def __init__(
        self,
        clock: Clock,
        limits: Limits,
        audit: AuditLog,
        decider_now: DeciderNow | None,
        store: StandingStore | None = None,
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._audit = audit
        self._decider_now = decider_now
        self._promised = 0
        self._store = store
        self.held: dict[str, Standing] = {}
        """By id, the oldest first; only what stands."""

    # Giving and taking away

    @contextmanager
    def room(self, ask: Ask, free: Collection[str] | None) -> Iterator[None]:
        """Keep a place for one that is about to be given; `NotStanding` or `TooManyStanding` if it may not be."""
        if free is None:
            yield
            return
        self._check(ask, free)
        self._promised += 1
        try:
            yield
        finally:
            self._promised -= 1

    def give(self, record: RequestRecord, decider: Decider, free: Collection[str]) -> None:
        """A person approved this request for the session, and left these fields free."""
        ask, seconds = record.ask, self._limits.standing_s
        standing = Standing(
            id=new_id(PREFIX),
            ask=ask,
            free=frozenset(free),
            pinned=_without(ask.input, frozenset(free)),
            decider=decider,
            confirmation=record.id,
            given_at=self._clock.now(),
            ends_at=self._clock.monotonic() + seconds,
            seconds=seconds,
            uses_left=self._limits.standing_uses,
        )
        self.held[standing.id] = standing
        self._arm(standing)
        self._journal(standing, "given", f"with {record.id}, {', '.join(sorted(free)) or 'nothing'} free")

    def revoke(self, id: str, decider: Decider) -> None:
        """Take one back: whoever could give it may, and the principal always."""
        standing = self.held.get(id)
        if standing is None or standing.ended is not None:
            raise UnknownRequest
        if not _may_revoke(standing.ask, decider):
            raise NotTheDecider
        self._end(standing, StandingEnd.REVOKED, by=decider)

    def denied(self, capability: str, key: ConsumerKey) -> None:
        """A person said no to this consumer about this capability."""
        for standing in tuple(self.held.values()):
            if standing.ask.descriptor.id == capability and standing.ask.consumer.key == key:
                self._end(standing, StandingEnd.DENIED)

    def seen(self, consumer: Consumer) -> None:
        """A consumer has called: what was given while it had another scope has ended."""
        for standing in tuple(self.held.values()):
            if standing.ask.consumer.key == consumer.key and standing.ask.consumer.scope != consumer.scope:
                self._end(standing, StandingEnd.SCOPE_CHANGED)

    def cut_off(self, has_ended: Callable[[Consumer], bool]) -> bool:
        """End what stands for consumers that nobody vouches for any more; was there anything?"""
        found = [standing for standing in self.held.values() if has_ended(standing.ask.consumer)]
        for standing in found:
            self._end(standing, StandingEnd.REVOKED)
        return bool(found)

    def end_registration(self, registration: str | None) -> None:
        """A registration has gone; None stands for all."""
        for standing in tuple(self.held.values()):
            if registration in (None, standing.ask.registration):
                self._end(standing, StandingEnd.UNMOUNTED)

    # Looking and using

    def views(self, decider: Decider | None) -> tuple[StandingApproval, ...]:
        """What stands, oldest first; with `decider` only what that person may revoke."""
        now = self._clock.monotonic()
        return tuple(
            standing.view()
            for standing in self.held.values()
            if now < standing.ends_at and (decider is None or _may_revoke(standing.ask, decider))
        )

    def covering(self, pins: Pins) -> Standing | None:
        """The oldest that covers this call now; changes nothing."""
        now = self._clock.monotonic()
        for standing in self.held.values():
            if now < standing.ends_at and self._covers(standing, pins) and self._still_decides(standing):
                return standing
        return None

    def use(self, pins: Pins, invocation: str) -> Standing | None:
        """Look again and use one up, in one step; None when none covers this call any more."""
        standing = self.covering(pins)
        if standing is None:
            return None
        standing.uses_left -= 1
        self._journal(standing, "used", f"{standing.uses_left} left", invocation=invocation)
        if standing.uses_left == 0:
            self._end(standing, StandingEnd.USED_UP)
        return standing

    def _covers(self, standing: Standing, pins: Pins) -> bool:
        ask = standing.ask
        same = ask.pins
        return (
            (same.registration, same.capability, same.contract, same.principal, same.consumer.key)
            == (pins.registration, pins.capability, pins.contract, pins.principal, pins.consumer.key)
            and same.consumer.scope == pins.consumer.scope
            and pins.size <= self._limits.confirmation_input_bytes
            and _without(pins.input, standing.free) == standing.pinned
        )

    def _still_decides(self, standing: Standing) -> bool:
        now = standing.decider if self._decider_now is None else self._decider_now(standing.decider)
        return now is not None and now.id == standing.decider.id and standing.ask.may_be_decided_by(now)

    def _check(self, ask: Ask, free: Collection[str]) -> None:
        if ask.standing is None:
            raise NotStanding("this request is decided afresh each time")
        for name in free:
            if name not in ask.standing.may_vary:
                allowed = ", ".join(sorted(ask.standing.may_vary)) or "(none)"
                raise NotStanding(f"{name!r} is not one of the fields that may vary: {allowed}")
        if len(self.held) + self._promised >= self._limits.standing_per_session:
            raise TooManyStanding(self._limits.standing_per_session)

    def _arm(self, standing: Standing) -> None:
        left = max(standing.ends_at - self._clock.monotonic(), SOONEST_S)
        standing.timer = self._clock.call_later(left, lambda: self._time_is_up(standing))

    def _time_is_up(self, standing: Standing) -> None:
        if self._clock.monotonic() < standing.ends_at:  # a loop's timer may run a little early
            self._arm(standing)
        else:
            self._end(standing, StandingEnd.EXPIRED)

    def _end(self, standing: Standing, cause: StandingEnd, *, by: Decider | None = None) -> None:
        if standing.ended is not None:
            return
        standing.ended = cause
        self.held.pop(standing.id, None)
        assert standing.timer is not None  # it runs from the giving on
        standing.timer.cancel()
        self._journal(standing, "ended", cause.value, by=by)

    def _journal(
        self, standing: Standing, status: str, why: str, *, invocation: str | None = None, by: Decider | None = None
    ) -> None:
        ask = standing.ask
        if self._store is not None:
            self._store.put(standing.row())
        self._audit.append(
            AuditType.STANDING,
            registration=ask.registration,
            capability=ask.descriptor.id,
            invocation=invocation,
            consumer=ask.consumer.key,
            principal=ask.principal.key,
            decider=(by or standing.decider).id,
            confirmation=standing.id,
            status=status,
            why=why,
            contract_hash=ask.contract_hash,
        )


def _may_revoke(ask: Ask, decider: Decider) -> bool:
    return ask.may_be_decided_by(decider) or (decider.tenant, decider.id) == ask.principal.key


def _without(input: dict[str, Json], free: frozenset[str]) -> bytes:
    return canonical({name: value for name, value in input.items() if name not in free})
