"""One action for every row, and a session that may reach a part of the view, as the page about records shows them."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from remit import Component, Consumer, Failed, Ok, ReadContext, RecordSet, Surface, action
from remit.compiler import compile_app


@dataclass
class Order:
    owner: str
    note: str = ""
    shown: bool = True


class OrderPage(Component, type="orders.page"):
    """The page of orders."""

    @action
    def print(self) -> None:
        """Print the page."""


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders on this page."""

    orders: dict[str, Order] = field(default_factory=dict)

    @action(record="order")  # the parameter of that name is the record; agents send its id as `record`
    def update_note(self, order: str, note: Annotated[str, Field(max_length=500)]) -> None:
        """Update the note on an order."""
        self.orders[order].note = note

    @update_note.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        mine = {id for id, order in self.orders.items() if ctx.principal and order.owner == ctx.principal.id}
        return RecordSet(ids=mine, offscreen={id for id in mine if not self.orders[id].shown})


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="ada")
    page = surface.mount(OrderPage())
    orders = OrderList({"o-1": Order("ada"), "o-2": Order("ada", shown=False), "o-3": Order("grace")})
    surface.mount(orders, parent=page)

    agent = surface.connect(Consumer("copilot", kind="embedded", scope=["region:orders.page/**"]))
    [listed] = agent.capabilities()  # not `print`: that is the page's own, not something inside it
    assert listed.records is not None
    print(listed.page_id, listed.records.total, listed.records.offscreen)
    for record in ("o-1", "o-2", "o-3", "o-99"):
        match await agent.call("view:orders.list.updateNote", {"record": record, "note": "rush"}):
            case Ok():
                print(record, "noted")
            case Failed(error=error):
                print(record, error.code)


if __name__ == "__main__":
    asyncio.run(main())
