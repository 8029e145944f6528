"""The backend's process: reads its settings from standard input, serves, and ends when standard input does.

The pipe is the life line: credentials travel through it instead of through arguments or the environment, which others
on the machine may read, and a parent that dies, however suddenly, takes its backend along.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys

import uvicorn

from backend.app import create_app
from backend.settings import BackendSettings, parse_settings


class AnnouncingServer(uvicorn.Server):
    """Writes its port to standard output, as one JSON line, once it answers."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, then say where."""
        await super().startup(sockets)
        if self.started and sockets:
            print(json.dumps({"port": sockets[0].getsockname()[1]}), flush=True)


async def _serve() -> None:
    life_line = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(life_line), sys.stdin)
    server = _server(parse_settings(await life_line.readline()))
    # Only for a socket that names its protocol does asyncio switch Nagle's algorithm off, which costs 40 ms an answer.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve([listener]))
        ended = asyncio.create_task(life_line.read())
        await asyncio.wait({serving, ended}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        ended.cancel()
        await serving


def _server(settings: BackendSettings) -> AnnouncingServer:
    app = create_app(settings.database, settings.accounts, busy_timeout=settings.busy_timeout)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    return AnnouncingServer(config)


if __name__ == "__main__":
    asyncio.run(_serve())
