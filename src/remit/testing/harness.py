"""`Harness`: an agent, the people around it and the time, in the hands of a test (SPEC 16.1)."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Final, Literal, Self

from remit._base.clock import ManualClock, SystemClock
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._contract.authority import Authority
from remit._contract.component import Component
from remit._journal.audit import AuditEntry
from remit._model.consumer import Consumer, ConsumerKind, Decider, Principal, check_consumer
from remit._model.event import Event
from remit._model.ids import DEFAULT_INSTANCE
from remit._model.listing import Listed, Snapshot
from remit._model.outcome import Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.request_view import ConfirmationView
from remit._policy.policy import Policy
from remit._surface.connection import Named
from remit._surface.given import policies_of, procedures_of
from remit._surface.mount import Mount
from remit._surface.surface import Surface
from remit.procedures.catalogue import Catalogue
from remit.testing.doors import IN_PROCESS, Behind, Door, Era, open_door
from remit.testing.matchers import assert_ok
from remit.testing.observing import changes, sight_of
from remit.testing.overrides import Function, Override, Overrides
from remit.testing.people import Answers, Asked, People, PrincipalSource, asks, confirmation_id
from remit.testing.site import Site
from remit.testing.token import Token, id_of, token_of

EVENTS: Final = 10_000


class Harness:
    """A surface, one agent that calls it, the people who decide, and a clock that moves when told to.

        harness = Harness(authority, principal="operator", procedures=backend)
        with harness.mount(DevicesTable(rows)):
            assert_ok(await harness.call(DevicesTable.select_rows, {"ids": ["d1"]}))

    The agent is remote, of the kind `test` unless `consumer=` says otherwise: a call that needs a person answers
    CONFIRMATION_REQUIRED and is repeated with evidence. The harness is who can be asked: with `decider="approve"` or
    `"deny"` somebody who may answers at once and `call` waits for that; with `"manual"` the test answers through
    `approve`, `deny` and `expire`. Nothing here skips a step: what fails in production fails here. `surface` is the
    surface itself.

    Without `procedures`, operations of the contract are answered by `override` only. It lives as long as its `with`
    block, or until `close`.
    """

    def __init__(  # noqa: PLR0913 - a surface's own keywords, and the three a test adds
        self,
        authority: Authority,
        *,
        principal: PrincipalSource,
        policies: Iterable[Policy] = (),
        procedures: Catalogue | Sequence[Catalogue] | None = None,
        host: object = None,
        exposure: Mapping[str, Iterable[str]] | None = None,
        limits: Limits | None = None,
        clock: ManualClock | None = None,
        decider: Answers = "manual",
        consumer: Consumer | None = None,
    ) -> None:
        if not isinstance(authority, Authority):
            raise TypeError("Harness(authority, …) needs an Authority: Authority.load(beside=__file__)")
        site = Site(
            authority=authority, policies=policies_of(policies, "Harness"), host=host, exposure=exposure, limits=limits
        )
        clock = ManualClock() if clock is None else clock
        overrides = Overrides(authority, procedures_of(procedures, "Harness"))
        surface = site.surface(principal, clock, overrides)
        self._begin(surface, principal, clock, overrides, decider, consumer, site)

    @classmethod
    def of(
        cls,
        surface: Surface,
        *,
        principal: PrincipalSource,
        clock: ManualClock | None = None,
        overrides: Overrides | None = None,
        decider: Answers = "manual",
        consumer: Consumer | None = None,
    ) -> Self:
        """Take over a surface that the application built, with everything it was given.

        `principal` is whose surface it is. `later` and `expire` need the `clock` that the surface was given, `override`
        needs the Overrides that it got as `procedures=`; without them they are a RuntimeError.
        """
        if not isinstance(surface, Surface):
            raise TypeError(
                f"Harness.of(surface, …) takes the Surface of the application, not {type(surface).__name__}"
            )
        harness = cls.__new__(cls)
        harness._begin(surface, principal, clock, overrides, decider, consumer, None)
        return harness

    def _begin(  # noqa: PLR0913 - both ways to make one meet here
        self,
        surface: Surface,
        principal: PrincipalSource,
        clock: ManualClock | None,
        overrides: Overrides | None,
        decider: Answers,
        consumer: Consumer | None,
        site: Site | None,
    ) -> None:
        if consumer is not None:
            check_consumer(consumer)
        self.surface = surface
        self.consumer = Consumer("test", kind=ConsumerKind.TEST) if consumer is None else consumer
        self._people = People(surface, principal, decider)
        self._clock = clock
        self._overrides = overrides
        self._site = site
        self._everybody: list[Harness] = [self]
        self._in_process = self
        self._door: Door | None = None
        self._through: tuple[str, Era] | None = None
        self._doors: dict[tuple[str, Era], Harness] = {}
        self._events: deque[Event] = deque(maxlen=EVENTS)
        surface.subscribe(self._events.append)

    # The view

    def mount(  # noqa: PLR0913 - the keywords of Surface.mount
        self,
        component: Component,
        instance: str = DEFAULT_INSTANCE,
        *,
        parent: Mount | None = None,
        enabled: bool = True,
        on_duplicate: Literal["reject", "replace"] = "reject",
        origin: str = "first-party",
        priority: int = 0,
        internal: object = None,
        identity: object = None,
    ) -> Mount:
        """Mount a component on this person's surface: `Surface.mount`, unchanged."""
        return self.surface.mount(
            component,
            instance,
            parent=parent,
            enabled=enabled,
            on_duplicate=on_duplicate,
            origin=origin,
            priority=priority,
            internal=internal,
            identity=identity,
        )

    # The agent

    async def call(  # noqa: PLR0913 - the agent's `call`: input is one mapping, options are keywords
        self,
        capability: str | Named | Token,
        input: Mapping[str, object] | None = None,
        *,
        confirmation: Asked | None = None,
        registration: str | None = None,
        instance: str | None = None,
        id: str | None = None,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> Outcome:
        """Call as the agent does, each time as a new invocation, with evidence too; `id` repeats an earlier one.

        A class attribute stands for its id; a Token replays what it captured. `confirmation` takes the refusal that
        asked for it, or an id. `progress` hears how far the running code says it has come; `timeout` is the host's, so
        no door but the harness's own takes it. A call that reaches an operation which nothing answers is an
        AssertionError.
        """
        told = capability if isinstance(capability, Token) else None
        if id is None and confirmation is not None:
            id = new_id("inv_")  # without an id of its own, it would run under the one of the call that asked
        request = Invocation(
            id_of(capability),
            input,
            id=id,
            instance=instance or (None if told is None else told.instance),
            registration=registration or (None if told is None else told.registration),
            surface_id=None if told is None else told.surface_id,
            surface_version=None if told is None else told.surface_version,
            confirmation=None if confirmation is None else confirmation_id(confirmation),
        )
        outcome = await self._invoke(request, timeout, progress)
        if not self._people.answer_at_once or not asks(outcome):
            return outcome
        await self._people.answered()
        return await self._invoke(replace(request, confirmation=confirmation_id(outcome)), timeout, progress)

    async def observe(
        self,
        capability: str | Named | Token,
        input: Mapping[str, object] | None = None,
        *,
        registration: str | None = None,
        instance: str | None = None,
    ) -> object:
        """The output of an observation; an AssertionError if it fails, or if anything changed while it ran.

        What changed is the version, what is available, or an effect in the journal (SPEC 3.11).
        """
        wanted = id_of(capability)
        if any(each.id == wanted and not each.descriptor.effect.reads_only for each in self.capabilities()):
            raise AssertionError(f"{wanted} is no observation\n  do  harness.call(…)")
        before = sight_of(self.snapshot(), self.audit)
        outcome = await self.call(capability, input, registration=registration, instance=instance)
        found = changes(before, sight_of(self.snapshot(), self.audit), self.audit, outcome.invocation_id)
        output = assert_ok(outcome)
        if found:
            raise AssertionError("\n  ".join([f"{wanted} changed something while it was read", *found]))
        return output

    def capabilities(self) -> tuple[Listed, ...]:
        """All the agent may see now, available or not."""
        return self.snapshot().capabilities()

    def snapshot(self) -> Snapshot:
        """What the agent may see now; `semantic` makes it comparable."""
        return self.surface.snapshot(self.consumer)

    def token(self, capability: str | Named, instance: str | None = None) -> Token:
        """Capture what the agent is told of a capability now, to call it with that later, when things have moved."""
        return token_of(self.snapshot(), capability, instance)

    # The people

    def as_(self, principal: Principal | str) -> "Harness":
        """Another person: a second surface over the same authority, policies and overrides, at the same time of day.

        It starts with nothing mounted, as a view of somebody else does. The same person gives the same harness. A
        RuntimeError over a surface that the application built.
        """
        if self._site is None or self._clock is None or self._overrides is None:
            raise RuntimeError("the application built this surface\n  do  Harness.of(…) over one of the other person")
        person = Principal(principal) if isinstance(principal, str) else principal
        mine = self._in_process
        other = next((each for each in self._everybody if each._people.principal == person), None)
        if other is None:
            surface = self._site.surface(person, self._clock, self._overrides)
            other = type(self).__new__(type(self))
            other._begin(surface, person, self._clock, self._overrides, self._people.answers, mine.consumer, self._site)
            self._everybody.append(other)
            other._everybody = self._everybody
        return other if self._through is None else other.over(self._through[0], era=self._through[1])

    # The doors

    def over(self, door: str, *, era: Era = "modern") -> "Harness":
        """The same view, people, overrides and time, with the agent calling through a door (SPEC 16.1).

        `"mcp"` is the MCP door and its official client joined in memory, `"mcp-http"` both over a real server on a free
        port of the loopback; `era` is the protocol that the client speaks, `"handshake"` the one before 2026-07-28.
        `"page"` and `"page-http"` are the page protocol. `"test"` is the harness that calls by itself. The agent at a
        door is of the kind `mcp` or `page`, so it sees what the contract exposes to that door, and only that.

        The first call opens the door, in its event loop; the end of the harness closes it. What an agent cannot say
        there, a test cannot either: `timeout=`. The same door is the same harness. A RuntimeError when what it needs is
        not installed; a ValueError when there is no such door.
        """
        mine = self._in_process
        if door == IN_PROCESS:
            return mine
        if (door, era) not in self._doors:
            other = copy(mine)
            other._through = (door, era)
            other._door = open_door(door, self._behind(era))
            other.consumer = other._door.consumer
            self._doors[door, era] = other
        return self._doors[door, era]

    def _behind(self, era: Era) -> Behind:
        limits = None if self._site is None else self._site.limits
        return Behind(
            surface=self.surface,
            principal=self._people.person(),
            actor=self._in_process.consumer.id,
            clock=SystemClock() if self._clock is None else self._clock,
            limits=Limits() if limits is None else limits,
            era=era,
        )

    @property
    def pending(self) -> tuple[ConfirmationView, ...]:
        """What waits for a person, oldest first."""
        return self.surface.confirmations.pending()

    def approve(self, asked: Asked | None = None, *, by: Decider | None = None) -> None:
        """Approve a request, or the only one that is pending; done when this returns.

        `by` is who says so, the principal unless said. A person who may not is a PermissionError, a request that is not
        pending a RuntimeError, an unknown one a LookupError, a view of something else a ValueError: nothing has changed
        then. A store that has to be waited for is a RuntimeError that says what to await instead.
        """
        self._people.approve(asked, by)

    def deny(self, asked: Asked | None = None, *, by: Decider | None = None, reason: str | None = None) -> None:
        """Deny a request, or the only one that is pending; as `approve`."""
        self._people.deny(asked, by, reason)

    def expire(self, asked: Asked | None = None) -> None:
        """Let time pass until a request has expired, undecided or approved and unspent; others may expire with it."""
        self._people.let_expire(asked, self._needs_clock("expire"))

    # The rest of the world

    @property
    def clock(self) -> ManualClock:
        """The time of every surface of this harness."""
        return self._needs_clock("clock")

    def later(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Travel forward in time; what becomes due on the way happens at its own time."""
        self._needs_clock("later").advance(hours * 3_600 + minutes * 60 + seconds)

    def override(self, capability: str | Named, function: Function) -> Override:
        """Answer an operation by a function of the test, for everybody; what it was called with is in `.calls`.

        `override("domain:devices.disable", lambda device_ids: 1)`: schemas, policies and confirmation stay in front of
        it. It may be async, and raise BackendError.
        """
        if self._overrides is None:
            raise RuntimeError(
                "the surface got no overrides\n  do  Surface(…, procedures=overrides), then of(overrides=)"
            )
        return self._overrides.override(capability, function)

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened on the surface since the harness had it, oldest first; the last 10,000.

        `surface-changed` follows in the next turn of the loop.
        """
        return tuple(self._events)

    @property
    def audit(self) -> tuple[AuditEntry, ...]:
        """The journal: true reasons, votes, causes and stacks, which no agent sees."""
        return self.surface.audit()

    def close(self) -> None:
        """Dispose the surface, and those of everybody else it was shared with; doors close.

        A door closes at once where its event loop stands still, else as soon as that goes on; `async with` waits.
        """
        for door in self._opened():
            door.close()
        for each in self._everybody:
            each.surface.dispose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        for door in self._opened():
            await door.aclose()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> list[Door]:
        return [other._door for each in self._everybody for other in each._doors.values() if other._door is not None]

    async def _invoke(self, request: Invocation, timeout: float | None, progress: ProgressListener | None) -> Outcome:
        if self._door is None:
            outcome = await self.surface.invoke(request, self.consumer, timeout=timeout, progress=progress)
        elif timeout is not None:
            raise TypeError("timeout= is the host's: no agent can say it at a door")
        else:
            outcome = await self._door.invoke(request, progress)
        faults = () if self._overrides is None else self._overrides.take_faults()
        if faults:
            raise AssertionError("\n".join(faults))
        return outcome

    def _needs_clock(self, what: str) -> ManualClock:
        if self._clock is None:
            raise RuntimeError(f"{what}: the harness has no clock\n  do  Harness.of(…, clock=…), the surface's own")
        return self._clock
