"""`Client`: the same caller without `async`, on an event loop in a thread of its own (SPEC 11.13)."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from remit._model.outcome import Failed, Outcome
from remit.client.calling import AsyncClient
from remit.client.values import Described, Happening, Pending
from remit.errors import AgentError

T = TypeVar("T")


class Client:
    """What `AsyncClient` is, for code that blocks: the same calls, refusals and stops.

    Used as `with Client("https://app.example/remit/page", token) as client`. It listens in its own thread, so the list
    is dropped as soon as an event says so, also while the program does something else. Several threads may use it.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="remit-client", daemon=True)
        try:
            self._client = AsyncClient(url, token, timeout=timeout)
        except BaseException:
            self._loop.close()
            raise
        self._thread.start()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, close the connections and end the thread; closing twice is a no-op."""
        if self._loop.is_closed():
            return
        self._run(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def latest(self) -> Described | None:
        """The latest describe; None before the first one and after it was dropped."""
        return self._client.latest

    @property
    def denial(self) -> AgentError | None:
        """Why this caller has stopped; None while it goes on."""
        return self._client.denial

    def resume(self) -> None:
        """Go on after a denial, with a new describe."""
        self._run(self._resume())

    def describe(self, *, view: str | None = None) -> Described | Failed:
        """What may be called now, in the view in use or in `view`, which is thereby chosen."""
        return self._run(self._client.describe(view=view))

    def call(
        self,
        id: str,
        input: Mapping[str, object] | None = None,
        *,
        invocation: str | None = None,
        confirmation: str | None = None,
    ) -> Outcome:
        """Call a capability of the latest describe, with the registration that it showed."""
        return self._run(self._client.call(id, input, invocation=invocation, confirmation=confirmation))

    def handoff(self, id: str) -> Pending | Failed:
        """How a handoff stands, by the `handoff_id` of HANDOFF_REQUIRED."""
        return self._run(self._client.handoff(id))

    @contextmanager
    def events(self) -> Iterator[Iterator[Happening]]:
        """Listen: `with client.events() as events: for event in events`; ends when the stream does."""
        listening = self._client.events()
        events = self._run(listening.__aenter__())

        async def following() -> Happening | None:
            return await anext(events, None)

        def told() -> Iterator[Happening]:
            while (event := self._run(following())) is not None:
                yield event

        try:
            yield told()
        finally:
            self._run(listening.__aexit__(None, None, None))

    async def _resume(self) -> None:
        self._client.resume()

    def _run(self, work: Coroutine[object, object, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client has been closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
