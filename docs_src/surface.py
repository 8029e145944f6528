"""The examples of docs/concepts/surface.md; runs as it is."""

import asyncio

from remit import Authority, Component, Consumer, Failed, Ok, Surface, action, observation
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


async def show(authority: Authority, table: list[str]) -> None:
    surface = Surface(authority, principal="operator")
    mount = surface.mount(DevicesTable(table))  # callable from here
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    assert isinstance(await agent.call(DevicesTable.select_rows, {"ids": ["d1"]}), Ok)
    mount.unmount()  # gone from here
    assert isinstance(await agent.call(DevicesTable.read_state), Failed)


if __name__ == "__main__":
    asyncio.run(show(compile_app(__file__), ["d1", "d2"]))
