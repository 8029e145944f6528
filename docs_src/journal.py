"""The examples of docs/concepts/journal.md; runs as it is."""

import asyncio
from dataclasses import dataclass

from remit import AuditEntry, Component, Consumer, Event, EventType, Ok, Payload, Surface, action, observation
from remit.compiler import compile_app


@dataclass
class Account:
    """A customer's account."""

    name: str
    card: str


class Customer(Component, type="demo.customer"):
    """The customer whose page is open."""

    def __init__(self, account: Account) -> None:
        self.account = account

    @observation
    def read_account(self) -> Account:
        """The account."""
        return self.account

    @action(audit="full")
    def set_card(self, card: str) -> None:
        """Replace the card."""
        self.account.card = card

    @read_account.redact
    @set_card.redact
    def only_the_last_digits(self, payload: Payload) -> object:
        if isinstance(payload.value, dict) and "card" in payload.value:
            payload.value["card"] = "…" + str(payload.value["card"])[-4:]
        return payload.value


class Log:
    async def write(self, entry: AuditEntry) -> None:
        await self.lines.put(f"{entry.time} {entry.type} {entry.capability} {entry.code}")

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="operator")
    log = Log()
    surface.audit_to(log)
    heard: list[EventType] = []

    def listen(event: Event) -> None:
        heard.append(event.type)

    end = surface.subscribe(listen, types={EventType.REGISTERED, EventType.INVOCATION_SETTLED})
    surface.mount(Customer(Account("Ada", "4000 1234")))
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    answer = await agent.call(Customer.read_account)
    assert isinstance(answer, Ok) and answer.output == {"name": "Ada", "card": "…1234"}

    await agent.call(Customer.set_card, {"card": "4000 9876"})
    (entry,) = surface.audit(types={"invocation"})
    assert entry.input == {"card": "…9876"} and entry.execution_ms is not None
    end()
    written = [(await log.lines.get()).split()[1:3] for _ in surface.audit()]
    assert written == [["registration", "None"], ["invocation", "view:demo.customer.setCard"]]
    assert heard == [EventType.REGISTERED, EventType.INVOCATION_SETTLED, EventType.INVOCATION_SETTLED]


if __name__ == "__main__":
    asyncio.run(main())
