"""How long connections to a backend live, who shares them, and what is held against a backend (SPEC 10.4)."""

import asyncio
import gc
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from remit._base.clock import SystemClock
from remit._model.context import DEADLINE
from remit.procedures.errors import NotSent
from remit.procedures.http.address import Origin
from remit.procedures.http.circuit import Circuits
from remit.procedures.http.connections import Connection
from remit.procedures.http.dialing import Tls, dialled
from remit.procedures.http.sending import Outgoing, Sender
from remit.procedures.http.way import Said, way_of
from remit.procedures.openapi import CircuitState, Credentials, OpenAPI, Operation
from tests.behaviour.conftest import AGENT, failed, output, turns
from tests.openapi.raw import answering
from tests.openapi.test_openapi_calls import catalogue_of, document_of, surface_over
from tests.openapi.test_openapi_connections import STALE, Numbered, answer, origin_of

GET = Outgoing(method="GET", target=b"/", headers=(), content=None)


class Elsewhere:
    """A server in a thread of its own: one answer for each request, and STALE once when it is told to."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._listening.accept()
            except OSError:
                return
            self.taken.append(one)
            self._threads.append(threading.Thread(target=self._serve, args=(one,)))
            self._threads[-1].start()

    def _serve(self, one: socket.socket) -> None:
        with one, suppress(ConnectionError):
            while one.recv(65_536):
                one.sendall(answer('{"n":1}'))

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    server = Elsewhere()
    try:
        yield server
    finally:
        server.close()


def still_open() -> int:
    """The connections that are open on this side."""
    return sum(isinstance(each, Connection) and each.is_open for each in gc.get_objects())


@pytest.mark.requirement("10.4-connections-end-with-their-loop")
def test_the_connections_of_a_loop_end_with_it() -> None:
    sender = Sender(None, SystemClock(), timeout_s=5.0)
    with elsewhere() as server:

        async def once() -> None:
            assert (await sender.send(origin_of(server.url), GET, [], follow=False)).body == b'{"n":1}'

        before = still_open()
        for _ in range(3):
            asyncio.run(once())
        assert still_open() == before
        assert len(server.taken) == 3


@pytest.mark.requirement("10.4-connections-end-with-their-loop")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_a_loop_leaves_that_was_not_shut_down_is_let_go_with_the_next() -> None:
    sender = Sender(None, SystemClock(), timeout_s=5.0)
    with elsewhere() as server:
        for _ in range(3):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(sender.send(origin_of(server.url), GET, [], follow=False))
            loop.close()
            del loop

        async def last() -> int:
            await sender.send(origin_of(server.url), GET, [], follow=False)
            gc.collect()
            return sum(isinstance(each, asyncio.AbstractEventLoop) and each.is_closed() for each in gc.get_objects())

        gc.collect()
        held = sum(isinstance(each, asyncio.AbstractEventLoop) and each.is_closed() for each in gc.get_objects())
        assert asyncio.run(last()) < max(held, 1)


@pytest.mark.requirement("10.4-no-socket-of-a-cancelled-call")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_call_that_is_cancelled_while_it_connects_leaves_no_socket(host: str) -> None:
    async def until_it_goes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    kept: list[Any] = []
    async with answering(until_it_goes) as url:  # which ends when every client has gone
        for moment in range(20):
            dialling = asyncio.ensure_future(dialled(host, origin_of(url).port))
            for _ in range(moment):
                await asyncio.sleep(0)
            dialling.cancel()
            await asyncio.wait([dialling])
            if not dialling.cancelled():
                kept.append(dialling.result())
        for each in kept:
            each.close()


@pytest.mark.requirement("10.4-no-socket-of-a-cancelled-call")
@pytest.mark.parametrize("first", ["refused", "silent"])
async def test_a_host_whose_first_address_does_not_answer_is_reached_by_its_second(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Numbered()
    with socket.socket() as other, socket.socket() as filler:
        other.bind(("127.0.0.1", 0))
        if first == "silent":
            other.listen(0)
            filler.setblocking(False)
            filler.connect_ex(other.getsockname())  # the one that may wait to be accepted
        async with answering(backend.serve) as url:
            origin = origin_of(url)

            async def found(*_: Any, **__: Any) -> list[Any]:
                plain = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
                return [(*plain, other.getsockname()), (*plain, (origin.host, origin.port))]

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
            reached = await dialled("two.test", 80)
            assert reached.getpeername()[1] == origin.port
            reached.close()


@pytest.mark.requirement("10.4-no-place-is-no-failure")
async def test_a_call_that_finds_no_place_is_held_against_nobody() -> None:
    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        await reader.read()

    said: Any = dict.fromkeys(("app", "credentials", "errors", "idempotency_header", "clock"))
    async with answering(begin) as url:
        way = way_of(
            Said(subject="x", place="x", base_url=url, timeout_s=9.0, circuit_failures=1, circuit_pause_s=9.0, **said)
        )
        way = replace(way, sender=Sender(None, SystemClock(), timeout_s=1.0, most=1))
        async with way.opened(way.address(), GET, []) as opened:
            assert opened.status == 200
            with pytest.raises(NotSent, match=r"^all 1 connections are in use$") as told:
                await way.send(way.address(), GET, [], follow=False)
            assert (told.value.status, told.value.retry_after) == (429, 1.0)
            waiting = asyncio.ensure_future(way.send(way.address(), GET, [], follow=False))
            await turns()
            waiting.cancel(DEADLINE)
            await asyncio.gather(waiting, return_exceptions=True)
            assert way.circuit.status().failures == 0


class Hasty:
    """Answers the first request of each connection and ends the connection at the second."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer('{"n":1}'))
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.IncompleteReadError:
            return
        writer.transport.abort()

    def keys(self) -> set[bytes]:
        lines = [line for request in self.requests for line in request.split(b"\r\n")]
        return {line for line in lines if line.startswith(b"idempotency-key")}


@pytest.mark.requirement("10.4-sent-again-over-a-new-connection")
@pytest.mark.parametrize("effect", ["server-query", "server-mutation"])
async def test_what_may_be_sent_twice_is_when_a_used_connection_ends_without_a_byte(effect: Any) -> None:
    backend, twice = Hasty(), Operation("POST /write", effect=effect, idempotent=True)
    expose = {"read": Operation("GET /read", effect="server-query"), "write": twice}
    async with (
        answering(backend.serve) as url,
        surface_over(OpenAPI(document_of(), base_url=url, expose=expose)) as surface,
    ):
        agent = surface.connect(AGENT)
        assert output(await agent.call("domain:write", {"ids": ["a"]})) == {"n": 1}
        assert output(await agent.call("domain:write", {"ids": ["b"]})) == {"n": 1}
        assert len(backend.requests) == 3
        assert len(backend.keys()) == (0 if effect == "server-query" else 2)


@pytest.mark.requirement("10.4-sent-again-over-a-new-connection")
async def test_a_write_whose_used_connection_ends_is_not_sent_again() -> None:
    backend = Hasty()
    async with answering(backend.serve) as url, surface_over(catalogue_of(url)) as surface:
        agent = surface.connect(AGENT)
        assert output(await agent.call("domain:write", {"ids": ["a"]})) == {"n": 1}
        error = failed(await agent.call("domain:write", {"ids": ["b"]}), "EXECUTION_FAILED")
        assert error.details["outcome"] == "unknown"
        assert len(backend.requests) == 2


@pytest.mark.requirement("10.4-circuit")
async def test_each_origin_has_a_circuit_of_its_own() -> None:
    backend, there = Numbered(), [""]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with answering(backend.serve) as url:
            base: Any = lambda: there[0]  # noqa: E731 - a parameter that is a text elsewhere
            catalogue = catalogue_of(base, circuit_failures=1)
            async with surface_over(catalogue) as surface:
                agent = surface.connect(AGENT)
                there[0] = f"http://127.0.0.1:{closed.getsockname()[1]}"
                failed(await agent.call("domain:read", {"q": "a"}), "EXECUTION_FAILED")
                assert catalogue.circuit.state is CircuitState.OPEN
                there[0] = url
                assert output(await agent.call("domain:read", {"q": "b"})) == {"n": 1}
                assert catalogue.circuit.state is CircuitState.OPEN


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_a_connection_is_used_again_with_the_same_credentials_only() -> None:
    backend, who = Numbered(), ["ada"]
    credentials = Credentials(lambda _: {"Authorization": who[0]}, headers=["Authorization"])
    async with (
        answering(backend.serve) as url,
        surface_over(catalogue_of(url, credentials=credentials)) as surface,
    ):
        agent = surface.connect(AGENT)
        for name, connections in (("ada", 1), ("bob", 2), ("ada", 2), ("bob", 2), ("eve", 3)):
            who[0] = name
            output(await agent.call("domain:read", {"q": name}))
            assert backend.connections == connections


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_what_came_unasked_and_was_not_looked_at_yet_is_no_answer_to_the_next_call() -> None:
    sender = Sender(None, SystemClock(), timeout_s=5.0)
    with elsewhere() as server:
        for _ in range(3):
            received = await sender.send(origin_of(server.url), GET, [], follow=False)
            assert received.body == b'{"n":1}'
            server.taken[-1].sendall(STALE)  # the loop has no turn before the next call
        assert len(server.taken) == 3
        await sender.close()


@pytest.mark.requirement("10.4-tls-is-read-beside-the-loop")
async def test_certificates_are_read_once_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    made, threads = httpx2.create_ssl_context, list[int]()

    def noted() -> Any:
        threads.append(threading.get_ident())
        return made()

    monkeypatch.setattr(httpx2, "create_ssl_context", noted)
    tls = Tls()
    first, second = await asyncio.gather(tls.context(), tls.context())
    assert first is second is await tls.context()
    assert len(threads) == 1 and threads[0] != threading.get_ident()


@pytest.mark.requirement("10.4-circuit")
def test_circuits_are_bounded_and_one_that_is_well_goes_first() -> None:
    circuits = Circuits(SystemClock(), failures=1, pause_s=9.0, most=2)
    ill, well, third = (Origin(scheme="http", host=f"{each}.test", port=80) for each in ("ill", "well", "third"))
    for origin in (ill, well, third):
        trial = circuits.trial(origin)
        trial.begin()
        trial.answered() if origin is well else trial.failed()
        trial.failed()  # a call counts once
    for origin in (ill, third):
        with pytest.raises(NotSent, match="did not answer lately"):
            circuits.trial(origin)
    circuits.trial(well).failed()  # one that was not begun does not count
    circuits.trial(well)
    assert circuits.status().failures == 1
