"""Calls on their way to one page and back, over whatever socket it has at the time (SPEC 14.2, 7.12)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from remit._base.boundary import Json
from remit._model.answering import Answered
from remit._model.answers import Refused
from remit._model.context import Context
from remit.errors import Happened, Refusal, execution_failed
from remit.gateway.bridge.messages import Given, Odd

UNDER_WAY: Final = 128
"""Calls of one page at a time, a bound beside those of the surface."""

TOO_LARGE: Final = "too-large"

Frame = Mapping[str, object]


class PageFailed(Exception):
    """The page's handler raised, or gave what is no JSON; the text is for the journal."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """One call that the page has not answered yet."""

    frame: Frame
    answer: "asyncio.Future[Given]"


class Calls:
    """Numbers calls, sends them, and takes each answer once.

    A call outlives a socket: `again` gives what the page has not heard when it is back. A number that was never given
    is `Odd`; an answer to a call that is over, because it took too long or was answered, is nothing.
    """

    def __init__(self, send: Callable[[Frame], None]) -> None:
        self._send = send
        self._last = 0
        self._asked: dict[int, Asked] = {}

    @property
    def open(self) -> list[int]:
        """The numbers of calls that wait for their answer."""
        return list(self._asked)

    async def ask(self, bind: int, name: str, input: Mapping[str, Json], context: Context) -> Given:
        """Let the page run one handler; cancelled, the page is told to stop, and nobody waits for it."""
        if len(self._asked) >= UNDER_WAY:
            raise PageFailed(f"more than {UNDER_WAY} calls of one page")
        self._last += 1
        number = self._last
        frame = {"call": number, "bind": bind, "name": name, "input": input, "invocation": context.invocation}
        answer: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        self._asked[number] = Asked(frame=frame, answer=answer)
        self._send(frame)
        try:
            return await answer
        finally:
            if self._asked.pop(number, None) is not None:
                self._send({"cancel": number})

    def take(self, given: Given) -> None:
        """The page has answered."""
        if given.call > self._last:
            raise Odd("an answer to a call that was never made")
        asked = self._asked.pop(given.call, None)
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(given)

    def again(self, last: int) -> list[Frame]:
        """What waits and the page has not heard of, when it heard everything up to `last`."""
        if last > self._last:
            raise Odd("it heard what was never said")
        return [asked.frame for number, asked in self._asked.items() if number > last]

    def end(self) -> None:
        """The page has gone: what it has not answered, it never will."""
        for asked in tuple(self._asked.values()):
            if not asked.answer.done():
                asked.answer.set_exception(PageFailed("the page has gone"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """The handlers of one bound component, as the surface runs them; `names` are those of the page, by attribute.

    `reads` are the attributes of observations.
    """

    calls: Calls
    bind: int
    names: Mapping[str, str]
    reads: frozenset[str]

    async def answer(self, attribute: str, input: Mapping[str, Json], context: Context) -> Answered:
        """Ask the page."""
        given = await self.calls.ask(self.bind, self.names[attribute], input, context)
        if given.how == "ok":
            return Answered(given.value)
        said = given.value if isinstance(given.value, str) else ""
        if given.how == "refused":
            raise Refused(said)
        if said == TOO_LARGE:
            happened = Happened.NONE if attribute in self.reads else Happened.DONE
            raise Refusal(execution_failed("output-too-large", happened), why="the page says its answer is too large")
        raise PageFailed("the page's handler failed")
