"""A caller of the page protocol that holds every message, in both directions, against `spec/page-protocol.json`."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import jsonschema_rs
from websockets.asyncio.client import ClientConnection, connect

from remit import Principal
from tests.adapters.site import OPERATOR, PATIENCE_S, SCOPE, Site

SPEC: Final = json.loads((Path(__file__).parents[2] / "spec" / "page-protocol.json").read_text(encoding="utf-8"))
READ: Final = "view:devices.table.readState"
COUNT: Final = "view:devices.table.countRows"
SELECT: Final = "view:devices.table.selectRows"
BREAK: Final = "view:devices.table.breakDown"
HIDDEN: Final = "view:devices.hidden.readIt"
DISABLE: Final = "domain:devices.disable"
RENAME: Final = "domain:devices.rename"

_SCHEMAS: Final = {
    name: jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": SPEC["$defs"]}) for name in SPEC["$defs"]
}

Form = dict[str, Any]


def fits(name: str, message: object) -> bool:
    """Whether a message is what the spec says of it."""
    return _SCHEMAS[name].is_valid(message)


def check(name: str, message: object) -> None:
    """Fail with what is wrong with a message."""
    found = [f"{list(error.instance_path)}: {error.message}" for error in _SCHEMAS[name].iter_errors(message)]
    assert found == [], f"{name}: {found}"


def judged(verb: str, body: object, answer: Form) -> Form:
    """The answer, which fits the spec; a request that does not fit has been refused for that."""
    check(f"{verb}.answer", answer)
    if not fits(f"{verb}.request", body):
        assert error_of(answer)["code"] == "INVALID_INPUT"
    return answer


def error_of(answer: Form) -> Form:
    """The error of a refusal."""
    assert answer["ok"] is False, answer
    error = answer["error"]
    assert isinstance(error, dict)
    return error


def output_of(answer: Form) -> Any:
    """The output of a success."""
    assert answer["ok"] is True, answer
    return answer["output"]


def token_for(
    site: Site, principal: Principal = OPERATOR, *, actor: str = "agent", session: str | None = None, ttl: float = 900
) -> str:
    """A token for the door of the page protocol."""
    return site.gateway.delegate(principal, actor=actor, scope=SCOPE, session=session, ttl=ttl, kind="page")


class PageClient:
    """The verbs over HTTP, each answer checked."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def ask(self, verb: str, body: object) -> Form:
        """One request; its answer is an outcome."""
        response = await self.http.post(f"/{verb}", json=body)
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json"), response.text
        return judged(verb, body, response.json())

    async def describe(self, **body: object) -> Form:
        """The view that is in use."""
        return await self.ask("describe", body)

    async def listed(self) -> dict[str, Form]:
        """The capabilities that describe shows, by id."""
        return {each["id"]: each for each in (await self.describe())["capabilities"]}

    async def invoke(self, capability: str, input: Mapping[str, object] | None = None, **more: object) -> Form:
        """One call, with nothing but what is given."""
        given = {} if input is None else {"input": dict(input)}
        return await self.ask("invoke", {"capability": capability, **given, **more})

    async def act(self, capability: str, input: Mapping[str, object] | None = None, **more: object) -> Form:
        """Describe, then call with the registration that this shows."""
        registration = (await self.listed())[capability]["registration"]
        return await self.invoke(capability, input, registration=registration, **more)

    @asynccontextmanager
    async def events(self) -> AsyncIterator["Events"]:
        """Listen; entered when the stream says that it listens."""
        async with self.http.stream("GET", "/events") as response:
            assert (response.status_code, response.headers["content-type"]) == (
                200,
                "text/event-stream; charset=utf-8",
            )
            events = Events(response)
            assert (await events.next())["event"] == "listening"
            yield events


class Events:
    """The events of a stream, each checked; `next` waits for one."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> Form:
        """The next event; StopAsyncIteration when the stream has ended."""
        name = ""
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._lines:
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                if line.startswith("data: "):
                    event: Form = json.loads(line.removeprefix("data: "))
                    check("event", event)
                    assert event["event"] == name
                    return event
        raise StopAsyncIteration

    async def until(self, name: str) -> Form:
        """Skip to the next event of this name."""
        while True:
            event = await self.next()
            if event["event"] == name:
                return event


@asynccontextmanager
async def calling(site: Site, token: str | None = None) -> AsyncIterator[PageClient]:
    """A client with a token, over real HTTP."""
    headers = {"Authorization": f"Bearer {token_for(site) if token is None else token}"}
    async with httpx2.AsyncClient(
        base_url=f"{site.address}/remit/page", headers=headers, timeout=PATIENCE_S, trust_env=False
    ) as http:
        yield PageClient(http)


class SocketClient:
    """The verbs over one socket, each frame checked."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: asyncio.Queue[Form] = asyncio.Queue()
        self._refs = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Form]] = {}

    async def ask(self, verb: str, body: object) -> Form:
        """One request; events that come meanwhile are kept."""
        ref = str(next(self._refs))
        answer = self._waiting[ref] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"ref": ref, "verb": verb, "body": body}))
        async with asyncio.timeout(PATIENCE_S):
            return judged(verb, body, await answer)

    async def event(self) -> Form:
        """The next event."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.events.get()

    async def until(self, name: str) -> Form:
        """Skip to the next event of this name."""
        while True:
            event = await self.event()
            if event["event"] == name:
                return event

    async def read(self) -> None:
        """Sort what comes in, until the socket closes."""
        async for text in self.socket:
            frame = json.loads(text)
            if "ref" in frame:
                check("frame.answer", frame)
                self._waiting.pop(frame["ref"]).set_result(frame["body"])
            else:
                check("frame.event", frame)
                self.events.put_nowait(frame["body"])


@asynccontextmanager
async def plain_socket(
    site: Site, token: str | None = None, *, path: str = "/socket", headers: Mapping[str, str] | None = None
) -> AsyncIterator[ClientConnection]:
    """A socket, and nobody who reads it."""
    host = site.address.partition("://")[2]
    sent = {"Authorization": f"Bearer {token_for(site) if token is None else token}", **(headers or {})}
    named = sent.pop("Host", host)
    # The name in the address becomes the Host header; where to connect is said apart.
    address, port = host.split(":")
    async with connect(
        f"ws://{named}/remit/page{path}",
        host=address,
        port=int(port),
        additional_headers=sent,
        proxy=None,
        open_timeout=PATIENCE_S,
    ) as socket:
        yield socket


@asynccontextmanager
async def connected(site: Site, token: str | None = None) -> AsyncIterator[SocketClient]:
    """A client over a socket."""
    async with plain_socket(site, token) as socket:
        client = SocketClient(socket)
        reading = asyncio.create_task(client.read())
        try:
            yield client
        finally:
            await socket.close()
            await reading
