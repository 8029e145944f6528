"""Who may use the backend, and the check at its edge."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.wire import Problem

_OPEN_PATHS = frozenset({"/healthz"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account of the backend: its name in the log of effects, and whether it may change anything."""

    name: str
    may_write: bool


def demo_accounts() -> dict[str, Account]:
    """Make a fresh credential for each of the two demo accounts, `operator` and `auditor`.

    Keys are credentials. They exist in this process and in the backend it starts, and nowhere else.
    """
    accounts = (Account(name="operator", may_write=True), Account(name="auditor", may_write=False))
    return {secrets.token_urlsafe(32): account for account in accounts}


def credential_of(accounts: Mapping[str, Account], name: str) -> str:
    """Return the credential of the account with this name; `KeyError` when there is none."""
    for credential, account in accounts.items():
        if account.name == name:
            return credential
    raise KeyError(name)


class Guard:
    """ASGI middleware: authenticates every request and lets only writing accounts use a writing method.

    It stands before routing and before the body is read, so a stranger learns nothing from a path, a body or a missing
    field. The account is left in `scope["state"]["account"]`.
    """

    def __init__(self, app: ASGIApp, accounts: Mapping[str, Account]) -> None:
        self._app = app
        # Looking a digest up takes no time that depends on how much of a credential was guessed right.
        self._accounts = {_digest(credential): account for credential, account in accounts.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or answer 401 or 403."""
        if scope["type"] != "http" or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        account = self._account(Headers(scope=scope).get("authorization", ""))
        if account is None:
            refusal = _refusal(401, "not-authenticated", "A known credential is needed.")
            refusal.headers["www-authenticate"] = "Bearer"
            await refusal(scope, receive, send)
        elif scope["method"] not in _READS and not account.may_write:
            await _refusal(403, "not-authorized", "This account may only read.")(scope, receive, send)
        else:
            scope.setdefault("state", {})["account"] = account
            await self._app(scope, receive, send)

    def _account(self, authorization: str) -> Account | None:
        scheme, _, credential = authorization.partition(" ")
        return self._accounts.get(_digest(credential)) if scheme.lower() == "bearer" else None


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode()).digest()


def _refusal(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse(Problem(code=code, message=message).model_dump(), status)
