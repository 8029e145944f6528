"""Delegation tokens: what a person's host lets one agent reach, signed and short-lived (SPEC 11.11)."""

import hmac
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.closed import one_of
from remit._base.digest import sha256_hex
from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._confirmation.keys import SECRET_BYTES, ConfirmationKeys, refuse_lasting
from remit._model.consumer import Consumer, ConsumerKind, Principal
from remit._model.pattern import Scope
from remit._session.key_file import secret_in
from remit._session.session import PrincipalKey
from remit.errors import DefinitionError

ISSUER: Final = "remit"
_DEVELOPMENT: Final = "development"
_PURPOSE: Final = b"remit: confirmation requests"
VERIFIED: Final = 1_000
_REQUIRED: Final = ["iss", "aud", "sub", "act", "scope", "nbf", "exp", "jti"]

Key = Ed25519PrivateKey | Ed25519PublicKey | bytes


class Keys:
    """The keys that sign and verify tokens, by `kid`; one is active, the others still verify (SPEC 14.0).

    A key is an Ed25519 private key (a public one verifies only) as an object or PEM, or at least 32 secret bytes for
    HS256. Anything else, and an active key that cannot sign, is a `ValueError` that names the `kid`.
    """

    __slots__ = ("_keys", "_signing", "active", "development")

    def __init__(self, active: str, keys: Mapping[str, Key | str]) -> None:
        self.development = False
        self._keys = {kid: _key(kid, key) for kid, key in keys.items()}
        self.active = active
        signing = self._keys.get(active)
        if signing is None:
            raise ValueError(f"the active key {active!r} is not among the keys")
        if isinstance(signing, Ed25519PublicKey):
            raise ValueError(f"the active key {active!r} is a public key and cannot sign")
        self._signing = signing

    @classmethod
    def fresh(cls) -> "Keys":
        """A new Ed25519 key that lives as long as this process."""
        return cls("process", {"process": Ed25519PrivateKey.generate()})

    @classmethod
    def of_development(cls, file: str | os.PathLike[str]) -> "Keys":
        """A key of this machine in a file of mode 0600, made when it is not there: tokens outlive a restart.

        It is no secret of a deployment: a gateway with it answers this machine only, and `surface.findings()` tells it
        (SPEC 4.13, 15.1). RuntimeError: with REMIT_ENV=production. ValueError: the file holds no such key.
        PermissionError: others may read it.
        """
        keys = cls(_DEVELOPMENT, {_DEVELOPMENT: secret_in(Path(file))})
        keys.development = True
        return keys

    def derived(self, purpose: bytes) -> dict[str, bytes]:
        """A secret of 32 bytes for one purpose, of each key and under its `kid`; a public key gives none."""
        return {
            kid: hmac.digest(key if isinstance(key, bytes) else key.private_bytes_raw(), purpose, "sha256")
            for kid, key in self._keys.items()
            if not isinstance(key, Ed25519PublicKey)
        }

    def sign(self, claims: Mapping[str, object]) -> str:
        """Sign with the active key."""
        key = self._signing
        return jwt.encode(dict(claims), key, algorithm=_algorithm(key), headers={"kid": self.active})

    def verified(self, token: str, *, issuer: str, audience: str) -> Mapping[str, object] | None:
        """The claims of a token that one of the keys signed for this audience; None for every other text.

        The key decides the algorithm, never the token. Times are not looked at here.
        """
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = self._keys.get(kid) if isinstance(kid, str) else None
            if key is None:
                return None
            return jwt.decode(
                token,
                key.public_key() if isinstance(key, Ed25519PrivateKey) else key,
                algorithms=[_algorithm(key)],
                issuer=issuer,
                audience=audience,
                options={"require": _REQUIRED, "verify_exp": False, "verify_nbf": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None


def for_confirmations(keys: Keys | None, *, durable: bool) -> ConfirmationKeys | None:
    """What binds the confirmation requests of a gateway; None: a key of each surface alone does (SPEC 7.1).

    DefinitionError: the store is durable, and no keys were given.
    """
    if keys is not None:
        return ConfirmationKeys(keys.active, keys.derived(_PURPOSE), development=keys.development)
    if durable:
        raise refuse_lasting("Gateway(store=…)", 'Gateway(…, keys=Keys("k1", {"k1": secret}))')
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A verified token: whose views, by which agent, within what, from when until when (epoch seconds).

    `consumer` is what it stands for; the grant id of its key is the token's own id.
    """

    principal: PrincipalKey
    actor: str
    scope: tuple[str, ...]
    session: str | None
    jti: str
    issuer: str
    kind: ConsumerKind
    not_before: float
    expires_at: float
    consumer: Consumer


class Delegations:
    """Mints and verifies delegation tokens."""

    def __init__(self, keys: Keys, clock: Clock, limits: Limits) -> None:
        self._keys = keys
        self._clock = clock
        self._limits = limits
        # The signature of equal bytes stays valid; times are looked at with every request.
        self._verified: Bounded[tuple[str, ConsumerKind], Delegation] = Bounded(VERIFIED, limits.token_s, clock)

    def mint(
        self,
        principal: Principal,
        *,
        actor: str,
        scope: Iterable[str],
        ttl: float | None = None,
        session: str | None = None,
        kind: ConsumerKind | str = ConsumerKind.MCP,
    ) -> str:
        """Sign a token; for the host only, never reachable for an agent (SPEC 11.11).

        `scope` are patterns, at most `limits.scope_patterns`; `ttl` is seconds (`limits.token_s` if not given);
        `session` narrows the token to one view. Wrong patterns are a `DefinitionError`, values of another type a
        `TypeError`, other mistakes a `ValueError`.
        """
        _check_said(principal, actor, ttl, session)
        patterns = Scope(scope).texts
        lifetime = self._limits.token_s if ttl is None else ttl
        if len(patterns) > self._limits.scope_patterns:
            raise ValueError(f"a delegation has at most {self._limits.scope_patterns} patterns")
        of_kind = one_of(ConsumerKind, kind, "delegate(kind=…)")
        now = self._clock.now().timestamp()
        claims: dict[str, object] = {
            "iss": ISSUER,
            "aud": _audience(of_kind),
            "sub": principal.id,
            "act": {"sub": actor},
            "scope": list(patterns),
            "nbf": int(now),
            "exp": int(now + lifetime),
            "jti": new_id("dlg_"),
        }
        if principal.tenant is not None:
            claims["tenant"] = principal.tenant
        if session is not None:
            claims["session"] = session
        return self._keys.sign(claims)

    def verify(self, token: str, *, kind: ConsumerKind = ConsumerKind.MCP) -> Delegation | None:
        """The delegation a token carries for this kind of door, now; None for whatever is not exactly that."""
        remembered = (sha256_hex(token.encode("utf-8", "surrogatepass")), kind)
        delegation = self._verified.get(remembered)
        if delegation is None:
            claims = self._keys.verified(token, issuer=ISSUER, audience=_audience(kind))
            delegation = None if claims is None else _delegation(claims, kind)
            if delegation is None or len(delegation.scope) > self._limits.scope_patterns:
                return None
            self._verified.put(remembered, delegation)
        return delegation if delegation.not_before <= self._clock.now().timestamp() < delegation.expires_at else None


def _delegation(claims: Mapping[str, object], kind: ConsumerKind) -> Delegation | None:
    """Take claims apart that one of our keys has signed; None when a field is not what `mint` writes there."""
    subject, act, scope, jti = claims["sub"], claims["act"], claims["scope"], claims["jti"]
    actor = act.get("sub") if isinstance(act, dict) else None
    tenant, session = claims.get("tenant"), claims.get("session")
    not_before, expires = claims["nbf"], claims["exp"]
    if not (isinstance(subject, str) and isinstance(actor, str) and actor and isinstance(jti, str)):
        return None
    if not isinstance(scope, list) or not all(isinstance(text, str) for text in scope):
        return None
    if not (tenant is None or isinstance(tenant, str)) or not (session is None or isinstance(session, str)):
        return None
    if not isinstance(not_before, int | float) or not isinstance(expires, int | float):
        return None
    try:
        until = datetime.fromtimestamp(expires, UTC)
        consumer = Consumer(actor, kind=kind, scope=scope, issuer=ISSUER, actors=(actor,), grant=jti, until=until)
    except (DefinitionError, ValueError, OverflowError, OSError):
        return None
    return Delegation(
        principal=(tenant, subject),
        actor=actor,
        scope=tuple(scope),
        session=session,
        jti=jti,
        issuer=ISSUER,
        kind=kind,
        not_before=float(not_before),
        expires_at=float(expires),
        consumer=consumer,
    )


def _check_said(principal: object, actor: object, ttl: object, session: object) -> None:
    if not isinstance(principal, Principal):
        raise TypeError(f"delegate(principal, …) takes a Principal, not {type(principal).__name__}")
    if not isinstance(actor, str) or not actor:
        raise ValueError('a delegation names its actor: actor="copilot"')
    if ttl is not None and (not isinstance(ttl, int | float) or isinstance(ttl, bool)):
        raise TypeError(f"delegate(ttl=…) is a number of seconds, not {type(ttl).__name__}")
    if ttl is not None and not 0 < ttl < math.inf:
        raise ValueError("a delegation lives for more than 0 seconds, and not for ever")
    if session is not None and not isinstance(session, str):
        raise TypeError(f"delegate(session=…) is the id of a view, not {type(session).__name__}")


def _audience(kind: ConsumerKind) -> str:
    return f"remit:{kind.value}"


def _algorithm(key: Key) -> str:
    return "HS256" if isinstance(key, bytes) else "EdDSA"


def _key(kid: str, key: Key | str) -> Key:
    if isinstance(key, Ed25519PrivateKey | Ed25519PublicKey):
        return key
    raw = key.encode() if isinstance(key, str) else key
    if raw.lstrip().startswith(b"-----BEGIN"):
        loaded = load_pem_public_key(raw) if b"PUBLIC" in raw.split(b"\n", 1)[0] else load_pem_private_key(raw, None)
        if isinstance(loaded, Ed25519PrivateKey | Ed25519PublicKey):
            return loaded
        raise ValueError(f"the key {kid!r} is not an Ed25519 key")
    if len(raw) < SECRET_BYTES:
        raise ValueError(f"the key {kid!r} has fewer than {SECRET_BYTES} bytes")
    return raw
