"""Forms of this application: small, of one type, and each with the token of its session."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

CSRF: Final = "csrf"
_FIELDS: Final = 16
_FORBIDDEN: Final = 403


def token_of(request: Request) -> str:
    """The token that every form of this browser session carries."""
    token = request.session.get(CSRF)
    if not isinstance(token, str):
        token = request.session[CSRF] = secrets.token_urlsafe(24)
    return token


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form; HTTPException 403 without the token of its session."""
    async with request.form(max_files=0, max_fields=_FIELDS) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    held = request.session.get(CSRF)
    if not isinstance(held, str) or not hmac.compare_digest(held.encode(), fields.get(CSRF, "").encode()):
        raise HTTPException(_FORBIDDEN, "this form is not of your session: load the page again")
    return fields
