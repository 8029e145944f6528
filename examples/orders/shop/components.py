"""What agents may see and do on the page of orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, Field

from remit import Component, Handoff, ReadContext, RecordSet, Refused, Steps, action, flow, observation, reference
from shop.people import Person
from shop.store import Order, Shop


class OrderRow(BaseModel):
    """One order as the page shows it."""

    id: str
    customer: str
    status: str
    price: str
    note: str
    label: str


class Found(BaseModel):
    """Orders by their ids, on this page or not."""

    ids: list[str]


class Label(BaseModel):
    """What stands on a parcel."""

    number: str


class Receipt(BaseModel):
    """What an agent is told of a payment."""

    number: str


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders of this desk; some of them are on the page, all of them can be worked on."""

    shop: Shop
    person: Person
    shown: list[str]
    picked: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)

    @observation(untrusted=True)
    def read_orders(self) -> list[OrderRow]:
        """The orders on the page."""
        return [self.row(self.shop.orders[id]) for id in self.shown]

    @observation
    def find_orders(self, customer: Annotated[str, Field(min_length=2, max_length=80)]) -> Found:
        """Ids of orders of this desk whose customer's name contains a text, on the page or not."""
        wanted = customer.casefold()
        return Found(ids=[order.id for order in self.reachable_orders() if wanted in order.customer.casefold()])

    @action(record="order")
    def update_note(self, order: str, note: Annotated[str, Field(max_length=500)]) -> None:
        """Update the note on an order."""
        self.shop.orders[order].note = note

    @action(record="order")
    def pick(self, order: str) -> None:
        """Put an order on the packing list of this page."""
        if order not in self.picked:
            self.picked.append(order)

    @action(record="order", idempotent=True)
    def label(self, order: str) -> Label:
        """Make the label for the parcel of an order that is picked."""
        return Label(number=self.labels.setdefault(order, f"L-{order.removeprefix('o-')}"))

    @label.precondition
    def is_picked(self, order: str) -> Refused | None:
        return None if order in self.picked else Refused("The order is not picked")

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

    @flow(steps=["view:orders.list.pick", "view:orders.list.label", "domain:orders.notify"], record="order")
    async def ship(self, order: str, steps: Steps) -> Label:  # runs the declared steps; each is governed by itself
        """Ship an order: pick, label, notify the customer."""
        await steps.run({"record": order})
        label = Label.model_validate(await steps.run({"record": order}))
        await steps.run({"order": order, "text": f"Your order {order} is on its way as {label.number}"})
        return label

    @update_note.records
    @pick.records
    @label.records
    @ship.records
    def _(self, ctx: ReadContext) -> RecordSet:
        return self.records(self.reachable_orders())

    @pay.records
    def payable(self, ctx: ReadContext) -> RecordSet:
        return self.records([order for order in self.reachable_orders() if order.status == "open"])

    def records(self, orders: list[Order]) -> RecordSet:
        """Orders as records, some of which the page does not show."""
        ids = {order.id for order in orders}
        return RecordSet(ids=ids, offscreen=ids - set(self.shown))

    def row(self, order: Order) -> OrderRow:
        """An order as the page shows it."""
        return OrderRow(
            id=order.id,
            customer=order.customer,
            status="picked" if order.status == "open" and order.id in self.picked else order.status,
            price=order.price,
            note=order.note,
            label=self.labels.get(order.id, ""),
        )

    def reachable_orders(self) -> list[Order]:
        """The orders that this person works on."""
        return list(self.shop.of(self.person.region))
