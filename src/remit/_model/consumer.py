"""Who is there: the person, the agent's client, and who decides (SPEC 5.1, 7.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from remit._model.pattern import Patterns


class ConsumerKind(StrEnum):
    """The kinds of agent-side client; the kind names the door it comes through."""

    EMBEDDED = "embedded"
    MCP = "mcp"
    WEBMCP = "webmcp"
    PAGE = "page"
    TEST = "test"
    OTHER = "other"

    @property
    def in_process(self) -> bool:
        """True for `embedded` and `test`: doors that no network reaches."""
        return self in _IN_PROCESS


_IN_PROCESS = frozenset({ConsumerKind.EMBEDDED, ConsumerKind.TEST})
IN_PROCESS_DOORS = ("embedded", "test")

_EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, init=False)
class Principal:
    """The person or service for whom a session was opened; set by the host, never by a consumer.

    `tenant` is part of every key when given; `attributes` are the host's own and reach policies only.
    """

    id: str
    tenant: str | None
    grants: frozenset[str]
    attributes: Mapping[str, object]

    def __init__(
        self,
        id: str,
        *,
        tenant: str | None = None,
        grants: Iterable[str] = (),
        attributes: Mapping[str, object] | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise TypeError("a Principal needs a non-empty id (text)")
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "tenant", tenant)
        object.__setattr__(self, "grants", _names(grants, "Principal.grants"))
        object.__setattr__(self, "attributes", MappingProxyType(dict(attributes)) if attributes else _EMPTY)

    @property
    def key(self) -> tuple[str | None, str]:
        """(tenant, id): who this is, whatever its grants are at the moment."""
        return (self.tenant, self.id)


ConsumerKey = tuple[str, str | None, tuple[str, ...], str | None]


@dataclass(frozen=True, slots=True, init=False)
class Consumer:
    """An identified agent-side client.

    `scope` are patterns this session may reach (None: not restricted, and only in-process kinds may have it); `confirm`
    names effects or patterns that always need a person for this consumer. `issuer`, `actors` and `grant` are set from a
    verified delegation token; without one the actor is the id itself.
    """

    id: str
    kind: ConsumerKind
    grants: frozenset[str]
    scope: Patterns | None
    confirm: tuple[str, ...]
    key: ConsumerKey

    def __init__(  # noqa: PLR0913 - one keyword a claim of a verified token
        self,
        id: str,
        *,
        kind: ConsumerKind | str,
        grants: Iterable[str] = (),
        scope: Iterable[str] | None = None,
        confirm: Iterable[str] = (),
        issuer: str | None = None,
        actors: tuple[str, ...] = (),
        grant: str | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise TypeError("a Consumer needs a non-empty id (text)")
        of_kind = ConsumerKind(kind)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "kind", of_kind)
        object.__setattr__(self, "grants", _names(grants, "Consumer.grants"))
        object.__setattr__(self, "scope", None if scope is None else Patterns(scope))
        object.__setattr__(self, "confirm", tuple(sorted(_names(confirm, "Consumer.confirm"))))
        object.__setattr__(self, "key", (of_kind.value, issuer, actors or (id,), grant))


@dataclass(frozen=True, slots=True, init=False)
class Decider:
    """The authenticated person who answers a confirmation request; never made from a delegation token."""

    id: str
    tenant: str | None
    grants: frozenset[str]

    def __init__(self, id: str, grants: Iterable[str] = (), *, tenant: str | None = None) -> None:
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "tenant", tenant)
        object.__setattr__(self, "grants", _names(grants, "Decider.grants"))


def _names(values: Iterable[str], what: str) -> frozenset[str]:
    if isinstance(values, str):
        raise TypeError(f"{what} is a collection of names, not one text: write {{{values!r}}}")
    return frozenset(values)
