"""What a delegation token says: its claims, written and read (SPEC 11.11)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeGuard

from remit._base.ident import new_id
from remit._model.consumer import Consumer, ConsumerKind
from remit._session.session import PrincipalKey
from remit.errors import DefinitionError
from remit.store.rows import DelegationRow

ISSUER: Final = "remit"
GRANT: Final = "dlg_"
"""What the id of every token begins with."""

DEPTH: Final = 3
"""How many tokens stand in a chain at most, the one the host minted included (SPEC 17)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A verified token: whose views, by which agent, within what, from when until when (epoch seconds).

    `consumer` is what it stands for; the grant id of its key is the token's own id, and its lineage names the tokens
    it was narrowed from. `actors` are who handed it on, the holder of this one last.
    """

    principal: PrincipalKey
    actors: tuple[str, ...]
    scope: tuple[str, ...]
    session: str | None
    jti: str
    issuer: str
    kind: ConsumerKind
    not_before: float
    expires_at: float
    consumer: Consumer

    def row(self) -> DelegationRow:
        """It as a store keeps it: all but the token."""
        return DelegationRow(
            id=self.jti,
            tenant=self.principal[0],
            principal=self.principal[1],
            actors=self.actors,
            kind=self.kind.value,
            scope=self.scope,
            session=self.session,
            parents=self.consumer.lineage[:-1],
            begins=datetime.fromtimestamp(self.not_before, UTC).isoformat(),
            until=datetime.fromtimestamp(self.expires_at, UTC).isoformat(),
        )


def claims_of(  # noqa: PLR0913 - what a token says
    principal: PrincipalKey,
    actors: list[str],
    patterns: tuple[str, ...],
    kind: ConsumerKind,
    session: str | None,
    begins: float,
    ends: float,
) -> dict[str, object]:
    """What a token says; the latest actor stands outermost, as in RFC 8693."""
    act: dict[str, object] = {"sub": actors[0]}
    for actor in actors[1:]:
        act = {"sub": actor, "act": act}
    claims: dict[str, object] = {
        "iss": ISSUER,
        "aud": audience_of(kind),
        "sub": principal[1],
        "act": act,
        "scope": list(patterns),
        "nbf": int(begins),
        "exp": int(ends),
        "jti": new_id(GRANT),
    }
    if principal[0] is not None:
        claims["tenant"] = principal[0]
    if session is not None:
        claims["session"] = session
    return claims


def delegation_of(claims: Mapping[str, object], kind: ConsumerKind) -> Delegation | None:
    """Take claims apart that one of our keys has signed; None when a field is not what `mint` writes there."""
    subject, scope, jti = claims["sub"], claims["scope"], claims["jti"]
    actors, parents = _actors(claims["act"]), claims.get("par", [])
    tenant, session = claims.get("tenant"), claims.get("session")
    not_before, expires = claims["nbf"], claims["exp"]
    if not (isinstance(subject, str) and isinstance(jti, str) and _texts(scope) and _texts(parents)):
        return None
    if not 0 < len(actors) <= DEPTH or len(actors) != len(parents) + 1:
        return None
    if not (tenant is None or isinstance(tenant, str)) or not (session is None or isinstance(session, str)):
        return None
    if not isinstance(not_before, int | float) or not isinstance(expires, int | float):
        return None
    try:
        until = datetime.fromtimestamp(expires, UTC)
        consumer = Consumer(
            actors[-1],
            kind=kind,
            scope=scope,
            issuer=ISSUER,
            actors=actors,
            grant=jti,
            parents=tuple(parents),
            until=until,
        )
    except (DefinitionError, ValueError, OverflowError, OSError):
        return None
    return Delegation(
        principal=(tenant, subject),
        actors=actors,
        scope=tuple(scope),
        session=session,
        jti=jti,
        issuer=ISSUER,
        kind=kind,
        not_before=float(not_before),
        expires_at=float(expires),
        consumer=consumer,
    )


def audience_of(kind: ConsumerKind) -> str:
    return f"remit:{kind.value}"


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _actors(act: object) -> tuple[str, ...]:
    """Who acts, the first first; none for what is not of that shape, or is longer than any chain."""
    found: list[str] = []
    while isinstance(act, dict) and len(found) <= DEPTH:
        actor = act.get("sub")
        if not isinstance(actor, str) or not actor:
            return ()
        found.append(actor)
        act = act.get("act")
    return tuple(reversed(found)) if act is None else ()
