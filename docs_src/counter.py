import asyncio

from remit import Component, Consumer, Surface, action, observation
from remit.compiler import compile_app


class Counter(Component, type="demo.counter"):
    """A counter on the page."""

    def __init__(self) -> None:
        self.value = 0

    @observation
    def read_value(self) -> int:
        """The number shown."""
        return self.value

    @action
    def increment(self, by: int = 1) -> None:
        """Add to the number."""
        self.value += by


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="operator")
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(Counter()):
        print([c.id for c in agent.capabilities()])
        await agent.call("view:demo.counter.increment", {"by": 2})
        print(await agent.call("view:demo.counter.readValue"))
    print(await agent.call("view:demo.counter.readValue"))


if __name__ == "__main__":
    asyncio.run(main())
