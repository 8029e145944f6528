"""The small application that every case plays in, as `spec/page-protocol/README.md` tells it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from remit._contract.component import Component
from remit._contract.decorators import action, observation
from remit._contract.flow import flow
from remit._contract.reference import reference
from remit._model.answers import Handoff, RecordSet
from remit._model.context import ReadContext
from remit._model.steps import Steps
from remit.procedures.functions import Procedures

Run = dict[str, object]


@dataclass
class Backstage:
    """What the parts of one case share: the rows that each agent reaches, what ran, and the changes that wait."""

    rows: dict[str, RecordSet] = field(default_factory=dict)
    ran: list[Run] = field(default_factory=list)
    go_on: Callable[[], Awaitable[None]] | None = None

    def run(self, capability: str, **input: object) -> None:
        """Note that a capability ran."""
        self.ran.append({"capability": capability, "input": input})

    def reached(self, ctx: ReadContext) -> RecordSet:
        """The rows that the agent reaches who asks."""
        return self.rows.get(ctx.consumer.id, RecordSet(ids=()))


@dataclass
class Page(Component, type="orders.page"):
    """The page with the orders."""

    stage: Backstage

    @observation
    def read_title(self) -> str:
        """The title of the page."""
        return "Orders"


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders on this page."""

    stage: Backstage
    filter: str = ""

    @observation
    def read_filter(self) -> str:
        """The text that the orders are filtered by."""
        return self.filter

    @action
    def set_filter(self, text: Annotated[str, Field(max_length=40)]) -> None:
        """Filter the orders."""
        self.stage.run("setFilter", text=text)
        self.filter = text

    @action(confirmation="required")
    def clear(self) -> None:
        """Remove all orders from the page."""
        self.stage.run("clear")

    @action(record="order")
    def update_note(self, order: str | int, note: Annotated[str, Field(max_length=40)]) -> None:
        """Update the note on an order."""
        self.stage.run("updateNote", record=order, note=note)

    @update_note.records
    def _reachable(self, ctx: ReadContext) -> RecordSet:
        return self.stage.reached(ctx)

    ship = reference("domain:orders.ship")
    cancel = reference("domain:orders.cancel")


@dataclass
class OrderForm(Component, type="orders.form"):
    """The form for a new order."""

    stage: Backstage

    @action
    def submit(
        self, amount: Annotated[int, Field(ge=1, le=100)], memo: Annotated[str, Field(max_length=20)] = ""
    ) -> int:
        """Fill in the form."""
        self.stage.run("submit", amount=amount, memo=memo)
        return amount


@dataclass
class Payment(Component, type="orders.payment"):
    """The payment of an order."""

    stage: Backstage

    @action(record="order", handoff=Handoff("Customers enter their card", to="/orders/{order}/pay"))
    def pay(self, order: str | int, amount: Annotated[int, Field(ge=1, le=100)] = 1) -> str:
        """Pay an order."""
        self.stage.run("pay", record=order, amount=amount)
        return "paid"

    @pay.records
    def _reachable(self, ctx: ReadContext) -> RecordSet:
        return self.stage.reached(ctx)


@dataclass
class Work(Component, type="orders.work"):
    """The work on an order."""

    stage: Backstage

    @action
    def pick(self, order: str) -> None:
        """Pick an order from the shelf."""
        self.stage.run("pick", order=order)

    @action
    def label(self, order: str) -> str:
        """Print the label of an order."""
        self.stage.run("label", order=order)
        return order

    @action(handoff=Handoff("Drivers sign for what they take", to="/orders/sign"))
    def sign(self, order: str) -> str:
        """Sign for an order."""
        self.stage.run("sign", order=order)
        return "paid"

    @flow(steps=["view:orders.work.pick", "view:orders.work.label"])
    async def send(self, order: str, steps: Steps) -> str:
        """Send an order: pick, label."""
        await steps.run({"order": order})
        return str(await steps.run({"order": order}))

    @flow(steps=["view:orders.work.pick", "view:orders.work.sign", "view:orders.work.label"])
    async def hand_over(self, order: str, steps: Steps) -> str:
        """Hand an order over: pick, have it signed, label."""
        await steps.run({"order": order})
        done = await steps.run({"order": order})
        await steps.run({"order": order})
        return str(done)


@dataclass
class Stage(Component, type="orders.stage"):
    """What lets a case look behind the scene, and go on."""

    stage: Backstage

    @observation
    def read_runs(self) -> list[Run]:
        """What has run so far, in order."""
        return list(self.stage.ran)

    @action
    async def go_on(self) -> None:
        """Let the next change happen."""
        if self.stage.go_on is not None:
            await self.stage.go_on()


PARTS: dict[str, type[Page | OrderList | OrderForm | Payment | Work | Stage]] = {
    "orders.page": Page,
    "orders.list": OrderList,
    "orders.form": OrderForm,
    "orders.payment": Payment,
    "orders.work": Work,
    "orders.stage": Stage,
}


def backend_of(stage: Backstage) -> Procedures:
    """The operations of the backend."""
    procedures = Procedures()

    @procedures.operation("orders.ship", effect="server-mutation")
    async def ship(order: str) -> str:
        """Ship an order."""
        stage.run("ship", order=order)
        return order

    @procedures.operation("orders.cancel", effect="destructive")
    async def cancel(order: str) -> str:
        """Cancel an order."""
        stage.run("cancel", order=order)
        return order

    return procedures
