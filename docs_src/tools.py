"""The examples of docs/concepts/tools.md; runs as it is."""

import asyncio
import json

from remit import Authority, Component, Consumer, Ok, Surface, action, observation
from remit.compiler import compile_app


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows
        self.selected: list[str] = []

    @observation
    def read_state(self) -> list[str]:
        """Visible devices."""
        return self.rows

    @action
    def select_rows(self, ids: list[str]) -> None:
        """Replace the row selection."""
        self.selected = [row for row in self.rows if row in ids]


async def direct(surface: Surface) -> None:
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    assert [tool["name"] for tool in tools.definitions()] == [
        "view_devices__table__readState",
        "view_devices__table__selectRows",
    ]
    result = await tools.call("view_devices__table__selectRows", {"ids": ["d1"]}, call_id="call_1")
    assert isinstance(result.outcome, Ok)


async def meta(surface: Surface) -> None:
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset(mode="meta")
    assert [tool["name"] for tool in tools.definitions()] == ["surface_discover", "surface_read", "surface_act"]
    overview = json.loads((await tools.call("surface_discover")).text)
    assert [(one["type"], one["capabilities"]) for one in overview["data"]["components"]] == [("devices.table", 2)]
    found = json.loads((await tools.call("surface_discover", {"query": "select rows"})).text)
    best = found["data"]["capabilities"][0]
    arguments = {"id": best["id"], "registration": best["registration"], "input": {"ids": ["d1"]}}
    result = await tools.call("surface_act", arguments, call_id="call_2")
    assert isinstance(result.outcome, Ok)


async def show(authority: Authority) -> None:
    surface = Surface(authority, principal="operator")
    surface.mount(DevicesTable(["d1", "d2"]))
    await direct(surface)
    await meta(surface)


if __name__ == "__main__":
    asyncio.run(show(compile_app(__file__)))
