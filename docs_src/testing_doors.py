"""The examples of docs/guides/testing.md about doors; runs as it is, without pytest's help."""

import asyncio

from remit import Component, action, observation
from remit.compiler import compile_app
from remit.testing import Harness, assert_failed, assert_ok
from remit.testing.pytest_plugin import remit_harness

harness = remit_harness(principal="operator", over=["test", "mcp", "mcp-http"])


class Notes(Component, type="demo.notes", doors=["test", "mcp"]):
    """Notes on the page."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @observation
    def read_lines(self) -> list[str]:
        """All lines."""
        return self.lines

    @action
    def add_line(self, line: str) -> int:
        """Add a line."""
        self.lines.append(line)
        return len(self.lines)


async def test_adding_a_line(harness: Harness) -> None:
    with harness.mount(Notes()):
        assert assert_ok(await harness.call(Notes.add_line, {"line": "milk"})) == 1
        assert_failed(await harness.call(Notes.add_line, {"line": 7}), "INVALID_INPUT")
        assert await harness.observe(Notes.read_lines) == ["milk"]


async def test_both_eras_of_the_protocol() -> None:
    async with Harness(compile_app(__file__), principal="operator") as harness:
        for era in ("modern", "handshake"):
            await test_adding_a_line(harness.over("mcp", era=era))


async def main() -> None:
    await test_both_eras_of_the_protocol()
    async with Harness(compile_app(__file__), principal="operator") as harness:
        for door in ("test", "mcp", "mcp-http"):
            await test_adding_a_line(harness.over(door))


if __name__ == "__main__":
    asyncio.run(main())
