"""How a Starlette application serves a gateway: guarded all around, started and stopped with it (SPEC 14.1, 15.4)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp

from remit._session.port import GatewayPort


def check_not_served(app: Starlette) -> None:
    """RuntimeError when the application serves already: then nothing could be put around it."""
    if app.middleware_stack is not None:
        raise RuntimeError("attach(…) comes before the application is served: nothing could guard it any more")


def guard(app: Starlette, gateway: GatewayPort) -> None:
    """Put the gateway's guard around the whole stack when it is built; middleware that is added later comes inside."""
    build: Callable[[], ASGIApp] = app.build_middleware_stack

    def guarded() -> ASGIApp:
        return gateway.guard(build())

    app.build_middleware_stack = guarded  # type: ignore[method-assign]


def live_with(app: Starlette, start: Callable[[], Awaitable[None]], stop: Callable[[], Awaitable[None]]) -> None:
    """Start inside the application's own lifespan, and stop before that ends."""
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[Any]:
        async with inner(served) as state:
            await start()
            try:
                yield state
            finally:
                await stop()

    app.router.lifespan_context = lifespan


def release_at_shutdown(server: Any, stopping: Callable[[], None]) -> None:
    """Let `stopping` answer held calls and end streams before a uvicorn server drains.

    It drains before any shutdown handler runs, and a held call or an open stream would keep it draining.
    """
    shutdown = server.shutdown

    async def release_then_shut_down(sockets: Any = None) -> None:
        stopping()
        await shutdown(sockets=sockets)

    server.shutdown = release_then_shut_down
