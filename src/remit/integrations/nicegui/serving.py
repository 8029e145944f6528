"""How the gateway is served and stopped with a NiceGUI application (SPEC 14.1, 15.4)."""

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from nicegui import app
from nicegui.server import Server
from starlette.applications import Starlette
from starlette.types import ASGIApp

from remit._contract.development import report
from remit._session.port import GatewayPort, Login

_LOG: Final = logging.getLogger("remit.integrations.nicegui")


def serve(gateway: GatewayPort, login: Login, outer: Starlette | None) -> None:
    """Put pages, door and guard where they belong, and start and stop the gateway with the application.

    What asks who is signed in is a route of NiceGUI's own app, where its sessions are. RuntimeError when the
    application serves already: then nothing could be put around it.
    """
    outermost = app if outer is None else outer
    if outermost.middleware_stack is not None:
        raise RuntimeError("attach(…) comes before the application is served: nothing could guard it any more")
    app.router.routes.extend(gateway.routes(login))
    outermost.router.routes[:0] = gateway.door_routes()
    _guard(outermost, gateway)
    if outer is None:
        app.on_startup(lambda: _start(gateway))
        app.on_shutdown(gateway.stop)
    else:
        _live_with(outer, gateway)


def _guard(outermost: Starlette, gateway: GatewayPort) -> None:
    # Around the whole stack when it is built: middleware that is added later comes inside too.
    build: Callable[[], ASGIApp] = outermost.build_middleware_stack

    def guarded() -> ASGIApp:
        return gateway.guard(build())

    outermost.build_middleware_stack = guarded  # type: ignore[method-assign]


def _live_with(outer: Starlette, gateway: GatewayPort) -> None:
    inner = outer.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[Any]:
        async with inner(served) as state:
            await _start(gateway)
            try:
                yield state
            finally:
                await gateway.stop()

    outer.router.lifespan_context = lifespan


async def _start(gateway: GatewayPort) -> None:
    await gateway.start()
    if port := os.environ.get("NICEGUI_PORT"):  # `ui.run` sets it, for the process that a reload makes, too
        report({"serving": f"{os.environ.get('NICEGUI_PROTOCOL', 'http')}://127.0.0.1:{port}"})
    server = getattr(Server, "instance", None)
    if server is None:
        _LOG.warning("no uvicorn server found: calls held for a person may delay the stop; call gateway.stopping()")
        return
    shutdown = server.shutdown

    async def release_then_shut_down(sockets: Any = None) -> None:
        # The server drains before any shutdown handler runs, and a held call would keep it draining.
        gateway.stopping()
        await shutdown(sockets=sockets)

    server.shutdown = release_then_shut_down
