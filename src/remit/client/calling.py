"""`AsyncClient`: the page protocol over HTTP, for a caller that stops instead of searching (SPEC 11.13)."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final

import httpx2

from remit._model.outcome import Failed, Outcome
from remit.client.known import Known, refused
from remit.client.values import Described, DoorError, Form, Happening, Pending, described, failed, happening, outcome
from remit.errors import AgentError, stale_capability

BACKLOG: Final = 1_000
"""Events that wait for one listener; with more the listener has lost some, and is told so."""
TRIES: Final = 4
"""How often a describe that was overtaken by a change is made again."""


class AsyncClient:
    """Calls what the latest describe shows, by exactly its id, and nothing else.

    Used as `async with AsyncClient("https://app.example/remit/page", token) as client`. An id that the latest describe
    does not hold is refused without a request, and nothing alike is looked for. The list is dropped when the route or
    the scope of the caller changes, when its view closes and when events are lost: until the next `describe` every call
    is STALE_CAPABILITY. After a denial (NOT_AUTHORIZED, NOT_AUTHENTICATED, a person's no) every call is answered with
    that denial and nothing is sent, until `resume`, which is for whoever runs the caller. Outcomes are returned;
    `DoorError` says that the door gave none, and errors of `httpx2` that it was not reached.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if "?" in url or "#" in url or "@" in url:
            raise ValueError("the address of a door is a plain URL: no query, no fragment, no credentials")
        self._http = httpx2.AsyncClient(
            base_url=url.rstrip("/"), headers={"Authorization": f"Bearer {token}"}, timeout=timeout
        )
        self._known = Known()
        self._listening: asyncio.Task[None] | None = None
        self._heard: set[asyncio.Queue[Happening | None]] = set()
        self._describing = asyncio.Lock()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening and close the connections."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._http.aclose()

    @property
    def latest(self) -> Described | None:
        """The latest describe; None before the first one and after it was dropped."""
        return self._known.latest

    @property
    def denial(self) -> AgentError | None:
        """Why this caller has stopped; None while it goes on."""
        return self._known.denial

    def resume(self) -> None:
        """Go on after a denial; the list is dropped, for whatever is called next is to be looked at anew."""
        self._known.denial = None
        self._known.drop()

    async def describe(self, *, view: str | None = None) -> Described | Failed:
        """What may be called now, in the view in use or in `view`, which is thereby chosen.

        It first begins to listen, so that no change after it is missed.
        """
        body: Form = {} if view is None else {"view": view}
        async with self._describing:
            for _ in range(TRIES):
                begun = await self._listen()
                if isinstance(begun, Failed):
                    return begun
                drops = self._known.drops
                answer = described(await self._ask("describe", body))
                if isinstance(answer, Failed):
                    self._known.drop()
                    return answer
                if self._known.keep(answer, drops):
                    return answer
            return refused(stale_capability("surface-version-mismatch"), "")

    async def call(
        self,
        id: str,
        input: Mapping[str, object] | None = None,
        *,
        invocation: str | None = None,
        confirmation: str | None = None,
    ) -> Outcome:
        """Call a capability of the latest describe, with the registration that it showed.

        `invocation` is the caller's own id of the call: a repeat with it runs nothing twice. `confirmation` is the
        `confirmation_id` of CONFIRMATION_REQUIRED, once a person has decided.
        """
        meant = self._known.look_up(id)
        if isinstance(meant, AgentError):
            return refused(meant, id)
        body: Form = {"capability": id, "registration": meant.registration}
        if input is not None:
            body["input"] = dict(input)
        if invocation is not None:
            body["invocation"] = invocation
        if confirmation is not None:
            body["confirmation"] = confirmation
        answer = outcome(await self._ask("invoke", body), id)
        if isinstance(answer, Failed):
            self._known.settle(answer)
        return answer

    async def handoff(self, id: str) -> Pending | Failed:
        """How a handoff stands, by the `handoff_id` of HANDOFF_REQUIRED; asked again after a while, it is polling."""
        answer = await self._ask("handoff", {"handoff": id})
        return Pending(fields=answer) if answer["ok"] else failed(answer, "")

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[Happening]]:
        """Listen: `async with client.events() as events: async for event in events`; ends when the stream does."""
        queue: asyncio.Queue[Happening | None] = asyncio.Queue(BACKLOG)
        self._heard.add(queue)
        try:
            begun = await self._listen()
            if isinstance(begun, Failed):
                queue.put_nowait(None)
            yield _told(queue)
        finally:
            self._heard.discard(queue)

    async def _ask(self, verb: str, body: Mapping[str, object]) -> Form:
        # Escaped, so that every text that Python has arrives and is judged by the door.
        response = await self._http.post(
            f"/{verb}", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self._known.drop()
        return _form(response.status_code, response.text)

    async def _listen(self) -> Failed | None:
        """Hear events from now on; returns once the door says that it tells them."""
        if self._listening is not None and not self._listening.done():
            return None
        begun: asyncio.Future[Failed | None] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._hear(begun))
        return await begun

    async def _hear(self, begun: "asyncio.Future[Failed | None]") -> None:
        try:
            await self._read(begun)
        except (httpx2.HTTPError, DoorError, ValueError, KeyError) as problem:
            if not begun.done():
                begun.set_exception(problem)
        finally:
            # Whatever is missed from now on might have been a change of route or scope.
            self._known.drop()
            if not begun.done():
                begun.cancel()
            for queue in self._heard:
                _put(queue, None)

    async def _read(self, begun: "asyncio.Future[Failed | None]") -> None:
        # The door pings; how long a stream is silent is its own matter.
        async with self._http.stream("GET", "/events", timeout=None) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                answer = _form(response.status_code, (await response.aread()).decode(errors="replace"))
                begun.set_result(failed(answer, ""))
                return
            async for line in response.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = happening(json.loads(line.removeprefix("data: ")))
                self._known.hear(event)
                if not begun.done():
                    begun.set_result(None)
                for queue in self._heard:
                    _put(queue, event)


async def _told(queue: "asyncio.Queue[Happening | None]") -> AsyncIterator[Happening]:
    while (event := await queue.get()) is not None:
        yield event


def _put(queue: "asyncio.Queue[Happening | None]", event: Happening | None) -> None:
    """Tell a listener; one that has fallen behind hears that, and nothing more."""
    if not queue.full():
        queue.put_nowait(event)
        return
    with suppress(asyncio.QueueEmpty):
        while True:
            queue.get_nowait()
    queue.put_nowait(Happening(name="lost", view=None, surface=None, data={}))
    queue.put_nowait(None)


def _form(status: int, text: str) -> Form:
    """The outcome in an answer; DoorError when it is none."""
    if status == httpx2.codes.OK:
        with suppress(ValueError):
            form = json.loads(text)
            if isinstance(form, dict) and form.get("protocol") == "remit/1" and isinstance(form.get("ok"), bool):
                return form
    raise DoorError(status, f"no answer of the page protocol: {text[:100]!r}")
