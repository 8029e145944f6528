"""Who comes to a door, as the token of this very request says (SPEC 11.11)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from remit._model.consumer import Consumer
from remit._session.session import PrincipalKey

COOKIE_CHARACTERS: Final = 16
"""From how many characters on the value of a cookie is taken for a secret; shorter ones are words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is calling, from a token verified for this very request; `expires_at` is in epoch seconds.

    `session` is the one view the token reaches, None for any view its principal has open. `secrets` are the token and
    the longer cookies that the request came with; no answer may hold one of them (SPEC 11.10).
    """

    principal: PrincipalKey
    consumer: Consumer
    session: str | None
    expires_at: float
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def given_away(self, text: str) -> bool:
        """Whether a text as it would be sent holds one of the secrets."""
        return any(secret in text for secret in self.secrets)

    def harmless(self, id: object) -> str | None:
        """An id that the caller chose, if it holds none of the secrets."""
        return id if isinstance(id, str) and not self.given_away(id) else None


def secrets_of(connection: HTTPConnection, token: str) -> tuple[str, ...]:
    """What must not come back: the token of a request, and its cookies that are long enough to be secrets."""
    return (token, *(value for value in connection.cookies.values() if len(value) >= COOKIE_CHARACTERS))


Resolve = Callable[[HTTPConnection], Identity | None]
"""Who a request comes from; None for every token that is not good now at this door."""


def unauthorized() -> JSONResponse:
    """The one answer to a missing, expired, revoked or foreign token: the same bytes at every door."""
    return JSONResponse(
        {"error": "invalid_token"}, status_code=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'}
    )


def decision_link(connection: HTTPConnection, *, own: str, pages: str, confirmation_id: str) -> str:
    """The address of the decision page of a request, on the origin a door was asked for.

    `own` is the path of the door itself: what stands before it is the application's prefix.
    """
    prefix, found, _ = connection.scope["path"].rpartition(own)
    scheme = connection.url.scheme.replace("ws", "http", 1)
    # The Host has passed the allow-list.
    return f"{scheme}://{connection.headers['host']}{prefix if found else ''}{pages}/{confirmation_id}"
