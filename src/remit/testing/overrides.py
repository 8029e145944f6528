"""Functions that stand in for a backend's operations, behind the schemas the contract recorded (SPEC 16.1)."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast, get_type_hints

from remit._base.boundary import Json
from remit._contract.authority import Authority
from remit._contract.operation import OperationRecord
from remit._model.consumer import Principal
from remit._model.context import Context
from remit._model.effects import Confirmation, Effect
from remit._surface.connection import Named, named_id
from remit._surface.given import procedures_of
from remit.procedures.catalogue import BackendOperation, Catalogue, Offer

Function = Callable[..., object]

_INJECTED: Final[Mapping[object, Callable[[Context], object]]] = MappingProxyType(
    {Context: lambda context: context, Principal: lambda context: context.principal}
)


class Override:
    """One operation that a function answers instead of the backend.

    `calls` holds the effective input of each call, in order: what really would have reached the backend.
    """

    __slots__ = ("_function", "_given", "calls", "id")

    def __init__(self, id: str, function: Function) -> None:
        self.id = id
        self.calls: list[dict[str, Json]] = []
        self._function = function
        self._given = _injected(function)

    def fault(self, input: Mapping[str, Json]) -> str | None:
        """Why the function cannot take this input, or None."""
        try:
            inspect.signature(self._function).bind(**input, **self._given)
        except TypeError as problem:
            return f"the override of {self.id} does not take the input {', '.join(input) or '(none)'}: {problem}"
        return None

    async def run(self, input: Mapping[str, Json], context: Context) -> Json:
        """Record the input, run the function, and wait for it when it is to be awaited."""
        own = dict(input)
        self.calls.append(copy.deepcopy(own))
        injected = {name: give(context) for name, give in self._given.items()}
        result = self._function(**copy.deepcopy(own), **injected)
        # Whatever came is the operation's word: the pipeline holds it against the recorded output schema.
        return cast(Json, await result if inspect.isawaitable(result) else result)


class Overrides:
    """A catalogue that gives operations to functions of the test, and the others to the application's own catalogue.

    Hand it to a surface as `procedures=`. With `procedures` of the application, operations are what those say, and one
    that has moved since the contract is as unavailable as in production. Without, every operation that the contract
    records is offered as recorded, and a call that reaches one without an override fails the test.
    """

    __slots__ = ("_backend", "_faults", "_of", "_records")

    def __init__(self, authority: Authority, procedures: Catalogue | Sequence[Catalogue] | None = None) -> None:
        if not isinstance(authority, Authority):
            raise TypeError("Overrides(authority, …) needs an Authority: Authority.load(beside=__file__)")
        self._records = authority.operations
        self._backend = procedures_of(procedures, "Overrides")
        self._of: dict[str, Override] = {}
        self._faults: list[str] = []

    def override(self, capability: str | Named, function: Function) -> Override:
        """Answer calls of `domain:<name>` by `function`, from now on; a second one takes the place of the first.

        It gets the effective input as keywords, parameters annotated `Principal` or `Context` as well, and may be
        async. It answers as a backend does: by returning JSON, or by raising BackendError. LookupError: the contract
        references no such operation.
        """
        if not callable(function):
            raise TypeError(f"override(…, function) takes a function that answers, not {type(function).__name__}")
        id = named_id(capability)
        name = id.removeprefix("domain:")
        if not id.startswith("domain:") or name not in self._records:
            known = ", ".join(f"domain:{each}" for each in sorted(self._records)) or "none"
            raise LookupError(f"the contract references no operation {id}\n  known  {known}")
        made = Override(id, function)
        self._of[name] = made
        return made

    def get(self, name: str) -> BackendOperation | None:
        """The operation of that name, or None."""
        if self._backend is not None:
            live = self._backend.get(name)
            return None if live is None else _Tapped(self, live, live)
        record = self._records.get(name)
        return None if record is None else _Tapped(self, record, None)

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._records)) if self._backend is None else self._backend.names()

    def refused(self) -> Mapping[str, str]:
        """What the application's own catalogue could not list."""
        return {} if self._backend is None else self._backend.refused()

    def offers(self) -> tuple[Offer, ...]:
        """What the application's own catalogue offers, else what the contract records."""
        if self._backend is not None:
            return self._backend.offers()
        return tuple(Offer(request=name, name=name) for name in self.names())

    def tried(self, request: str) -> BackendOperation | None:
        """As the application's own catalogue says."""
        return None if self._backend is None else self._backend.tried(request)

    @property
    def opted_in_by(self) -> str | None:
        """As the application's own catalogue says."""
        return None if self._backend is None else self._backend.opted_in_by

    @property
    def strict_backend(self) -> bool:
        """As the application's own catalogue says."""
        return self._backend is not None and self._backend.strict_backend

    def strict_about(self, name: str) -> bool:
        """As the application's own catalogue says."""
        return self._backend is not None and self._backend.strict_about(name)

    def take_faults(self) -> tuple[str, ...]:
        """What went wrong in the test's own set-up since the last time; asking forgets it."""
        faults, self._faults = tuple(self._faults), []
        return faults

    async def run(self, call: "_Call") -> Json:
        """Run an override, else the backend; what only the test can have got wrong is kept as a fault."""
        override = self._of.get(call.name)
        if override is not None:
            fault = override.fault(call.input)
            if fault is None:
                return await override.run(call.input, call.context)
        elif call.live is not None:
            return await call.live.run(call.input, call.canonical, call.context)
        else:
            id = f"domain:{call.name}"
            fault = f"{id} was called, and nothing answers it\n  do  harness.override({id!r}, …), or procedures=…"
        self._faults.append(fault)
        raise LookupError(fault)


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    live: BackendOperation | None
    input: Mapping[str, Json]
    canonical: bytes
    context: Context


class _Tapped:
    """One operation as its catalogue, or else the contract, describes it; running it asks for an override first."""

    __slots__ = ("_described", "_live", "_overrides")

    def __init__(
        self, overrides: Overrides, described: BackendOperation | OperationRecord, live: BackendOperation | None
    ) -> None:
        self._overrides = overrides
        self._described = described
        self._live = live

    @property
    def name(self) -> str:
        return self._described.name

    @property
    def effect(self) -> Effect:
        return self._described.effect

    @property
    def confirmation(self) -> Confirmation | None:
        return self._described.confirmation

    @property
    def idempotent(self) -> bool:
        return self._described.idempotent

    @property
    def description(self) -> str:
        return self._described.description

    @property
    def tags(self) -> tuple[str, ...]:
        return self._described.tags

    @property
    def input_schema(self) -> Mapping[str, Json]:
        return self._described.input_schema

    @property
    def output_schema(self) -> Mapping[str, Json] | None:
        return self._described.output_schema

    @property
    def request(self) -> str | None:
        return self._described.request

    @property
    def hash(self) -> str:
        return self._described.hash

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        return await self._overrides.run(_Call(self._described.name, self._live, input, canonical, context))


def _injected(function: Function) -> dict[str, Callable[[Context], object]]:
    """The parameters that the framework fills, recognised by annotation, never by name (SPEC 6.10)."""
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError):  # a name only type checkers know, or a callable without hints
        return {}
    return {name: _INJECTED[hint] for name, hint in hints.items() if isinstance(hint, type) and hint in _INJECTED}
