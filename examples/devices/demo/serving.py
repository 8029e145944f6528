"""Serves the console in this process."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn
from app import Handles, create

from demo.pace import HURRIED

SCOPE: Final = ("view:**", "domain:**")
"""What the tokens of the demonstration may reach: all that the site exposes."""

_STOP_S: Final = 2
_TOKEN_S: Final = 8 * 3600.0


class Served:
    """The console while it answers at `url`."""

    def __init__(self, url: str, handles: Handles) -> None:
        self.url = url
        self.door = f"{url}/remit/mcp"
        self.handles = handles

    def token(self, name: str, actor: str) -> str:
        """Delegate to `actor` what the person of this name may do, in whatever views the person opens, for 8 hours."""
        principal = self.handles.person(name).principal()
        return self.handles.gateway.delegate(principal, actor=actor, scope=SCOPE, ttl=_TOKEN_S)


class _Server(uvicorn.Server):
    """Says so once it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


async def serve(folder: Path, port: int, ready: Callable[[Served], None], over: asyncio.Event) -> None:
    """Serve the console with its data in `folder` until `over` is set or a signal ends it.

    `port` may be taken or 0: then a free one is used. `ready` is called once the console answers.
    """
    # The server stops in order and then raises what ended it once more: as Ctrl-C does, so that everything is tidied.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outer, handles = create(folder, limits=HURRIED)
    with _listener(port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(outer, log_level="warning", access_log=False, timeout_graceful_shutdown=_STOP_S)
        server = _Server(config, lambda: ready(Served(url, handles)))
        ending = asyncio.create_task(_end(server, over))
        try:
            await server.serve([listener])
        finally:
            ending.cancel()


async def _end(server: uvicorn.Server, over: asyncio.Event) -> None:
    await over.wait()
    server.should_exit = True


def _listener(port: int) -> socket.socket:
    # Only for a socket that names its protocol does asyncio switch Nagle's algorithm off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return _listener(0)
    return listener
