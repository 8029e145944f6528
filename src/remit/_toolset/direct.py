"""The toolset: one tool a visible capability, calls resolved through what was listed (SPEC 12.1, 12.2, 12.4)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from remit._base.clock import Clock, SystemClock
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.effects import Kind
from remit._model.listing import Listed
from remit._model.outcome import Failed, Outcome
from remit._model.port import SurfacePort
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._toolset.calling import Person, ToolCall, answered, model_call
from remit._toolset.definitions import Definition, Definitions
from remit._toolset.handing import DEFINITION as HANDOFF_TOOL
from remit._toolset.handing import HANDOFF, handoff_result, hands
from remit._toolset.pins import UNLISTED, Pin, Pins
from remit._toolset.result import Called, ToolResult, to_result, with_present
from remit._toolset.wire_names import NAME_BUDGET, wire_names
from remit.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One entry of a listing: its name, its fixed definition, and the live capability behind it."""

    name: str
    definition: Definition
    listed: Listed

    def state(self) -> dict[str, object]:
        """The live part: `available`, and `reason` and `note` where there are any."""
        return state_of(self.listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The tools one consumer may call at one instant, in the order of the snapshot."""

    surface_id: str
    surface_version: str
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a call goes: what it is sent as, and the capability that has the name now, if any has."""

    invocation: Invocation
    listed: Listed | None
    present: Mapping[str, Pin]
    surface_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of one set of registrations: in the order of the snapshot, and what each means.

    `visible` is the listing they were last asked for: the very same entries need no look at the key.
    """

    visible: tuple[Listed, ...]
    key: tuple[tuple[str, str], ...]
    definitions: tuple[Definition, ...]
    names: tuple[str, ...]
    pins: Mapping[str, Pin]


class Toolset:
    """The capabilities of one surface as tools for one consumer's model.

    `waits=True` (embedded): a call that needs a person waits for the answer and then answers once; `waits=False`
    (remote): it answers CONFIRMATION_REQUIRED and is repeated with the id as evidence (SPEC 7.7). `name_budget` leaves
    room for a prefix that the client adds to names. A toolset decides nothing: the surface does, for every call.
    """

    __slots__ = ("_budget", "_consumer", "_definitions", "_names", "_person", "_pins", "_port")

    def __init__(
        self,
        port: SurfacePort,
        consumer: Consumer,
        *,
        waits: bool,
        limits: Limits | None = None,
        clock: Clock | None = None,
        name_budget: int = NAME_BUDGET,
    ) -> None:
        own_clock = SystemClock() if clock is None else clock
        self._port = port
        self._consumer = consumer
        own_limits = Limits() if limits is None else limits
        self._person = Person(port, consumer, own_limits) if waits else None
        self._budget = name_budget
        self._definitions = Definitions(consumer, own_clock)
        self._pins = Pins(own_clock, own_limits)
        self._names = _Names(visible=(), key=(), definitions=(), names=(), pins={})

    def listing(self) -> Listing:
        """List the tools there are now; names that were not listed before are pinned to what they mean now."""
        snapshot = self._port.snapshot(self._consumer)
        visible = snapshot.capabilities()
        names = self._named(visible)
        self._pins.listed(names.pins)
        return Listing(
            surface_id=snapshot.surface_id,
            surface_version=snapshot.surface_version,
            tools=tuple(
                Tool(name=name, definition=definition, listed=listed)
                for name, definition, listed in zip(names.names, names.definitions, visible, strict=True)
            ),
        )

    def succeed(self, earlier: "Toolset") -> None:
        """Keep the pins of a toolset whose view this one's has replaced unasked, as after a reload (SPEC 11.12)."""
        self._pins.succeed(earlier._pins)

    def definitions(self) -> list[dict[str, object]]:
        """List the tools as JSON-able definitions, for a model; live state is in `states`.

        Outer dicts are fresh, schemas are shared and must not be changed. Equal bytes as long as the same capabilities
        are visible, whatever is available of them (SPEC 12.2). Where one of them is a step that only a person does,
        the fixed tool `surface_handoff` comes last: it says how a handoff stands (SPEC 11.7).
        """
        visible = self._port.snapshot(self._consumer).capabilities()
        names = self._named(visible)
        self._pins.listed(names.pins)
        told = [definition.to_json(name) for name, definition in zip(names.names, names.definitions, strict=True)]
        return [*told, HANDOFF_TOOL.to_json(HANDOFF)] if any(map(hands, visible)) else told

    def states(self) -> dict[str, dict[str, object]]:
        """Tell for each tool whether it is available now, why not, and the author's live note."""
        visible = self._port.snapshot(self._consumer).capabilities()
        return {name: state_of(listed) for name, listed in zip(self._named(visible).names, visible, strict=True)}

    async def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        call_id: str | None = None,
        *,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> ToolResult:
        """Call a tool by its name; refusals are results. `call_id` becomes the invocation id, `timeout` is seconds.

        `progress` hears how far the running code says it has come (SPEC 6.10).
        """
        call = model_call(name, arguments, call_id)
        result = await answered(self, call, self._person, timeout=timeout, progress=progress)
        return replace(result, call_id=call_id)

    async def invoke(
        self, call: ToolCall, *, timeout: float | None = None, progress: ProgressListener | None = None
    ) -> ToolResult:
        """Run one call and answer at once, as doors need it; never waits for a person."""
        if call.name == HANDOFF:
            return handoff_result(self._port, self._consumer, call)
        target = self._target(call)
        outcome = await self._port.invoke(target.invocation, self._consumer, timeout=timeout, progress=progress)
        registration, listed = target.invocation.registration, target.listed
        if listed is not None and registration in {None, UNLISTED}:
            registration = listed.registration
        if isinstance(outcome, Failed) and outcome.error.code is ErrorCode.STALE_CAPABILITY:
            present = self._told_anew(call.name)
            registration = None if present is None else present.registration
            outcome = outcome if present is None else with_present(outcome, call.name, present)
        elif listed is not None and read_component(listed, outcome):
            self._pins.observed(listed.registration, target.present)
        called = Called(
            name=call.name,
            call_id=call.id,
            definition=None if listed is None else self._definitions.of(listed.descriptor),
            registration=None if registration == UNLISTED else registration,
            surface_id=target.surface_id,
        )
        return to_result(outcome, called)

    async def continue_(self, confirmation_id: str, *, progress: ProgressListener | None = None) -> ToolResult:
        """Run the stored exact call of a request with the request as evidence; decides nothing (SPEC 7.7)."""
        snapshot = self._port.snapshot(self._consumer)
        visible = snapshot.capabilities()
        named = zip(self._named(visible).names, visible, strict=True)
        outcome = await self._port.continue_(confirmation_id, self._consumer, progress=progress)
        name, listed = next(((n, one) for n, one in named if one.id == outcome.capability_id), ("", None))
        called = Called(
            name=name or outcome.capability_id,
            call_id=outcome.invocation_id,
            definition=None if listed is None else self._definitions.of(listed.descriptor),
            registration=None if listed is None else listed.registration,
            surface_id=snapshot.surface_id,
        )
        return to_result(outcome, called)

    def _told_anew(self, name: str) -> Listed | None:
        """What a name means now, pinned because the answer shows it."""
        visible = self._port.snapshot(self._consumer).capabilities()
        names = self._named(visible)
        if name not in names.pins:
            return None
        self._pins.told(name, names.pins[name])
        return visible[names.names.index(name)]

    def _named(self, visible: tuple[Listed, ...]) -> _Names:
        if visible == self._names.visible:
            return self._names
        key = tuple((listed.id, listed.registration) for listed in visible)
        if key == self._names.key:
            self._names = replace(self._names, visible=visible)
            return self._names
        addresses = [addressed(listed) for listed in visible]
        counts = Counter(listed.id for listed in visible)
        entries = [
            (listed.id, address if counts[listed.id] > 1 else None)
            for listed, address in zip(visible, addresses, strict=True)
        ]
        by_entry = {entry: name for name, entry in wire_names(entries, budget=self._budget).items()}
        names = tuple(by_entry[entry] for entry in entries)
        pins = {
            name: Pin(id=listed.id, instance=address, registration=listed.registration)
            for name, listed, address in zip(names, visible, addresses, strict=True)
        }
        definitions = tuple(self._definitions.of(listed.descriptor) for listed in visible)
        self._names = _Names(visible=visible, key=key, definitions=definitions, names=names, pins=pins)
        return self._names

    def _target(self, call: ToolCall) -> _Target:
        snapshot = self._port.snapshot(self._consumer)
        visible = snapshot.capabilities()
        names = self._named(visible)
        self._pins.observe(names.pins)
        now, pin = names.pins.get(call.name), self._pins.get(call.name)
        listed = None if now is None else visible[names.names.index(call.name)]
        registration = call.registration
        if now is not None and listed is not None:
            capability, instance = now.id, now.instance
            if registration is None and not listed.descriptor.effect.reads_only:
                registration = UNLISTED if pin is None else pin.registration
        elif pin is not None:
            capability, instance = pin.id, pin.instance
            registration = registration or pin.registration
        else:
            # No capability has such an id, so a made-up name, a hidden one and a raw capability id are equally unknown.
            capability, instance = f"tool:{call.name}", None
        invocation = Invocation(
            capability_id=capability,
            input=call.arguments,
            id=call.id,
            instance=call.instance if call.instance is not None else instance,
            registration=registration,
            surface_id=call.surface_id,
            surface_version=call.surface_version,
            confirmation=call.confirmation,
            correlation_id=call.correlation_id,
            trace=call.trace,
        )
        return _Target(invocation=invocation, listed=listed, present=names.pins, surface_id=snapshot.surface_id)


def addressed(listed: Listed) -> str:
    """The instance as `invoke` takes it: references are told apart by `type/instance` (SPEC 10.10)."""
    if listed.descriptor.kind is Kind.REFERENCE:
        return f"{listed.descriptor.component}/{listed.instance}"
    return listed.instance


def state_of(listed: Listed) -> dict[str, object]:
    """The live part of a capability: `available`, and `reason` and `note` where there are any."""
    state: dict[str, object] = {"available": listed.available}
    if listed.reason is not None:
        state["reason"] = listed.reason
    if listed.note is not None:
        state["note"] = listed.note
    return state


def read_component(listed: Listed, outcome: Outcome) -> bool:
    """Whether a call has shown its consumer the present state of a component (SPEC 12.1)."""
    return listed.descriptor.kind is Kind.OBSERVATION and not isinstance(outcome, Failed)
