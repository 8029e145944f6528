"""Connections to a backend: used again, and never for an answer that nobody asked for (SPEC 10.4)."""

import asyncio
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from remit import ManualClock
from remit._base.clock import SystemClock
from remit.procedures.errors import NoAnswer
from remit.procedures.http.address import Origin, address_of
from remit.procedures.http.connections import Broken, Connections, Full, Reply, Terms, TooLate, Unreached
from remit.procedures.http.sending import Outgoing, Sender
from tests.behaviour.conftest import AGENT, failed, journal, output, turns
from tests.openapi.raw import Handler, answering
from tests.openapi.test_openapi_calls import catalogue_of, surface_over


def answer(body: str, *, more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body.encode() + more


class Numbered:
    """Answers the n-th request of all its connections with `{"n": n}`, and says something besides if told to."""

    def __init__(self, besides: bytes = b"", *, later: bool = False) -> None:
        self.requests = self.connections = 0
        self.left = asyncio.Event()
        self.say = asyncio.Event()
        self._besides = besides
        self._later = later

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                writer.write(answer(f'{{"n":{self.requests}}}', more=b"" if self._later else self._besides))
                if self._later:
                    await self.say.wait()
                    writer.write(self._besides)
        except asyncio.IncompleteReadError:
            self.left.set()


STALE = answer('{"n":"of nobody"}')


@pytest.mark.requirement("10.4-no-answer-of-another-call")
@pytest.mark.parametrize("besides", [STALE, STALE[:20], b"\r\n", b"x"])
async def test_what_comes_with_an_answer_and_is_no_part_of_it_is_no_answer_to_the_next_call(besides: bytes) -> None:
    backend = Numbered(besides)
    async with answering(backend.serve) as url, surface_over(catalogue_of(url)) as surface:
        agent = surface.connect(AGENT)
        assert [output(await agent.call("domain:read", {"q": each})) for each in "abc"] == [
            {"n": 1},
            {"n": 2},
            {"n": 3},
        ]
        assert backend.connections == 3


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_what_comes_while_nothing_is_asked_ends_its_connection() -> None:
    backend = Numbered(STALE, later=True)
    async with answering(backend.serve) as url, surface_over(catalogue_of(url)) as surface:
        agent = surface.connect(AGENT)
        assert output(await agent.call("domain:read", {"q": "a"})) == {"n": 1}
        backend.say.set()
        await backend.left.wait()
        assert output(await agent.call("domain:read", {"q": "b"})) == {"n": 2}
        assert backend.connections == 2


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_a_connection_whose_answers_are_whole_is_used_again_and_left_with_the_catalogue() -> None:
    backend = Numbered()
    async with answering(backend.serve) as url:
        async with surface_over(catalogue_of(url)) as surface:
            agent = surface.connect(AGENT)
            assert [output(await agent.call("domain:read", {"q": each})) for each in "ab"] == [{"n": 1}, {"n": 2}]
            assert backend.connections == 1
        await backend.left.wait()


def origin_of(url: str) -> Origin:
    return address_of(url).origin


@asynccontextmanager
async def asked(connections: Connections, url: str, step_s: float | None = None) -> AsyncIterator[Reply]:
    origin = origin_of(url)
    heads = [(b"host", origin.netloc.encode())]
    async with connections.exchange(origin, "GET", b"/", heads, None, Terms(step_s=step_s)) as reply:
        yield reply


async def whole(connections: Connections, url: str) -> bytes:
    async with asked(connections, url) as reply:
        return b"".join([chunk async for chunk in reply.chunks])


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_a_connection_that_is_idle_too_long_is_closed_and_one_too_many_is_not_kept() -> None:
    clock, backend = ManualClock(), Numbered()
    connections = Connections(clock, connect_s=5.0)
    async with answering(backend.serve) as url:
        assert await whole(connections, url) == b'{"n":1}'
        clock.advance(3.0)
        assert await whole(connections, url) == b'{"n":2}'
        clock.advance(3.0)
        assert await whole(connections, url) == b'{"n":3}'
        assert (backend.connections, backend.left.is_set()) == (1, False)
        clock.advance(10.0)
        await backend.left.wait()
        assert await whole(connections, url) == b'{"n":4}'
        assert backend.connections == 2
        connections.close()
    backend, connections = Numbered(), Connections(clock, connect_s=5.0, kept=0)
    async with answering(backend.serve) as url:
        assert await whole(connections, url) == b'{"n":1}'
        await backend.left.wait()


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_of_several_idle_connections_each_is_closed_in_its_time() -> None:
    clock, backend = ManualClock(), Numbered()
    connections = Connections(clock, connect_s=5.0)
    async with answering(backend.serve) as url:
        async with asked(connections, url) as first:
            assert await whole(connections, url) == b'{"n":2}'
            clock.advance(4.0)
            assert [chunk async for chunk in first.chunks] == [b'{"n":1}']
        clock.advance(1.0)
        await backend.left.wait()
        assert await whole(connections, url) == b'{"n":3}'
        assert backend.connections == 2
        clock.advance(4.0)
        backend.left.clear()
        clock.advance(1.0)
        await backend.left.wait()
        connections.close()


@pytest.mark.requirement("10.4-no-answer-of-another-call")
async def test_an_answer_that_is_left_before_its_end_ends_its_connection() -> None:
    backend, connections = Numbered(), Connections(SystemClock(), connect_s=5.0)
    async with answering(backend.serve) as url:
        async with asked(connections, url) as reply:
            assert reply.status == 200
        await backend.left.wait()
        assert await whole(connections, url) == b'{"n":2}'
        connections.close()


@pytest.mark.requirement("10.4-no-answer")
async def test_beyond_the_most_connections_a_call_waits_and_then_has_reached_nobody() -> None:
    hasty, patient = (Connections(SystemClock(), connect_s=seconds, most=1) for seconds in (0.05, 5.0))
    backend = Numbered()
    async with answering(backend.serve) as url:
        async with asked(hasty, url):
            with pytest.raises(Full, match="all 1 connections are in use"):
                await whole(hasty, url)
        async with asked(patient, url):
            waiting = asyncio.ensure_future(whole(patient, url))
            await turns()
            assert backend.requests == 2
        assert await waiting == b'{"n":3}'
        patient.close()


@pytest.mark.requirement("10.4-no-answer")
async def test_a_connection_that_is_reset_in_the_middle_of_a_body_without_an_end_is_no_whole_answer() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhalf")
        await go.wait()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    connections, go = Connections(SystemClock(), connect_s=5.0), asyncio.Event()
    async with answering(reset) as url, asked(connections, url) as reply:
        assert await anext(reply.chunks) == b"half"
        go.set()
        with pytest.raises(Broken):
            await anext(reply.chunks)


async def says(what: bytes) -> Handler:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(what)

    return serve


@pytest.mark.requirement("10.4-no-answer")
@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na", b"a"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\na", b"a"),
    ],
)
async def test_every_way_to_end_a_body_is_understood(said: bytes, body: bytes) -> None:
    connections = Connections(SystemClock(), connect_s=5.0)
    async with answering(await says(said)) as url:
        assert await whole(connections, url) == body
        connections.close()


@pytest.mark.requirement("10.4-no-answer")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000,
    ],
)
async def test_what_is_no_whole_answer_is_told_apart(said: bytes) -> None:
    connections = Connections(SystemClock(), connect_s=5.0)
    async with answering(await says(said)) as url:
        with pytest.raises(Broken):
            await whole(connections, url)


@pytest.mark.requirement("10.4-no-answer")
async def test_a_request_that_is_no_http_is_not_sent() -> None:
    backend, connections = Numbered(), Connections(SystemClock(), connect_s=5.0)
    async with answering(backend.serve) as url:
        with pytest.raises(Unreached):
            async with connections.exchange(origin_of(url), "GET", b"/", [(b"host", b"a\nb")], None):
                raise AssertionError("it was sent")
        await backend.left.wait()
        assert backend.requests == 0


@pytest.mark.requirement("10.4-no-answer")
@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70 + ".test"])
async def test_a_name_that_leads_nowhere_is_no_connection(host: str) -> None:
    with pytest.raises(Unreached):
        await whole(Connections(SystemClock(), connect_s=5.0), f"http://{host}")


@pytest.mark.requirement("10.4-no-answer")
async def test_a_stream_that_falls_silent_is_too_late() -> None:
    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        await reader.read()

    connections = Connections(SystemClock(), connect_s=5.0)
    async with answering(begin) as url:
        with pytest.raises(TooLate):
            async with asked(connections, url, step_s=0.2) as reply:
                assert await anext(reply.chunks) == b"half"
                await anext(reply.chunks)


@pytest.mark.requirement("10.4-no-answer")
async def test_a_backend_has_to_wait_while_nobody_reads() -> None:
    size, drained = 32 * 1024 * 1024, asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n".encode())
        writer.write(bytes(size))
        await writer.drain()
        drained.set()
        await reader.read()

    connections = Connections(SystemClock(), connect_s=5.0)
    async with answering(flood) as url:
        async with asked(connections, url) as reply:
            for _ in range(1_000):
                await asyncio.sleep(0)
            assert not drained.is_set()
            assert sum([len(chunk) async for chunk in reply.chunks]) == size
        assert drained.is_set()
        connections.close()


@pytest.mark.requirement("10.5-backend-answers")
async def test_a_body_that_was_encoded_unasked_is_decoded_and_a_broken_one_is_no_answer() -> None:
    packed = gzip.compress(b'{"ok":true}')
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    bodies = [packed, b"no gzip at all"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            body = bodies.pop(0)
            writer.write(head % len(body) + body)

    async with answering(serve) as url, surface_over(catalogue_of(url)) as surface:
        agent = surface.connect(AGENT)
        assert output(await agent.call("domain:read", {"q": "a"})) == {"ok": True}
        failed(await agent.call("domain:read", {"q": "b"}), "EXECUTION_FAILED")
        assert journal(surface)[-1].why == f"no whole answer: the answer of {url} broke off"


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate for 127.0.0.1 that vouches for itself, in `ca.pem`, and the context of a server that has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a backend of a test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@pytest.mark.requirement("10.4-why-nothing-was-answered")
async def test_the_journal_says_what_kept_a_connection_from_coming_about() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: refused
        for url, why in (
            (f"http://127.0.0.1:{nobody.getsockname()[1]}", "it was refused"),
            (f"http://{'a' * 70}.test", "its name cannot be looked up"),
        ):
            async with surface_over(catalogue_of(url)) as surface:
                failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
                assert journal(surface)[-1].why == f"nothing was sent: no connection to {url}: {why}"


@pytest.mark.requirement("10.4-no-answer")
async def test_over_tls_only_a_backend_that_somebody_vouches_for_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, context = Numbered(), certificate(tmp_path)
    async with answering(backend.serve, context) as url:
        async with surface_over(catalogue_of(url)) as surface:
            error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
            assert error.details["outcome"] == "none"
            assert str(journal(surface)[-1].why).startswith(
                f"nothing was sent: no connection to {url}: its certificate is not accepted ("
            )
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        async with surface_over(catalogue_of(url)) as surface:
            agent = surface.connect(AGENT)
            assert [output(await agent.call("domain:read", {"q": each})) for each in "ab"] == [{"n": 1}, {"n": 2}]
        connections = Connections(SystemClock(), connect_s=5.0, kept=0)
        assert [await whole(connections, url) for _ in range(2)] == [b'{"n":3}', b'{"n":4}']
    assert (backend.requests, backend.connections) == (4, 3)


@pytest.mark.requirement("10.4-no-answer")
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"])
async def test_a_stream_that_does_not_begin_or_falls_silent_is_told_as_too_late(said: bytes) -> None:
    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await reader.read()

    sender = Sender(None, SystemClock(), timeout_s=0.2)
    outgoing = Outgoing(method="POST", target=b"/", headers=(), content=b"{}")
    async with answering(begin) as url:
        with pytest.raises(NoAnswer) as told:
            async with sender.opened(origin_of(url), outgoing, []) as answer:
                await anext(answer.chunks)
        assert (told.value.status, str(told.value)) == (504, f"no answer from {url} in time")
