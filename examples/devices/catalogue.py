"""The backend operations that the console makes available, by the backend's own OpenAPI document.

Each call carries the credential of the person for whom it is made, and a change the invocation's idempotency key. The
backend authenticates, authorizes and validates again; what it refuses is told on, never decided here.
"""

from __future__ import annotations

import os

from backend.settings import BACKEND_URL
from host import AppHost

from remit import Context
from remit.procedures.openapi import Credentials, OpenAPI, Operation


def credential_of_session(ctx: Context) -> dict[str, str] | None:
    """The header of the person who is signed in, and of nobody else: a credential is never lent."""
    host = ctx.host
    if not isinstance(host, AppHost):
        raise TypeError(f"the session's host is {type(host).__name__}, not AppHost")
    return {"Authorization": f"Bearer {host.credential}"} if host.account == ctx.principal.id else None


backend = OpenAPI(
    "backend.openapi.json",
    base_url=lambda: os.environ[BACKEND_URL],
    credentials=Credentials(credential_of_session, headers=["Authorization"]),
    timeout_s=10.0,
    expose={
        "devices.list": Operation("GET /devices", effect="server-query"),
        "devices.rename": Operation("PATCH /devices/{device_id}", effect="server-mutation"),
        "devices.disable": Operation("POST /devices/disable", effect="destructive"),
    },
)
