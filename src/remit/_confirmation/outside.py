"""Which agents have read text from outside, until a person clears them (SPEC 11.15, 3.14)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from remit._base.clock import Clock
from remit._confirmation.refusals import NotTheDecider
from remit._journal.audit import AuditLog, AuditType
from remit._model.consumer import Consumer, ConsumerKey, Decider, Principal
from remit._model.untrusted_read import UntrustedRead

REMEMBERED: Final = 10_000

_Reader = tuple[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    """The first such text an agent was given: what told it, whom the agent acted for, and when."""

    consumer: ConsumerKey
    capability: str
    principal: tuple[str | None, str] | None
    at: datetime


class Outside:
    """The agents of one surface that have read text from outside; in memory, for as long as the session.

    An agent is known by its issuer and its first actor: a token that it renews, narrows or brings to another door makes
    nobody forget. `doors` are those at which the surface asks by itself. Nobody is forgotten to make room: beyond
    10,000 agents everybody counts.
    """

    __slots__ = ("_audit", "_clock", "_first", "_full", "doors")

    def __init__(self, clock: Clock, audit: AuditLog) -> None:
        self._clock = clock
        self._audit = audit
        self._first: dict[_Reader, _First] = {}
        self._full = False
        self.doors: frozenset[str] = frozenset()

    def has(self, consumer: Consumer) -> bool:
        """Whether this agent has read any."""
        return self._full or (bool(self._first) and _reader(consumer) in self._first)

    def read(self, consumer: Consumer, capability: str, principal: Principal | None) -> None:
        """This agent is given some; only the first is written down."""
        reader = _reader(consumer)
        if reader in self._first or self._full:
            return
        if len(self._first) >= REMEMBERED:
            self._full = True
        else:
            key = None if principal is None else principal.key
            now = self._clock.now()
            self._first[reader] = _First(consumer=consumer.key, capability=capability, principal=key, at=now)
        self._tell(consumer.key, capability, principal, "read", None)

    def reads(self, decider: Decider | None) -> tuple[UntrustedRead, ...]:
        """The first read of each, oldest first; with `decider` only those that this person may clear."""
        return tuple(
            UntrustedRead(consumer=actor, issuer=issuer, capability=first.capability, at=first.at)
            for (issuer, actor), first in self._first.items()
            if decider is None or _may_clear(first, decider)
        )

    def clear(self, consumer: str, decider: Decider) -> bool:
        """A person says that an agent may be trusted again; False when nobody of that id has read any."""
        found = [(reader, first) for reader, first in self._first.items() if reader[1] == consumer]
        if any(not _may_clear(first, decider) for _, first in found):
            raise NotTheDecider
        for reader, first in found:
            del self._first[reader]
            self._tell(first.consumer, first.capability, None, "cleared", decider)
        return bool(found)

    def _tell(
        self, key: ConsumerKey, capability: str, principal: Principal | None, status: str, decider: Decider | None
    ) -> None:
        self._audit.append(
            AuditType.UNTRUSTED,
            capability=capability,
            consumer=key,
            principal=None if principal is None else principal.key,
            decider=None if decider is None else decider.id,
            status=status,
        )


def _reader(consumer: Consumer) -> _Reader:
    _, issuer, actors, _ = consumer.key
    return issuer, actors[0]


def _may_clear(first: _First, decider: Decider) -> bool:
    return first.principal == (decider.tenant, decider.id)
