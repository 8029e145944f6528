"""Signs of life while a call is held (SPEC 12.5), and answers that a server's stop does not cut off (SPEC 15.5)."""

from typing import Final

from mcp.server import _streamable_http_modern, streamable_http
from sse_starlette.sse import EventSourceResponse
from starlette.types import Receive, Scope, Send

GRACE: Final = "remit.grace"
"""The key in an ASGI scope under which the door leaves how many seconds an answer may still take after a stop began."""


class Answering(EventSourceResponse):
    """The stream of the handshake era's answers.

    The library ends its streams as soon as the server has heard a signal, answered or not. Where the door has left a
    `GRACE`, the stream goes on until it has been answered or the time is over; every other stream ends as ever.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it."""
        self._shutdown_grace_period = scope.get(GRACE, self._shutdown_grace_period)
        await super().__call__(scope, receive, send)


def ping_every(seconds: float) -> None:
    """Let both eras send a byte at least every `seconds` while they are silent.

    Plain HTTP clients give up after five silent seconds. The library has no setting for either era, so this changes its
    two constants, for every MCP server of this process.
    """
    _streamable_http_modern._SSE_PING_INTERVAL = seconds
    EventSourceResponse.DEFAULT_PING_INTERVAL = seconds  # type: ignore[assignment]


def outlive_the_signal() -> None:
    """Let answers of the handshake era take the `GRACE` of their request; changes nothing for other MCP servers."""
    streamable_http.EventSourceResponse = Answering  # type: ignore[attr-defined]
