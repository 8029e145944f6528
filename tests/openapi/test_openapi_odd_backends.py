"""Backends that answer oddly, hang, drip or die: none of them is taken for one that works (SPEC 10.4, 10.5)."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from remit import ManualClock
from remit.procedures.openapi import CircuitState, OpenAPI, Operation
from tests.behaviour.conftest import AGENT, failed, journal, output, turns
from tests.openapi.raw import answering
from tests.openapi.test_openapi_calls import Backend, catalogue_of, document_of, surface_over
from tests.unit.procedures.openapi_echo import serving

_DAYS_7_MS = 7 * 86_400_000


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend()
    with serving(made.app()) as url:
        made.url = url
        yield made


@pytest.mark.requirement("10.4-circuit", "10.4-origin-is-pinned")
@pytest.mark.parametrize("location", ["//axn--%zz", "http://xn--/", "//h.test:99999999/", "http://[::1"])
async def test_a_redirect_that_cannot_be_read_is_not_followed_and_lets_the_circuit_try_again(
    backend: Backend, location: str
) -> None:
    clock = ManualClock()
    catalogue = catalogue_of(backend.url, clock=clock, circuit_failures=1, circuit_pause_s=1.0)
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        backend.answers = [
            Response(status_code=503),
            Response(status_code=302, headers={"location": location}),
            JSONResponse({"ok": True}),
        ]
        failed(await agent.call("domain:read"), "EXECUTION_FAILED")
        clock.advance(1.0)
        assert failed(await agent.call("domain:read"), "EXECUTION_FAILED").details["reason"] == "transport"
        clock.advance(1.0)
        assert output(await agent.call("domain:read")) == {"ok": True}
        assert catalogue.circuit.state is CircuitState.CLOSED


@pytest.mark.requirement("10.4-circuit")
async def test_whatever_a_try_ends_with_another_one_may_follow() -> None:
    clock = ManualClock()
    answers: list[list[dict[str, Any]]] = [
        [{"type": "http.response.start", "status": 503}, {"type": "http.response.body"}],
        [{"type": "http.response.start", "status": 200, "headers": [(b"x", 5)]}, {"type": "http.response.body"}],
        [{"type": "http.response.start", "status": 204}, {"type": "http.response.body"}],
    ]

    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        for message in answers.pop(0):
            await send(message)

    catalogue = in_process(app, clock=clock, circuit_failures=1, circuit_pause_s=1.0)
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        for _ in range(2):
            failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
            clock.advance(1.0)
        assert output(await agent.call("domain:write", {})) is None
        assert (answers, catalogue.circuit.state) == ([], CircuitState.CLOSED)


def in_process(app: Any, **more: Any) -> OpenAPI:
    expose = {
        "read": Operation("GET /read", effect="server-query"),
        "write": Operation("POST /write", effect="server-mutation"),
    }
    return OpenAPI(document_of(), app=app, expose=expose, **more)


class Hanging:
    """A server that takes requests and says nothing."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.count = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.count += 1
        self.begun.set()
        await reader.read()


@pytest.mark.requirement("10.4-a-deadline-is-a-failure")
async def test_a_deadline_that_a_backend_lets_pass_opens_the_circuit_and_a_caller_who_leaves_does_not() -> None:
    hanging, clock = Hanging(), ManualClock()
    async with answering(hanging.serve) as url:
        await _deadline_and_leaving(url, hanging, clock)


async def _deadline_and_leaving(url: str, hanging: Hanging, clock: ManualClock) -> None:
    catalogue = catalogue_of(url, clock=clock, circuit_failures=1)
    async with surface_over(catalogue, clock=clock) as surface:
        agent = surface.connect(AGENT)
        left = asyncio.ensure_future(agent.call("domain:read", id="left"))
        await hanging.begun.wait()
        surface.cancel("left", AGENT)
        failed(await left, "CANCELLED")
        await turns()
        assert catalogue.circuit.failures == 0
        hanging.begun.clear()
        late = asyncio.ensure_future(agent.call("domain:read", id="late"))
        await hanging.begun.wait()
        clock.advance(30.0)
        failed(await late, "TIMEOUT")
        await turns()
        assert (catalogue.circuit.failures, catalogue.circuit.state) == (1, CircuitState.OPEN)
        failed(await agent.call("domain:read", id="next"), "EXECUTION_FAILED")
        assert journal(surface)[-1].why == f"nothing was sent: {url} did not answer lately"
        assert hanging.count == 2


@pytest.mark.requirement("10.4-no-answer", "10.4-why-nothing-was-answered")
async def test_a_body_that_drips_ends_with_the_time_of_the_request() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n")
        one_more(writer)
        await reader.read()

    def one_more(writer: asyncio.StreamWriter) -> None:
        if not writer.is_closing():
            writer.write(b".")
            asyncio.get_running_loop().call_later(0.02, one_more, writer)

    async with answering(drip) as url, surface_over(catalogue := catalogue_of(url, timeout_s=0.5)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "TIMEOUT")
        assert error.details["outcome"] == "unknown"
        assert journal(surface)[-1].why == f"no whole answer: no answer from {url} in time"
        assert catalogue.circuit.failures == 1


_START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
_HALF = {"type": "http.response.body", "body": b"HALF OF ", "more_body": True}


@pytest.mark.requirement("10.4-no-answer", "10.4-why-nothing-was-answered")
@pytest.mark.parametrize("sent", [[], [_START], [_START, _HALF]])
@pytest.mark.parametrize("dies", [True, False])
async def test_half_an_answer_of_an_application_in_this_process_is_none(sent: list[Any], dies: bool) -> None:
    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        for message in sent:
            await send(message)
        if dies:
            raise RuntimeError("died in the middle")

    async with surface_over(in_process(app)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("transport", "unknown")
        broke_off = "no whole answer: the answer of http://localhost broke off"
        assert journal(surface)[-1].why == (broke_off if sent else "backend answered 500")


@pytest.mark.requirement("10.4-no-answer", "10.4-why-nothing-was-answered")
async def test_an_answer_that_is_whole_stands_whatever_its_application_does_after_it() -> None:
    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        for message in (_START, _HALF, {"type": "http.response.body", "body": b"it"}):
            await send(message)
        raise RuntimeError("died afterwards")

    async with surface_over(in_process(app)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == "HALF OF it"


@pytest.mark.requirement("10.5-backend-answers")
@pytest.mark.parametrize(
    ("value", "after_ms"),
    [
        ("Mon, 99999999999999999999 Jan 2026 00:00:00 GMT", 1_000),
        ("9" * 400, _DAYS_7_MS),
        ("Tue, 01 Dec 2099 10:00:00 GMT", _DAYS_7_MS),
    ],
)
async def test_a_wait_that_nobody_can_mean_is_at_most_seven_days(backend: Backend, value: str, after_ms: int) -> None:
    clock = ManualClock(start=datetime(2026, 12, 1, 10, tzinfo=UTC))
    backend.answer = Response(status_code=429, headers={"retry-after": value})
    async with surface_over(catalogue_of(backend.url, clock=clock)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "RATE_LIMITED")
        assert error.details["retry_after_ms"] == after_ms


@pytest.mark.requirement("10.6-answers-that-are-something-else")
@pytest.mark.parametrize("charset", ["undefined", "hex", "idna", "none-such"])
async def test_a_text_of_a_charset_that_is_none_is_done_and_invalid(backend: Backend, charset: str) -> None:
    backend.answer = Response(b"\xff.\xff", headers={"content-type": f"text/plain; charset={charset}"})
    async with surface_over(catalogue_of(backend.url)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")
