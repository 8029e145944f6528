"""Signs of life while a call is held (SPEC 12.5)."""

from mcp.server import _streamable_http_modern
from sse_starlette.sse import EventSourceResponse


def ping_every(seconds: float) -> None:
    """Let both eras send a byte at least every `seconds` while they are silent.

    Plain HTTP clients give up after five silent seconds. The library has no setting for either era, so this changes its
    two constants, for every MCP server of this process.
    """
    _streamable_http_modern._SSE_PING_INTERVAL = seconds
    EventSourceResponse.DEFAULT_PING_INTERVAL = seconds  # type: ignore[assignment]
