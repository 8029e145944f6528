"""Progress of a running call, forwarded to the client that asked for it (SPEC 6.10, 12.5)."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.context import ServerRequestContext

from remit._model.progress import Progress, ProgressListener
from remit._session.identity import Identity
from remit._toolset.result import to_text

FLUSH_S: Final = 1.0
"""How long an answer waits for the last report to get away."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def reporting(
    ctx: ServerRequestContext[object, object], source: str, identity: Identity
) -> AsyncIterator[ProgressListener | None]:
    """Give what forwards reports as progress notifications; None when the request carries no progress token.

    Reports go out from a task of their own, so that a client that reads slowly holds up no code. Of those that it had
    no time for only the newest is kept, and it goes out before the answer does. The protocol wants `progress` to grow,
    so a report that does not is left out. What code writes there is data: it travels as the `data` of one JSON value
    with its `source` (SPEC 11.15); a text with a secret of its own request is left out (SPEC 11.10).
    """
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        yield None
        return
    pump = _Pump(ctx, source, identity)
    try:
        yield pump.hear
        await pump.flush()
    finally:
        pump.end()


class _Pump:
    """The newest report that has not been sent, and the task that sends."""

    def __init__(self, ctx: ServerRequestContext[object, object], source: str, identity: Identity) -> None:
        self._ctx = ctx
        self._identity = identity
        self._source = source
        self._newest: Progress | None = None
        self._reached = -1.0
        self._sending: asyncio.Task[None] | None = None

    def hear(self, report: Progress) -> None:
        """Keep a report that goes further than what was told before, in place of one that still waits."""
        if report.done <= self._reached:
            return
        self._reached, self._newest = report.done, report
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def flush(self) -> None:
        """Wait until everything has been sent, but not for a client that does not read."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=FLUSH_S)

    def end(self) -> None:
        """Send nothing more."""
        self._newest = None
        if self._sending is not None:
            self._sending.cancel()

    async def _send(self) -> None:
        while self._newest is not None:
            report, self._newest = self._newest, None
            text = None if report.text is None else to_text({"source": self._source, "data": report.text})
            if text is not None and self._identity.given_away(text):
                text = None
            try:
                await self._ctx.session.report_progress(report.done, report.total, text)
            except Exception:
                # A sink: what the client does not hear changes nothing.
                logger.debug("progress could not be told", exc_info=True)
