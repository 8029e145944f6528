"""Calls that hold half of a surrogate pair, which no text can: answered in front of the library (SPEC 3.6, 12.5)."""

import json

import orjson
from starlette.responses import Response

from remit._base.boundary import NotJson, take
from remit.adapters.mcp.meta import to_error_result
from remit.errors import Issue, invalid_input


def broken_call(body: bytes) -> tuple[str | int, Issue] | None:
    """The id of a tool call that is JSON by its grammar and holds what no text can: half of a surrogate pair.

    The library's parser refuses it whole, as no message at all; to an agent it is input like any other that is wrong.
    """
    if b"\\u" not in body:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return None
    id, params = message.get("id"), message.get("params")
    if not isinstance(id, str | int) or isinstance(id, bool) or _wrong(id) is not None:
        return None
    issue = _wrong(params.get("arguments") if isinstance(params, dict) else None)
    return id, Issue(path="", message="holds text with a lone surrogate") if issue is None else issue


def _wrong(value: object) -> Issue | None:
    try:
        take(value)
    except NotJson as problem:
        return Issue(path=problem.path, message=problem.reason)
    return None


def invalid(id: str | int, issue: Issue) -> Response:
    """The result of such a call: a tool error that names the field."""
    told = to_error_result(invalid_input([issue])).model_dump(mode="json", by_alias=True, exclude_none=True)
    body = orjson.dumps({"jsonrpc": "2.0", "id": id, "result": told})
    return Response(body, status_code=200, media_type="application/json")
