"""What an OpenAPI backend costs: listing a large document, and a call beside the same request of a bare client."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from bench.site import AGENT, PERSON, authority_of
from remit import Component, Context, Invocation, Ok, Surface, reference
from remit.procedures.openapi import Credentials, OpenAPI, Operation

OPERATIONS: Final = 400
LISTINGS: Final = 9
PAIRS: Final = 3_000
SLICE: Final = 200
"""Pairs between two collections."""

WITHIN: Final = 0.15
WITHIN_US: Final = 150.0
"""A call may take so much longer than the bare request: the share, or the microseconds if that is more."""

_IDS: Final = ["d-0001", "d-0002", "d-0003"]
_TEXT: Final = {"type": "string"}


class Fleet(Component, type="bench.fleet"):
    """A part of a view with two operations of a backend."""

    find = reference("domain:devices.list")
    disable = reference("domain:devices.disable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A call beside the same request of a bare client, in microseconds: medians by the clock and of processor time.

    On a busy machine the clock says how busy it is; processor time then says what the two differ in.
    """

    name: str
    bare: float
    remit: float
    bare_busy: float
    remit_busy: float
    n: int

    @property
    def more(self) -> float:
        """What remit takes on top, by the clock."""
        return round(self.remit - self.bare, 2)

    @property
    def held(self) -> bool:
        """Whether that is within the bounds."""
        return self.more <= max(WITHIN_US, WITHIN * self.bare)

    def to_json(self) -> dict[str, object]:
        """The comparison as it stands in the file."""
        busy = {"bare_busy": self.bare_busy, "remit_busy": self.remit_busy}
        figures = {"bare": self.bare, "remit": self.remit, **busy, "more": self.more}
        return {"name": self.name, "unit": "us", **figures, "held": self.held, "n": self.n}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """How long a catalogue of a document takes, in milliseconds: by the clock, and the least processor time."""

    operations: int
    least: float
    median: float
    busy: float
    n: int

    def to_json(self) -> dict[str, object]:
        """The listing as it stands in the file."""
        figures = {"least": self.least, "median": self.median, "busy": self.busy}
        return {"operations": self.operations, "unit": "ms", **figures, "n": self.n}


def listing(times: int = LISTINGS) -> Listing:
    """List all operations of a document, hashes included, as a start does."""
    document, taken, busy = large_document(), list[float](), list[float]()
    expose = {
        f"thing{number}.{verb}": Operation(f"{verb.upper()} /things{number}/{{id}}", effect="server-mutation")
        for number in range(OPERATIONS // 4)
        for verb in ("get", "put", "post", "delete")
    }
    for _ in range(max(1, times)):
        gc.collect()
        begun, worked = time.perf_counter(), time.process_time()
        backend = OpenAPI(document, base_url="http://h.test", expose=expose)
        hashes = {operation.hash for name in backend.names() if (operation := backend.get(name)) is not None}
        taken.append((time.perf_counter() - begun) * 1_000)
        busy.append((time.process_time() - worked) * 1_000)
        if len(backend.names()) != OPERATIONS or len(hashes) < OPERATIONS // 4:
            raise RuntimeError(f"not everything is listed: {backend.refused()}")
    return Listing(
        operations=OPERATIONS,
        least=round(min(taken), 1),
        median=round(statistics.median(taken), 1),
        busy=round(min(busy), 1),
        n=len(taken),
    )


def large_document() -> dict[str, Any]:
    """A document of 400 operations as frameworks make them: schemas with references, and four declared answers each."""
    schemas: dict[str, Any] = {
        "Problem": {
            "type": "object",
            "required": ["code"],
            "properties": {"code": _TEXT, "issues": {"type": "array", "items": {"$ref": "#/components/schemas/Issue"}}},
        },
        "Issue": {"type": "object", "properties": {"path": _TEXT, "message": _TEXT}},
        "Place": {"type": "object", "required": ["city"], "properties": {"city": _TEXT, "country": _TEXT}},
    }
    paths: dict[str, Any] = {}
    for number in range(OPERATIONS // 4):
        schemas[f"Thing{number}"] = {"type": "object", "required": ["name"], "properties": _fields(number)}
        paths[f"/things{number}/{{id}}"] = {
            verb: _operation(f"{verb} thing {number}", number, body=verb in ("put", "post"))
            for verb in ("get", "put", "post", "delete")
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "b", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _fields(number: int) -> dict[str, Any]:
    place = {"$ref": "#/components/schemas/Place"}
    return {
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "number": {"type": "integer", "minimum": 0, "default": number},
        "state": {"type": "string", "enum": ["new", "used", "lost"]},
        "place": {"anyOf": [place, {"type": "null"}]},
        "places": {"type": "array", "items": place},
        "tags": {"type": "array", "items": _TEXT},
    }


def _operation(summary: str, number: int, *, body: bool) -> dict[str, Any]:
    def answer(name: str) -> dict[str, Any]:
        return {
            "description": "",
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}},
        }

    said: dict[str, Any] = {
        "summary": summary,
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "q", "in": "query", "schema": {"anyOf": [_TEXT, {"type": "null"}]}},
            {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100, "default": 20}},
        ],
        "responses": {
            "200": answer(f"Thing{number}"),
            **{status: answer("Problem") for status in ("404", "409", "422")},
        },
    }
    if body:
        said["requestBody"] = {"required": True, "content": answer(f"Thing{number}")["content"]}
    return said


async def beside(*, scale: float = 1.0) -> list[Beside]:
    """Measure calls and bare requests in turn, one by one; a wrong answer is a RuntimeError."""
    with _echo() as url:
        backend = _backend(url)
        async with backend, httpx2.AsyncClient(base_url=url, trust_env=False) as bare:
            surface = Surface(authority_of([Fleet], procedures=backend), principal=PERSON, procedures=backend)
            surface.mount(Fleet())
            pairs = max(20, round(PAIRS * scale))
            return [
                await _compare("GET, read", _get(bare), _call(surface, "list", {"city": "Milan", "limit": 50}), pairs),
                await _compare("POST, change", _post(bare), _call(surface, "disable", {"device_ids": _IDS}), pairs),
            ]


_Run = Callable[[], Awaitable[object]]


async def _compare(name: str, bare: _Run, remit: _Run, pairs: int) -> Beside:
    taken: tuple[list[int], list[int]] = ([], [])
    busy: tuple[list[int], list[int]] = ([], [])
    for number in range(-max(10, pairs // 20), pairs):
        if number % SLICE == 0:
            gc.collect()
        for which in (0, 1) if number % 2 else (1, 0):
            worked, begun = time.thread_time_ns(), time.perf_counter_ns()
            answer = await (bare, remit)[which]()
            took, worked = time.perf_counter_ns() - begun, time.thread_time_ns() - worked
            if not isinstance(answer, dict) or answer.get("disabled") != _IDS:
                raise RuntimeError(f"{name}: the answer is wrong: {answer!r:.300}")
            if number >= 0:
                taken[which].append(took)
                busy[which].append(worked)
    clock, processor = ([round(statistics.median(each) / 1_000, 2) for each in both] for both in (taken, busy))
    return Beside(
        name=name, bare=clock[0], remit=clock[1], bare_busy=processor[0], remit_busy=processor[1], n=len(taken[0])
    )


def _headers(**more: str) -> dict[str, str]:
    return {"accept": "application/json, */*;q=0.5", "authorization": "Bearer one-of-the-person", **more}


def _get(client: httpx2.AsyncClient) -> _Run:
    async def run() -> object:
        params: dict[str, str | int] = {"city": "Milan", "limit": 50}
        answer = await client.get("/devices", params=params, headers=_headers())
        return answer.json()

    return run


def _post(client: httpx2.AsyncClient) -> _Run:
    key = "k" * 43

    async def run() -> object:
        answer = await client.post(
            "/devices/disable", json={"device_ids": _IDS}, headers=_headers(**{"idempotency-key": key})
        )
        return answer.json()

    return run


def _call(surface: Surface, name: str, input: dict[str, object]) -> _Run:
    async def run() -> object:
        outcome = await surface.invoke(Invocation(f"domain:devices.{name}", input), AGENT)
        return outcome.output if isinstance(outcome, Ok) else outcome

    return run


def _backend(url: str) -> OpenAPI:
    ids = {"type": "array", "items": _TEXT, "maxItems": 200}
    answer = {
        "200": {
            "description": "",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["disabled"],
                        "properties": {"disabled": ids, "ok": {"type": "boolean"}},
                    }
                }
            },
        }
    }
    body = {"type": "object", "required": ["device_ids"], "properties": {"device_ids": ids}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "fleet", "version": "1"},
        "paths": {
            "/devices": {
                "get": {
                    "summary": "List devices",
                    "parameters": [
                        {"name": "city", "in": "query", "schema": _TEXT},
                        {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                    ],
                    "responses": answer,
                }
            },
            "/devices/disable": {
                "post": {
                    "summary": "Disable devices",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": answer,
                }
            },
        },
    }
    return OpenAPI(
        document,
        base_url=url,
        credentials=Credentials(_credential, headers=["Authorization"]),
        expose={
            "devices.list": Operation("GET /devices", effect="server-query"),
            "devices.disable": Operation("POST /devices/disable", effect="server-mutation"),
        },
    )


def _credential(ctx: Context) -> dict[str, str]:
    return {"Authorization": "Bearer one-of-the-person"}


@contextmanager
def _echo() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.echo"],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()


def table(listed: Listing, comparisons: Sequence[Beside]) -> str:
    """The figures for reading."""
    lines = [
        f"catalogue of {listed.operations} operations: {listed.median:.0f} ms at the median of {listed.n},"
        f" {listed.least:.0f} ms at best, {listed.busy:.0f} ms of processor time",
        f"{'call':<16}{'bare':>11}{'remit':>11}{'more':>11}{'bare busy':>12}{'remit busy':>12}{'n':>8}",
    ]
    for each in comparisons:
        bound = "" if each.held else f"  more than {WITHIN_US:g} us and {WITHIN:.0%}"
        lines.append(
            f"{each.name:<16}{each.bare:>8.1f} us{each.remit:>8.1f} us{each.more:>8.1f} us"
            f"{each.bare_busy:>9.1f} us{each.remit_busy:>9.1f} us{each.n:>8}{bound}"
        )
    return "\n".join(lines)
