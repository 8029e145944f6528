"""The examples of docs/concepts/confirmation.md; runs as it is."""

import asyncio
from typing import Annotated

from pydantic import Field

from remit import AgentError, Component, Connection, Consumer, Decider, Failed, Ok, Outcome, Surface, action
from remit.compiler import compile_app


class OrderList(Component, type="orders.list"):
    """The orders on the page."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}

    @action(confirmation="required", may_vary=("note",))
    def annotate(self, order: str, note: Annotated[str, Field(max_length=200)]) -> None:
        """Write the note of an order."""
        self.notes[order] = note


class ApiKeys(Component, type="keys.list"):
    """The keys of the deployment."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}

    @action(confirmation="required", sensitive=("key",))
    def store(self, name: str, key: str) -> None:
        """Store a key under a name."""
        self.keys[name] = key


async def approve_for_the_session(surface: Surface, person: Decider) -> None:
    for request in surface.confirmations.pending(person):
        if request.standing is not None:  # the offer: what may vary, within which schema, how long, how often
            await surface.confirmations.approve(request.id, person, digest=request.digest, standing=("note",))


def trust_again(surface: Surface, person: Decider) -> None:
    for read in surface.confirmations.untrusted(person):  # who, what told it, when
        surface.confirmations.clear_untrusted(read.consumer, person)


def failed(outcome: Outcome) -> AgentError:
    assert isinstance(outcome, Failed)
    return outcome.error


async def draw_anew(surface: Surface, agent: Connection, orders: OrderList) -> None:
    before = surface.mount(orders, identity={"filter": "open"})
    error = failed(await agent.call(OrderList.annotate, {"order": "o1", "note": "fragile"}))
    before.unmount()
    surface.mount(orders, identity={"filter": "open"})  # within 15 seconds: the request goes on here
    request = surface.confirmations.get(str(error.details["confirmation_id"]))
    assert request is not None and request.status == "pending"


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="operator")
    surface.confirmations.subscribe(lambda request: None)
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(OrderList()):
        assert isinstance(await agent.call(OrderList.annotate, {"order": "o1", "note": "fragile"}), Failed)
        await approve_for_the_session(surface, Decider("operator"))
        for note in ("fragile", "very fragile"):
            assert isinstance(await agent.call(OrderList.annotate, {"order": "o1", "note": note}), Ok)
        assert isinstance(await agent.call(OrderList.annotate, {"order": "o2", "note": "fragile"}), Failed)
    with surface.mount(ApiKeys()):
        assert isinstance(await agent.call(ApiKeys.store, {"name": "prod", "key": "sk-1"}), Failed)
        (request,) = [each for each in surface.confirmations.pending() if each.withheld]
        assert "sk-1" not in str(request)
    await draw_anew(surface, agent, OrderList())
    trust_again(surface, Decider("operator"))


if __name__ == "__main__":
    asyncio.run(main())
