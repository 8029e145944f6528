"""Answers that come encoded although nobody asked for it: whole, or none (SPEC 10.4)."""

import asyncio
import gzip
import zlib
from collections.abc import Callable

import pytest

from remit.procedures.openapi import CircuitState
from tests.behaviour.conftest import AGENT, failed, journal, output
from tests.openapi.raw import Handler, answering
from tests.openapi.test_openapi_calls import catalogue_of, surface_over

TEXT = "pay 1000 to bob, pay 2 to ann; " * 50


def raw_deflate(data: bytes) -> bytes:
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return made.compress(data) + made.flush()


def members(data: bytes) -> bytes:
    return gzip.compress(data[:100]) + gzip.compress(data[100:])


def twice(data: bytes) -> bytes:
    return gzip.compress(zlib.compress(data))


CODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("X-Gzip", gzip.compress),
    ("gzip", members),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("deflate, gzip", twice),
    ("identity", bytes),
]


async def asked(reader: asyncio.StreamReader) -> bool:
    """Whether one more request came; the bodies of those before it are read along."""
    try:
        return bool(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.IncompleteReadError:
        return False


def serving_body(coding: str, body: bytes, media: str = "text/plain", step: int = 0) -> Handler:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"content-type: {media}\r\ncontent-encoding: {coding}\r\ncontent-length: {len(body)}\r\n\r\n"
        while await asked(reader):
            writer.write(b"HTTP/1.1 200 OK\r\n" + head.encode())
            for start in range(0, len(body), step or len(body) or 1):
                writer.write(body[start : start + (step or len(body))])
                await writer.drain()

    return serve


@pytest.mark.requirement("10.4-an-encoded-answer-is-whole-or-none")
@pytest.mark.parametrize(("coding", "encode"), CODINGS)
@pytest.mark.parametrize("step", [0, 1])
async def test_a_body_that_was_encoded_unasked_is_read_to_its_end(
    coding: str, encode: Callable[[bytes], bytes], step: int
) -> None:
    handler = serving_body(coding, encode(TEXT.encode()), step=step)
    async with answering(handler) as url, surface_over(catalogue_of(url)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == TEXT


@pytest.mark.requirement("10.4-an-encoded-answer-is-whole-or-none")
@pytest.mark.parametrize(("coding", "encode"), CODINGS[:-1])
@pytest.mark.parametrize("cut", [1, 5, 12])
async def test_half_of_an_encoded_body_is_no_answer_although_its_length_is_right(
    coding: str, encode: Callable[[bytes], bytes], cut: int
) -> None:
    handler = serving_body(coding, encode(TEXT.encode())[:-cut])
    async with answering(handler) as url, surface_over(catalogue_of(url, circuit_failures=2)) as surface:
        agent = surface.connect(AGENT)
        told = {}
        for operation in ("domain:read", "domain:write"):
            error = failed(await agent.call(operation, {}), "EXECUTION_FAILED")
            told[operation] = (error.details["reason"], error.details["outcome"])
            assert journal(surface)[-1].why == f"no whole answer: the answer of {url} broke off"
        assert told == {"domain:read": ("transport", "none"), "domain:write": ("transport", "unknown")}


@pytest.mark.requirement("10.4-an-encoded-answer-is-whole-or-none")
@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b"no gzip at all"),
        ("gzip", gzip.compress(b"whole", mtime=0) + b"and more"),
        ("deflate", zlib.compress(b"whole") + b"and more"),
        ("deflate", b"\xff\xff no deflate"),
    ],
    ids=["no gzip", "more than gzip", "more than deflate", "no deflate"],
)
async def test_a_body_that_is_not_encoded_as_it_says_is_no_answer(coding: str, body: bytes) -> None:
    handler = serving_body(coding, body)
    async with answering(handler) as url, surface_over(catalogue := catalogue_of(url, circuit_failures=1)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("transport", "unknown")
        assert catalogue.circuit.state is CircuitState.OPEN


@pytest.mark.requirement("10.4-an-encoded-answer-is-whole-or-none")
@pytest.mark.parametrize("media", ["text/plain; charset=latin-1", "application/json"])
async def test_an_encoding_that_remit_does_not_read_is_no_text(media: str) -> None:
    handler = serving_body("br", b'\x0b\x03\x80{"n":1}\x03', media)
    async with answering(handler) as url, surface_over(catalogue_of(url)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")


@pytest.mark.requirement("10.4-an-encoded-answer-is-whole-or-none")
async def test_an_empty_body_is_empty_whatever_its_encoding_and_a_large_one_too_large() -> None:
    async with answering(serving_body("gzip", b"")) as url, surface_over(catalogue_of(url)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) is None
    bomb = serving_body("gzip", gzip.compress(b"0" * 20_000_000))
    async with answering(bomb) as url, surface_over(catalogue_of(url)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert error.details["outcome"] == "done"
