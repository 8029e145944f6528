"""The agent of the demonstration as agents really are: the official MCP client, over HTTP, with a delegation token."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitRequestURLParams, ElicitResult, TextContent

from demo.stage import Answer, Asked, Tool

_TIMEOUTS = httpx2.Timeout(30.0, read=300.0)


class McpAgent:
    """Speaks in capability ids and calls the tools that stand for them; made by `connected_agent`."""

    def __init__(self, client: Client, links: asyncio.Queue[str]) -> None:
        self._client = client
        self._links = links
        self._answering: list[asyncio.Task[Answer]] = []

    @property
    def protocol(self) -> str:
        """The protocol version that client and door agreed on."""
        return self._client.protocol_version

    async def tools(self) -> dict[str, Tool]:
        """List the tools."""
        listed = await self._client.list_tools(cache_mode="bypass")
        told = (_tool(tool.name, tool.meta or {}) for tool in listed.tools)
        return {tool.name: tool for tool in told}

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | None = None,
        *,
        registration: str | None = None,
        confirmation: str | None = None,
        invocation: str | None = None,
    ) -> Answer:
        """Call a tool; what stands beside the arguments travels in the request's `_meta`."""
        beside = {
            "remit/registration": registration,
            "remit/confirmation": confirmation,
            "remit/invocation": invocation,
        }
        meta = {key: value for key, value in beside.items() if value is not None}
        given = None if arguments is None else dict(arguments)
        name = wire_name(tool)
        return _answer(name, await self._client.call_tool(name, given, meta=meta or None))  # type: ignore[arg-type]

    async def timed(self, tool: str, times: int) -> list[float]:
        """Call a tool this many times, one after the other; the milliseconds that each call took."""
        name, took = wire_name(tool), []
        for _ in range(times):
            begun = time.perf_counter()
            result = await self._client.call_tool(name)
            took.append((time.perf_counter() - begun) * 1000)
            if result.is_error:
                raise RuntimeError(f"{name} was refused")
        return took

    async def ask(self, tool: str, arguments: Mapping[str, object] | None = None) -> Asked | Answer:
        """Call a tool and come back when the door has sent a link for the person, or has answered."""
        answering = asyncio.create_task(self.call(tool, arguments))
        self._answering.append(answering)
        link = asyncio.create_task(self._links.get())
        await asyncio.wait({answering, link}, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            link.cancel()
            return answering.result()
        return _McpAsked(confirmation=link.result().rpartition("/")[2], answering=answering)

    async def give_up(self) -> None:
        """Stop waiting for answers that nobody waits for any more."""
        for answering in self._answering:
            answering.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _McpAsked:
    confirmation: str
    answering: asyncio.Task[Answer]

    async def answer(self) -> Answer:
        return await self.answering


@asynccontextmanager
async def connected_agent(url: str, token: str) -> AsyncIterator[McpAgent]:
    """Connect to the door at `url`. The client agrees to open every link it is sent, which approves nothing."""
    links: asyncio.Queue[str] = asyncio.Queue()

    async def elicited(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if not isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="decline")
        links.put_nowait(params.url)
        return ElicitResult(action="accept")

    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUTS, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, elicitation_callback=elicited) as client:
            agent = McpAgent(client, links)
            try:
                yield agent
            finally:
                await agent.give_up()


def wire_name(capability: str) -> str:
    """The tool that stands for a capability."""
    return capability.replace(":", "_", 1).replace(".", "__")


def _capability(name: str) -> str:
    plane, _, rest = name.partition("_")
    return f"{plane}:{rest.replace('__', '.')}"


def _tool(name: str, meta: Mapping[str, object]) -> Tool:
    availability = meta.get("remit/availability")
    available = not isinstance(availability, dict) or availability.get("available") is not False
    return Tool(name=_capability(name), registration=str(meta.get("remit/registration", "")), available=available)


def _answer(name: str, result: CallToolResult) -> Answer:
    invocation = str((result.meta or {}).get("remit/invocation", ""))
    raw = result.model_dump_json().replace(name, "id").replace(invocation or name, "inv")
    (content,) = result.content
    said = json.loads(content.text) if isinstance(content, TextContent) else {}
    if result.is_error:
        error = said["error"]
        return Answer(code=error["code"], data=None, details=error.get("details", {}), raw=raw)
    return Answer(code=None, data=said.get("data"), details={}, raw=raw)
