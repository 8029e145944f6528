"""A real HTTP server on a free port of the loopback, in the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

HOST: Final = "127.0.0.1"


class _Server(uvicorn.Server):
    """Says when it listens, ends when told to, and leaves signals and logging to the test run."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=2)
        super().__init__(config)
        self.listens = asyncio.Event()
        self.ending = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ending.wait()


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application; gives its address."""
    # The protocol is named, or small answers would wait for each other (Nagle's algorithm).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind((HOST, 0))
        server = _Server(app)
        serving = asyncio.get_running_loop().create_task(server.serve(sockets=[listener]))
        try:
            await server.listens.wait()
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.ending.set()
            await asyncio.wait({serving})
            if serving.cancelled():
                await server.shutdown(sockets=[listener])
