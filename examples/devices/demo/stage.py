"""What the steps of the demonstration act on: an agent, a person, a page and the fleet's database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from demo.records import Records


class Red(Exception):
    """A step did not end as it must: what was expected of what, and what was found."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        super().__init__(f"expected {what} {expected} … found {found}")


def expect(what: str, expected: object, found: object) -> None:
    """Raise `Red` unless both are equal; `what` says of which thing."""
    if expected != found:
        raise Red(what, expected, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as the agent was told of it; `name` is the id of the capability it stands for."""

    name: str
    registration: str
    available: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call gave back: `data` of a success, `code` and `details` of a refusal; `raw` is the whole answer."""

    code: str | None
    data: object
    details: Mapping[str, object]
    raw: str

    @property
    def verdict(self) -> str:
        """`ok`, or the code with its reason: `STALE_CAPABILITY{registration-replaced}`."""
        if self.code is None:
            return "ok"
        for key in ("reason", "phase", "locked_fields"):
            if key in self.details:
                told = self.details[key]
                return f"{self.code}{{{', '.join(map(str, told)) if isinstance(told, list) else told}}}"
        return self.code


class Asked(Protocol):
    """A call that waits for a person."""

    @property
    def confirmation(self) -> str:
        """The id of the request."""
        ...

    async def answer(self) -> Answer:
        """Wait for the person and return what the call gave in the end."""
        ...


class Agent(Protocol):
    """The agent's side: an MCP client, or in process a toolset."""

    async def tools(self) -> dict[str, Tool]:
        """List the tools, by name."""
        ...

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | None = None,
        *,
        registration: str | None = None,
        confirmation: str | None = None,
        invocation: str | None = None,
    ) -> Answer:
        """Call a tool that no person has to approve; the keywords travel beside the arguments."""
        ...

    async def ask(self, tool: str, arguments: Mapping[str, object] | None = None) -> Asked | Answer:
        """Call a tool that a person has to approve; an `Answer` when nobody was asked."""
        ...


class Person(Protocol):
    """Whoever decides."""

    async def deny(self, asked: Asked) -> Sequence[str]:
        """Read the ids that the request shows, then deny it."""
        ...

    async def approve(self, asked: Asked) -> Sequence[str]:
        """Read the ids that the request shows, then approve it."""
        ...


class Page(Protocol):
    """What the person has on screen.

    A screen follows the server after a moment: with `wanted` a method waits for it a little, and in any case it
    returns what is there. Ids are sorted.
    """

    @property
    def name(self) -> str:
        """How a step's line speaks of it."""
        ...

    async def heading(self, wanted: str) -> str:
        """The part of the application that is open."""
        ...

    async def rows(self, wanted: list[str]) -> list[str]:
        """The ids of the rows shown."""
        ...

    async def checked(self, wanted: list[str]) -> list[str]:
        """The ids of the rows selected."""
        ...

    async def disabled(self, wanted: list[str]) -> list[str]:
        """The ids of the rows shown as disabled."""
        ...

    async def details(self, wanted: str) -> str:
        """The id of the device whose details are open; empty when none are."""
        ...

    async def dialogs(self) -> int:
        """How many approval dialogs are open."""
        ...


@dataclass(slots=True, kw_only=True)
class Memory:
    """What earlier steps leave for later ones."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    first_row: str = ""
    found: list[str] = field(default_factory=list)
    selected: list[str] = field(default_factory=list)
    disabled: list[str] = field(default_factory=list)
    effects: int = 0
    confirmation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything a step may touch.

    `stranger` is the agent of the other account, the auditor, who has no page open until `open_as_auditor` is called;
    `no_view` is how its calls are refused before.
    """

    agent: Agent
    stranger: Agent
    person: Person
    page: Page
    records: Records
    no_view: str
    open_as_auditor: Callable[[], Awaitable[Page]]
    memory: Memory = field(default_factory=Memory)
