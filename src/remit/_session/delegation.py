"""Delegation tokens: what a person's host lets one agent reach, signed and short-lived (SPEC 11.11)."""

import hmac
import math
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._base.closed import one_of
from remit._base.digest import sha256_hex
from remit._base.limits import Limits
from remit._base.text import clean_line
from remit._confirmation.keys import ConfirmationKeys, bytes_of, check_by_kid, refuse_lasting, secret_of
from remit._model.consumer import ConsumerKind, Principal, plain_text
from remit._model.pattern import Scope
from remit._registry.revoked import Revoked
from remit._session.claims import DEPTH, GRANT, ISSUER, Delegation, audience_of, claims_of, delegation_of
from remit._session.key_file import secret_in
from remit.store.copies import MemoryDelegations
from remit.store.memory import MemoryRevocations
from remit.store.protocol import DelegationStore, RevocationRow, RevocationStore

_DEVELOPMENT: Final = "development"
_PURPOSE: Final = b"remit: confirmation requests"
VERIFIED: Final = 1_000
SIGNED: Final = 10_000
"""How many tokens are known by the key that signed them."""

LEEWAY_S: Final = 5.0
"""How far the clock of whoever minted a token may be ahead; of its end nothing is given away."""

_LAST: Final = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_REQUIRED: Final = ["iss", "aud", "sub", "act", "scope", "nbf", "exp", "jti"]

Key = Ed25519PrivateKey | Ed25519PublicKey | bytes


class Keys:
    """The keys that sign and verify tokens, by `kid`; one is active, the others still verify (SPEC 14.0).

    A key is an Ed25519 private key (a public one verifies only) as an object or PEM, or at least 32 secret bytes for
    HS256. Anything else, and an active key that cannot sign, is a `ValueError` that names the `kid`.
    """

    __slots__ = ("_confirming", "_keys", "_listeners", "_signing", "active", "development")

    def __init__(self, active: str, keys: Mapping[str, Key | str]) -> None:
        check_by_kid("Keys", active, keys)
        self.development = False
        self._confirming: ConfirmationKeys | None = None
        self._listeners: list[weakref.WeakMethod[Callable[[frozenset[str]], None]]] = []
        self._keys = {kid: _key(kid, key) for kid, key in keys.items()}
        self.active = active
        signing = self._keys[active]
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

    def rotate(self, kid: str, key: Key | str) -> None:
        """Sign with this key from now on, in every gateway that has these keys; the one before still verifies.

        Every other one is dropped: what it signed is 401 from then on, and whoever has come with it is cut off as by
        `Gateway.revoke`, with all that was narrowed from it. Confirmation requests follow, as `ConfirmationKeys.rotate`
        says. Called in the loop that serves. A `kid` that is there already, and a key that cannot sign, is a ValueError
        (SPEC 11.11).
        """
        signing = Keys(kid, {kid: key})._signing
        if kid in self._keys:
            raise ValueError(f"there is a key {kid!r} already")
        dropped = frozenset(self._keys) - {self.active}
        self._keys = {self.active: self._signing, kid: signing}
        self.active, self._signing = kid, signing
        if self._confirming is not None:
            self._confirming.rotate(kid, self.derived(_PURPOSE)[kid])
        for method in self._listeners:
            if (told := method()) is not None:
                told(dropped)

    def on_rotation(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Tell a bound method which keys were dropped, as long as its object lives."""
        self._listeners = [method for method in self._listeners if method() is not None]
        self._listeners.append(weakref.WeakMethod(listener))

    def confirming(self) -> ConfirmationKeys:
        """What binds confirmation requests with secrets of these keys; it rotates with them."""
        if self._confirming is None:
            self._confirming = ConfirmationKeys(self.active, self.derived(_PURPOSE), development=self.development)
        return self._confirming

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

    def verified(self, token: str, *, issuer: str, audience: list[str]) -> Mapping[str, object] | None:
        """The claims of a token that one of the keys signed for one of these audiences; None for every other text.

        The key decides the algorithm, never the token. Times are not looked at here.
        """
        try:
            key = self._keys.get(kid_of(token) or "")
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
        return keys.confirming()
    if durable:
        raise refuse_lasting("Gateway(store=…)", 'Gateway(…, keys=Keys("k1", {"k1": secret}))')
    return None


class Delegations:
    """Mints, narrows, verifies and revokes delegation tokens; `held` was revoked, `given` was given out."""

    def __init__(
        self,
        keys: Keys,
        clock: Clock,
        limits: Limits,
        held: RevocationStore | None = None,
        given: DelegationStore | None = None,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._limits = limits
        self._held: RevocationStore = MemoryRevocations(clock) if held is None else held
        self.revoked = Revoked(self._held)
        # What was minted or has come here: whose it is and until when, for one that is revoked by its id.
        self._given: DelegationStore = MemoryDelegations(clock) if given is None else given
        # The signature of equal bytes stays valid; times are looked at with every request.
        self._verified: Bounded[tuple[str, ConsumerKind], Delegation] = Bounded(VERIFIED, limits.token_s, clock)
        # Which key signed what has come here, by its id: it ends when that key is dropped.
        self._signed: Bounded[str, str] = Bounded(SIGNED, None, clock)
        keys.on_rotation(self._rotated)

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

        `scope` are patterns, at most `limits.scope_patterns`; `ttl` is seconds, at least one (`limits.token_s` if not
        given), and the token ends with the last whole second of them; `session` narrows it to one view. Wrong patterns
        are a `DefinitionError`, values of another type a `TypeError`, other mistakes a `ValueError`.
        """
        if not isinstance(principal, Principal):
            raise TypeError(f"delegate(principal, …) takes a Principal, not {type(principal).__name__}")
        now = self._clock.now().timestamp()
        _check_said("delegate", actor, ttl, session, now)
        patterns = self._few(Scope(scope))
        of_kind = one_of(ConsumerKind, kind, "delegate(kind=…)")
        until = now + (self._limits.token_s if ttl is None else ttl)
        return self._issue(claims_of(principal.key, [actor], patterns, of_kind, session, now, until), of_kind)

    def attenuate(
        self,
        token: str,
        *,
        actor: str,
        scope: Iterable[str],
        ttl: float | None = None,
        session: str | None = None,
    ) -> str:
        """Sign a token that reaches no further and lives no longer than this one, for a further agent (SPEC 11.11).

        `actor` is appended to those of the token; every pattern of `scope` lies within one of its patterns; `ttl` is at
        most what it has left (and what `mint` gives, if not given); `session` may name a view where it names none. A
        token that is not good now is a PermissionError; what reaches further, lives longer, is for another view, or
        would be the fourth of a chain is a ValueError that says so.
        """
        now = self._clock.now().timestamp()
        _check_said("attenuate", actor, ttl, session, now)
        parent = self._good(self._read(token))
        if parent is None:
            raise PermissionError(
                "only a token that is good now is narrowed: this one is foreign, revoked or has ended"
            )
        narrowed = Scope(scope)
        patterns = self._few(narrowed)
        _check_narrower(parent, narrowed, session)
        left = parent.expires_at - now
        if ttl is not None and ttl > left:
            raise ValueError(f"the token has {left:.0f} s left, and attenuate(ttl={ttl:g}) is more")
        until = now + min(left, self._limits.token_s if ttl is None else ttl)
        actors = [*parent.actors, actor]
        claims = claims_of(parent.principal, actors, patterns, parent.kind, parent.session or session, now, until)
        claims["par"] = list(parent.consumer.lineage)
        return self._issue(claims, parent.kind)

    def revoke(self, token: str, *, by: str, why: str) -> bool:
        """Take a token back, given as it is or by its id, with all that were narrowed from it; counts at once.

        `by` says who does it, `why` for what reason; both are journalled. False when that has been done before, or the
        token has ended by itself. A text that is no token of these keys and no id of one is a ValueError.
        """
        for name, text in (("token", token), ("by", by), ("why", why)):
            if not isinstance(text, str):
                raise TypeError(f"revoke({name}=…) is text, not {type(text).__name__}")
            if not text.strip():
                raise ValueError(f"revoke({name}=…) is empty: say which token, who takes it back, and why")
        id = token
        if not token.startswith(GRANT):
            read = self._read(token)
            if read is None:
                raise ValueError(f"that is no token of this gateway, and no id of one ({GRANT}…)")
            id = read.jti
        return self._end(id, by, why)

    def _end(self, id: str, by: str, why: str) -> bool:
        now, known = self._clock.now(), self._given.get(id)
        if known is not None and datetime.fromisoformat(known.until) <= now:
            return False
        return self._held.add(
            RevocationRow(
                id=id,
                at=now.isoformat(),
                by=clean_line(by, self._limits.runtime_text),
                why=clean_line(why, self._limits.runtime_text),
                until=None if known is None else known.until,
                tenant=None if known is None else known.tenant,
                principal=None if known is None else known.principal,
            )
        )

    def verify(self, token: str, *, kind: ConsumerKind = ConsumerKind.MCP) -> Delegation | None:
        """The delegation a token carries for this kind of door, now; None for whatever is not exactly that."""
        remembered = (sha256_hex(token.encode("utf-8", "surrogatepass")), kind)
        delegation = self._verified.get(remembered)
        if delegation is None:
            delegation = self._read(token, kind)
            if delegation is None:
                return None
            self._verified.put(remembered, delegation)
        return self._good(delegation)

    def _good(self, delegation: Delegation | None) -> Delegation | None:
        """The delegation if it counts now: begun, not ended, and not revoked."""
        if delegation is None or self.revoked.has(delegation.consumer):
            return None
        now = self._clock.now().timestamp()
        return delegation if delegation.not_before - LEEWAY_S <= now < delegation.expires_at else None

    def _read(self, token: str, *kinds: ConsumerKind) -> Delegation | None:
        """What one of the keys signed, for a door of these kinds or for any, whatever the time is."""
        audiences = {audience_of(kind): kind for kind in kinds or ConsumerKind}
        claims = self._keys.verified(token, issuer=ISSUER, audience=list(audiences))
        kind = None if claims is None else audiences.get(str(claims["aud"]))
        delegation = None if claims is None or kind is None else delegation_of(claims, kind)
        if delegation is None or len(delegation.scope) > self._limits.scope_patterns:
            return None
        self._given.put(delegation.row())
        self._signed.put(delegation.jti, kid_of(token) or "")
        return delegation

    def _rotated(self, dropped: frozenset[str]) -> None:
        """Forget what dropped keys vouched for, and cut off whoever has come with it."""
        self._verified.clear()
        for id, kid in self._signed.items():
            if kid in dropped:
                self._signed.pop(id)
                self._end(id, "rotation", f"the key {kid} that signed it was dropped")

    def _few(self, scope: Scope) -> tuple[str, ...]:
        if len(scope.texts) > self._limits.scope_patterns:
            raise ValueError(f"a delegation has at most {self._limits.scope_patterns} patterns")
        return scope.texts

    def _issue(self, claims: Mapping[str, object], kind: ConsumerKind) -> str:
        delegation = delegation_of(claims, kind)
        if delegation is None:
            raise ValueError("no token can say this, and its own gateway would refuse it")
        self._given.put(delegation.row())
        self._signed.put(delegation.jti, self._keys.active)
        return self._keys.sign(claims)


def _check_narrower(parent: Delegation, scope: Scope, session: str | None) -> None:
    if len(parent.actors) >= DEPTH:
        raise ValueError(f"a chain has at most {DEPTH} tokens, and this one is the last\n  do  narrow an earlier one")
    if beyond := scope.beyond(Scope(parent.scope)):
        within = ", ".join(parent.scope) or "(nothing)"
        raise ValueError(f"{beyond[0]!r} reaches further than the token\n  do  stay within {within}")
    if parent.session is not None and session not in {None, parent.session}:
        raise ValueError(f"the token reaches the view {parent.session} only, and session={session!r} is another")


def _check_said(method: str, actor: object, ttl: object, session: object, now: float) -> None:
    """Refuse what would make a token that is none, or that has ended as soon as it is signed (SPEC 11.11)."""
    if not isinstance(actor, str) or not actor:
        raise ValueError('a delegation names its actor: actor="copilot"')
    plain_text(actor, f"{method}(actor=…)")
    if ttl is not None and (not isinstance(ttl, int | float) or isinstance(ttl, bool)):
        raise TypeError(f"{method}(ttl=…) is a number of seconds, not {type(ttl).__name__}")
    if ttl is not None and not 0 < ttl < math.inf:
        raise ValueError("a delegation lives for more than 0 seconds, and not for ever")
    if ttl is not None and ttl < 1:
        raise ValueError(f"a token ends at a whole second: {method}(ttl=…) is at least 1 second, not {ttl:g}")
    if ttl is not None and ttl >= _LAST - now:
        raise ValueError(f"{method}(ttl=…) ends after the year 9999, and a token names the moment of its end")
    if session is not None and not isinstance(session, str):
        raise TypeError(f"{method}(session=…) is the id of a view, not {type(session).__name__}")
    if session is not None and not session.strip():
        raise ValueError(f"{method}(session=…) is empty: name a view by its id, or leave it out for all of them")


def kid_of(token: str) -> str | None:
    """Which key a token says that it was signed with; None for what is no token."""
    try:
        kid: object = jwt.get_unverified_header(token).get("kid")
    except jwt.PyJWTError:
        return None
    return kid if isinstance(kid, str) else None


def _algorithm(key: Key) -> str:
    return "HS256" if isinstance(key, bytes) else "EdDSA"


def _key(kid: str, key: Key | str) -> Key:
    if isinstance(key, Ed25519PrivateKey | Ed25519PublicKey):
        return key
    raw = bytes_of(kid, key)
    if not raw.lstrip().startswith(b"-----BEGIN"):
        return secret_of(kid, raw)
    try:
        loaded = load_pem_public_key(raw) if b"PUBLIC" in raw.split(b"\n", 1)[0] else load_pem_private_key(raw, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise ValueError(
            f"the key {kid!r} cannot be read: write the whole PEM of a key without a password"
        ) from problem
    if isinstance(loaded, Ed25519PrivateKey | Ed25519PublicKey):
        return loaded
    raise ValueError(f"the key {kid!r} is not an Ed25519 key")
