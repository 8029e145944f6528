"""Who is there: the person, the agent's client, and who decides (SPEC 5.1, 7.4)."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from remit._base.closed import one_of
from remit._model.effects import Effect
from remit._model.pattern import Patterns, Scope
from remit.errors import DefinitionError

# Ids and tenants are parts of keys, of hashes and of lines that people read.
_REFUSED: Final = re.compile("[\u0000-\u001f\u007f-\u009f\ud800-\udfff]")


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

    `tenant` is part of every key when given; `attributes` are the host's own and reach policies only. An id or tenant
    that is no text is a TypeError, one with a control character or a lone surrogate a ValueError.
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
        object.__setattr__(self, "id", _id(id, "a Principal"))
        object.__setattr__(self, "tenant", _optional(tenant, "Principal.tenant"))
        object.__setattr__(self, "grants", _names(grants, "Principal.grants"))
        if attributes is not None and not isinstance(attributes, Mapping):
            raise TypeError(f"Principal.attributes is a mapping, not {type(attributes).__name__}")
        object.__setattr__(self, "attributes", MappingProxyType(dict(attributes)) if attributes else _EMPTY)

    @property
    def key(self) -> tuple[str | None, str]:
        """(tenant, id): who this is, whatever its grants are at the moment."""
        return (self.tenant, self.id)


ConsumerKey = tuple[str, str | None, tuple[str, ...], str | None]


@dataclass(frozen=True, slots=True, init=False)
class Consumer:
    """An identified agent-side client.

    `scope` are patterns and regions that this session may reach (None: not restricted, and only in-process kinds may
    have it), until the moment `until`, an aware time (None: as long as it is used); `confirm` names effects or patterns
    that always need a person for this consumer. `issuer`, `actors`, `grant`, `parents` and `until` are set from a
    verified delegation token; without one the actor is the id itself. `parents` are the grants this one was narrowed
    from; they and the grant are `lineage`, and the end of any is its end. An entry of `confirm` that is neither is a
    ValueError: it would ask nobody. Ids are held as those of a `Principal`.
    """

    id: str
    kind: ConsumerKind
    grants: frozenset[str]
    scope: Scope | None
    confirm: tuple[str, ...]
    key: ConsumerKey
    until: datetime | None
    lineage: tuple[str, ...]

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
        parents: tuple[str, ...] = (),
        until: datetime | None = None,
    ) -> None:
        of_kind = _kind(kind)
        object.__setattr__(self, "id", _id(id, "a Consumer"))
        object.__setattr__(self, "kind", of_kind)
        object.__setattr__(self, "grants", _names(grants, "Consumer.grants"))
        object.__setattr__(self, "scope", None if scope is None else Scope(scope))
        object.__setattr__(self, "confirm", _confirm(confirm))
        object.__setattr__(self, "until", _moment(until))
        chain = _chain(actors, "Consumer.actors") or (id,)
        vouched = _optional(issuer, "Consumer.issuer"), _optional(grant, "Consumer.grant")
        object.__setattr__(self, "key", (of_kind.value, vouched[0], chain, vouched[1]))
        own = () if vouched[1] is None else (vouched[1],)
        object.__setattr__(self, "lineage", (*_chain(parents, "Consumer.parents"), *own))


@dataclass(frozen=True, slots=True, init=False)
class Decider:
    """The authenticated person who answers a confirmation request; never made from a delegation token.

    Id and tenant are held as those of a `Principal`.
    """

    id: str
    tenant: str | None
    grants: frozenset[str]

    def __init__(self, id: str, grants: Iterable[str] = (), *, tenant: str | None = None) -> None:
        object.__setattr__(self, "id", _id(id, "a Decider"))
        object.__setattr__(self, "tenant", _optional(tenant, "Decider.tenant"))
        object.__setattr__(self, "grants", _names(grants, "Decider.grants"))


def _names(values: Iterable[str], what: str) -> frozenset[str]:
    if isinstance(values, str):
        raise TypeError(f"{what} is a collection of names, not one text: write {{{values!r}}}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{what} is a collection of names, not {type(values).__name__}")
    names = tuple(values)
    if odd := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"an entry of {what} is text, not {type(odd[0]).__name__}")
    return frozenset(names)


def _chain(ids: object, what: str) -> tuple[str, ...]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise TypeError(f"{what} is a tuple of ids, not {type(ids).__name__}")
    return tuple(plain_text(each, f"an entry of {what}") for each in ids)


def _kind(kind: object) -> ConsumerKind:
    return one_of(ConsumerKind, kind, "Consumer(kind=…)")


def _moment(until: object) -> datetime | None:
    if until is not None and not isinstance(until, datetime):
        raise TypeError(f"Consumer.until is a datetime, not {type(until).__name__}")
    if until is not None and until.tzinfo is None:
        raise ValueError("Consumer.until has no time zone: a naive time is another moment on another machine")
    return until


def _id(id: object, whose: str) -> str:
    if not isinstance(id, str) or not id:
        raise TypeError(f"{whose} needs a non-empty id (text)")
    return plain_text(id, f"the id of {whose}")


def _optional(text: object, what: str) -> str | None:
    return None if text is None else plain_text(text, what)


def plain_text(text: object, what: str) -> str:
    """The text of an id; a TypeError or ValueError that names `what` for anything that cannot be one."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is text, not {type(text).__name__}")
    if found := _REFUSED.search(text):
        raise ValueError(f"{what} holds U+{ord(found.group()):04X}: no control character, no lone surrogate")
    return text


def _confirm(entries: Iterable[str]) -> tuple[str, ...]:
    """Entries that name something; a typo would ask nobody, silently (SPEC 5.1)."""
    effects = [effect.value for effect in Effect]
    named = _names(entries, "Consumer.confirm")
    for entry in named:
        if entry in effects:
            continue
        if ":" not in entry:
            near = difflib.get_close_matches(entry[:64].lower(), effects, n=1, cutoff=0)[0]
            raise ValueError(
                f"Consumer.confirm: {entry!r} is no effect; did you mean {near!r}?"
                f'\n  do  name an effect ({", ".join(effects)}), or write a pattern such as "domain:devices.**"'
            )
        try:
            Patterns([entry])
        except DefinitionError as problem:
            raise ValueError(f"Consumer.confirm: {problem}") from problem
    return tuple(sorted(named))


def check_consumer(consumer: object) -> None:
    """Raise a TypeError that says what to write for anything but a Consumer."""
    if not isinstance(consumer, Consumer):
        raise TypeError(
            f'{consumer!r:.80} is no Consumer\n  do  give who is asking: Consumer("copilot", kind="embedded")'
        )


def check_decider(decider: object, *, needed: bool = False) -> None:
    """Raise a TypeError that says what to write for who is no Decider; None stands for anybody unless one is needed."""
    if not isinstance(decider, Decider) and (needed or decider is not None):
        raise TypeError(
            f"{decider!r:.80} is no Decider\n  do  give the person who is signed in: Decider(user.id, user.grants)"
        )
