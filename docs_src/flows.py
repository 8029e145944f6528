"""Several steps as one capability, as the page about flows shows it."""

import asyncio
from dataclasses import dataclass, field

from remit import (
    Component,
    Consumer,
    Decider,
    Failed,
    Handoff,
    Ok,
    Outcome,
    Procedures,
    StepRefused,
    Steps,
    Surface,
    action,
    flow,
    reference,
)
from remit.compiler import compile_app

backend = Procedures()


@backend.operation("orders.notify", effect="server-mutation")
async def notify_customer(order: str, label: str) -> str:
    """Tell the customer that an order is on its way."""
    return f"{order} is on its way: {label}"


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders on this page."""

    picked: list[str] = field(default_factory=list)

    @action
    def pick(self, order: str) -> None:
        """Pick an order from the shelf."""
        self.picked.append(order)

    @action
    def label(self, order: str) -> str:
        """Print the label of an order."""
        return f"label of {order}"

    notify = reference("domain:orders.notify")

    @flow(steps=["view:orders.list.pick", "view:orders.list.label", "domain:orders.notify"])
    async def ship(self, order: str, steps: Steps) -> str:  # runs the declared steps, in order; each governed by itself
        """Ship an order: pick, label, notify the customer."""
        await steps.run({"order": order})
        label = await steps.run({"order": order})  # a refused step ends the flow: "1 of 3"
        return str(await steps.run({"order": order, "label": label}))

    @action(handoff=Handoff("The driver signs on the glass", to="/sign"))
    def sign(self, order: str) -> str:
        """Have the driver sign for an order."""
        raise NotImplementedError

    @flow(steps=["view:orders.list.pick", "view:orders.list.sign", "view:orders.list.label"])
    async def hand_over(self, order: str, steps: Steps) -> str:
        """Hand an order to the driver: pick, have it signed, label."""
        try:
            await steps.run({"order": order})
            driver = await steps.run({"order": order})  # waits here until the person has signed
            return f"{driver}: {await steps.run({'order': order})}"
        except StepRefused:
            self.picked.remove(order)  # what the method did itself it may take back; the flow has failed all the same
            raise


def told(outcome: Outcome) -> str:
    match outcome:
        case Ok(output=output, steps=steps):
            return f"{output} ({steps})"
        case Failed(error=error, steps=steps):
            return f"{error.code} ({steps})"


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="ada", procedures=backend)
    surface.mount(OrderList())
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    print(told(await agent.call("view:orders.list.ship", {"order": "o-1"})))
    print(told(await agent.call("view:orders.list.handOver", {"order": "o-2"})))
    [handoff] = surface.handoffs.pending()
    await surface.handoffs.complete(handoff.id, Decider("ada"), "Bo")
    print(told(await agent.call("view:orders.list.handOver", {"order": "o-2"})))


if __name__ == "__main__":
    asyncio.run(main())
