"""What carries a request over HTTP: its body within its limit, its client, and the answer (SPEC 11.1, 15.4)."""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope

from remit._session.leaving import Left
from remit.gateway.page_protocol.messages import BODY_BYTES

_DRAINED: Final = 4 * BODY_BYTES
"""What is still read of a body that is too large, so that its sender gets to read the answer."""


class TooLarge(Exception):
    """The body is above the limit."""


def json_response(form: Mapping[str, object], status: int = 200) -> Response:
    """An answer; nothing on the way keeps it."""
    return Response(
        orjson.dumps(form),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
    )


def is_json(scope: Scope) -> bool:
    """Whether a request says that its body is JSON in UTF-8."""
    types = Headers(scope=scope).getlist("content-type")
    if len(types) != 1:
        return False
    kind, _, parameters = types[0].partition(";")
    plain = parameters.replace(" ", "").replace('"', "").lower()
    return kind.strip().lower() == "application/json" and plain in {"", "charset=utf-8"}


async def body_of(receive: Receive) -> bytes:
    """The whole body; TooLarge above the limit, Left when its client has gone."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Left
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= BODY_BYTES:
            parts.append(part)
        more = message.get("more_body", False)
        if size > BODY_BYTES and (not more or size > _DRAINED):
            raise TooLarge
        if not more:
            return b"".join(parts)
