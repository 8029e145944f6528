"""Streams of a procedure: their events, and what a call makes of them, a list or progress (SPEC 10.7)."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import orjson

from remit._base.boundary import Json, NotJson, TooLarge
from remit._model.context import Context
from remit.procedures.errors import NoAnswer
from remit.procedures.http.sending import MAX_ANSWER
from remit.procedures.orpc.errors import Errors
from remit.procedures.orpc.payload import value_of

StreamMode: TypeAlias = Literal["list", "progress"]
Progress: TypeAlias = tuple[float, float | None, str | None]
ReadProgress: TypeAlias = Callable[[Json], Progress]

MAX_EVENTS: Final = 100

_ENDS: Final = ("done", "close")
_BAD_GATEWAY: Final = 502


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its name, and its data as text, None without."""

    name: str
    data: str | None


async def events_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Event, None]:
    """The events of a `text/event-stream`, comments and unknown fields left out; TooLarge beyond 1 MiB.

    An event counts once the empty line after it is there, so one that was cut short is never read.
    """
    rest, total = b"", 0
    async for chunk in chunks:
        total += len(chunk)
        if total > MAX_ANSWER:
            raise TooLarge(f"the stream has more than {MAX_ANSWER} bytes")
        *blocks, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in blocks:
            if (event := _event(block)) is not None:
                yield event


def _event(block: bytes) -> Event | None:
    name, data, said = "message", list[str](), False
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError:
        raise NotJson("the stream is no UTF-8") from None
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name, said = value, True
        elif field == "data":
            data.append(value)
    if not said and not data:
        return None
    return Event(name=name, data="\n".join(data) if data else None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """How the stream of one procedure is read.

    `must_end` says that its end is an event: where none comes, it was cut short. `at_most` bounds the events of a list.
    """

    mode: StreamMode
    read: ReadProgress | None
    at_most: int
    must_end: bool
    wrapped: bool
    reads_only: bool

    async def take(self, chunks: AsyncIterator[bytes], errors: Errors, context: Context) -> Json:
        """The output of the call: the list of its events with its result, or the result alone.

        BackendError for an error in it, and for a stream that was cut short: what it had done is not known then.
        """
        async with aclosing(events_of(chunks)) as found:
            return await self._read(found, errors, context)

    async def _read(self, found: AsyncIterator[Event], errors: Errors, context: Context) -> Json:
        events: list[Json] = []
        async for event in found:
            if event.name in _ENDS:
                return self._output(events, self._value(event), complete=True)
            if event.name == "error":
                raise errors.of_event(self._value(event), changed=bool(events) and not self.reads_only)
            if event.name != "message":
                continue
            events.append(self._value(event))
            if self.mode == "progress":
                self._tell(events, context)
            elif len(events) > self.at_most:
                return self._bounded(events[: self.at_most])
        if self.must_end:
            raise NoAnswer(_BAD_GATEWAY, "the stream was cut short")
        return self._output(events, None, complete=True)

    def _bounded(self, events: list[Json]) -> Json:
        if not self.reads_only:
            raise NoAnswer(_BAD_GATEWAY, f"the stream has more than {self.at_most} events, and was left")
        return self._output(events, None, complete=False)

    def _output(self, events: list[Json], result: Json, *, complete: bool) -> Json:
        if self.mode == "progress":
            return result
        return {"events": events, "complete": complete, **({} if result is None else {"result": result})}

    def _tell(self, events: list[Json], context: Context) -> None:
        """Pass one event on; only the latest is kept, for the others are nobody's any more."""
        latest = events[-1]
        del events[:-1]
        if self.read is not None:
            context.progress(*self.read(latest))

    def _value(self, event: Event) -> Json:
        if event.data is None:
            return None
        try:
            message = cast(Json, orjson.loads(event.data))
        except orjson.JSONDecodeError:
            raise NotJson("an event of the stream is not JSON") from None
        return value_of(message, wrapped=self.wrapped)
