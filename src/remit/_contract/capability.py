"""The class attributes that declare capabilities, and the functions attached to them (SPEC 3.1)."""

import copy
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import FrameType, FunctionType, MappingProxyType
from typing import Any, ClassVar, Concatenate, Final, Generic, Literal, Never, ParamSpec, Self, TypeVar, overload

from remit._contract.options import Options, Place
from remit._model.answers import RecordSet, Refused, Unavailable
from remit._model.context import ReadContext
from remit._model.effects import Effect, Kind
from remit._model.ids import CapabilityId
from remit._model.payload import Payload
from remit.errors import DefinitionCode, DefinitionError

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
AvailableT = TypeVar("AvailableT", bound=Callable[[Any], Literal[True] | Unavailable])
PreconditionT = TypeVar("PreconditionT", bound=Callable[..., Refused | None | Awaitable[Refused | None]])
RecordsT = TypeVar("RecordsT", bound=Callable[[Any, ReadContext], RecordSet])
TextT = TypeVar("TextT", bound=Callable[[Any], str | None])
ValueT = TypeVar("ValueT", bound=Callable[[Any], object])
RedactT = TypeVar("RedactT", bound=Callable[[Any, Payload], object])
AttachedT = TypeVar("AttachedT", bound=Callable[..., object])

_ONLY_SELF: Final = "takes the instance and nothing else"


class Capability:
    """One declared capability: a class attribute that cannot be replaced, neither on the class nor on an instance.

    Only the class it is declared in may attach functions to it, and only inside the class body. `id` exists once the
    component class does.
    """

    __slots__ = ("_attached", "_bindings", "_id", "_names", "_options", "_place", "_subject")

    kind: ClassVar[Kind]

    def __init__(self, options: Options, place: str | None) -> None:
        self._options = options
        self._place = place
        self._names: tuple[str, ...] = ()
        self._attached: dict[str, Callable[..., object]] = {}
        self._bindings: dict[str, Callable[[Any], object]] = {}
        self._id: CapabilityId | None = None
        self._subject: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        # Only recorded: an error raised here would arrive as a RuntimeError on 3.11. A re-created class says it again.
        if name not in self._names:
            self._names = (*self._names, name)

    def __set__(self, instance: object, value: Never) -> None:
        raise AttributeError(f"{self!r} is a capability: it cannot be replaced on an instance")

    def __delete__(self, instance: object) -> None:
        raise AttributeError(f"{self!r} is a capability: it cannot be removed from an instance")

    def __repr__(self) -> str:
        return self._id or f"<{self.kind.value} {self._names[0] if self._names else '?'}>"

    @property
    def id(self) -> CapabilityId:
        """The capability id; DefinitionError on a class without `type=`, whose capabilities have none."""
        if self._id is None:
            raise self.at.wrong("has no id: its class is abstract", do='give the class type="…"')
        return self._id

    @property
    def options(self) -> Options:
        """What was written at the declaration."""
        return self._options

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute names it was given in class bodies."""
        return self._names

    @property
    def at(self) -> Place:
        """The subject and place that errors name."""
        return Place(subject=self._subject or (self._names[0] if self._names else self.kind.value), place=self._place)

    @property
    def attached(self) -> Mapping[str, Callable[..., object]]:
        """`available`, `precondition`, `note`, `summary`, `redact`, `records`: the functions that were attached."""
        return MappingProxyType(self._attached)

    @property
    def bindings(self) -> Mapping[str, Callable[[Any], object]]:
        """Path to the function that fills it."""
        return MappingProxyType(self._bindings)

    def available(self, function: AvailableT) -> AvailableT:
        """Attach what says whether the capability is possible now: `True`, or `Unavailable("why")`; the agent sees why.

        A plain function of the instance; it comes back undecorated and may serve several capabilities.
        """
        return self._attach("available", function)

    def note(self, function: TextT) -> TextT:
        """Attach live text that stands beside the definition, or None for no text; a plain function of the instance."""
        return self._attach("note", function)

    def redact(self, function: RedactT) -> RedactT:
        """Attach what takes out of inputs and outputs what their readers may not see; plain or async (SPEC 3.1, 9.2).

        It is called with the instance and a `Payload`, and returns JSON: for the agent each output that is not null,
        before its schema is checked; for the journal, at `audit="full"`, what it would keep. If it fails, the agent
        gets no output (EXECUTION_FAILED, and what was done is done) and the journal keeps no payload.
        """
        return self._attach("redact", function)

    def _attach(self, role: str, function: AttachedT) -> AttachedT:
        at = self._open_for(role)
        if role in self._attached:
            raise at.wrong(f"has two functions for .{role}", do="keep one")
        check_function(at, role, function, only_self=role not in {"precondition", "redact", "records"})
        if role == "redact":
            _check_redactor(at, function)
        elif role == "records":
            _check_records(at, function)
        self._attached[role] = function
        return function

    def _open_for(self, role: str) -> Place:
        if self._names:
            raise self.at.wrong(
                f".{role} is attached outside the class that declares the capability",
                do="attach inside that class, or declare the capability anew in the subclass",
            )
        return self.at

    def sealed(self, owner: type, capability_id: CapabilityId, subject: str) -> Self:
        """The capability as `owner` has it: itself where it was declared, a copy where it is inherited."""
        own = self if any(each is self for each in vars(owner).values()) else copy.copy(self)
        own._id = capability_id
        own._subject = subject
        return own


class Method(Capability, Generic[S, P, R]):
    """A capability whose code is a method of the component; calling it in Python is a plain call (SPEC 3.10)."""

    __slots__ = ("_effect", "_function")

    def __init__(self, function: Callable[Concatenate[S, P], R], options: Options, effect: Effect) -> None:
        if not isinstance(function, FunctionType):
            raise DefinitionError(
                DefinitionCode.INVALID_DEFINITION,
                getattr(function, "__name__", type(function).__name__),
                f"@{self.kind.value} decorates a function defined in the class, not {type(function).__name__}",
                do=f"put @{self.kind.value} directly above `def`",
            )
        super().__init__(options, place_of(function))
        self._function: FunctionType = function
        self._effect = effect

    @property
    def effect(self) -> Effect:
        """What one call does."""
        return self._effect

    @property
    def function(self) -> FunctionType:
        """The decorated function: what a call runs."""
        return self._function

    @overload
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload
    def __get__(self, instance: S, owner: type | None = None, /) -> Callable[P, R]: ...
    def __get__(self, instance: S | None, owner: type | None = None, /) -> Self | Callable[P, R]:
        if instance is None:
            return self
        return self._function.__get__(instance, owner)


class Observation(Method[S, P, R]):
    """A capability that reads the view."""

    __slots__ = ()
    kind = Kind.OBSERVATION

    def __init__(self, function: Callable[Concatenate[S, P], R], options: Options) -> None:
        super().__init__(function, options, Effect.READ)


class Action(Method[S, P, R]):
    """A capability that changes the view."""

    __slots__ = ()
    kind = Kind.ACTION

    def precondition(self, function: PreconditionT) -> PreconditionT:
        """Attach what looks at the input before anything runs: None, or `Refused("why")`; plain or async.

        Its parameters are a choice of the action's own, by name; it is called with keywords only.
        """
        return self._attach("precondition", function)

    def records(self, function: RecordsT) -> RecordsT:
        """Attach what says which records may be acted on now, and how many of them are not shown (SPEC 11.6).

        A plain function of the instance and a `ReadContext`, without I/O, that returns a `RecordSet`; it is asked for
        every listing and at every call. It comes back undecorated and may serve several capabilities. If it raises or
        returns anything else, no record is available, and `surface.findings()` says so.
        """
        return self._attach("records", function)

    def summary(self, function: TextT) -> TextT:
        """Attach the sentence a person reads beside the exact input; None for no sentence."""
        return self._attach("summary", function)


def place_of(function: FunctionType) -> str:
    """`devices.py:27`: the file's name and the line; never a path, which differs between machines."""
    return f"{os.path.basename(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"


_PASSED_OVER: Final = frozenset({"abc", "dataclasses", "types", "typing", "remit"})


def place_of_caller() -> str | None:
    """The nearest place outside this package and what makes classes for others: where a declaration was written."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] in _PASSED_OVER:
        frame = frame.f_back
    return None if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def check_function(at: Place, role: str, function: object, *, only_self: bool) -> None:
    if not isinstance(function, FunctionType):
        raise at.wrong(f".{role} takes a function defined in the class, not {type(function).__name__}")
    if only_self and (inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function)):
        raise at.wrong(f"the function for .{role} is not a plain function", do="code that decides is sync: use `def`")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or (only_self and len([p for p in parameters if p.default is p.empty]) != 1):
        raise at.wrong(f"the function for .{role} {_ONLY_SELF if only_self else 'takes the instance first'}")


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return not (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function))


def _check_records(at: Place, function: Callable[..., object]) -> None:
    if not _takes_two(function) or inspect.iscoroutinefunction(function):
        raise at.wrong(
            "the function for .records is plain and takes the instance and who looks",
            do="write `def reachable(self, ctx: ReadContext) -> RecordSet`",
        )


def _check_redactor(at: Place, function: Callable[..., object]) -> None:
    if not _takes_two(function):
        raise at.wrong(
            "the function for .redact takes the instance and the payload", do="write `def hide(self, payload: Payload)`"
        )
