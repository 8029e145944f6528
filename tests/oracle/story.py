"""One surface and its world, moved in step: each change is made to both, each call is asked of both."""

import copy
from collections.abc import Callable

import remit
from remit import (
    Authority,
    CancelCause,
    ConfirmationStatus,
    Decider,
    Failed,
    Limits,
    ManualClock,
    Mount,
    Outcome,
    Surface,
)
from remit.errors import ErrorCode
from tests.oracle.model import decide, see
from tests.oracle.stage import ALL, BACKEND, CAST, Bench, Rule
from tests.oracle.wording import detail_of, in_words, invocation_of
from tests.oracle.world import Asked, Consumer, Registration, Request, Stance, Verdict, World

PERSON = Decider("operator")
# Limits over time are not modelled: with them every answer would depend on every call before it.
LIMITS = Limits(
    confirmations_per_consumer=2, confirmations_per_surface=3, network_calls=0, network_writes=0, probing=1_000_000
)
READS = ("read", "server-query")
LAST_AHEAD = 10  # the last step that preflight takes


class Disagreement(AssertionError):
    """Product and model differ; the text tells the whole story."""


class Story:
    """A surface, its world, and what happened so far, in words."""

    def __init__(self, authority: Authority, world: World, consumers: tuple[Consumer, ...]) -> None:
        self.world = world
        self.bench = Bench(world)
        self.clock = ManualClock()
        self.surface = Surface(
            authority,
            principal="operator",
            host=self.bench,
            policies=[Rule(name) for name in world.policies],
            procedures=BACKEND,
            exposure=world.narrowed,
            clock=self.clock,
            limits=LIMITS,
        )
        world.id = self.surface.surface_id
        self.mounts: dict[str, Mount] = {}
        self.who = {each.id: each for each in consumers}
        self.agents = {
            each.id: remit.Consumer(each.id, kind=each.kind, scope=each.scope, confirm=each.confirm)
            for each in consumers
        }
        self.listed: dict[str, tuple[object, ...]] = {}
        self.numbers: dict[str, tuple[int, str]] = {}  # the version last read: the model's, the product's
        self.denials: dict[tuple[str, str], list[float]] = {}
        self.asked: list[tuple[str, Asked]] = []
        self.names: dict[str, str] = {world.id: "this surface"}  # opaque ids in the words of the story
        self.lines = [
            f"surface    policies={list(world.policies)} exposure={world.exposure} narrowed={world.narrowed}",
            *(f"consumer   {each}" for each in consumers),
        ]
        self.hang_up: Callable[[], None] | None = None
        if world.channel:
            self.hang_up = self.surface.confirmations.attach_page()

    # What is equal on both sides

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        for opaque, name in self.names.items():
            line = line.replace(opaque, name)
        self.lines.append(line)

    def fail(self, what: str, model: object, product: object) -> None:
        """The two sides differ."""
        self.tell(f">>> {what}\n    model    {model}\n    product  {product}")
        raise Disagreement("\n".join(self.lines))

    def same(self, what: str, model: object, product: object) -> None:
        """Both sides must say the same."""
        if isinstance(model, dict) and isinstance(product, dict):
            differ = [key for key in {**model, **product} if model.get(key) != product.get(key)]
            model, product = ({key: side.get(key) for key in differ} for side in (model, product))
        if model != product:
            self.fail(what, model, product)

    def settled(self) -> None:
        """After each step: the same mounts are live, and the same requests wait."""
        live = sorted(self.names[place.id] for place in self.world.live)
        self.same(
            "what is mounted", live, sorted(self.names[i] for i, m in self.mounts.items() if m.status == "mounted")
        )
        waiting = {id: request.status for id, request in self.world.requests.items()}
        views = {id: self.surface.confirmations.get(id) for id in waiting}
        self.same("requests", waiting, {id: view and view.status.value for id, view in views.items()})
        pending = sorted(id for id, status in waiting.items() if status == "pending")
        self.same("what waits", pending, sorted(view.id for view in self.surface.confirmations.pending()))

    # Changes of the view

    def mount(self, kind: str, instance: str, parent: Registration | None, *, replace: bool, enabled: bool) -> None:
        """Mount one of the cast; a second of the name is rejected or replaces the first."""
        component, declared = CAST[kind]
        place = Registration("", kind, instance, declared, parent, enabled)
        standing = next((each for each in self.world.live if (each.type, each.instance) == (kind, instance)), None)
        mount = self.surface.mount(
            component(self.bench, place),  # type: ignore[call-arg]
            instance,
            parent=None if parent is None else self.mounts[parent.id],
            enabled=enabled,
            on_duplicate="replace" if replace else "reject",
        )
        rejected = standing is not None and not replace
        self.same("whether a second mount is rejected", rejected, mount.status == "rejected")
        below = "" if parent is None else f" below {parent.id}"
        self.tell(f"mount      {kind}/{instance}{below} replace={replace} enabled={enabled} rejected={rejected}")
        if rejected:
            return
        if standing is not None:
            self._gone(standing)
        place.id = str(mount.registration_id)
        self.mounts[place.id] = mount
        self.names[place.id] = f"reg#{len(self.mounts)}"
        self.world.live.append(place)
        self.tell(f"           is {place.id}")

    def unmount(self, place: Registration) -> None:
        """Take it away, and its children."""
        self.tell(f"unmount    {place.id}")
        self.mounts[place.id].unmount()
        self._gone(place)

    def _gone(self, place: Registration) -> None:
        for child in [each for each in self.world.live if each.parent is place]:
            self._gone(child)
        self.world.live.remove(place)
        self.world.gone.append(place)
        place.gone_at = self.world.time
        for request in self.world.requests.values():
            if request.registration == place.id and request.status in ("pending", "approved"):
                request.status = "cancelled"

    def enable(self, place: Registration, enabled: bool, reason: str | None) -> None:
        """Enable or disable it."""
        self.tell(f"enable     {place.id} {enabled} {reason}")
        self.mounts[place.id].update(enabled=enabled, reason=reason)
        place.enabled, place.reason = enabled, reason

    def push(self, place: Registration, capability: str, reason: str | None) -> None:
        """Push one capability down, or let it go."""
        self.tell(f"push       {place.id} {capability} {reason}")
        self.mounts[place.id].update(available={capability: True if reason is None else reason})
        place.pushed.pop(capability, None)
        if reason is not None:
            place.pushed[capability] = reason

    def invalidate(self, place: Registration) -> None:
        """Say that what is known of it is old."""
        self.tell(f"invalidate {place.id}")
        self.mounts[place.id].invalidate()
        place.epoch += 1

    def stand(self, rule: str, capability: str, stance: Stance) -> None:
        """A policy changes its mind, and the application says so."""
        self.tell(f"policy     {rule} on {capability}: {stance.discover}, {stance.authorize}, {stance.review}")
        self.world.stances[rule, capability] = stance
        self.surface.policies_changed()

    def switch(self, consumer: str | None, capability: str | None, *, off: bool) -> None:
        """Suspend or reinstate."""
        self.tell(f"{'suspend' if off else 'reinstate':10} {consumer or capability}")
        turn = self.surface.suspend if off else self.surface.reinstate
        turn(consumer=None if consumer is None else self.agents[consumer], capability=capability)
        among, one = (self.world.off, capability) if consumer is None else (self.world.out, consumer)
        assert one is not None
        (among.add if off else among.discard)(one)

    def hear(self) -> None:
        """The channel to people comes or goes."""
        self.world.channel = self.hang_up is None
        self.tell(f"channel    {self.world.channel}")
        if self.hang_up is None:
            self.hang_up = self.surface.confirmations.attach_page()
        else:
            self.hang_up()
            self.hang_up = None
        self.surface.policies_changed()

    # People and time

    async def answer(self, id: str, *, approve: bool) -> None:
        """A person approves or denies; of what is not pending nothing changes."""
        request = self.world.requests[id]
        self.tell(f"{'approve' if approve else 'deny':10} {id} ({request.status})")
        answer = self.surface.confirmations.approve if approve else self.surface.confirmations.deny
        try:
            await answer(id, PERSON)
            counted = True
        except RuntimeError:
            counted = False
        self.same("whether the answer counts", request.status == "pending", counted)
        if not counted:
            return
        self.world.unanswered.clear()
        request.status = "approved" if approve else "denied"
        request.ends_at = self.world.time + LIMITS.spend_s
        if not approve:
            self.world.denied[request.call] = self.world.time
            about = (request.capability, request.consumer)
            times = self.denials.setdefault(about, [])
            times.append(self.world.time)
            if len(times) >= LIMITS.denials and times[-1] - times[-LIMITS.denials] <= LIMITS.denial_window_s:
                self.world.denied_often.add(about)

    async def withdraw(self, id: str) -> None:
        """The requester takes its question back."""
        request = self.world.requests[id]
        self.tell(f"withdraw   {id} ({request.status})")
        done = await self.surface.withdraw(id, self.agents[request.consumer])
        self.same("whether it was withdrawn", request.status == "pending", done)
        if done:
            request.status = "cancelled"

    def lift(self) -> None:
        """A person lets everybody ask again."""
        self.tell("lift")
        self.surface.confirmations.lift()
        self.world.denied_often.clear()
        self.world.unanswered.clear()
        self.denials.clear()

    def wait(self, seconds: float) -> None:
        """Time passes; requests end."""
        self.tell(f"wait       {seconds} s")
        self.clock.advance(seconds)
        self.world.time += seconds
        for request in self.world.requests.values():
            if request.status not in ("pending", "approved") or request.ends_at > self.world.time:
                continue
            if request.status == "pending":
                self.world.unanswered[request.consumer] = self.world.unanswered.get(request.consumer, 0) + 1
            request.status = "expired"

    # Looking and calling

    def look(self, consumer: str) -> None:
        """Both sides list the same, as available as each other."""
        who = self.who[consumer]
        snapshot = self.surface.snapshot(self.agents[consumer])
        listed = [each for component in snapshot.components for each in component.capabilities]
        product = {
            (str(each.registration), each.id): (each.available, each.reason) for each in (*listed, *snapshot.references)
        }
        model = {}
        for place in self.world.live:
            for what in place.capabilities:
                state, reason, _ = see(self.world, who, place, what)
                if state != "hidden":
                    model[place.id, what.id] = (state == "available", reason)
                    place.shown.add((consumer, what.id))
        self.tell(f"look       {consumer} sees {len(model)}")
        self.same("the listing", model, product)
        self._version(consumer, snapshot.surface_version)

    def _read(self, consumer: str) -> int:
        """The model's version of a consumer, read now: it moves when the listing has moved since it was read last."""
        who = self.who[consumer]
        listing = tuple(
            sorted(
                (place.id, what.id, place.epoch, lowered)
                for place in self.world.live
                for what in place.capabilities
                for state, _, lowered in [see(self.world, who, place, what)]
                if state != "hidden"
            )
        )
        number = self.world.versions.get(consumer, 0)
        if consumer in self.listed and self.listed[consumer] != listing:
            number += 1
        self.listed[consumer] = listing
        self.world.versions[consumer] = number
        return number

    def _version(self, consumer: str, product: str) -> None:
        number = self._read(consumer)
        before = self.numbers.get(consumer)
        self.numbers[consumer] = (number, product)
        if before is not None:
            self.same(f"whether the version of {consumer} moved", number != before[0], product != before[1])

    async def call(
        self, consumer: str, asked: Asked, version: str | None, meanwhile: Callable[[], None] | None
    ) -> None:
        """Ask both sides, and compare what they say and do."""
        held = (dict(self.listed), dict(self.world.versions))
        self._read(consumer)
        before = self.world if meanwhile is None else copy.deepcopy(self.world)
        self.tell(f"call       {consumer} {in_words(asked)}" + ("  while the world moves:" if meanwhile else ""))
        self.bench.ran.clear()
        await self._ahead(consumer, asked, version)
        self.bench.meanwhile = meanwhile
        outcome = await self.surface.invoke(invocation_of(asked, version), self.agents[consumer])
        moved = meanwhile is not None and self.bench.meanwhile is None
        self.bench.meanwhile = None
        verdict = decide(before, self.who[consumer], asked, self.world)
        self._compare(verdict, outcome)
        self._follow(consumer, asked, verdict, outcome)
        if verdict.step < 3:  # answered before anything was looked at
            self.listed, self.world.versions = held
        elif not (moved or verdict.repeats):  # a repeat is answered with the version of then
            self._version(consumer, outcome.surface_version)
        elif moved:  # what is read in the middle of a change may move once more at its end
            self._read(consumer)
            self.numbers.pop(consumer, None)
        self.asked.append((consumer, asked))

    async def _ahead(self, consumer: str, asked: Asked, version: str | None) -> None:
        """What a call would come to, asked beforehand: the same up to the author's check, and nothing runs (6.11)."""
        verdict = decide(self.world, self.who[consumer], asked)
        seen = await self.surface.preflight(invocation_of(asked, version), self.agents[consumer])
        early = verdict.step <= LAST_AHEAD and not verdict.repeats
        person = verdict.step == LAST_AHEAD + 1 or verdict.spends is not None
        product = None if seen.error is None else (seen.error.code, detail_of(seen.error))
        self.same(
            "what is said beforehand",
            ((verdict.code, verdict.detail) if early else None, verdict.repeats, person, []),
            (product, seen.repeat, seen.question is not None, self.bench.ran),
        )

    def _compare(self, verdict: Verdict, outcome: Outcome) -> None:
        error = outcome.error if isinstance(outcome, Failed) else None
        detail = None if error is None else detail_of(error)
        if verdict.detail == "new" and isinstance(detail, str) and detail not in self.world.requests:
            detail = "new"
        product = (None if error is None else error.code, detail, len(self.bench.ran))
        self.same("what came of the call", (verdict.code, verdict.detail, int(verdict.runs)), product)
        self.tell(f"           {verdict.code or 'OK'} {verdict.detail or ''}")

    def _follow(self, consumer: str, asked: Asked, verdict: Verdict, outcome: Outcome) -> None:
        """What the call left behind: a request, a spent approval, a stored outcome."""
        if verdict.spends is not None:
            self.world.requests[verdict.spends].status = "spent"
        reads = any(what.id == asked.capability and what.effect in READS for what in ALL)
        if verdict.runs and not reads:
            until = self.world.time + LIMITS.replay_s
            self.world.stored[consumer, outcome.invocation_id] = (asked.fingerprint, verdict, until)
        if verdict.code is ErrorCode.CONFIRMATION_REQUIRED and verdict.detail == "new":
            assert isinstance(outcome, Failed)
            id = str(outcome.error.details["confirmation_id"])
            view = self.surface.confirmations.get(id)
            assert view is not None and view.status is ConfirmationStatus.PENDING
            effective = (view.input["n"], view.input.get("target"), view.record)
            self.world.requests[id] = Request(
                call=(view.registration, view.capability, consumer, effective),
                consumer=consumer,
                capability=view.capability,
                invocation=outcome.invocation_id,
                fingerprint=asked.fingerprint,
                registration=view.registration,
                ends_at=self.world.time + LIMITS.decide_s,
            )
            self.names[id] = f"cnf#{len(self.world.requests)}"
            if asked.invocation is None:
                self.names[outcome.invocation_id] = f"call-of-{self.names[id]}"

    def close(self) -> None:
        """End the surface."""
        self.surface.dispose(CancelCause.VIEW_CLOSED)
