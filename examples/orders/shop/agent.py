"""A scripted agent over the page protocol: it works one open page, and leaves to people what is theirs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from remit import Failed, Ok, Outcome
from remit.client import AsyncClient, Capability, Pending

NOTE: Final = "view:orders.list.updateNote"
PAY: Final = "view:orders.list.pay"
READ: Final = "view:orders.list.readOrders"
PICK: Final = "view:orders.list.pick"
LABEL: Final = "view:orders.list.label"
SHIP: Final = "view:orders.list.ship"
FIND: Final = "view:orders.list.findOrders"
CANCEL: Final = "domain:orders.cancel"
NOTIFY: Final = "domain:orders.notify"
Say = Callable[[str], None]


class Stopped(Exception):
    """The agent was refused what it was told to do."""


@dataclass(slots=True)
class Agent:
    """What one agent does in the page that its token reaches."""

    client: AsyncClient
    say: Say

    async def look(self) -> dict[str, Capability]:
        """What may be called now, by its id without kind and instance."""
        described = await self.client.describe()
        if isinstance(described, Failed):
            raise Stopped(described.error.message)
        self.say(f"sees      {described.title}: {len(described.capabilities)} capabilities")
        return {_plain(each.id): each for each in described.capabilities}

    async def note_off_screen(self, customer: str, text: str) -> str:
        """Write a note on a customer's latest order that the page does not show; returns the order."""
        seen = await self.look()
        shown = {str(row["id"]) for row in _rows(await self.client.call(seen[READ].id))}
        found = _rows(await self.client.call(seen[FIND].id, {"customer": customer}))
        hidden = [str(id) for id in found if str(id) not in shown]
        if not hidden:
            raise Stopped("every order of theirs is on the page")
        done = await self.client.call(seen[NOTE].id, {"record": hidden[-1], "note": text})
        if isinstance(done, Failed):
            raise Stopped(done.error.message)
        self.say(f"noted     {hidden[-1]}, which the page does not show")
        return hidden[-1]

    async def ask_to_pay(self, order: str) -> tuple[str, str]:
        """Ask for a payment, which is a person's step; returns where the person goes, and the handoff."""
        seen = await self.look()
        asked = await self.client.call(seen[PAY].id, {"record": order})
        if not isinstance(asked, Failed) or asked.error.code != "HANDOFF_REQUIRED":
            raise Stopped("a payment is always a person's step")
        url, handoff = str(asked.error.details["url"]), str(asked.error.details["handoff_id"])
        self.say(f"asks      {asked.error.details['reason']}: {url.partition('?')[0]}")
        return url, handoff

    async def follow(self, handoff: str, *, seconds: float) -> str:
        """Wait until the person has done a step, or will not; returns how it ended, and the number of the receipt."""
        async with asyncio.timeout(seconds), self.client.events() as events:
            state = await self._state(handoff)
            while state["status"] == "pending":
                await anext(events)
                state = await self._state(handoff)
        data = state.get("data")
        number = str(data["number"]) if isinstance(data, dict) else ""
        self.say(f"learns    the step is {state['status']} {number}".rstrip())
        return f"{state['status']} {number}".rstrip()

    async def ask_to_cancel(self, order: str) -> str:
        """Ask to cancel an order; returns the id of the request that now waits for a person."""
        seen = await self.look()
        asked = await self.client.call(seen[CANCEL].id, {"order": order})
        if not isinstance(asked, Failed) or asked.error.code != "CONFIRMATION_REQUIRED":
            raise Stopped("cancelling is always asked about")
        self.say(f"asks      to cancel {order}; a person decides")
        return str(asked.error.details["confirmation_id"])

    async def cancel(self, order: str, confirmation: str) -> Outcome:
        """Cancel it, once that has been decided."""
        seen = await self.look()
        return await self.client.call(seen[CANCEL].id, {"order": order}, confirmation=confirmation)

    async def _state(self, handoff: str) -> dict[str, object]:
        answer = await self.client.handoff(handoff)
        if not isinstance(answer, Pending):
            raise Stopped(answer.error.message)
        return dict(answer.fields)


def _plain(id: str) -> str:
    return id.partition("#")[0].partition("@")[0]


def _rows(outcome: Outcome) -> list[dict[str, object]]:
    if not isinstance(outcome, Ok):
        raise Stopped(outcome.error.message)
    found = outcome.output["ids"] if isinstance(outcome.output, dict) else outcome.output
    return list(found) if isinstance(found, list) else []


async def main(url: str, token: str) -> None:
    """Look, note, and ask for a payment; the person does the rest."""
    async with AsyncClient(url, token) as client:
        agent = Agent(client, print)
        order = await agent.note_off_screen("Ferri", "Customer called: deliver to the back door")
        _, handoff = await agent.ask_to_pay(order)
        await agent.follow(handoff, seconds=600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], os.environ["REMIT_TOKEN"]))
