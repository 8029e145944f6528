"""The rarer answers of a backend, and the rarer moments: none of them is taken for something else (SPEC 10.4, 10.5)."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from remit import BackendError, DefinitionError, ManualClock
from remit.procedures.openapi import Answer, Credentials, OpenAPI, Operation
from remit.procedures.openapi import document as reading
from tests.behaviour.conftest import AGENT, failed, output, turns
from tests.openapi.raw import answering
from tests.openapi.test_openapi_calls import Backend, catalogue_of, document_of, surface_over
from tests.unit.procedures.openapi_echo import serving

NOT_JUDGED = {"type": "object", "properties": {"data": {"oneOf": [{"$ref": "#/components/schemas/None"}]}}}


@pytest.fixture
def backend() -> Any:
    made = Backend()
    with serving(made.app()) as url:
        made.url = url
        yield made


@pytest.mark.requirement("10.5-backend-answers")
@pytest.mark.parametrize(
    ("value", "after_ms"),
    [("7", 7_000), ("Tue, 01 Dec 2026 10:00:09 GMT", 9_000), ("Tue, 01 Dec 2020 10:00:00 GMT", 0), ("soon", 1_000)],
)
async def test_a_backend_says_when_to_come_back_in_seconds_or_as_a_date(
    backend: Backend, value: str, after_ms: int
) -> None:
    clock = ManualClock(start=datetime(2026, 12, 1, 10, tzinfo=UTC))
    backend.answer = Response(status_code=429, headers={"retry-after": value})
    async with surface_over(catalogue_of(backend.url, clock=clock)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "RATE_LIMITED")
        assert error.details["retry_after_ms"] == after_ms


@pytest.mark.requirement("10.5-undeclared-text-stays")
async def test_an_error_that_is_declared_in_words_nobody_can_judge_counts_as_undeclared(backend: Backend) -> None:
    document = document_of(s409=NOT_JUDGED)
    declared = document["paths"]["/write"]["post"]["responses"]
    declared["410"] = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    async with surface_over(catalogue_of(backend.url, document)) as surface:
        for status in (409, 410):
            backend.answer = JSONResponse({"code": "in-use", "data": {"n": 1}}, status)
            error = failed(await surface.connect(AGENT).call("domain:write", {}), "PRECONDITION_FAILED")
            assert "declared" not in error.details


@pytest.mark.requirement("10.5-backend-answers")
async def test_issues_that_name_no_place_are_left_out_and_those_of_a_whole_body_name_it(backend: Backend) -> None:
    document = document_of()
    written = document["paths"]["/write"]["post"]
    written["requestBody"]["required"] = False
    entries = ["nonsense", {"loc": 7, "msg": "x"}, {"loc": ["body", "ids", 1], "msg": "x"}, {"path": "elsewhere"}]
    backend.answer = JSONResponse({"detail": entries}, 422)
    async with surface_over(catalogue_of(backend.url, document)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {"body": {"ids": ["a"]}}), "INVALID_INPUT")
        assert [issue["path"] for issue in error.details["issues"]] == ["body.ids[1]"]  # type: ignore[attr-defined]


@pytest.mark.requirement("10.5-a-mapping-of-errors-comes-first")
async def test_a_mapping_of_errors_gets_no_body_that_is_neither_json_nor_text(backend: Backend) -> None:
    seen: list[Answer] = []

    def errors(answer: Answer) -> BackendError | None:
        seen.append(answer)
        return None

    backend.answer = Response(b"\x89PNG", 409, media_type="image/png")
    async with surface_over(catalogue_of(backend.url, errors=errors)) as surface:
        failed(await surface.connect(AGENT).call("domain:write", {}), "PRECONDITION_FAILED")
    assert [(each.status, each.body) for each in seen] == [(409, None)]


@pytest.mark.requirement("10.6-empty-answers")
async def test_text_is_read_by_its_charset_among_other_words_of_its_type(backend: Backend) -> None:
    backend.answer = Response("h\xe9".encode("latin-1"), media_type='text/plain; format=flowed; charset="latin-1"')
    async with surface_over(catalogue_of(backend.url)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == "hé"


@pytest.mark.requirement("10.4-credentials-by-allow-list")
async def test_an_optional_header_may_be_missing(backend: Backend) -> None:
    credentials = Credentials(lambda ctx: {"authorization": "a"}, headers=["Authorization"], optional=["X-Tenant"])
    async with surface_over(catalogue_of(backend.url, credentials=credentials)) as surface:
        assert output(await surface.connect(AGENT).call("domain:read", {})) == {"ok": True}
        assert backend.headers["authorization"] == "a" and "x-tenant" not in backend.headers


@pytest.mark.requirement("10.4-circuit")
async def test_of_several_calls_one_tries_whether_the_backend_is_back() -> None:
    clock, arrived, go = ManualClock(), asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await go.wait()
        writer.write(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    async with answering(serve) as url:
        await _one_tries(url, clock, arrived, go)


async def _one_tries(url: str, clock: ManualClock, arrived: asyncio.Event, go: asyncio.Event) -> None:
    catalogue = catalogue_of(url, clock=clock, circuit_failures=1, circuit_pause_s=4.0)
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        go.set()
        failed(await agent.call("domain:read", {}), "EXECUTION_FAILED")
        clock.advance(4.0)
        go.clear()
        arrived.clear()
        trying = asyncio.ensure_future(agent.call("domain:read", {"q": "1"}))
        await arrived.wait()
        error = failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["outcome"], error.details["retry_after_ms"]) == ("none", 4_000)
        go.set()
        failed(await trying, "EXECUTION_FAILED")
        await turns()


@pytest.mark.requirement("10.4-origin-is-pinned")
async def test_a_redirect_to_what_is_no_address_is_not_followed() -> None:
    async def serve(request: Request) -> Response:
        return Response(status_code=307, headers={"location": "/\x01"})

    app = Starlette(routes=[Route("/read", serve)])
    catalogue = OpenAPI(
        document_of(),
        app=app,
        expose={
            "read": Operation("GET /read", effect="server-query"),
            "write": Operation("POST /write", effect="server-mutation"),
        },
    )
    async with surface_over(catalogue) as surface:
        error = failed(await surface.connect(AGENT).call("domain:read", {}), "EXECUTION_FAILED")
        assert error.details["reason"] == "transport"


@pytest.mark.requirement("10.1-openapi-sources")
def test_settings_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(DefinitionError, match="circuit_failures=0"):
        catalogue_of("http://h.test", circuit_failures=0)
    with pytest.raises(DefinitionError, match="circuit_pause_s=0"):
        catalogue_of("http://h.test", circuit_pause_s=0.0)
    with pytest.raises(DefinitionError, match="is no URL"):
        catalogue_of("http://h.test/\x01")


@pytest.mark.requirement("10.6-documents-are-fetched-once")
def test_a_document_that_comes_too_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def document(request: Request) -> Response:
        return PlainTextResponse('{"openapi": "3.1.0"}')

    readings = iter((0.0, 10.5))
    monkeypatch.setattr(reading, "time", SimpleNamespace(monotonic=lambda: next(readings)))
    with (
        serving(Starlette(routes=[Route("/openapi.json", document)])) as url,
        pytest.raises(DefinitionError, match="took more than 10 s"),
    ):
        OpenAPI(f"{url}/openapi.json", base_url="http://h.test", expose={})
