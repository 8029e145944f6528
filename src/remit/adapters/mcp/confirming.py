"""A call that needs a person: who is asked how, how long the answer is waited for (SPEC 7.5, 7.7, 12.5).

No answer of a client decides anything: `accept` means that a link was opened, `decline` takes the request back,
`cancel` leaves it where it is. A client that times out, cancels or vanishes ends no request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit._base.limits import Limits
from remit._model.consumer import Consumer
from remit._model.outcome import Failed
from remit._model.port import SurfacePort
from remit._model.request_view import ConfirmationStatus
from remit._toolset.calling import ENDED
from remit._toolset.result import ToolResult
from remit.adapters.mcp.callers import Caller
from remit.adapters.mcp.meta import to_call_result, to_pending_result

QUESTION: Final = "confirmation"
Answer = types.CallToolResult | types.InputRequiredResult
Action = Literal["accept", "decline", "cancel"]
Context = ServerRequestContext[object, object]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a call brings along: the request's id, and on which round of the modern era it is (0: none)."""

    confirmation: str | None
    round: int
    action: Action | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call under way: in which view, with what evidence, over which client.

    `run` makes the call with the evidence; `ended` asks how a request ended, which a closed view still knows.
    """

    ctx: Context
    caller: Caller
    port: SurfacePort
    evidence: Evidence
    url: Callable[[str], str | None]
    run: Callable[[str | None], Awaitable[ToolResult]]
    ended: Callable[[str], Awaitable[ToolResult]]

    @property
    def consumer(self) -> Consumer:
        """Who is calling."""
        return self.caller.consumer

    @property
    def modern(self) -> bool:
        """True on the era without a handshake, where the server cannot ask by itself."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_be_asked_by_url(ctx: Context) -> bool:
    """Say whether the client has announced that it shows links to its person."""
    capabilities = ctx.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and elicitation.url is not None


def read_evidence(params: types.CallToolRequestParams, sent: str | None) -> Evidence:
    """Evidence from `_meta` or from the state of an input request; the state is only an id and a number."""
    state, _, count = (params.request_state or "").partition("~")
    response = (params.input_responses or {}).get(QUESTION)
    action = response.action if isinstance(response, types.ElicitResult) else None
    rounds = int(count) if count.isascii() and count.isdigit() and len(count) < 3 else 1
    return Evidence(confirmation=sent or state or None, round=rounds if state else 0, action=action)


class Confirming:
    """Runs exchanges; `stopping` answers everything that is held."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Answer every held call now, with what is known."""
        self._stopping.set()

    async def answer(self, exchange: Exchange) -> Answer:
        """Run the call, and go on for as long as it waits for a person."""
        evidence = exchange.evidence
        if evidence.confirmation is not None and evidence.action == "decline":
            await exchange.port.withdraw(evidence.confirmation, exchange.consumer)
        result = await exchange.run(evidence.confirmation)
        request = result.confirmation_id
        if request is None:
            return self._final(exchange, result)
        if request != evidence.confirmation:  # none yet, or a flow goes on and asks for its next step
            return await self._first(exchange, result, request)
        if evidence.action == "cancel":
            return self._plain(exchange, result, request)
        status = await self._held(exchange, request)
        if status is not ConfirmationStatus.PENDING:
            return await self._after(exchange, request, status)
        if exchange.modern and 0 < evidence.round < self._limits.hold_rounds and not self._stopping.is_set():
            # State only: the client comes back by itself and asks nobody a second time.
            return types.InputRequiredResult(request_state=f"{request}~{evidence.round + 1}")
        return self._plain(exchange, result, request)

    async def _first(self, exchange: Exchange, result: ToolResult, request: str) -> Answer:
        url = exchange.url(request)
        if url is None or not can_be_asked_by_url(exchange.ctx) or self._stopping.is_set():
            return self._plain(exchange, result, request)
        question = types.ElicitRequestURLParams(message=_message(result), url=url, elicitation_id=request)
        if exchange.modern:
            asked: types.InputRequests = {QUESTION: types.ElicitRequest(params=question)}
            return types.InputRequiredResult(input_requests=asked, request_state=f"{request}~1")
        return await self._asked(exchange, result, question)

    async def _asked(self, exchange: Exchange, result: ToolResult, question: types.ElicitRequestURLParams) -> Answer:
        """The handshake era: the question and the wait share one request."""
        request = result.confirmation_id or ""
        asking = asyncio.create_task(self._elicit(exchange, question, request))
        holding = asyncio.create_task(self._held(exchange, request))
        try:
            await asyncio.wait({asking, holding}, return_when=asyncio.FIRST_COMPLETED)
            action = asking.result() if asking.done() else None
            if action == "decline":
                await exchange.port.withdraw(request, exchange.consumer)
                return self._final(exchange, await exchange.ended(request))
            if not holding.done() and action != "accept":
                return self._plain(exchange, result, request)
            status = await holding
            if status is not ConfirmationStatus.PENDING:
                await self._tell_decided(exchange, request)
                return await self._after(exchange, request, status)
            return self._plain(exchange, result, request)
        finally:
            for task in (asking, holding):
                task.cancel()
            await asyncio.gather(asking, holding, return_exceptions=True)

    async def _elicit(self, exchange: Exchange, question: types.ElicitRequestURLParams, request: str) -> Action | None:
        ctx = exchange.ctx
        try:
            answered = await ctx.session.elicit_url(
                question.message, question.url, request, related_request_id=ctx.request_id
            )
        except Exception:
            # The door's edge: a client that fails to ask is a client that cannot ask.
            logger.debug("the client could not be asked", exc_info=True)
            return None
        return answered.action

    async def _tell_decided(self, exchange: Exchange, request: str) -> None:
        try:
            await exchange.ctx.session.send_elicit_complete(request, related_request_id=exchange.ctx.request_id)
        except Exception:
            # A sink: what the client does not want to hear changes nothing.
            logger.debug("the client could not be told", exc_info=True)

    async def _after(self, exchange: Exchange, request: str, status: ConfirmationStatus | None) -> Answer:
        """The answer once the request no longer waits."""
        # Where the view has gone the call itself would only hear that nothing runs there any more (SPEC 7.5).
        run = exchange.ended if status in ENDED else exchange.run
        result = await run(request)
        if result.confirmation_id not in {None, request}:
            return await self._first(exchange, result, result.confirmation_id or "")
        return self._final(exchange, result)

    async def _held(self, exchange: Exchange, request: str) -> ConfirmationStatus | None:
        """Wait for the person at most `hold_s`; how the request is then, None where the surface does not know it."""
        deciding = asyncio.ensure_future(exchange.port.decided(request, exchange.consumer, timeout=self._limits.hold_s))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({deciding, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return deciding.result() if deciding.done() else ConfirmationStatus.PENDING
        finally:
            deciding.cancel()
            stopping.cancel()

    def _final(self, exchange: Exchange, result: ToolResult) -> types.CallToolResult:
        if result.confirmation_id is not None:
            return self._plain(exchange, result, result.confirmation_id)
        if exchange.evidence.confirmation is not None:
            exchange.caller.settled(exchange.evidence.confirmation)
        return to_call_result(result)

    def _plain(self, exchange: Exchange, result: ToolResult, request: str) -> types.CallToolResult:
        exchange.caller.told_plainly(request)
        return to_pending_result(result, exchange.url(request))


def _message(result: ToolResult) -> str:
    summary = result.outcome.error.details.get("summary") if isinstance(result.outcome, Failed) else None
    return (
        f"A person has to decide in the application: {summary}" if isinstance(summary, str) else "A person must decide"
    )
