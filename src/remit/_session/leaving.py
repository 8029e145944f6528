"""Work for a client that ends when the client goes (SPEC 11.1, 14.1)."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.types import Receive

T = TypeVar("T")


class Left(Exception):
    """The client has gone."""


async def while_there(work: Coroutine[object, object, T], receive: Receive) -> T:
    """Do the work as long as the client is there; Left when it goes first, and the work has been told to stop."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise Left
    finally:
        doing.cancel()
        leaving.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)


async def gone(receive: Receive) -> None:
    """Wait until the client has gone; what it still sends is nothing."""
    while (await receive())["type"] not in {"http.disconnect", "websocket.disconnect"}:
        pass
