"""Builds the parts of one surface and joins them; the only place that knows them all (DESIGN 1.6)."""

import asyncio
import hmac
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from random import random
from typing import Any

from remit._base.boundary import Json, canonical
from remit._base.digest import keyed_hex
from remit._base.threads import Threads
from remit._confirmation.broker import Broker
from remit._confirmation.handoff import HandoffDesk
from remit._confirmation.handoff_rows import row_of
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.past import Past
from remit._confirmation.request import RequestRecord
from remit._confirmation.standing import DeciderNow
from remit._contract.moved import Move, moves_of, refuse_moved
from remit._invocation import (
    admit,
    authorize,
    confirm,
    dispatch,
    effective_input,
    envelope,
    execute,
    flow,
    handoff,
    identity,
    precondition,
    resolve,
    review,
    settle,
)
from remit._invocation.call import Call
from remit._invocation.lasting import Lasting
from remit._invocation.ledger import Ledger
from remit._invocation.parts import Ahead, Parts
from remit._invocation.runs import Runs
from remit._journal.audit import AuditLog
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer
from remit._model.ids import SurfaceId
from remit._policy.chain import Chain, Watch
from remit._policy.context import Counters
from remit._policy.meters import Meters
from remit._policy.nowhere import NOWHERE
from remit._policy.untrusted import by_itself
from remit._registry.entered import Entered
from remit._registry.guarded import Guarded
from remit._registry.probing import Probing, Shown
from remit._registry.revoked import Revoked
from remit._registry.state import State
from remit._registry.suspended import Suspended
from remit._registry.viewer import Site, Viewer
from remit._surface.findings import Findings, Slow, WrongRecords
from remit._surface.given import Given, check_given, narrowing_of
from remit._surface.listing import Versions
from remit._surface.viewers import Viewers
from remit.errors import Happened
from remit.store.parts import Parts as StoreParts

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """The parts of one surface."""

    registry: State
    hub: EventHub
    audit: AuditLog
    broker: Broker
    viewers: Viewers
    versions: Versions
    parts: Parts
    ahead: Ahead
    findings: Findings
    errands: "Errands"
    watch: Watch
    threads: Threads
    guarded: Guarded
    shown: Shown
    revoked: Revoked
    kept: StoreParts
    surface_id: SurfaceId

    @property
    def desk(self) -> HandoffDesk:
        """What holds the handoffs."""
        return self.parts.handoff.desk


class Errands:
    """Small tasks that a call leaves behind, held until they are done; what they raise goes to the journal."""

    __slots__ = ("_audit", "_tasks")

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None], failing: str = "what a call left behind to do failed") -> None:
        """Start it; `failing` is what the journal says if it raises."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, failing))

    def _done(self, failing: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._audit.fault(failing, error)


def wire(given: Given, surface_id: SurfaceId, gone: Callable[[], None]) -> Wired:
    """Build every part; `gone` ends the surface when its person has gone."""
    moves = _judged(given)
    clock, limits, audit = given.clock, given.limits, AuditLog(surface_id, given.clock)
    hub = EventHub(surface_id, clock, limits.events_backlog, lambda error: audit.fault("a listener raised", error))
    slow, wrong = Slow(audit), WrongRecords(audit)
    entered = Entered(given.within, clock, slow.took)
    registry, revoked = State(limits, clock, Suspended(given.store.suspensions)), Revoked(given.store.revocations)
    threads, meters = Threads(limits.threads), Meters(given.store.meters, clock, limits.store_s)
    broker = _broker(given, hub, audit, lambda decider: viewers.still_deciding(decider))  # noqa: PLW0108 - made later
    site = _site(given, entered, broker, registry, revoked, meters, moves, wrong)
    viewers = Viewers(site, entered, given.principal, given.host, audit, gone)
    registry.suspended.of_tenant(viewers.principal_key[0])
    versions = Versions(registry, clock, hub, audit)
    errands, probing = Errands(audit), Probing(limits, clock, Shown(limits, clock))
    joined = _Joined(
        given, surface_id, hub, audit, broker, viewers, versions, registry, entered, errands, threads, probing, meters
    )
    parts = joined.parts()
    return Wired(
        registry=registry,
        hub=hub,
        audit=audit,
        broker=broker,
        viewers=viewers,
        versions=versions,
        parts=parts,
        ahead=joined.ahead(parts),
        findings=_findings(given, site, audit, slow, wrong, moves),
        errands=errands,
        watch=entered.watched,
        threads=threads,
        guarded=Guarded(given.guard, entered, audit.fault),
        shown=probing.shown,
        revoked=revoked,
        kept=given.store,
        surface_id=surface_id,
    )


def _broker(given: Given, hub: EventHub, audit: AuditLog, decider_now: DeciderNow) -> Broker:
    return Broker(
        store=given.store.confirmations,
        standing=given.store.standing,
        clock=given.clock,
        limits=given.limits,
        keys=ConfirmationKeys.fresh() if given.keys is None else given.keys,
        hub=hub,
        audit=audit,
        decide=given.decide,
        enter=given.within,
        decider_now=decider_now,
    )


def _site(  # noqa: PLR0913 - one argument a part
    given: Given,
    entered: Entered,
    broker: Broker,
    registry: State,
    revoked: Revoked,
    meters: Meters,
    moves: tuple[Move, ...],
    wrong: WrongRecords,
) -> Site:
    broker.outside.doors = by_itself(str(getattr(each, "name", "")) for each in given.policies)
    return Site(
        exposure=given.authority.exposure.doors,
        narrowed=narrowing_of(given),
        chain=Chain(given.policies, entered.watched),
        nothing=Chain((*given.policies, *NOWHERE), entered.watched),
        entered=entered,
        clock=given.clock,
        counters=Counters(given.clock, meters),
        can_confirm=lambda: broker.has_channel,
        moved=frozenset(move.name for move in moves if not move.fits),
        suspended=registry.suspended,
        revoked=revoked,
        limits=given.limits,
        wrong_records=wrong.found,
        outside=broker.outside,
    )


@dataclass(frozen=True, slots=True)
class _Joined:
    given: Given
    surface_id: SurfaceId
    hub: EventHub
    audit: AuditLog
    broker: Broker
    viewers: Viewers
    versions: Versions
    registry: State
    entered: Entered
    errands: Errands
    threads: Threads
    probing: Probing
    meters: Meters

    def parts(self) -> Parts:
        """Hand each phase what it needs, and no more."""
        clock, limits = self.given.clock, self.given.limits
        contract_hash = self.given.authority.hash
        ledger, lasting = Ledger(limits, clock), self._lasting()
        desk, past = self._desk(), self._past()
        runs = Runs(limits, clock, flow.dropping(self.audit, contract_hash))
        return Parts(
            envelope=envelope.Part(limits),
            ledger=ledger,
            named=self.broker.named,
            resolve=resolve.Part(
                self.registry,
                self.viewers.of,
                self.versions.now,
                self.surface_id,
                limits,
                self.probing.missed,
                self.broker.standings,
                self.broker.moved,
            ),
            authorize=authorize.Part(clock, self._network()),
            effective_input=effective_input.Part(self.entered, limits, self.probing.missed_record),
            handoff=handoff.Part(desk, past, self._secret(b"remit: handoffs"), contract_hash),
            flow=flow.Part(runs, self.broker, desk, past),
            review=review.Part(clock),
            precondition=precondition.Part(self.entered),
            confirm=confirm.Part(self.broker, self.entered, self.surface_id, contract_hash, limits),
            admit=admit.Part(admit.Lanes(limits), clock, limits),
            dispatch=dispatch.Part(
                self.viewers.of, self.versions.newest, self.broker, self.hub, authorize.refusal, lasting
            ),
            execute=execute.Part(
                entered=self.entered,
                clock=clock,
                limits=limits,
                audit=self.audit,
                operation=self._operation,
                idempotency_key=self._idempotency_key(),
                threads=self.threads,
                chance=random,
                runs=runs,
            ),
            settle=settle.Part(
                clock=clock,
                limits=limits,
                ledger=ledger,
                hub=self.hub,
                audit=self.audit,
                version=self.versions.settling,
                known_version=self.versions.known,
                settled=self._settled,
                contract_hash=contract_hash,
                entered=self.entered,
                runs=runs,
                errand=self.errands.run,
                lasting=lasting,
            ),
            clock=clock,
        )

    def _desk(self) -> HandoffDesk:
        given, kept = self.given, self.given.store
        return HandoffDesk(
            self.surface_id,
            given.clock,
            given.limits,
            self.hub,
            self.audit,
            lambda record: kept.handoffs.put(row_of(record)),
            kept.flush,
        )

    def _past(self) -> Past:
        given, owner = self.given, self.viewers.principal_key
        return Past(
            store=given.store.handoffs,
            owner=owner,
            clock=given.clock,
            limits=given.limits,
            surface_id=self.surface_id,
            of=given.authority.handoff,
        )

    def ahead(self, parts: Parts) -> Ahead:
        """The parts of a look ahead: the same, and where one of them could charge or keep, one that cannot."""

        def viewer(consumer: Consumer) -> Viewer:
            return self.viewers.of(consumer).trial()

        registry, limits = self.registry, self.given.limits
        return Ahead(
            envelope=parts.envelope,
            known=identity.Known(parts.ledger.peek, self.broker.named),
            resolve=resolve.Part(
                registry, viewer, self.versions.peek, self.surface_id, limits, self.probing.would_miss
            ),
            authorize=authorize.Part(parts.clock),
            effective_input=replace(parts.effective_input, missed=self.probing.would_miss_record),
            handoff=handoff.Known(parts.handoff, parts.clock, limits),
            review=parts.review,
            precondition=parts.precondition,
            confirm=confirm.Known(self.entered, self.given.authority.hash, self.broker.standings.covering),
            clock=parts.clock,
            fault=self.audit.fault,
        )

    def _network(self) -> authorize.Network | None:
        limits = self.given.limits
        if not limits.network_calls and not limits.network_writes:
            return None
        return authorize.Network(self.meters, limits.network_calls, limits.network_writes, limits.network_s)

    def _secret(self, purpose: bytes) -> bytes:
        """A key for digests: of this surface alone, or of the deployment where they outlive it."""
        given = self.given
        own = None if given.keys is None or not given.store.durable else given.keys.secret(given.keys.active)
        return secrets.token_bytes(KEY_BYTES) if own is None else hmac.digest(own, purpose, "sha256")

    def _lasting(self) -> Lasting | None:
        """What keeps calls over the end of the process; None where nothing outlives it."""
        given = self.given
        if not given.store.durable or given.keys is None:
            return None
        return Lasting(
            calls=given.store.calls,
            keys=given.keys,
            clock=given.clock,
            limits=given.limits,
            surface_id=self.surface_id,
            principal=self.viewers.principal_key,
        )

    def _operation(self, name: str) -> execute.Runnable | None:
        return None if self.given.procedures is None else self.given.procedures.get(name)

    def _settled(self, record: RequestRecord, happened: Happened) -> None:
        self.errands.run(self.broker.settled(record, happened), "the store could not record how a call ended")

    def _idempotency_key(self) -> Callable[[Call], str]:
        key = secrets.token_bytes(KEY_BYTES)
        tenant, principal = self.viewers.principal_key

        def make(call: Call) -> str:
            parts: list[Json] = [
                tenant,
                principal,
                self.surface_id,
                list(call.key[2]),
                call.request.capability_id,
                call.invocation_id,
            ]
            return keyed_hex(key, canonical([*parts, call.key[0], call.key[1], call.key[3]]))

        return make


def _judged(given: Given) -> tuple[Move, ...]:
    """Refuse what cannot be meant; say what the backend no longer offers as recorded, nothing where that is strict."""
    check_given(given)
    moves = moves_of(given.authority.operations, given.procedures)
    refuse_moved(moves, given.procedures)
    return moves


def _findings(
    given: Given, site: Site, audit: AuditLog, slow: Slow, wrong: WrongRecords, moves: tuple[Move, ...]
) -> Findings:
    return Findings(
        authority=given.authority,
        narrowed=site.narrowed.doors,
        limits=given.limits,
        has_channel=site.can_confirm,
        has_sink=audit.has_sink,
        slow=slow,
        wrong=wrong,
        in_memory=given.store.in_memory,
        development_key=given.keys is not None and given.keys.development,
        moves=() if given.procedures is None else moves,
        offered=tuple if given.procedures is None else given.procedures.names,
    )
