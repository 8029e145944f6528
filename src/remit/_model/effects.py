"""What a capability does to the world, and the governance that follows from it (SPEC 3.4)."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The three kinds of capability."""

    OBSERVATION = "observation"
    ACTION = "action"
    REFERENCE = "reference"


class Effect(StrEnum):
    """What one call does."""

    READ = "read"
    LOCAL_STATE = "local-state"
    NAVIGATION = "navigation"
    SERVER_QUERY = "server-query"
    SERVER_MUTATION = "server-mutation"
    EXTERNAL_SIDE_EFFECT = "external-side-effect"
    DESTRUCTIVE = "destructive"

    @property
    def reads_only(self) -> bool:
        """True for `read` and `server-query`: joined, never stored, never pinned."""
        return self in _READS

    @property
    def rank(self) -> int:
        """How strict it is, from 0: the strictest of a flow's steps is the flow's own (SPEC 11.8)."""
        return _STRICTNESS[self]

    @property
    def grave(self) -> bool:
        """True for `destructive` and `external-side-effect`: a moved version matters, approval is fresh each time."""
        return self in _GRAVE


_READS = frozenset({Effect.READ, Effect.SERVER_QUERY})
_GRAVE = frozenset({Effect.DESTRUCTIVE, Effect.EXTERNAL_SIDE_EFFECT})
_STRICTNESS = {
    Effect.READ: 0,
    Effect.SERVER_QUERY: 1,
    Effect.LOCAL_STATE: 2,
    Effect.NAVIGATION: 3,
    Effect.SERVER_MUTATION: 4,
    Effect.EXTERNAL_SIDE_EFFECT: 5,
    Effect.DESTRUCTIVE: 6,
}
EFFECTS_OF: dict[Kind, tuple[Effect, ...]] = {
    Kind.OBSERVATION: (Effect.READ,),
    Kind.ACTION: (Effect.LOCAL_STATE, Effect.NAVIGATION),
    Kind.REFERENCE: (
        Effect.SERVER_QUERY,
        Effect.SERVER_MUTATION,
        Effect.EXTERNAL_SIDE_EFFECT,
        Effect.DESTRUCTIVE,
    ),
}


class Confirmation(StrEnum):
    """How much a person has to say: never < optional < required < always."""

    NEVER = "never"
    OPTIONAL = "optional"
    REQUIRED = "required"
    ALWAYS = "always"

    @property
    def rank(self) -> int:
        """Its place in the order, from 0."""
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Confirmation)}


class Source(StrEnum):
    """Who wrote a declaration: a person, or `remit derive` from a page or a document (SPEC 11.9)."""

    DECLARED = "declared"
    DERIVED = "derived"


class Fidelity(StrEnum):
    """How well a declaration is known to say what a call does; below `high` a person decides on what is no read."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


def unsure(effect: Effect, fidelity: Fidelity) -> bool:
    """Whether a person decides because nobody vouches for what a call does (SPEC 11.9)."""
    return fidelity is not Fidelity.HIGH and not effect.reads_only


class Audit(StrEnum):
    """How much of a success is recorded; refusals are always at least metadata (SPEC 9.2)."""

    NONE = "none"
    METADATA = "metadata"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """The defaults of one effect; `floor` is the lowest confirmation an author may declare."""

    idempotent: bool
    reversible: bool | None
    confirmation: Confirmation
    floor: Confirmation
    audit: Audit


DEFAULTS: dict[Effect, Governance] = {
    Effect.READ: Governance(
        idempotent=True,
        reversible=None,
        confirmation=Confirmation.NEVER,
        floor=Confirmation.NEVER,
        audit=Audit.NONE,
    ),
    Effect.LOCAL_STATE: Governance(
        idempotent=False,
        reversible=True,
        confirmation=Confirmation.NEVER,
        floor=Confirmation.NEVER,
        audit=Audit.METADATA,
    ),
    Effect.NAVIGATION: Governance(
        idempotent=False,
        reversible=True,
        confirmation=Confirmation.NEVER,
        floor=Confirmation.NEVER,
        audit=Audit.METADATA,
    ),
    Effect.SERVER_QUERY: Governance(
        idempotent=True,
        reversible=None,
        confirmation=Confirmation.NEVER,
        floor=Confirmation.NEVER,
        audit=Audit.METADATA,
    ),
    Effect.SERVER_MUTATION: Governance(
        idempotent=False,
        reversible=False,
        confirmation=Confirmation.OPTIONAL,
        floor=Confirmation.NEVER,
        audit=Audit.METADATA,
    ),
    Effect.EXTERNAL_SIDE_EFFECT: Governance(
        idempotent=False,
        reversible=False,
        confirmation=Confirmation.REQUIRED,
        floor=Confirmation.REQUIRED,
        audit=Audit.FULL,
    ),
    Effect.DESTRUCTIVE: Governance(
        idempotent=False,
        reversible=False,
        confirmation=Confirmation.REQUIRED,
        floor=Confirmation.OPTIONAL,
        audit=Audit.FULL,
    ),
}


def effective_confirmation(effect: Effect, declared: Confirmation) -> Confirmation:
    """`destructive` and `external-side-effect` are `always` when they are required (SPEC 3.4)."""
    return Confirmation.ALWAYS if effect.grave and declared is Confirmation.REQUIRED else declared
