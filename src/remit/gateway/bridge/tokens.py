"""What the first message of a page's socket has to hold: proof that a page of this origin asked for it (SPEC 11.17)."""

import hmac
import secrets
from hashlib import sha256
from typing import Final

from remit._base.clock import Clock
from remit._model.consumer import Principal

TOKEN_S: Final = 60.0
"""Seconds from the page's asking for a token to the first message that holds it."""

_KEY_BYTES: Final = 32
_MOST: Final = 200


class Tokens:
    """Makes and checks tokens of this process; each is of one person, and short.

    It is no credential by itself: the socket's own upgrade has to come with the person's login as well. It shows that
    whoever opens the socket can read answers of this origin, which a page of another one cannot.
    """

    __slots__ = ("_clock", "_key")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_KEY_BYTES)

    def mint(self, person: Principal) -> str:
        """A token for a page of this person."""
        head = f"{int(self._clock.now().timestamp() + TOKEN_S)}.{secrets.token_urlsafe(16)}"
        return f"{head}.{self._proof(head, person)}"

    def holds(self, token: object, person: Principal) -> bool:
        """Whether this is a token of this person that has not ended."""
        if not isinstance(token, str) or len(token) > _MOST or not token.isascii():
            return False
        head, _, proof = token.rpartition(".")
        until = head.partition(".")[0]
        good = hmac.compare_digest(proof, self._proof(head, person))
        return good and self._clock.now().timestamp() < int(until)

    def _proof(self, head: str, person: Principal) -> str:
        tenant, id = person.key
        said = "\0".join((head, "" if tenant is None else f"={tenant}", id))
        return hmac.new(self._key, said.encode("utf-8", "surrogatepass"), sha256).hexdigest()
