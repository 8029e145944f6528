"""The plain data that the model decides over: a surface, who calls, what is asked, and what must come.

Like the model it shares nothing with the product but enums.
"""

from dataclasses import dataclass, field

from remit._model.effects import Confirmation, Effect, Kind
from remit.errors import ErrorCode

DISABLED = "This part of the view is disabled"


@dataclass(frozen=True)
class Capability:
    """What the contract says of one capability; `policies` are its component's and its own, by name."""

    id: str
    kind: Kind
    effect: Effect
    confirmation: Confirmation = Confirmation.NEVER
    doors: tuple[str, ...] | None = None
    policies: tuple[str, ...] = ()
    bound: str | None = None
    record: bool = False
    derived: bool = False


@dataclass
class Registration:
    """One mount lifetime. A predicate answers True, a reason, or None for raising; a missing `target` raises, too."""

    id: str
    type: str
    instance: str
    capabilities: tuple[Capability, ...]
    parent: "Registration | None" = None
    enabled: bool = True
    reason: str | None = None
    pushed: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, bool | str | None] = field(default_factory=dict)
    preconditions: dict[str, str] = field(default_factory=dict)
    target: str | None = "north"
    epoch: int = 0
    shown: set[tuple[str, str]] = field(default_factory=set)
    gone_at: float = 0
    rows: tuple[object, ...] = ("a", "b")

    @property
    def region(self) -> str:
        """The types around it, the outermost first, and its own."""
        return f"region:{self.type}" if self.parent is None else f"{self.parent.region}/{self.type}"

    @property
    def blocked(self) -> str | None:
        """Why nothing of it is available: an ancestor's reason comes first."""
        above = None if self.parent is None else self.parent.blocked
        return above or (None if self.enabled else self.reason or DISABLED)


@dataclass(frozen=True)
class Stance:
    """What one policy answers about one capability."""

    discover: str = "expose"  # expose, disable, hide, raise
    authorize: str = "agree"  # agree, deny, sign-in, slow, raise
    review: str = "agree"  # agree, deny, ask, raise


@dataclass
class Request:
    """A confirmation request: `call` is what it is bound to, `fingerprint` the raw call behind it."""

    call: tuple[object, ...]
    consumer: str
    capability: str
    invocation: str
    fingerprint: tuple[object, ...]
    registration: str
    ends_at: float
    status: str = "pending"


@dataclass(frozen=True)
class Consumer:
    """Who calls."""

    id: str
    kind: str
    scope: tuple[str, ...] | None
    confirm: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """One call. `n` is what its input comes to (None: invalid), `form` false if step 1 refuses it.

    `record` is what it names as its row.
    """

    capability: str
    raw: str
    n: int | None
    names_target: bool = False
    form: bool = True
    instance: str | None = None
    registration: str | None = None
    surface: str | None = None
    version: int | None = None
    record: object = None
    invocation: str | None = None
    evidence: str | None = None

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """What makes two calls of one invocation id the same."""
        return (self.capability, self.instance, self.registration, self.surface, self.raw)


@dataclass(frozen=True)
class Verdict:
    """What must come: the code (None: success), its reason, whether code ran, the step, the evidence that is spent.

    `repeats` says that it is the stored answer of an earlier call.
    """

    code: ErrorCode | None
    detail: object = None
    runs: bool = False
    step: int = 14
    spends: str | None = None
    repeats: bool = False


@dataclass
class World:
    """Everything that a decision may depend on."""

    id: str
    exposure: dict[str, tuple[str, ...]]
    narrowed: dict[str, tuple[str, ...]] | None
    policies: tuple[str, ...]
    channel: bool
    per_consumer: int
    per_surface: int
    time: float = 0
    live: list[Registration] = field(default_factory=list)
    gone: list[Registration] = field(default_factory=list)
    stances: dict[tuple[str, str], Stance] = field(default_factory=dict)
    handlers: dict[str, str] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)  # suspended capabilities
    out: set[str] = field(default_factory=set)  # suspended consumers
    requests: dict[str, Request] = field(default_factory=dict)
    denied: dict[tuple[object, ...], float] = field(default_factory=dict)
    denied_often: set[tuple[str, str]] = field(default_factory=set)
    unanswered: dict[str, int] = field(default_factory=dict)
    stored: dict[tuple[str, str], tuple[tuple[object, ...], Verdict, float]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def stance(self, policy: str, capability: str) -> Stance:
        """What this policy answers about this capability now."""
        return self.stances.get((policy, capability), Stance())
