"""A harness's calls through the page protocol: token, guard, HTTP and door are the real ones (SPEC 16.1)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import httpx2
from starlette.applications import Starlette
from starlette.routing import Mount

from remit._model.consumer import Consumer, ConsumerKind
from remit._model.outcome import Failed, Ok, Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._model.wire import error_from_json
from remit.gateway.guard import LOOPBACK, AllowedHosts, Guard
from remit.gateway.page_protocol.door import PATH, PageDoor
from remit.testing.doors import Behind
from remit.testing.in_memory import InMemory
from remit.testing.loopback import HOST, listening
from remit.testing.one_view import OneView
from remit.testing.serving import Serving

_FIELDS: Final = ("id", "registration", "surface_id", "surface_version", "confirmation")
_NAMES: Final = {"id": "invocation", "surface_id": "surface", "surface_version": "version"}


class OverPage:
    """The door of the page protocol in front of one surface, and a plain HTTP client before it.

    The caller is what a token stands for: a consumer of the kind `page`, for whatever the contract opens to that door.
    The protocol has no place for progress, so nobody hears any.
    """

    def __init__(self, behind: Behind, *, sockets: bool) -> None:
        clock, limits = behind.clock, behind.limits
        self._sockets = sockets
        self._view = OneView(behind, limits, ConsumerKind.PAGE)
        self._token = self._view.token
        self._door = PageDoor(self._view.views, self._view.identify, pages=lambda: None, clock=clock, limits=limits)
        self._serving = Serving(self._open)

    @property
    def consumer(self) -> Consumer:
        """Who the token stands for."""
        return self._view.consumer

    async def invoke(self, invocation: Invocation, progress: ProgressListener | None) -> Outcome:
        """Describe, find the capability, and call it; the answer is read back into what the surface said.

        It is called for the registration that describe shows, unless the invocation names one: code names what is live
        (SPEC 12.1).
        """
        http = await self._serving.get()
        described = await _asked(http, "describe", {})
        body = _body(invocation, described.get("capabilities", []))
        return _outcome(await _asked(http, "invoke", body), invocation)

    def close(self) -> None:
        """Begin to close."""
        self._serving.close()

    async def aclose(self) -> None:
        """Close and wait for the end of it."""
        await self._serving.aclose()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[httpx2.AsyncClient]:
        app = Starlette(routes=[Mount(PATH, app=Guard(self._door, AllowedHosts(LOOPBACK)))])
        try:
            if self._sockets:
                async with listening(app) as address, self._connected(address, None) as client:
                    yield client
            else:
                async with self._connected(f"http://{HOST}", InMemory(app)) as client:
                    yield client
        finally:
            await self._door.stop()

    @asynccontextmanager
    async def _connected(
        self, address: str, transport: httpx2.AsyncBaseTransport | None
    ) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {"Authorization": f"Bearer {self._token}"}
        # How long a call may take is the surface's matter, and its clock may stand still.
        async with httpx2.AsyncClient(
            base_url=f"{address}{PATH}", transport=transport, headers=headers, timeout=None, trust_env=False
        ) as http:
            yield http


in_memory = partial(OverPage, sockets=False)
"""Without a socket: HTTP is spoken in memory."""

on_loopback = partial(OverPage, sockets=True)
"""Over a real server on a free port of the loopback."""


async def _asked(http: httpx2.AsyncClient, verb: str, body: Mapping[str, object]) -> dict[str, Any]:
    # Escaped, so that half of a surrogate pair arrives, too, and is refused by the door.
    response = await http.post(f"/{verb}", content=json.dumps(body), headers={"Content-Type": "application/json"})
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer


def _body(invocation: Invocation, listed: list[dict[str, Any]]) -> dict[str, object]:
    instance = "" if invocation.instance is None else f"#{invocation.instance}"
    body: dict[str, object] = {"capability": f"{invocation.capability_id}{instance}"}
    if invocation.input is not None:
        body["input"] = dict(invocation.input)
    for field in _FIELDS:
        value = getattr(invocation, field)
        if value is not None:
            body[_NAMES.get(field, field)] = value
    if "registration" not in body:
        body |= _live(invocation, listed)
    return body


def _live(invocation: Invocation, listed: list[dict[str, Any]]) -> dict[str, object]:
    """The registration of the one write that is meant; code names what is live."""
    instance = (invocation.instance or "").rpartition("/")[2]
    found = [
        each["registration"]
        for each in listed
        if each["id"].partition("#")[0].partition("@")[0] == invocation.capability_id
        and each["effect"] != "read"
        and instance in {"", each["instance"]}
    ]
    return {"registration": found[0]} if len(found) == 1 else {}


def _outcome(answer: dict[str, Any], invocation: Invocation) -> Outcome:
    id, version = answer.get("invocation", invocation.id or ""), answer.get("version", "")
    changed = answer.get("changed", False)
    if not answer["ok"]:
        return Failed(
            invocation_id=id,
            capability_id=invocation.capability_id,
            error=error_from_json(answer["error"]),
            surface_version=version,
            surface_changed=changed,
        )
    marked = answer.get("untrusted", False)
    return Ok(
        invocation_id=id,
        capability_id=invocation.capability_id,
        output=answer["output"],
        surface_version=version,
        surface_changed=changed,
        untrusted=marked if isinstance(marked, bool) else tuple(marked),
    )
