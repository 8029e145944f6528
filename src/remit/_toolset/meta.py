"""Meta mode: three fixed tools in place of one a capability (SPEC 12.4)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from remit._base.clock import Clock, SystemClock
from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.effects import Confirmation
from remit._model.listing import Listed
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.port import SurfacePort
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._toolset.calling import Person, ToolCall, answered, model_call
from remit._toolset.definitions import Definitions
from remit._toolset.direct import addressed, read_component
from remit._toolset.discover import BUDGET, SMALLEST_BUDGET, Discovery, check_prefixes
from remit._toolset.fixed import ACT, DEFINITIONS, DISCOVER, READ, Asked, Envelopes, Wanted
from remit._toolset.handing import PREFIX, told
from remit._toolset.pins import UNLISTED, Pin, Pins
from remit._toolset.result import Called, ToolResult, to_result, with_details
from remit.errors import AgentError, ErrorCode, Issue, ambiguous_instance, invalid_input

_READS_ONLY: Final = "`surface_read` only reads; `surface_act` calls this one"
_NEEDS_A_PERSON: Final = "`surface_read` asks nobody; `surface_act` calls this one, once a person has approved it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """Where a call goes: what it is sent as, what the id means now to this consumer, and whose name each pin is."""

    invocation: Invocation
    candidates: tuple[Listed, ...]
    present: Mapping[str, Pin]

    @property
    def listed(self) -> Listed | None:
        """The one capability that is meant, if there is one."""
        return self.candidates[0] if len(self.candidates) == 1 else None


class MetaToolset:
    """The capabilities of one surface behind three fixed tools: `surface_discover`, `surface_read`, `surface_act`.

    Their definitions are the same bytes for everybody, whatever is mounted, so nothing is ever announced: what there is
    now, is asked for. `prefixes` is the most that `surface_discover` shows (None: all of the listing; empty: nothing);
    a request narrows it, and whether something may be called is not decided by it. `budget` is the most bytes of UTF-8
    in one answer of `surface_discover`, at least 8,192. Waiting for a person is as in a `Toolset` (SPEC 7.7, 12.4).

    A call that is not a read goes to the registration that it names, or to the one that `surface_discover` showed last;
    if that has been replaced, or none was shown, it is STALE_CAPABILITY with the present descriptor, and nothing runs.
    """

    __slots__ = (
        "_consumer",
        "_definitions",
        "_discovery",
        "_envelopes",
        "_person",
        "_pins",
        "_port",
        "_version",
    )

    def __init__(  # noqa: PLR0913 - a direct toolset's, and what bounds the answers
        self,
        port: SurfacePort,
        consumer: Consumer,
        *,
        waits: bool,
        prefixes: Collection[str] | None = None,
        budget: int | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        check_prefixes(prefixes)
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int)):
            raise TypeError(f"budget is a number of bytes, not {type(budget).__name__}")
        if budget is not None and budget < SMALLEST_BUDGET:
            raise ValueError(f"a budget under {SMALLEST_BUDGET:,} bytes leaves no room for an answer")
        own_clock = SystemClock() if clock is None else clock
        self._port = port
        self._consumer = consumer
        own_limits = Limits() if limits is None else limits
        self._person = Person(port, consumer, own_limits) if waits else None
        self._definitions = Definitions(consumer, own_clock)
        self._discovery = Discovery(prefixes, BUDGET if budget is None else budget)
        self._envelopes = Envelopes(own_limits)
        self._pins = Pins(own_clock, own_limits)
        self._version = "0"

    def definitions(self) -> list[dict[str, object]]:
        """List the three tools as JSON-able definitions; outer dicts are fresh, schemas are shared."""
        return [definition.to_json(name) for name, definition in DEFINITIONS]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        call_id: str | None = None,
        *,
        timeout: float | None = None,
        progress: ProgressListener | None = None,
    ) -> ToolResult:
        """Call one of the tools; refusals are results. `call_id` becomes the invocation id, `timeout` is seconds.

        `progress` hears how far the running code says it has come (SPEC 6.10).
        """
        call = model_call(name, arguments, call_id)
        result = await answered(self, call, self._person, timeout=timeout, progress=progress)
        return replace(result, call_id=call_id)

    async def invoke(
        self, call: ToolCall, *, timeout: float | None = None, progress: ProgressListener | None = None
    ) -> ToolResult:
        """Run one call and answer at once, as doors need it; never waits for a person."""
        if call.name == DISCOVER:
            asked = self._envelopes.asked(call.arguments)
            return self._refused(call, "", asked) if isinstance(asked, AgentError) else self._discover(call, asked)
        if call.name not in {READ, ACT}:
            # No capability has such an id: a made-up tool costs the same meters as a made-up capability.
            unknown = Wanted(id=f"tool:{call.name}", input=call.arguments)
            return await self._run(call, self._aim(call, unknown), timeout, progress)
        wanted = self._envelopes.wanted(call.arguments)
        if isinstance(wanted, AgentError):
            return self._refused(call, "", wanted)
        if call.name == READ and wanted.id.startswith(PREFIX):  # no capability has such an id
            found = told(self._port, self._consumer, call, wanted.id)
            if found is not None:
                return found
        wanted = _overridden(wanted, call)
        aim = self._aim(call, wanted)
        fault = self._no_read(aim.candidates) if call.name == READ else None
        if fault is not None:
            return self._refused(call, wanted.id, invalid_input([Issue(path="id", message=fault)]))
        return await self._run(call, aim, timeout, progress)

    async def continue_(self, confirmation_id: str, *, progress: ProgressListener | None = None) -> ToolResult:
        """Run the stored exact call of a request with the request as evidence; decides nothing (SPEC 7.7)."""
        outcome = await self._port.continue_(confirmation_id, self._consumer, progress=progress)
        self._version = outcome.surface_version
        visible = self._port.snapshot(self._consumer).capabilities()
        own = {listed.registration for listed in visible if listed.id == outcome.capability_id}
        return to_result(
            outcome,
            Called(
                name=ACT,
                call_id=outcome.invocation_id,
                definition=None,
                registration=own.pop() if len(own) == 1 else None,
                surface_id=self._port.surface_id,
            ),
        )

    def _discover(self, call: ToolCall, asked: Asked) -> ToolResult:
        snapshot = self._port.snapshot(self._consumer)
        self._version = snapshot.surface_version
        found = self._discovery.answer(DISCOVER, asked, snapshot)
        if isinstance(found, AgentError):
            return self._refused(call, "", found)
        present = _pins(snapshot.capabilities())
        self._pins.observe(present)
        for listed in found.shown:
            # Unlike a list of tools, which clients fetch by themselves, this is an answer to the caller.
            self._pins.told(_key(listed), present[_key(listed)])
        outcome = Ok(
            invocation_id=call.id or "",
            capability_id=DISCOVER,
            output=found.form,
            surface_version=snapshot.surface_version,
            surface_changed=False,
        )
        return replace(self._result(outcome, call, registration=None), structured=found.form)

    def _aim(self, call: ToolCall, wanted: Wanted) -> _Aim:
        visible = self._port.snapshot(self._consumer).capabilities()
        present = _pins(visible)
        self._pins.observe(present)
        alike = _alike(visible, wanted.id, wanted.instance)
        candidates = tuple(listed for listed in alike if listed.registration == wanted.registration) or alike
        invocation = Invocation(
            capability_id=wanted.id,
            input=wanted.input,
            id=call.id,
            instance=wanted.instance,
            registration=self._meant(call, wanted, candidates),
            surface_id=call.surface_id,
            surface_version=call.surface_version,
            confirmation=call.confirmation,
            correlation_id=call.correlation_id,
            trace=call.trace,
        )
        return _Aim(invocation=invocation, candidates=candidates, present=present)

    def _meant(self, call: ToolCall, wanted: Wanted, candidates: tuple[Listed, ...]) -> str | None:
        """The registration to call: the one named, else what was shown, never what has come in its place since."""
        named = wanted.registration
        if not candidates:
            # Only what was a read when it was shown is known to be one, whatever becomes visible in between.
            gone = [
                pin.registration
                for pin in self._pins.of_capability(wanted.id)
                if _fits(pin, wanted.instance)
                and named in {None, pin.registration}
                and (pin.reads or call.name != READ)
            ]
            return gone[0] if gone else named if named is not None and call.name != READ else UNLISTED
        if named is not None:
            return named
        if all(listed.descriptor.effect.reads_only for listed in candidates):
            return candidates[0].registration if len(candidates) == 1 else None
        pin = self._pins.get(_key(candidates[0])) if len(candidates) == 1 else None
        return UNLISTED if pin is None else pin.registration

    def _no_read(self, candidates: tuple[Listed, ...]) -> str | None:
        """Why `surface_read` does not take this call; nothing is said of what the consumer cannot see."""
        for listed in candidates:
            descriptor = listed.descriptor
            if not descriptor.effect.reads_only:
                return _READS_ONLY
            if descriptor.confirmation.rank >= Confirmation.REQUIRED.rank or self._definitions.asks(descriptor):
                return _NEEDS_A_PERSON
        return None

    async def _run(
        self, call: ToolCall, aim: _Aim, timeout: float | None, progress: ProgressListener | None
    ) -> ToolResult:
        outcome = await self._port.invoke(aim.invocation, self._consumer, timeout=timeout, progress=progress)
        self._version = outcome.surface_version
        registration = aim.invocation.registration
        if isinstance(outcome, Failed) and outcome.error.code is ErrorCode.STALE_CAPABILITY:
            outcome, registration = self._told_anew(outcome, aim)
        elif aim.listed is not None and read_component(aim.listed, outcome):
            self._pins.observed(aim.listed.registration, aim.present)
        return self._result(outcome, call, registration=None if registration == UNLISTED else registration)

    def _told_anew(self, outcome: Failed, aim: _Aim) -> tuple[Failed, str | None]:
        """A stale answer with what the id means now, pinned because the answer shows it; or which one to name."""
        wanted = aim.invocation
        alike = _alike(self._port.snapshot(self._consumer).capabilities(), wanted.capability_id, wanted.instance)
        if len(alike) == 1:
            (present,) = alike
            self._pins.told(_key(present), _pins(alike)[_key(present)])
            return with_details(outcome, present=self._discovery.fitting(present.to_json())), present.registration
        if alike and wanted.registration == UNLISTED:
            # None was named: which of them is the question, not that one of them has gone.
            return replace(outcome, error=ambiguous_instance(sorted(map(addressed, alike)))), None
        return outcome, None

    def _refused(self, call: ToolCall, capability_id: str, error: AgentError) -> ToolResult:
        """The answer where no call was made."""
        outcome = Failed(
            invocation_id=call.id or "",
            capability_id=capability_id,
            error=error,
            surface_version=self._version,
            surface_changed=False,
        )
        return self._result(outcome, call, registration=None)

    def _result(self, outcome: Outcome, call: ToolCall, *, registration: str | None) -> ToolResult:
        called = Called(
            name=call.name,
            call_id=call.id,
            definition=None,
            registration=registration,
            surface_id=self._port.surface_id,
        )
        return to_result(outcome, called)


def _overridden(wanted: Wanted, call: ToolCall) -> Wanted:
    """What stands beside the arguments, in a door's own place, overrides what stands in them."""
    return replace(
        wanted,
        instance=wanted.instance if call.instance is None else call.instance,
        registration=wanted.registration if call.registration is None else call.registration,
    )


def _alike(visible: Sequence[Listed], capability_id: str, instance: str | None) -> tuple[Listed, ...]:
    return tuple(
        listed
        for listed in visible
        if listed.id == capability_id and (instance is None or instance in {listed.instance, addressed(listed)})
    )


def _key(listed: Listed) -> str:
    return f"{addressed(listed)} {listed.id}"


def _pins(visible: Sequence[Listed]) -> dict[str, Pin]:
    return {
        _key(listed): Pin(
            id=listed.id,
            instance=addressed(listed),
            registration=listed.registration,
            reads=listed.descriptor.effect.reads_only,
        )
        for listed in visible
    }


def _fits(pin: Pin, instance: str | None) -> bool:
    return instance is None or instance in {pin.instance, pin.instance.rpartition("/")[2]}
