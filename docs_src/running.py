"""The examples of docs/guides/running.md; runs as it is."""

import asyncio
import itertools

from remit import (
    Authority,
    Component,
    Consumer,
    Context,
    Ok,
    Progress,
    Refused,
    Retry,
    Surface,
    action,
    key,
    observation,
    parallel,
)
from remit.compiler import compile_app


class Exports:
    """A folder."""

    async def write(self, rows: list[str]) -> str:
        return f"{len(rows)} rows"


class Previews:
    """A renderer."""

    async def render(self, row: str) -> str:
        return row.upper()


class Exchange:
    """An exchange whose line is bad."""

    def __init__(self) -> None:
        self._asked = itertools.count(1)

    async def prices(self) -> list[float]:
        if next(self._asked) == 1:
            raise ConnectionError("the line is bad")
        return [1.5, 2.5]


class Table(Component, type="rows.table"):
    """Rows that take a while."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows
        self.selected: list[str] = []
        self.exports, self.previews, self.exchange = Exports(), Previews(), Exchange()
        self.disk: list[str] = []

    @action
    def select(self, ids: list[str]) -> None:
        """Select rows."""
        self.selected = ids

    @action(concurrency=key("export"))
    async def export(self) -> str:
        """Write the rows to the export folder."""
        return await self.exports.write(self.rows)

    @action(concurrency=parallel(3))
    async def preview(self, row: str) -> str:
        """Render a preview of one row."""
        return await self.previews.render(row)

    @action(blocking=True)
    def archive(self, ctx: Context) -> int:
        """Pack the rows into the archive on the slow disk."""
        for done, row in enumerate(self.rows):
            if ctx.cancelled.is_set():
                raise Refused("Stopped before everything was packed", outcome="done", packed=done)
            self.disk.append(row)
            ctx.progress(done + 1, len(self.rows))
        return len(self.rows)

    @observation(retry=Retry(attempts=3, backoff=0.2, cap=2.0, jitter=0.5))
    async def read_prices(self) -> list[float]:
        """Prices as the exchange has them now."""
        return await self.exchange.prices()


async def show(authority: Authority) -> None:
    surface = Surface(authority, principal="operator")
    surface.mount(Table(["d1", "d2"]))
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    heard: list[Progress] = []
    assert isinstance(await agent.call(Table.select, {"ids": ["d1"]}), Ok)
    assert isinstance(await agent.call(Table.export), Ok)
    assert isinstance(await agent.call(Table.preview, {"row": "d1"}), Ok)
    packed = await agent.call(Table.archive, progress=heard.append)
    assert isinstance(packed, Ok) and packed.output == 2 and heard[-1].done == 2
    prices = await agent.call(Table.read_prices)
    assert isinstance(prices, Ok) and prices.output == [1.5, 2.5]
    assert [entry.why for entry in surface.audit() if entry.type == "attempt"] == ["attempt 1 of 3 failed"]


if __name__ == "__main__":
    asyncio.run(show(compile_app(__file__)))
