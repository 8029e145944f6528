"""The control of a server under test, `POST /case`, and the sites that it has made, each at an address of its own."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.servers.access import Access
from tests.servers.door import Door
from tests.servers.loopback import serving
from tests.servers.world import Site


@asynccontextmanager
async def controlled(access: Callable[[Site], Access]) -> AsyncIterator[str]:
    """Serve on free ports; gives the address of the control."""
    doors: dict[str, Door] = {}

    async def page(request: Request) -> Response:
        return await doors[request.path_params["site"]].serve(request)

    async def case(request: Request) -> JSONResponse:
        site = Site((await request.json())["given"])
        tokens: dict[str, Any] = {name: secrets.token_urlsafe() for name in [*site.agents, "foreign"]}
        name = f"site{len(doors)}"
        doors[name] = Door(site, access(site), {tokens[who]: agent for who, agent in site.agents.items()})
        return JSONResponse({"url": f"{address}/{name}", "token": tokens["good"], "tokens": tokens})

    methods = ["GET", "POST"]
    async with serving(Starlette(routes=[Route("/{site}/{path}", page, methods=methods)])) as address:
        async with serving(Starlette(routes=[Route("/case", case, methods=["POST"])])) as control:
            yield control
