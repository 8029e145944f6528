"""remit as the server under test: sites on one address, `POST /case` on another; for test builds only (SPEC 11.1)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from remit.testing.conformance.site import Contracts, Played
from remit.testing.loopback import listening

KEPT: Final = 8
"""Sites that are kept; an older one is ended."""


class Sites:
    """The sites of the cases that came last, each below a path of its own."""

    def __init__(self) -> None:
        self._played: dict[str, Played] = {}
        self._made = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve whatever site the path names."""
        name = scope["path"].split("/")[1]
        played = self._played.get(name)
        app = Starlette() if played is None else Starlette(routes=[Mount(f"/{name}", app=played.app)])
        await app(scope, receive, send)

    async def add(self, played: Played) -> str:
        """Keep a site; its name."""
        self._made += 1
        name = f"case{self._made}"
        self._played[name] = played
        if len(self._played) > KEPT:
            await self._played.pop(next(iter(self._played))).stop()
        return name

    async def stop(self) -> None:
        """End all of them."""
        for played in self._played.values():
            await played.stop()


@asynccontextmanager
async def controlled() -> AsyncIterator[str]:
    """Serve on free ports of the loopback; gives the address of the control."""
    sites, contracts = Sites(), Contracts()
    async with listening(sites) as address:

        async def case(request: Request) -> JSONResponse:
            played = Played((await request.json())["given"], contracts)
            name = await sites.add(played)
            url = f"{address}/{name}/remit/page"
            return JSONResponse({"url": url, "token": played.tokens["good"], "tokens": played.tokens})

        async with listening(Starlette(routes=[Route("/case", case, methods=["POST"])])) as control:
            try:
                yield control
            finally:
                await sites.stop()


async def serve() -> None:
    """Serve until stopped; the first line says where the control is."""
    async with controlled() as control:
        print(control, flush=True)  # noqa: T201 - what a person runs it for
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
