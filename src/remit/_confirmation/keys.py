"""The secrets that requests are bound with, by `kid`: from the host, and changed while the process runs (SPEC 7.1)."""

import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Self

from remit._base.text import q
from remit.errors import DefinitionCode, DefinitionError

SECRET_BYTES: Final = 32
_OF_PROCESS: Final = "process"


class ConfirmationKeys:
    """The secrets of confirmation requests, by `kid`: one is active, the others still hold what was asked with them.

        keys = ConfirmationKeys("k2", {"k1": old, "k2": new})      # while k1 is being replaced

    A secret has at least 32 bytes, or characters of ASCII text that stand for them. ValueError: a shorter one, a `kid`
    without a name, an active one that is not there. `development` says that it is no secret of a deployment;
    `surface.findings()` tells it (SPEC 4.13).
    """

    __slots__ = ("_active", "_secrets", "development")

    def __init__(self, active: str, keys: Mapping[str, bytes | str], *, development: bool = False) -> None:
        check_by_kid("ConfirmationKeys", active, keys)
        self._active = active
        self._secrets: Mapping[str, bytes] = MappingProxyType({kid: secret_of(kid, key) for kid, key in keys.items()})
        self.development = development

    @classmethod
    def fresh(cls) -> Self:
        """One random key that lives as long as it is held."""
        return cls(_OF_PROCESS, {_OF_PROCESS: secrets.token_bytes(SECRET_BYTES)})

    @property
    def active(self) -> str:
        """The `kid` that new requests are bound with."""
        return self._active

    @property
    def kids(self) -> tuple[str, ...]:
        """Every `kid`, the active one first."""
        return (self._active, *(kid for kid in self._secrets if kid != self._active))

    def rotate(self, kid: str, key: bytes | str) -> None:
        """Bind new requests with this key from now on; the one that was active still holds what was asked with it.

        Every other one is dropped: what was asked with it is answered like a request for another call. A `kid` that is
        there already is a ValueError.
        """
        _check_kid(kid)
        if kid in self._secrets:
            raise ValueError(f"there is a key {q(kid)} already")
        held = {self._active: self._secrets[self._active], kid: secret_of(kid, key)}
        self._secrets, self._active = MappingProxyType(held), kid

    def secret(self, kid: str) -> bytes | None:
        """The secret of this `kid`; None where it has been dropped."""
        return self._secrets.get(kid)

    def __repr__(self) -> str:
        return f"ConfirmationKeys({', '.join(self.kids)})"


def refuse_lasting(where: str, do: str) -> DefinitionError:
    """The error for a store that outlives the process without a key that does (SPEC 7.1)."""
    rule = "it keeps requests when this process has ended, and no key from the deployment is there to hold them"
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, where, rule, do=do)


def check_by_kid(whose: str, active: object, keys: object) -> None:
    """Refuse what are no keys by `kid`, one of them the active one: a TypeError, or a ValueError that names the kid."""
    if not isinstance(keys, Mapping):
        do = f'write {whose}("k1", {{"k1": secret}})'
        raise TypeError(f"{whose}(active, keys) takes keys by kid, not {type(keys).__name__}\n  do  {do}")
    for kid in keys:
        _check_kid(kid)
    if not isinstance(active, str) or active not in keys:
        raise ValueError(f"the active key {q(active)} is not among the keys")


def _check_kid(kid: object) -> None:
    if not isinstance(kid, str) or not kid.strip():
        raise ValueError(f"a key has a name, its kid, as text: {kid!r:.80} is none")


def secret_of(kid: str, key: object) -> bytes:
    """The bytes of a secret; what is none, or too short, is a ValueError that names the kid."""
    raw = bytes_of(kid, key)
    if len(raw) < SECRET_BYTES:
        raise ValueError(f"the key {q(kid)} has fewer than {SECRET_BYTES} bytes")
    return raw


def bytes_of(kid: str, key: object) -> bytes:
    """The bytes that a key is given as, whatever they mean; what is no text and no bytes is a ValueError."""
    if not isinstance(key, bytes | str):
        raise ValueError(f"the key {q(kid)} is bytes or text, not {type(key).__name__}")
    try:
        return key.encode() if isinstance(key, str) else key
    except UnicodeEncodeError:
        raise ValueError(f"the key {q(kid)} holds a lone surrogate, which stands for no bytes") from None
