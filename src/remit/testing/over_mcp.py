"""A harness's calls through the MCP door: token, guard, protocol and official client are the real ones (SPEC 16.1)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, cast

import httpx2
import mcp_types as types
import orjson
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from remit._model.consumer import Consumer, ConsumerKind
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.progress import Progress, ProgressListener
from remit._model.request import Invocation
from remit._model.wire import error_from_json
from remit._toolset.wire_names import wire_name
from remit.adapters.mcp import meta
from remit.adapters.mcp.door import PATH, McpDoor
from remit.gateway.guard import LOOPBACK, AllowedHosts, Guard
from remit.testing.doors import Behind
from remit.testing.in_memory import InMemory
from remit.testing.loopback import HOST, listening
from remit.testing.one_view import OneView
from remit.testing.serving import Serving

_MODES: Final = {"modern": "auto", "handshake": "legacy"}


class OverMcp:
    """The MCP door in front of one surface, and the official client before it.

    The caller is what a token stands for: a consumer of the kind `mcp`, for whatever the contract opens to that door. A
    repeat with evidence is not held while its person thinks: it is answered at once, as in process.
    """

    def __init__(self, behind: Behind, *, sockets: bool) -> None:
        clock, limits = behind.clock, replace(behind.limits, hold_s=0)
        self._mode = _MODES[behind.era]
        self._sockets = sockets
        self._view = OneView(behind, limits, ConsumerKind.MCP)
        self._token = self._view.token
        views, identify = self._view.views, self._view.identify
        self._door = McpDoor(views, identify, decision_path=lambda: None, clock=clock, limits=limits)
        self._serving = Serving(self._open)

    @property
    def consumer(self) -> Consumer:
        """Who the token stands for."""
        return self._view.consumer

    async def invoke(self, invocation: Invocation, progress: ProgressListener | None) -> Outcome:
        """List, find the tool, and call it; the answer is read back into what the surface said.

        The tool is called for the registration that the listing shows, unless the invocation names one: code names what
        is live (SPEC 12.1).
        """
        _check_sayable(invocation.input)
        client = await self._serving.get()
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        name = _named(invocation, listed)
        result = await client.call_tool(
            name,
            None if invocation.input is None else dict(invocation.input),
            progress_callback=None if progress is None else _Heard(progress, invocation.id or ""),
            meta=_beside(invocation, listed.get(name)),
        )
        return _outcome(result, invocation)

    def close(self) -> None:
        """Begin to close."""
        self._serving.close()

    async def aclose(self) -> None:
        """Close and wait for the end of it."""
        await self._serving.aclose()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Client]:
        await self._door.start()
        try:
            app = Guard(self._door, AllowedHosts(LOOPBACK))
            if self._sockets:
                async with listening(app) as address, self._connected(address, None) as client:
                    yield client
            else:
                async with self._connected(f"http://{HOST}", InMemory(app)) as client:
                    yield client
        finally:
            await self._door.stop()

    @asynccontextmanager
    async def _connected(self, address: str, transport: httpx2.AsyncBaseTransport | None) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self._token}"}
        async with (
            # How long a call may take is the surface's matter, and its clock may stand still.
            httpx2.AsyncClient(transport=transport, headers=headers, timeout=None, trust_env=False) as http,
            Client(streamable_http_client(f"{address}{PATH}", http_client=http), mode=self._mode) as client,
        ):
            yield client


in_memory = partial(OverMcp, sockets=False)
"""Without a socket: HTTP is spoken in memory."""

on_loopback = partial(OverMcp, sockets=True)
"""Over a real server on a free port of the loopback."""


def _check_sayable(input: Mapping[str, object] | None) -> None:
    try:
        json.dumps(input, ensure_ascii=False, default=repr).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "the client of this door cannot send a lone surrogate, and would close"
            "\n  do  call in process; the door itself answers INVALID_INPUT to a client that can"
        ) from None


def _named(invocation: Invocation, listed: Mapping[str, types.Tool]) -> str:
    """The tool that is meant; the name it would have when there is none, so that the door answers."""
    plain = wire_name(invocation.capability_id)
    if plain in listed:
        return plain
    several = {name: _shown(tool, meta.INSTANCE) for name, tool in listed.items() if name.startswith(f"{plain}_at_")}
    wanted = invocation.instance
    meant = [name for name, where in several.items() if wanted is None or wanted in _addresses(where)]
    if len(meant) > 1 or (wanted is None and meant):
        instances = ", ".join(str(instance) for instance in several.values())
        raise AssertionError(
            f"{invocation.capability_id} is a tool for each instance at this door\n  do  instance=…, one of {instances}"
        )
    return meant[0] if meant else plain


def _addresses(where: object) -> tuple[str, ...]:
    """What may be said for an instance: its address, and of a reference its instance alone (SPEC 10.10)."""
    return (str(where), str(where).rpartition("/")[2])


def _beside(invocation: Invocation, tool: types.Tool | None) -> types.RequestParamsMeta:
    reads = tool is None or (tool.annotations is not None and tool.annotations.read_only_hint is True)
    live = None if tool is None or reads else _shown(tool, meta.REGISTRATION)
    values = {
        meta.INVOCATION: invocation.id,
        meta.INSTANCE: invocation.instance,
        meta.REGISTRATION: live if invocation.registration is None else invocation.registration,
        meta.SURFACE: invocation.surface_id,
        meta.VERSION: invocation.surface_version,
        meta.CONFIRMATION: invocation.confirmation,
    }
    return cast(types.RequestParamsMeta, {key: value for key, value in values.items() if value is not None})


def _shown(tool: types.Tool, key: str) -> object:
    return None if tool.meta is None else tool.meta.get(key)


class _Heard:
    """What comes back of a call's progress, as whoever called in process would hear it."""

    def __init__(self, listener: ProgressListener, invocation: str) -> None:
        self._listener = listener
        self._invocation = invocation

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        text = None if message is None else orjson.loads(message)["data"]
        self._listener(Progress(invocation=self._invocation, done=progress, total=total, text=text))


def _outcome(result: types.CallToolResult, invocation: Invocation) -> Outcome:
    beside = result.meta or {}
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    said = orjson.loads(content.text)
    id, version = beside.get(meta.INVOCATION, invocation.id or ""), beside.get(meta.VERSION, "")
    changed = beside.get(meta.CHANGED) is True
    if result.is_error:
        return Failed(
            invocation_id=id,
            capability_id=invocation.capability_id,
            error=error_from_json(said["error"]),
            surface_version=version,
            surface_changed=changed,
        )
    marked = beside.get(meta.UNTRUSTED, False)
    return Ok(
        invocation_id=id,
        capability_id=said["source"],
        output=said["data"],
        surface_version=version,
        surface_changed=changed,
        untrusted=marked if isinstance(marked, bool) else tuple(marked),
    )
