"""How the gateway is served and stopped with a NiceGUI application (SPEC 14.1, 15.4)."""

import logging
import os
from typing import Final

from nicegui import app
from nicegui.server import Server
from starlette.applications import Starlette

from remit._contract.development import report
from remit._session.port import GatewayPort, Login
from remit._session.serving import check_not_served, guard, live_with, release_at_shutdown

_LOG: Final = logging.getLogger("remit.integrations.nicegui")


def serve(gateway: GatewayPort, login: Login, outer: Starlette | None) -> None:
    """Put pages, door and guard where they belong, and start and stop the gateway with the application.

    What asks who is signed in is a route of NiceGUI's own app, where its sessions are. RuntimeError when the
    application serves already: then nothing could be put around it.
    """
    outermost = app if outer is None else outer
    check_not_served(outermost)
    app.router.routes.extend(gateway.routes(login))
    outermost.router.routes[:0] = gateway.door_routes()
    guard(outermost, gateway)
    if outer is None:
        app.on_startup(lambda: _start(gateway))
        app.on_shutdown(gateway.stop)
    else:
        live_with(outer, lambda: _start(gateway), gateway.stop)


async def _start(gateway: GatewayPort) -> None:
    await gateway.start()
    if port := os.environ.get("NICEGUI_PORT"):  # `ui.run` sets it, for the process that a reload makes, too
        report({"serving": f"{os.environ.get('NICEGUI_PROTOCOL', 'http')}://127.0.0.1:{port}"})
    server = getattr(Server, "instance", None)
    if server is None:
        _LOG.warning("no uvicorn server found: calls held for a person may delay the stop; call gateway.stopping()")
        return
    release_at_shutdown(server, gateway.stopping)
