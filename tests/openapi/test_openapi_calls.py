"""Calls of an OpenAPI backend over real HTTP: credentials, redirects, timeouts, circuits, answers (SPEC 10.4, 10.5)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from remit import BackendError, Component, Context, Failed, ManualClock, Principal, Retry, Surface, Trace, reference
from remit.procedures.openapi import Answer, CircuitState, Credentials, OpenAPI, Operation
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns
from tests.openapi.raw import answering
from tests.unit.procedures.openapi_echo import serving

PROBLEM = {
    "type": "object",
    "required": ["code"],
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "ids": {"type": "array"}, "data": {}},
}
VALIDATION = {
    "type": "object",
    "required": ["detail"],
    "properties": {"detail": {"type": "array", "items": {"type": "object"}}},
}


class Backend:
    """A server whose answers a test sets; it keeps what it was sent."""

    def __init__(self) -> None:
        self.answer: Response = JSONResponse({"ok": True})
        self.answers: list[Response] = []
        self.requests: list[Request] = []
        self.bodies: list[bytes] = []
        self.gone = asyncio.Event()
        self.url = ""

    @property
    def headers(self) -> dict[str, str]:
        """Of the latest request."""
        return dict(self.requests[-1].headers)

    async def serve(self, request: Request) -> Response:
        self.requests.append(request)
        self.bodies.append(await request.body())
        return self.answers.pop(0) if self.answers else self.answer

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{rest:path}", self.serve, methods=["GET", "POST", "DELETE"])])


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend()
    with serving(made.app()) as url:
        made.url = url
        yield made


class Page(Component, type="page"):
    """A page."""

    read = reference("domain:read")
    write = reference("domain:write")


def document_of(**responses: Any) -> dict[str, Any]:
    body = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
    content = {"application/json": {"schema": body}}
    query = [{"name": "q", "in": "query", "schema": {"type": "string"}}]
    said = {
        status.removeprefix("s"): {"content": {"application/json": {"schema": s}}} for status, s in responses.items()
    }
    read = {"summary": "Read", "parameters": query, "responses": said}
    write = {"summary": "Write", "requestBody": {"required": True, "content": content}, "responses": said}
    return {"openapi": "3.1.0", "info": {}, "paths": {"/read": {"get": read}, "/write": {"post": write}}}


def catalogue_of(url: str, document: Any = None, *, write: Any = "server-mutation", **more: Any) -> OpenAPI:
    return OpenAPI(
        document_of() if document is None else document,
        base_url=url,
        expose={
            "read": Operation("GET /read", effect="server-query"),
            "write": Operation("POST /write", effect=write),
        },
        **more,
    )


@asynccontextmanager
async def surface_over(catalogue: OpenAPI, **more: Any) -> AsyncIterator[Surface]:
    kind = more.pop("kind", Page)
    async with catalogue:
        surface = Surface(
            authority_of(kind, procedures=catalogue),
            procedures=catalogue,
            **{"principal": "operator", "decide": None, **more},
        )
        surface.confirmations.subscribe(lambda view: None)
        surface.mount(kind())
        yield surface
        surface.dispose()


@pytest.mark.requirement("10.4-exactly-the-confirmed-input", "10.4-idempotency-key")
async def test_the_backend_gets_the_approved_input_once_with_a_key_that_is_not_the_agents_id(backend: Backend) -> None:
    async with surface_over(catalogue_of(backend.url, write="destructive")) as surface:
        agent = surface.connect(AGENT)
        asked = failed(await agent.call("domain:write", {"ids": ["b", "a"]}, id="mine"), "CONFIRMATION_REQUIRED")
        assert backend.requests == []
        id = str(asked.details["confirmation_id"])
        await surface.confirmations.approve(id, OPERATOR)
        assert output(await agent.call("domain:write", {"ids": ["b", "a"]}, id="mine", confirmation=id)) == {"ok": True}
        assert backend.bodies == [b'{"ids":["b","a"]}']
        key = backend.headers["idempotency-key"]
        assert len(key) >= 32 and "mine" not in key
        assert output(await agent.call("domain:read", {"q": "x"})) == {"ok": True}
        assert "idempotency-key" not in backend.headers


@pytest.mark.requirement("6.14-the-backend-continues-the-trace")
async def test_a_backend_is_sent_the_span_of_the_call_and_none_that_is_only_a_link(backend: Backend) -> None:
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with surface_over(catalogue_of(backend.url)) as surface:
        agent = surface.connect(AGENT)
        for trace, sent in ((Trace(span), span), (Trace(span, linked=True), None), (None, None)):
            output(await agent.call("domain:read", {"q": "x"}, trace=trace))
            assert backend.headers.get("traceparent") == sent
            assert not {"tracestate", "baggage"} & backend.headers.keys()


@pytest.mark.requirement("10.2-a-method-promises-nothing")
async def test_a_get_that_is_destructive_asks_a_person_and_a_post_that_reads_does_not(backend: Backend) -> None:
    document = document_of()
    expose = {
        "read": Operation("GET /read", effect="destructive"),
        "write": Operation("POST /write", effect="server-query"),
    }
    catalogue = OpenAPI(document, base_url=backend.url, expose=expose)
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        failed(await agent.call("domain:read"), "CONFIRMATION_REQUIRED")
        assert backend.requests == []
        assert output(await agent.call("domain:write", {"ids": []})) == {"ok": True}


@pytest.mark.requirement("10.4-credentials-by-allow-list")
async def test_only_the_named_headers_of_the_session_reach_the_backend(backend: Backend) -> None:
    inbound = {"AUTHORIZATION": "Bearer a", "x-tenant": "t1", "Cookie": "session=1", "X-Secret": "s", "X-Trace": "9"}
    credentials = Credentials(
        lambda ctx: ctx.host if isinstance(ctx.host, dict) else None,
        headers=["Authorization", "X-Tenant"],
        optional=["x-trace"],
    )
    async with surface_over(catalogue_of(backend.url, credentials=credentials), host=inbound) as surface:
        assert output(await surface.connect(AGENT).call("domain:read")) == {"ok": True}
        got = backend.headers
        assert (got["authorization"], got["x-tenant"], got["x-trace"]) == ("Bearer a", "t1", "9")
        known = {"host", "user-agent", "accept", "accept-encoding", "authorization", "x-tenant", "x-trace"}
        assert set(got) == known
    for missing in ({"authorization": "Bearer a"}, {"authorization": "a\r\nx: y", "x-tenant": "t"}, None):
        before = len(backend.requests)
        async with surface_over(catalogue_of(backend.url, credentials=credentials), host=missing) as surface:
            error = failed(await surface.connect(AGENT).call("domain:write", {}), "NOT_AUTHENTICATED")
            assert error.details["origin"] == "server"
        assert len(backend.requests) == before


@pytest.mark.requirement("10.4-credentials-by-allow-list")
def test_an_allow_list_that_cannot_be_meant_is_refused() -> None:
    for wrong in ([], ["Host"], ["a b"], "content-length"):
        with pytest.raises(ValueError, match="Credentials"):
            Credentials(lambda ctx: None, headers=wrong)


@pytest.mark.requirement("10.4-credentials-are-of-one-call")
async def test_two_hundred_calls_at_once_each_carry_their_own_credential_and_no_cookie_comes_back() -> None:
    seen: list[tuple[str, str, str | None]] = []

    async def serve(request: Request) -> Response:
        seen.append((request.query_params["q"], request.headers["authorization"], request.headers.get("cookie")))
        answer = JSONResponse({"who": request.headers["authorization"]})
        answer.set_cookie("session", request.query_params["q"])
        return answer

    async def token(ctx: Context) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"authorization": f"Bearer {ctx.principal.id}"}

    credentials = Credentials(token, headers=["authorization"])
    with serving(Starlette(routes=[Route("/read", serve)])) as url:
        async with catalogue_of(url, credentials=credentials) as catalogue:
            authority = authority_of(Page, procedures=catalogue)
            people = [f"person-{number}" for number in range(200)]
            surfaces = [Surface(authority, principal=Principal(person), procedures=catalogue) for person in people]
            for surface in surfaces:
                surface.mount(Page())
            calls = [s.connect(AGENT).call("domain:read", {"q": p}) for s, p in zip(surfaces, people, strict=True)]
            answers = [output(each) for each in await asyncio.gather(*calls)]
    assert answers == [{"who": f"Bearer {person}"} for person in people]
    assert sorted(seen) == sorted((person, f"Bearer {person}", None) for person in people)


@pytest.mark.requirement("10.4-origin-is-pinned")
async def test_a_redirect_to_another_origin_is_not_followed_and_one_within_it_only_for_a_get_that_reads(
    backend: Backend,
) -> None:
    elsewhere = Backend()
    credentials = Credentials(lambda ctx: {"authorization": "Bearer a"}, headers=["authorization"])
    with serving(elsewhere.app()) as other:
        async with surface_over(catalogue_of(backend.url, credentials=credentials)) as surface:
            agent = surface.connect(AGENT)
            for away in (
                f"{other}/read",
                other.replace("http:", "https:") + "/read",
                "//evil.test/read",
                "",
                "http://[",
            ):
                backend.answers = [Response(status_code=307, headers={"location": away})]
                error = failed(await agent.call("domain:read"), "EXECUTION_FAILED")
                assert error.details["reason"] == "transport"
            assert elsewhere.requests == []
            backend.answers = [Response(status_code=307, headers={"location": "/read?q=2"})]
            assert output(await agent.call("domain:read", {"q": "1"})) == {"ok": True}
            assert backend.requests[-1].url.query == "q=2"
            assert backend.headers["authorization"] == "Bearer a"
            backend.answers = [Response(status_code=307, headers={"location": "/read"})] * 9
            failed(await agent.call("domain:read"), "EXECUTION_FAILED")
            assert len(backend.answers) == 5
            before = len(backend.requests)
            backend.answers = [Response(status_code=307, headers={"location": "/write"})]
            error = failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
            assert (error.details["reason"], error.details["outcome"]) == ("transport", "unknown")
            assert len(backend.requests) == before + 1


@pytest.mark.requirement("10.4-no-answer")
async def test_no_connection_is_no_effect_and_no_answer_leaves_it_unknown() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")

    async with answering(hang) as closed:
        pass
    told: list[tuple[object, ...]] = []
    async with answering(hang) as hanging, answering(cut) as cutting:
        for url in (hanging, cutting, closed):
            async with surface_over(catalogue_of(url, timeout_s=0.2)) as surface:
                error = failed(await surface.connect(AGENT).call("domain:write", {}))
                advice = (error.retry.value, error.details.get("retry_after_ms"))
                told.append((error.code, error.details.get("reason"), error.details["outcome"], *advice))
    assert told == [
        ("TIMEOUT", None, "unknown", "no", None),
        ("EXECUTION_FAILED", "transport", "unknown", "no", None),
        ("EXECUTION_FAILED", "transport", "none", "after-delay", 1_000),
    ]


@pytest.mark.requirement("10.4-cancel-signal")
async def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        await reader.read()
        closed.set()

    async with answering(hang) as url, surface_over(catalogue_of(url)) as surface:
        call = asyncio.ensure_future(surface.connect(AGENT).call("domain:read", id="one"))
        await begun.wait()
        surface.cancel("one", AGENT)
        failed(await call, "CANCELLED")
        await closed.wait()


@pytest.mark.requirement("10.4-circuit")
async def test_a_backend_that_is_out_of_order_is_left_alone_for_a_while(backend: Backend) -> None:
    clock = ManualClock()
    catalogue = catalogue_of(backend.url, clock=clock, circuit_failures=2, circuit_pause_s=10.0)
    backend.answer = Response(status_code=503)
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        assert catalogue.circuit.state is CircuitState.CLOSED
        for _ in range(2):
            failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
        status = catalogue.circuit
        assert (status.state, status.failures, status.retry_after_s) == (CircuitState.OPEN, 2, 10.0)
        error = failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["outcome"], error.details["retry_after_ms"]) == ("none", 10_000)
        assert len(backend.requests) == 2
        clock.advance(10.0)
        assert catalogue.circuit.state.value == "half-open"
        failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
        assert (len(backend.requests), catalogue.circuit.state) == (3, CircuitState.OPEN)
        clock.advance(10.0)
        backend.answer = Response(status_code=409)  # a refusal is an answer
        failed(await agent.call("domain:write", {}), "PRECONDITION_FAILED")
        assert (catalogue.circuit.state, catalogue.circuit.failures) == (CircuitState.CLOSED, 0)


class Patient(Component, type="patient"):
    """A page whose reads are tried again."""

    read = reference("domain:read", retry=Retry(attempts=3, backoff=1.0, cap=5.0, jitter=0.5))


@pytest.mark.requirement("10.4-tried-again-only-when-safe")
async def test_a_read_is_tried_again_after_what_the_backend_asks_for_and_a_write_is_not(backend: Backend) -> None:
    clock = ManualClock()
    backend.answers = [Response(status_code=503, headers={"retry-after": "7"}), JSONResponse({"ok": 1})]
    async with surface_over(catalogue_of(backend.url), clock=clock, kind=Patient) as surface:
        call = asyncio.ensure_future(surface.connect(AGENT).call("domain:read"))
        while len(journal(surface)) == 0:
            await turns()
        assert len(backend.requests) == 1
        clock.advance(6.9)
        await turns()
        assert len(backend.requests) == 1
        clock.advance(0.1)
        assert output(await call) == {"ok": 1}
        assert len(backend.requests) == 2
    backend.answers = [Response(status_code=503), JSONResponse({"ok": 1})]
    async with surface_over(catalogue_of(backend.url)) as surface:
        failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert len(backend.answers) == 1


ANSWERS: list[tuple[Response, str, dict[str, Any]]] = [
    (Response(status_code=401), "NOT_AUTHENTICATED", {"origin": "server"}),
    (Response(status_code=403), "NOT_AUTHORIZED", {"origin": "server"}),
    (Response(status_code=404), "PRECONDITION_FAILED", {"outcome": "none"}),
    (Response(status_code=410), "PRECONDITION_FAILED", {"outcome": "none"}),
    (Response(status_code=412), "PRECONDITION_FAILED", {"outcome": "none"}),
    (Response(status_code=400), "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
    (Response(status_code=418), "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
    (Response(status_code=429, headers={"retry-after": "3"}), "RATE_LIMITED", {"retry_after_ms": 3_000}),
    (Response(status_code=408), "TIMEOUT", {"outcome": "unknown"}),
    (Response(status_code=504), "TIMEOUT", {"outcome": "unknown"}),
    (Response(status_code=500), "EXECUTION_FAILED", {"reason": "transport", "outcome": "unknown"}),
    (Response("<h1>secret</h1>", 502, media_type="text/html"), "EXECUTION_FAILED", {"reason": "transport"}),
    (Response(status_code=304), "EXECUTION_FAILED", {"reason": "transport"}),
    (
        JSONResponse({"code": "in-use", "message": "secret words", "ids": ["a"]}, 409),
        "PRECONDITION_FAILED",
        {"declared": {"code": "in-use", "data": {"ids": ["a"]}}},
    ),
    (
        JSONResponse({"code": "in-use", "message": "secret words", "data": {"n": 1}}, 409),
        "PRECONDITION_FAILED",
        {"declared": {"code": "in-use", "data": {"n": 1}}},
    ),
    (
        JSONResponse({"detail": [{"loc": ["body", "ids", 0], "msg": "Not a device"}]}, 422),
        "INVALID_INPUT",
        {"issues": [{"path": "ids[0]", "message": "Not a device"}]},
    ),
    (
        JSONResponse(
            {"issues": [{"path": "ids[1]", "message": "secret words"}, {"path": "other", "message": "x"}]}, 400
        ),
        "INVALID_INPUT",
        {"issues": [{"path": "ids[1]", "message": "was refused by the backend"}]},
    ),
]


@pytest.mark.requirement("10.5-backend-answers", "10.5-undeclared-text-stays")
@pytest.mark.parametrize(("answer", "code", "details"), ANSWERS)
async def test_an_answer_that_is_no_success_is_told_in_the_agents_terms_and_to_the_operator(
    backend: Backend, answer: Response, code: str, details: dict[str, Any]
) -> None:
    backend.answer = answer
    document = document_of(s409=PROBLEM, s422=VALIDATION)
    async with surface_over(catalogue_of(backend.url, document)) as surface:
        outcome = await surface.connect(AGENT).call("domain:write", {})
        error = failed(outcome, code)
        told = {key: error.details[key] for key in details}
        if "issues" in details:
            told["issues"] = [{"path": i["path"], "message": i["message"]} for i in told["issues"]]  # type: ignore[attr-defined]
        assert told == details
        assert "secret" not in repr(outcome)
        assert journal(surface)[-1].why == f"backend answered {answer.status_code}" or "declared" in details


@pytest.mark.requirement("10.5-a-mapping-of-errors-comes-first")
async def test_a_mapping_of_errors_sees_an_answer_first_and_may_leave_it(backend: Backend) -> None:
    seen: list[Answer] = []

    def errors(answer: Answer) -> BackendError | None:
        seen.append(answer)
        if isinstance(answer.body, dict) and answer.body.get("approvalRequired"):
            return BackendError(answer.status, approval={"id": "PA-17"})
        return None

    async with surface_over(catalogue_of(backend.url, errors=errors)) as surface:
        agent = surface.connect(AGENT)
        backend.answer = JSONResponse({"approvalRequired": True}, 403, headers={"X-Id": "7"})
        error = failed(await agent.call("domain:write", {}), "CONFIRMATION_REQUIRED")
        assert (error.details["origin"], error.details["server_approval"]) == ("server", {"id": "PA-17"})
        backend.answer = PlainTextResponse("no", 403)
        failed(await agent.call("domain:write", {}), "NOT_AUTHORIZED")
    assert [(each.status, each.headers.get("x-id"), each.body) for each in seen] == [
        (403, "7", {"approvalRequired": True}),
        (403, None, "no"),
    ]


@pytest.mark.requirement("10.6-empty-answers")
@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (Response(status_code=204), None),
        (Response(status_code=200, media_type="application/json"), None),
        (Response(status_code=202), None),
        (PlainTextResponse("héllo"), "héllo"),
        (Response("h\xe9".encode("latin-1"), media_type="text/plain; charset=iso-8859-1"), "hé"),
        (JSONResponse(None), None),
        (Response(b'{"a":1}', media_type="application/vnd.x+json"), {"a": 1}),
        (Response(b"[1]"), [1]),
    ],
)
async def test_an_empty_success_is_a_success_and_text_is_text(backend: Backend, answer: Response, value: Any) -> None:
    backend.answer = answer
    async with surface_over(catalogue_of(backend.url)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == value


NULLABLE = {"3.0.3": {"type": "number", "nullable": True}, "3.1.0": {"type": ["number", "null"]}}


@pytest.mark.requirement("10.6-both-versions-mean-the-same")
@pytest.mark.parametrize("version", NULLABLE)
async def test_null_goes_both_ways_where_a_document_allows_it_and_nowhere_else(backend: Backend, version: str) -> None:
    def thing(size: Any) -> dict[str, Any]:
        schema = {"type": "object", "required": ["size"], "properties": {"size": size}}
        return {"application/json": {"schema": schema}}

    def writing(size: Any) -> dict[str, Any]:
        body = {"required": True, "content": thing(size)}
        return {"post": {"summary": "Write", "requestBody": body, "responses": {"200": {"content": thing(size)}}}}

    document = {
        "openapi": version,
        "info": {},
        "paths": {"/null": writing(NULLABLE[version]), "/none": writing({"type": "number"})},
    }
    catalogue = OpenAPI(
        document,
        base_url=backend.url,
        expose={
            "read": Operation("POST /null", effect="server-query"),
            "write": Operation("POST /none", effect="server-query"),
        },
    )
    backend.answer = JSONResponse({"size": None})
    async with surface_over(catalogue) as surface:
        agent = surface.connect(AGENT)
        assert output(await agent.call("domain:read", {"size": None})) == {"size": None}
        assert backend.bodies == [b'{"size":null}']
        (issue,) = cast(
            "list[dict[str, str]]", failed(await agent.call("domain:write", {"size": None})).details["issues"]
        )
        assert (issue["path"], len(backend.bodies)) == ("size", 1)
        error = failed(await agent.call("domain:write", {"size": 1}), "EXECUTION_FAILED")
        assert (error.details["reason"], backend.bodies[1:]) == ("output-invalid", [b'{"size":1}'])


@pytest.mark.requirement("10.6-refused-when-built", "10.4-credentials-by-allow-list")
async def test_a_cookie_that_must_be_there_is_sent_unless_cookies_are_the_sessions_own(backend: Backend) -> None:
    document = document_of()
    kept = {"name": "region", "in": "cookie", "required": True, "schema": {"type": "string"}}
    document["paths"]["/read"]["get"]["parameters"] = [kept]
    async with surface_over(catalogue_of(backend.url, document)) as surface:
        agent = surface.connect(AGENT)
        failed(await agent.call("domain:read", {}), "INVALID_INPUT")
        assert output(await agent.call("domain:read", {"region": "north"})) == {"ok": True}
        assert backend.headers["cookie"] == "region=north"
    own = Credentials(lambda ctx: {"cookie": "session=1"}, headers=["Cookie"])
    told = catalogue_of(backend.url, document, credentials=own).refused()
    assert told.keys() == {"read"} and "the session's credential" in told["read"]


@pytest.mark.requirement("10.6-answers-that-are-something-else")
@pytest.mark.parametrize(
    "answer",
    [
        Response(b"\x89PNG", media_type="image/png"),
        Response(b"{", media_type="application/json"),
        Response(b"\xff", media_type="text/plain; charset=utf-8"),
        Response(b'"' + b"x" * 1_100_000 + b'"', media_type="application/json"),
    ],
)
async def test_a_success_that_is_neither_json_nor_text_is_done_and_invalid(backend: Backend, answer: Response) -> None:
    backend.answer = answer
    async with surface_over(catalogue_of(backend.url)) as surface:
        outcome = await surface.connect(AGENT).call("domain:write", {})
        assert isinstance(outcome, Failed)
        assert (outcome.error.details["reason"], outcome.error.details["outcome"]) == ("output-invalid", "done")


@pytest.mark.requirement("10.6-a-base-that-is-asked-for")
async def test_a_base_url_may_be_asked_for_every_call(backend: Backend) -> None:
    other = Backend()
    with serving(other.app()) as url:
        bases = [backend.url, url + "/v1/"]
        async with surface_over(catalogue_of(lambda: bases[0])) as surface:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            agent = surface.connect(AGENT)
            output(await agent.call("domain:read"))
            output(await agent.call("domain:read"))
            bases.pop(0)
            output(await agent.call("domain:read"))
    assert [each.url.path for each in (*backend.requests, *other.requests)] == ["/read", "/read", "/v1/read"]
