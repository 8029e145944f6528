"""What is fixed for one capability, computed once per class and authority and used on every call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from remit._base.boundary import Json
from remit._model.context import ReadContext
from remit._model.descriptor import Descriptor
from remit._model.effects import Audit
from remit._model.pattern import Patterns
from remit._model.retry import Retry
from remit._schema.validate import Validator

Role = Literal["context", "principal", "steps"]
Records = Callable[[Any, ReadContext], object]


class NamedPolicy(Protocol):
    """All that a declaration knows of a policy: its stable name."""

    @property
    def name(self) -> str:
        """The name under which the contract records it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binding:
    """One path of a reference's input and the function of the instance that fills it, read at call time.

    `steps` are the names on the way; an `overridable` one is the agent's where the agent fills it, else it is locked.
    """

    path: str
    steps: tuple[str, ...]
    value: Callable[[Any], object]
    overridable: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Template:
    """What makes an action a folded row action: the parameter that is the record, and who says which may be reached.

    `types` are what its annotation takes, `str`, `int` or both. `records` is called with the instance and who looks.
    """

    parameter: str
    types: frozenset[type]
    records: Records


@dataclass(frozen=True, slots=True)
class Slot:
    """A segment of a path that one field of the effective input fills."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Handing:
    """What makes a capability a handoff: why, and the segments of the path where the person does it (SPEC 11.7)."""

    reason: str
    segments: tuple[str | Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composite:
    """What makes a capability a flow: the plans of its steps, in order, and whose approval they need (SPEC 11.8)."""

    steps: "tuple[Plan, ...]"
    approvers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The lane in which calls of a capability take turns: `places` run at once (SPEC 6.6).

    A lane belongs to a registration and a name, or, `everywhere`, to a name of the whole surface.
    """

    name: str
    places: int
    everywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """One sealed capability of one component class.

    `handler` is the sealed function recorded at class creation (called with the instance first), None for references;
    `injected` maps its parameters annotated `Context` or `Principal` to their role. `precondition` is called
    with the instance and the named parameters only, sync or async.
    `redact` is called with the instance and a payload. `convert` turns canonical bytes of a valid input
    into keyword arguments (pydantic, strict), None for references, whose procedure converts by itself.
    `dump` turns a result into JSON and its canonical bytes. `operation` is the backend's name and `operation_hash` the
    hash of its recorded schemas. `doors` is what the declaration names, None for the default (in-process doors, and
    whatever the site's exposure opens). `may_vary` maps the fields that a standing approval may leave free to their
    schemas; `sensitive` names those whose values are neither shown nor kept. `timeout_s`, `decide_s` and `spend_s` are
    seconds, None for the limits' own.
    `turn` is the lane, None for the pool of reads; a `blocking` handler runs in a thread; without a `retry` a failed
    call is not run again. `template` is there for folded row actions only: `agent_input` and `convert` are then of the
    input without its record (SPEC 11.6). `handing` is there for handoffs only, which never run (SPEC 11.7), `flow` for
    flows only.
    `page` says that a page may answer in the place of `handler`; `dump` takes its `Answered` as well (SPEC 14.2).
    """

    descriptor: Descriptor
    attribute: str
    handler: Callable[..., object] | None
    is_async: bool
    blocking: bool
    retry: Retry | None
    turn: Turn | None
    injected: Mapping[str, Role]
    available: Callable[[Any], object] | None
    precondition: Callable[..., object] | None
    precondition_parameters: tuple[str, ...]
    note: Callable[[Any], object] | None
    summary: Callable[[Any], object] | None
    redact: Callable[..., object] | None
    redact_is_async: bool
    bindings: tuple[Binding, ...]
    agent_input: Validator
    full_input: Validator
    convert: Callable[[bytes], dict[str, object]] | None
    dump: Callable[[object], tuple[Json, bytes]]
    output: Validator | None
    operation: str | None
    operation_hash: str | None
    approver: str | None
    may_vary: Mapping[str, Mapping[str, Json]]
    sensitive: tuple[str, ...]
    audit: Audit
    timeout_s: float | None
    spend_s: float | None
    doors: frozenset[str] | None
    policies: tuple[NamedPolicy, ...]
    place: str
    template: Template | None = None
    handing: Handing | None = None
    flow: Composite | None = None
    page: bool = False

    @property
    def id(self) -> str:
        """The capability id."""
        return self.descriptor.id


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sealed:
    """One component class, verified against the authority: what a mount needs.

    `policies` are the component's own, before those of each plan. `origin` is the approved distribution that declares
    it, None for the project's own (SPEC 13.5); a `headless` one has no view (SPEC 10.8); pages bind `page` ones only
    (SPEC 11.17).
    """

    type: str
    title: str | None
    description: str
    policies: tuple[NamedPolicy, ...]
    plans: tuple[Plan, ...]
    origin: str | None = None
    headless: bool = False
    page: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exposure:
    """What the site opens at each network door, from `[tool.remit.exposure]`; a door that is absent is closed.

    `derived` are the derived capabilities that are there at all, at the doors that are open to them (SPEC 11.9).
    """

    doors: Mapping[str, Patterns]
    derived: Patterns
