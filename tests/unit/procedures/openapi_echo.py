"""A real backend for tests of the wire: Starlette under uvicorn, and a relay in front that keeps the raw bytes."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


@dataclass
class Echo:
    """What arrived: `raw` as bytes from the socket, `read` as Starlette read it, one entry a request."""

    url: str = ""
    raw: list[bytes] = field(default_factory=list)
    read: list[dict[str, Any]] = field(default_factory=list)

    @property
    def last(self) -> tuple[bytes, dict[str, Any]]:
        """The latest request, in both forms."""
        return self.raw[-1], self.read[-1]


async def _reading(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").split(";")[0]
    body: Any = None
    if kind.endswith("json"):
        body = await request.json()
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        body = [[name, value] for name, value in (await request.form()).multi_items()]
    elif kind:
        body = (await request.body()).decode()
    return {
        "path": request.url.path,
        "raw_path": request.scope["raw_path"].decode(),
        "query_string": request.scope["query_string"].decode(),
        "query": [[name, value] for name, value in request.query_params.multi_items()],
        "headers": dict(request.headers),
        "cookies": request.cookies,
        "body": body,
    }


async def _relay(echo: Echo, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass a connection on; what the client says is kept, one entry a request, since each waits for its answer."""
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)

    async def back() -> None:
        while data := await there_reader.read(65_536):
            writer.write(data)
        writer.close()

    returning = asyncio.create_task(back())
    sent = bytearray()
    while data := await reader.read(65_536):
        sent += data
        while (whole := _one_request(bytes(sent))) is not None:
            echo.raw.append(whole)
            del sent[: len(whole)]
            there_writer.write(whole)
    there_writer.close()
    await returning


def _one_request(data: bytes) -> bytes | None:
    head, mark, rest = data.partition(b"\r\n\r\n")
    if not mark:
        return None
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    length = int(lengths[0]) if lengths else 0
    return data[: len(head) + 4 + length] if len(rest) >= length else None


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Serve an application on a free loopback port, in a thread of its own; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    # Made as asyncio makes it: a socket that does not name TCP waits for Nagle's algorithm.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)  # who comes before the server runs waits in the queue
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@contextmanager
def serving_echo() -> Iterator[Echo]:
    """Serve the reader, and the relay in front of it, in threads of their own."""
    echo = Echo()

    async def answer(request: Request) -> JSONResponse:
        echo.read.append(await _reading(request))
        return JSONResponse({"ok": True})

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    ready, over = threading.Event(), threading.Event()

    async def main(port: int) -> None:
        relay = await asyncio.start_server(lambda r, w: _relay(echo, port, r, w), "127.0.0.1", 0)
        echo.url = f"http://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
        ready.set()
        await asyncio.get_running_loop().run_in_executor(None, over.wait)
        relay.close()

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=methods)])) as url:
        thread = threading.Thread(target=lambda: asyncio.run(main(int(url.rsplit(":", 1)[1]))))
        thread.start()
        assert ready.wait(20)
        try:
            yield echo
        finally:
            over.set()
            thread.join(20)
