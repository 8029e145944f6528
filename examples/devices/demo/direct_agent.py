"""The agent of the in-process check: calls the surface directly, as a remote consumer of the MCP door would be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from demo.stage import Answer, Asked, Tool
from remit import Connection, Failed, Outcome


class DirectAgent:
    """Calls through a `Connection`; a consumer of a network kind, so the site's exposure holds for it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def tools(self) -> dict[str, Tool]:
        """List what this consumer may see."""
        return {
            listed.id: Tool(name=listed.id, registration=listed.registration, available=listed.available)
            for listed in self._connection.capabilities()
        }

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | None = None,
        *,
        registration: str | None = None,
        confirmation: str | None = None,
        invocation: str | None = None,
    ) -> Answer:
        """Call a capability."""
        outcome = await self._connection.call(
            tool, arguments, registration=registration, confirmation=confirmation, id=invocation
        )
        return _answer(outcome)

    async def ask(self, tool: str, arguments: Mapping[str, object] | None = None) -> Asked | Answer:
        """Call a capability that needs a person; the request is answered at once, the person comes later."""
        answer = await self.call(tool, arguments)
        if answer.code != "CONFIRMATION_REQUIRED":
            return answer
        return _DirectAsked(
            confirmation=str(answer.details["confirmation_id"]), agent=self, tool=tool, arguments=arguments
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DirectAsked:
    confirmation: str
    agent: DirectAgent
    tool: str
    arguments: Mapping[str, object] | None

    async def answer(self) -> Answer:
        return await self.agent.call(self.tool, self.arguments, confirmation=self.confirmation)


def _answer(outcome: Outcome) -> Answer:
    raw = repr(outcome).replace(outcome.invocation_id, "inv").replace(outcome.capability_id, "id")
    if isinstance(outcome, Failed):
        error = outcome.error
        return Answer(code=error.code.value, data=None, details=error.details, raw=raw)
    return Answer(code=None, data=outcome.output, details={}, raw=raw)
