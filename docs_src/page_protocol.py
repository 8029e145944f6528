"""The example of docs/guides/page-protocol.md; runs as it is, with HTTP spoken in memory and on the loopback."""

import asyncio
from contextlib import nullcontext
from typing import Any

import httpx2
from starlette.applications import Starlette

from remit import Component, Failed, Principal, action, observation
from remit.client import AsyncClient, Client
from remit.compiler import compile_app
from remit.gateway import Gateway
from remit.testing.loopback import listening


class Notes(Component, type="demo.notes", doors=["page"]):
    """Notes on the page."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @observation
    def read_lines(self) -> list[str]:
        """All lines."""
        return self.lines

    @action
    def add_line(self, line: str) -> int:
        """Add a line."""
        self.lines.append(line)
        return len(self.lines)


def issue(gateway: Gateway) -> str:
    return gateway.delegate(Principal("operator"), actor="assistant", scope=["view:demo.**"], kind="page")


async def add(http: httpx2.AsyncClient, line: str) -> Any:
    described = (await http.post("/describe", json={})).json()
    write = next(each for each in described["capabilities"] if each["id"] == "view:demo.notes.addLine")
    call = {"capability": write["id"], "registration": write["registration"], "input": {"line": line}}
    answer = (await http.post("/invoke", json=call)).json()
    if not answer["ok"]:
        raise RuntimeError(answer["error"]["code"])  # `retry` beside it says what to do
    return answer["output"]


async def ship(url: str, token: str) -> object:
    async with AsyncClient(url, token) as client:
        described = await client.describe()
        if isinstance(described, Failed):
            raise RuntimeError(described.error.message)
        outcome = await client.call("view:demo.notes.addLine", {"line": "shipped"})
        return outcome.error if isinstance(outcome, Failed) else outcome.output


def ship_blocking(url: str, token: str) -> object:
    with Client(url, token) as client:
        client.describe()
        outcome = client.call("view:demo.notes.addLine", {"line": "shipped"})
        return outcome.error if isinstance(outcome, Failed) else outcome.output


async def main() -> None:
    gateway = Gateway(compile_app(__file__))
    view = gateway.open_view(
        principal=lambda: Principal("operator"), host=lambda: None, within=nullcontext, title="Notes", route="/notes"
    )
    gateway.connected(view.id)
    view.surface.mount(Notes())
    app = Starlette(routes=gateway.door_routes())
    await gateway.start()
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url="http://localhost/remit/page",
        headers={"Authorization": f"Bearer {issue(gateway)}"},
    ) as http:
        assert await add(http, "hello") == 1
    async with listening(app) as address:
        assert await ship(f"{address}/remit/page", issue(gateway)) == 2
        assert await asyncio.to_thread(ship_blocking, f"{address}/remit/page", issue(gateway)) == 3
    await gateway.stop()


if __name__ == "__main__":
    asyncio.run(main())
