"""A step that only the person may do, as the page about handoffs shows it."""

import asyncio
from dataclasses import dataclass, field

from pydantic import BaseModel

from remit import Component, Connection, Consumer, Decider, Failed, Handoff, ReadContext, RecordSet, Surface, action
from remit.compiler import compile_app


class Receipt(BaseModel):
    number: str


@dataclass
class OrderList(Component, type="orders.list"):
    """The orders on this page."""

    open: set[str] = field(default_factory=set)

    @action(
        effect="navigation", record="order", handoff=Handoff("Customers enter their card", to="/orders/{order}/pay")
    )
    def pay(self, order: str) -> Receipt:  # never run: the person goes to `to`, the host reports the outcome
        """Pay an order."""
        raise NotImplementedError

    @pay.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.open)


async def paid(surface: Surface, handoff: str, person: str) -> None:
    view = surface.handoffs.get(handoff, Decider(person))
    if view is None:
        raise LookupError("this person has no such step to do")
    await surface.handoffs.complete(view.id, Decider(person), Receipt(number=f"paid-{view.record}"))


async def follow(agent: Connection, handoff: str) -> str:
    state = agent.handoff(handoff)  # None: unknown, another consumer's, or out of reach now
    return "gone" if state is None else f"{state.status}: {state.data}"


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="ada")
    surface.mount(OrderList({"o-1", "o-2"}))
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    outcome = await agent.call("view:orders.list.pay", {"record": "o-1"})
    assert isinstance(outcome, Failed)
    handoff = str(outcome.error.details["handoff_id"])
    print(outcome.error.code, str(outcome.error.details["url"]).partition("?")[0])
    print(await follow(agent, handoff))
    await paid(surface, handoff, "ada")
    print(await follow(agent, handoff))


if __name__ == "__main__":
    asyncio.run(main())
