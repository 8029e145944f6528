"""What agents may see and do on the page of orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field

from remit import Component, Handoff, ReadContext, RecordSet, action, observation, reference
from shop.people import Person
from shop.store import Order, Shop


class OrderRow(BaseModel):
    """One order as the page shows it."""

    id: str
    customer: str
    status: str
    price: str
    note: str


class Found(BaseModel):
    """Orders by their ids, on this page or not."""

    ids: list[str]


class Receipt(BaseModel):
    """What an agent is told of a payment."""

    number: str


def row_of(order: Order) -> OrderRow:
    """An order as the page shows it."""
    return OrderRow(id=order.id, customer=order.customer, status=order.status, price=order.price, note=order.note)


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders of this desk; some of them are on the page, all of them can be worked on."""

    shop: Shop
    person: Person
    shown: list[str]

    @observation(untrusted=True)
    def read_orders(self) -> list[OrderRow]:
        """The orders on the page."""
        return [row_of(self.shop.orders[id]) for id in self.shown]

    @observation
    def find_orders(self, customer: Annotated[str, Field(min_length=2, max_length=80)]) -> Found:
        """Ids of orders of this desk whose customer's name contains a text, on the page or not."""
        wanted = customer.casefold()
        return Found(ids=[order.id for order in self.reachable_orders() if wanted in order.customer.casefold()])

    @action(record="order")
    def update_note(self, order: str, note: Annotated[str, Field(max_length=500)]) -> None:
        """Update the note on an order."""
        self.shop.orders[order].note = note

    @action(
        effect="navigation",
        record="order",
        handoff=Handoff("Card details are entered by a person", to="/orders/{order}/pay"),
    )
    def pay(self, order: str) -> Receipt:  # never run: the person goes to `to`, the page there reports the outcome
        """Pay an order."""
        raise NotImplementedError

    cancel = reference("domain:orders.cancel")
    notify = reference("domain:orders.notify")

    @update_note.records
    def _(self, ctx: ReadContext) -> RecordSet:
        return self.records(self.reachable_orders())

    @pay.records
    def payable(self, ctx: ReadContext) -> RecordSet:
        return self.records([order for order in self.reachable_orders() if order.status == "open"])

    def records(self, orders: list[Order]) -> RecordSet:
        """Orders as records, some of which the page does not show."""
        ids = {order.id for order in orders}
        return RecordSet(ids=ids, offscreen=ids - set(self.shown))

    def reachable_orders(self) -> list[Order]:
        """The orders that this person works on."""
        return list(self.shop.of(self.person.region))
