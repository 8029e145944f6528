"""Calls of a real oRPC server: typed errors, streams, credentials, what breaks on the way (SPEC 10.4, 10.5, 10.7)."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from remit import BackendError, Context, Failed, ManualClock, Ok, Progress, Surface
from remit.procedures.orpc import ORPC, Answer, CircuitState, Credentials, Procedure
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output
from tests.orpc.backend import Backend
from tests.orpc.page import Page, call, catalogue_of
from tests.unit.procedures.openapi_echo import serving

pytestmark = pytest.mark.xdist_group("orpc")

DATE = {"type": "string", "format": "date-time", "x-native-type": "date"}
DECLARED = {"code": "ALREADY_DISABLED", "data": {"id": "dev-2", "since": "2025-12-31T23:59:59.000Z"}}


def details(error: Any) -> dict[str, Any]:
    keys = ("outcome", "declared", *(("reason",) if error.code == "EXECUTION_FAILED" else ()))
    return {key: error.details[key] for key in keys if key in error.details}


@pytest.mark.requirement("10.7-typed-errors")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
@pytest.mark.parametrize(
    ("what", "code", "told"),
    [
        ("UNAUTHORIZED", "NOT_AUTHENTICATED", {}),
        ("FORBIDDEN", "NOT_AUTHORIZED", {}),
        ("NOT_FOUND", "PRECONDITION_FAILED", {"outcome": "none"}),
        ("TOO_MANY_REQUESTS", "RATE_LIMITED", {}),
        ("TIMEOUT", "TIMEOUT", {"outcome": "unknown"}),
        ("declared-conflict", "PRECONDITION_FAILED", {"declared": {"code": "CONFLICT", "data": {"version": 3}}}),
        ("declared-bare", "PRECONDITION_FAILED", {"declared": {"code": "CONFLICT", "data": None}}),
        ("unknown", "EXECUTION_FAILED", {"reason": "transport", "outcome": "unknown"}),
        ("other", "EXECUTION_FAILED", {"reason": "transport", "outcome": "unknown"}),
    ],
)
async def test_an_error_is_told_by_its_status_and_only_what_is_declared_by_its_words(
    orpc: Backend, form: str, what: str, code: str, told: Mapping[str, Any]
) -> None:
    outcome = await call(catalogue_of(orpc, "errors.thrown", form=form), {"what": what})
    assert details(failed(outcome, code)) == {**({"outcome": "none"} if "declared" in told else {}), **told}
    assert "secret" not in repr(outcome)


@pytest.mark.requirement("10.7-typed-errors")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
async def test_a_declared_code_keeps_the_status_that_its_version_sends(orpc: Backend, form: str) -> None:
    outcome = await call(catalogue_of(orpc, "errors.thrown", form=form), {"what": "declared"})
    assert "secret" not in repr(outcome)
    if orpc.dialect == "1.x":
        assert details(failed(outcome, "PRECONDITION_FAILED")) == {"outcome": "none", "declared": DECLARED}
    else:  # a code that the server's own table does not have is 500 there
        error = failed(outcome, "EXECUTION_FAILED")
        assert details(error) == {"reason": "transport", "outcome": "unknown", "declared": DECLARED}
    undeclared = await call(catalogue_of(orpc, "errors.thrown", form=form), {"what": "wrong-data"})
    assert "declared" not in failed(undeclared).details
    assert "secret" not in repr(undeclared)


@pytest.mark.requirement("10.5-a-mapping-of-errors-comes-first", "10.7-typed-errors")
async def test_a_mapping_of_errors_sees_the_error_object_and_may_say_what_it_means(orpc: Backend) -> None:
    seen: list[Answer] = []

    def errors(answer: Answer) -> BackendError | None:
        seen.append(answer)
        body: Any = answer.body
        return BackendError(409, code=body["code"], data=body["data"]) if body["defined"] else None

    catalogue = catalogue_of(orpc, "errors.thrown", errors=errors)
    error = failed(await call(catalogue, {"what": "declared"}), "PRECONDITION_FAILED")
    assert error.details["declared"] == DECLARED
    failed(await call(catalogue, {"what": "FORBIDDEN"}), "NOT_AUTHORIZED")
    bodies: list[Any] = [answer.body for answer in seen]
    assert [body["code"] for body in bodies] == ["ALREADY_DISABLED", "FORBIDDEN"]


@pytest.mark.requirement("10.7-issues")
async def test_issues_of_a_refused_input_name_the_fields_of_the_agent_and_nothing_else(orpc: Backend) -> None:
    document = json.loads(json.dumps(orpc.document))
    body = document["paths"]["/devices/{id}/disable"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    del body["properties"]["reason"]["minLength"]  # so that it is the backend that refuses it
    detailed = document["paths"]["/devices/{id}"]["put"]["requestBody"]["content"]["application/json"]["schema"]
    del detailed["properties"]["id"]["minLength"]
    for form in ("rpc", "openapi"):
        disable = catalogue_of(orpc, "devices.disable", form=form, document=document)
        error = failed(await call(disable, {"id": "dev-1", "reason": "x"}), "INVALID_INPUT")
        issues: Any = error.details["issues"]
        assert [(each["path"], each["message"]) for each in issues] == [("reason", "was refused by the backend")]
        replace = catalogue_of(orpc, "devices.replace", form=form, document=document)
        error = failed(await call(replace, {"id_in_path": "dev-1", "id_in_body": "x"}), "INVALID_INPUT")
        issues = error.details["issues"]
        assert [each["path"] for each in issues] == ["id_in_body"]


@pytest.mark.requirement("10.7-issues")
async def test_a_body_that_the_backend_cannot_read_is_rejected_without_issues(orpc: Backend) -> None:
    """The code of the other version is such a body in 2.0-beta, and nothing at all in 1.x."""
    other: Any = "2.0-beta" if orpc.dialect == "1.x" else "1.x"
    wrong = ORPC(
        orpc.contract,
        document=orpc.document,
        base_url=orpc.url + "/rpc",
        dialect=other,
        expose={"x": Procedure("types.root", effect="server-mutation")},
    )
    error = failed(await call(wrong, {"body": ["1970-01-01T00:00:00Z"]}))
    if orpc.dialect == "1.x":
        assert error.code == "INVALID_INPUT"  # the text reaches the schema as the text it is
    else:
        assert details(error) == {"reason": "rejected", "outcome": "none"}


@pytest.mark.requirement("10.7-typed-errors")
async def test_an_output_that_the_backend_itself_refuses_is_a_failure_of_unknown_outcome(orpc: Backend) -> None:
    outcome = await call(catalogue_of(orpc, "errors.output"))
    assert details(failed(outcome, "EXECUTION_FAILED")) == {"reason": "transport", "outcome": "unknown"}
    assert "secret" not in repr(outcome)


@pytest.mark.requirement("10.7-something-in-front")
async def test_what_is_no_error_of_a_procedure_is_told_by_its_status_alone(orpc: Backend) -> None:
    elsewhere = catalogue_of(orpc, "types.nothing", base_url=orpc.url + "/nowhere")
    outcome = await call(elsewhere)  # 404 as text/plain, by the host of the real server
    assert details(failed(outcome, "PRECONDITION_FAILED")) == {"outcome": "none"}

    answers: list[Response] = [
        HTMLResponse("<h1>secret</h1>", 500),
        HTMLResponse("<h1>secret</h1>", 429, headers={"retry-after": "3"}),
        JSONResponse("No procedure matched", 404),
        JSONResponse({"json": {"defined": True, "code": "X", "status": 403, "message": "secret", "more": 1}}, 403),
        HTMLResponse("<h1>secret</h1>"),
        JSONResponse([1]),
    ]

    async def answer(request: Request) -> Response:
        return answers.pop(0)

    told: list[Any] = []
    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])) as url:
        for _ in range(len(answers)):
            outcome = await call(catalogue_of(orpc, "errors.thrown", base_url=url), {"what": "x"})
            assert "secret" not in repr(outcome)
            told.append((failed(outcome).code, failed(outcome).details.get("reason")))
    assert told == [
        ("EXECUTION_FAILED", "transport"),
        ("RATE_LIMITED", "rate"),
        ("PRECONDITION_FAILED", "the backend's state does not allow it"),
        ("NOT_AUTHORIZED", None),
        ("EXECUTION_FAILED", "output-invalid"),
        ("EXECUTION_FAILED", "output-invalid"),
    ]


# Streams


def counted(count: int) -> list[Any]:
    return [{"i": i, "at": f"1970-01-01T00:00:00.{i:03}Z"} for i in range(count)]


@pytest.mark.requirement("10.7-streams-as-a-list")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
async def test_a_stream_is_a_list_of_its_events_with_its_result(orpc: Backend, form: str) -> None:
    catalogue = catalogue_of(orpc, "stream.count", form=form)
    whole = {"events": counted(3), "complete": True, "result": {"total": 3}}
    assert output(await call(catalogue, {"n": 3})) == whole
    assert output(await call(catalogue, {"n": 0})) == {"events": [], "complete": True, "result": {"total": 0}}
    bare = {"events": [1, None, None], "complete": True}
    assert output(await call(catalogue_of(orpc, "stream.bare", form=form))) == bare


@pytest.mark.requirement("10.7-streams-as-a-list")
async def test_a_list_is_bounded_a_read_is_left_there_and_anything_else_is_of_unknown_outcome(orpc: Backend) -> None:
    left = orpc.seen()["left"]
    read = catalogue_of(orpc, "stream.forever", said={"effect": "server-query", "max_events": 5})
    assert output(await call(read)) == {"events": [0, 1, 2, 3, 4], "complete": False}
    exact = catalogue_of(orpc, "stream.count", said={"max_events": 3})
    assert isinstance(await call(exact, {"n": 3}), Ok)
    write = catalogue_of(orpc, "stream.forever", said={"max_events": 5})
    error = failed(await call(write), "EXECUTION_FAILED")
    assert details(error) == {"reason": "transport", "outcome": "unknown"}
    await orpc.until("left", left + 2)  # the generators hear that nobody listens any more


@pytest.mark.requirement("10.7-streams-as-progress")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
async def test_a_stream_may_be_told_as_progress_and_gives_its_result(orpc: Backend, form: str) -> None:
    def progress(event: Any) -> tuple[float, float | None, str | None]:
        return event["i"] + 1, 3, None

    catalogue = catalogue_of(orpc, "stream.count", form=form, said={"stream": "progress", "progress": progress})
    heard: list[Progress] = []
    async with catalogue:
        surface = Surface(authority_of(Page, procedures=catalogue), procedures=catalogue, principal="ada")
        surface.mount(Page())
        done = await surface.connect(AGENT).call("domain:x", {"n": 3}, progress=heard.append)
        surface.dispose()
    assert output(done) == {"total": 3}
    assert [(each.done, each.total) for each in (heard[0], heard[-1])] == [(1, 3), (3, 3)]
    refused = catalogue_of(orpc, "types.nothing", said={"stream": "progress"}).refused()
    assert refused == {"x": "it answers with no stream, so it has no progress"}


@pytest.mark.requirement("10.7-streams-cut-short")
async def test_a_stream_that_is_cut_short_is_of_unknown_outcome(orpc: Backend) -> None:
    for parts in ("1", "2", "3"):  # before the first event, between two, in the middle of one
        cut = Credentials(lambda ctx, parts=parts: {"x-cut": parts}, headers=["x-cut"])  # type: ignore[misc]
        error = failed(await call(catalogue_of(orpc, "stream.count", credentials=cut), {"n": 3}), "EXECUTION_FAILED")
        assert details(error) == {"reason": "transport", "outcome": "unknown"}


@pytest.mark.requirement("10.7-errors-in-a-stream")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
async def test_an_error_in_a_stream_is_told_and_after_an_event_nobody_knows_what_was_done(
    orpc: Backend, form: str
) -> None:
    declared = {"code": "ALREADY_DISABLED", "data": {"id": "dev-2", "since": "1970-01-01T00:00:00.999Z"}}
    catalogue = catalogue_of(orpc, "stream.count", form=form)
    late = failed(await call(catalogue, {"n": 3, "failAt": 2}), "EXECUTION_FAILED")
    assert details(late) == {"reason": "transport", "outcome": "unknown", "declared": declared}
    early = failed(await call(catalogue, {"n": 3, "failAt": 0}))
    assert early.details["declared"] == declared
    assert early.details["outcome"] == ("none" if orpc.dialect == "1.x" else "unknown")
    refused = failed(await call(catalogue_of(orpc, "stream.count", form=form, document=loose(orpc)), {"n": 0.5}))
    assert refused.code == "INVALID_INPUT"  # judged before the stream begins: an ordinary answer


def loose(orpc: Backend) -> Any:
    document = json.loads(json.dumps(orpc.document))
    body = document["paths"]["/stream/count"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body["properties"]["n"] = {"type": "number"}
    return document


@pytest.mark.requirement("10.7-streams-as-a-list")
async def test_events_are_read_whatever_their_chunks_comments_and_line_ends(orpc: Backend) -> None:
    end = "done" if orpc.dialect == "1.x" else "close"
    text = (
        ': \n\n: still here\n\nevent: ping\ndata: {"json":0}\n\n: c\nevent: message\nretry: 1500\nid: 7\n'
        'data: {"json":{"i":0,\r\ndata: "at":"1970-01-01T00:00:00.000Z"},"meta":[[1,"at"]]}\r\n\r\n'
        f'data: {{"json":{{"i":1,"at":"é"}},"meta":[[99,"at"]]}}\n\nevent: {end}\ndata: {{"json":{{"total":2}}}}\n\n'
    ).encode()

    async def answer(request: Request) -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(text), 3):
                yield text[at : at + 3]

        return StreamingResponse(chunks(), media_type="text/event-stream; charset=utf-8")

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])) as url:
        catalogue = catalogue_of(orpc, "stream.count", base_url=url, said={"check_output": False})
        events = [{"i": 0, "at": "1970-01-01T00:00:00.000Z"}, {"i": 1, "at": "é"}]
        assert output(await call(catalogue, {"n": 2})) == {"events": events, "complete": True, "result": {"total": 2}}


@pytest.mark.requirement("10.7-streams-cut-short")
async def test_a_stream_of_something_else_is_done_and_invalid(orpc: Backend) -> None:
    bodies = [b"data: {\n\n", b"data: \xff\n\n", b"data: 1\n\n", b"x" * 1_100_000]
    plain = [(JSONResponse({"json": 1}), "output-invalid"), (Response(status_code=204), "output-invalid")]
    answers = [(Response(body, media_type="text/event-stream"), "output-invalid") for body in bodies] + plain
    waiting = [response for response, _ in answers]

    async def answer(request: Request) -> Response:
        return waiting.pop(0)

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])) as url:
        for _, reason in answers:
            error = failed(await call(catalogue_of(orpc, "stream.count", base_url=url), {"n": 1}))
            assert (error.details["reason"], error.details["outcome"]) == (reason, "done")


@pytest.mark.requirement("10.4-cancel-signal", "10.7-streams-cut-short")
async def test_a_stream_whose_call_is_cancelled_is_left(orpc: Backend) -> None:
    left = orpc.seen()["left"]
    catalogue = catalogue_of(orpc, "stream.forever", said={"stream": "progress", "effect": "server-query"})
    async with catalogue:
        surface = Surface(authority_of(Page, procedures=catalogue), procedures=catalogue, principal="ada")
        surface.mount(Page())
        before = len(orpc.seen()["requests"])
        running = asyncio.ensure_future(surface.connect(AGENT).call("domain:x", id="one"))
        await orpc.until("arrived", before + 1)
        surface.cancel("one", AGENT)
        failed(await running, "CANCELLED")
        surface.dispose()
    await orpc.until("left", left + 1)


# The way of a call


@pytest.mark.requirement("10.4-credentials-by-allow-list", "10.4-idempotency-key", "10.7-the-way-of-a-call")
@pytest.mark.parametrize("form", ["rpc", "openapi"])
async def test_a_call_carries_the_credential_of_its_session_and_a_key_unless_it_reads(orpc: Backend, form: str) -> None:
    def credential(ctx: Context) -> dict[str, str]:
        return {"Authorization": f"Bearer {ctx.principal.id}"}

    credentials = Credentials(credential, headers=["authorization"])
    told = output(await call(catalogue_of(orpc, "devices.disable", form=form, credentials=credentials), {"id": "a"}))
    key = orpc.last()["headers"]["idempotency-key"]
    assert told == f"a  Bearer ada {key}" and len(key) >= 32
    said = {"effect": "server-query"}
    read = catalogue_of(orpc, "devices.disable", form=form, credentials=credentials, said=said)
    assert output(await call(read, {"id": "a"})) == "a  Bearer ada "
    none = Credentials(lambda ctx: None, headers=["authorization"])
    before = len(orpc.seen()["requests"])
    failed(
        await call(catalogue_of(orpc, "devices.disable", form=form, credentials=none), {"id": "a"}), "NOT_AUTHENTICATED"
    )
    assert len(orpc.seen()["requests"]) == before


@pytest.mark.requirement("10.4-no-answer", "10.7-the-way-of-a-call")
async def test_without_a_connection_nothing_has_happened(orpc: Backend) -> None:
    listening = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    for path, input in (("types.nothing", {}), ("stream.count", {"n": 1})):
        outcome = await call(catalogue_of(orpc, path, base_url=f"http://127.0.0.1:{port}"), input)
        assert isinstance(outcome, Failed)
        assert details(outcome.error) == {"reason": "transport", "outcome": "none"}


@pytest.mark.requirement("10.5-undeclared-text-stays", "10.7-typed-errors")
async def test_the_operator_reads_the_status_and_the_code_in_the_journal(orpc: Backend) -> None:
    catalogue = catalogue_of(orpc, "errors.thrown")
    async with catalogue:
        surface = Surface(authority_of(Page, procedures=catalogue), procedures=catalogue, principal="ada")
        surface.mount(Page())
        failed(await surface.connect(AGENT).call("domain:x", {"what": "FORBIDDEN"}), "NOT_AUTHORIZED")
        assert "403" in str(journal(surface)[-1].why)
        surface.dispose()


@pytest.mark.requirement("10.4-credentials-by-allow-list", "10.7-the-way-of-a-call")
async def test_a_header_that_the_backend_asks_for_is_a_credential(orpc: Backend) -> None:
    if orpc.dialect == "1.x":  # the guard of 2.0-beta looks at what browsers send of themselves
        base_url = orpc.url + "/csrf"
        failed(await call(catalogue_of(orpc, "types.nothing", base_url=base_url)), "NOT_AUTHORIZED")
        token = Credentials(lambda ctx: {"x-csrf-token": "orpc"}, headers=["x-csrf-token"])
        assert (
            output(await call(catalogue_of(orpc, "types.nothing", base_url=base_url, credentials=token))) == "undefined"
        )


@pytest.mark.requirement("10.4-origin-is-pinned", "10.4-circuit", "10.7-the-way-of-a-call")
@pytest.mark.parametrize(("path", "input"), [("types.nothing", {}), ("stream.count", {"n": 1})])
async def test_no_redirect_is_followed_and_a_backend_out_of_order_is_left_alone(
    orpc: Backend, path: str, input: Any
) -> None:
    answers = [Response(status_code=307, headers={"location": "/types/nothing"})]
    seen: list[str] = []

    async def answer(request: Request) -> Response:
        seen.append(request.url.path)
        return answers.pop(0) if answers else Response(status_code=503)

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST", "GET"])])) as url:
        catalogue = catalogue_of(orpc, path, base_url=url, circuit_failures=2, clock=ManualClock())
        for _ in range(3):
            assert details(failed(await call(catalogue, input)))["outcome"] == "unknown"
        assert catalogue.circuit.state is CircuitState.OPEN
        assert details(failed(await call(catalogue, input))) == {"reason": "transport", "outcome": "none"}
        assert len(seen) == 3


@pytest.mark.requirement("10.2-contract-moved", "10.7-the-way-of-a-call")
async def test_a_procedure_that_moved_is_unavailable(orpc: Backend) -> None:
    was = catalogue_of(orpc, "stream.count")
    moved = json.loads(json.dumps(orpc.document))
    body = moved["paths"]["/stream/count"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body["properties"]["n"] = DATE
    now = catalogue_of(orpc, "stream.count", document=moved, strict_backend=True)
    assert now.strict_backend
    authority = authority_of(Page, procedures=was)
    surface = Surface(authority, procedures=catalogue_of(orpc, "stream.count", document=moved), principal="ada")
    surface.mount(Page())
    error = failed(await surface.connect(AGENT).call("domain:x", {"n": 1}))
    assert error.details["reason"] == "contract-moved"
    surface.dispose()
