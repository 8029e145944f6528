"""What a contract dump and a document say of procedures, read without a server (SPEC 10.7)."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from remit import DefinitionError
from remit._model.context import DEADLINE
from remit.procedures.errors import BackendError, NotSent
from remit.procedures.http.sending import Outgoing
from remit.procedures.http.way import Said, way_of
from remit.procedures.openapi.document import Document
from remit.procedures.openapi.refusal import OperationRefused, ValueRefused
from remit.procedures.orpc import ORPC, Procedure
from remit.procedures.orpc.natives import Payload, kinds_of
from remit.procedures.orpc.payload import thrown_of

DATE = {"type": "string", "format": "date-time", "x-native-type": "date"}
BIGINT = {"type": "string", "x-native-type": "bigint"}
TEXT = {"type": "string"}
LEAF: dict[str, Any] = {"~orpc": {"errorMap": {}, "meta": {}, "route": {}}}
STREAM = {"text/event-stream": {"schema": {"oneOf": [{"properties": {"event": {"const": "message"}}}]}}}


def written(schema: Any, value: Any, **components: Any) -> tuple[Any, list[Any]]:
    document = Document(root={"components": {"schemas": components}}, old=False, place="")
    payload = Payload("2.0-beta")
    return payload.write(kinds_of(schema, document), value, (), ()), payload.meta


def objects(*properties: dict[str, Any]) -> list[Any]:
    return [{"type": "object", "properties": each} for each in properties]


@pytest.mark.requirement("10.7-type-codes")
@pytest.mark.parametrize(
    ("schema", "value", "meta"),
    [
        ({"anyOf": [DATE, {"type": "number"}]}, "1970-01-01T00:00:00.000Z", [["date"]]),
        ({"anyOf": [DATE, {"type": "number"}]}, 1, []),
        ({"type": ["string", "null"], "x-native-type": "date"}, None, []),
        ({"x-native-type": "bigint", "type": ["string", "integer"]}, "7", [["bigint"]]),
        ({"allOf": objects({"a": DATE}, {"b": BIGINT})}, {"b": "1"}, [["bigint", "b"]]),
        ({"oneOf": objects({"k": {"const": "x"}, "a": DATE}, {"k": TEXT})}, {"k": "y"}, []),
        ({"anyOf": [{"type": "array", "items": DATE}, {"type": "null"}]}, [], []),
        ({"anyOf": [{"type": "array", "items": TEXT}, {"type": "array"}]}, ["x"], []),
        ({"anyOf": [*objects({"a": TEXT}), {"type": "object"}]}, {"a": "x"}, []),
        ({"type": "object", "additionalProperties": DATE}, {"x": "1970-01-01T00:00:00.000Z"}, [["date", "x"]]),
        ({"$ref": "#/components/schemas/When"}, "1970-01-01T00:00:00.000Z", [["date"]]),
        ({"items": DATE}, ["1970-01-01T00:00:00.000Z"], [["date", 0]]),
        ({"properties": {"a": DATE}}, {"a": "1970-01-01T00:00:00.000Z"}, [["date", "a"]]),
        ({"enum": ["a", 1, None, True]}, "a", []),
        (True, {"a": [1]}, []),
        ({"type": "null", "x-native-type": "undefined"}, None, [["undefined"]]),
        ({"type": "array", "items": {"type": "null", "x-native-type": "undefined"}}, [None], [["undefined", 0]]),
    ],
)
def test_a_value_is_marked_as_its_schema_says(schema: Any, value: Any, meta: Any) -> None:
    got, marks = written(schema, value, When=DATE)
    assert (got, marks) == (value, meta)


@pytest.mark.requirement("10.7-what-cannot-be-sent")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"anyOf": [DATE, TEXT]}, "two types"),
        ({"anyOf": [DATE, {"enum": ["now"]}]}, "two types"),
        ({"anyOf": [DATE, BIGINT]}, "two types"),
        ({"anyOf": objects({"a": DATE}, {"a": TEXT})}, "two types"),
        ({"anyOf": [{"type": "array", "items": DATE}, {"type": "array", "items": TEXT}]}, "two types"),
        ({"anyOf": [{"type": "array", "items": DATE}, {"type": "array"}]}, "two types"),
        ({"anyOf": [*objects({"a": DATE}), {"type": "object"}]}, "two types"),
        ({"anyOf": [{"type": "object", "additionalProperties": DATE}, {"type": "object"}]}, "two types"),
        (
            {"anyOf": [{"type": "array", "items": TEXT, "x-native-type": "set"}, {"type": "array", "items": TEXT}]},
            "two",
        ),
        ({"type": "array", "x-native-type": "map"}, "a map whose keys and values are not said"),
        ({"type": "string", "x-native-type": "symbol"}, "unknown type 'symbol'"),
        ({"$ref": "#/components/schemas/Node"}, "nested too deep"),
    ],
)
def test_a_schema_that_leaves_it_open_is_refused(schema: Any, reason: str) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    with pytest.raises(OperationRefused, match=reason):
        written(schema, None, Node=node)


@pytest.mark.requirement("10.7-what-cannot-be-sent")
@pytest.mark.parametrize(
    "given", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "9999-12-31T23:59:59-01:00"]
)
def test_a_time_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ValueRefused):
        written(DATE, given)


def document_of(operation: dict[str, Any] | None = None, path: str = "/a/b", method: str = "post") -> dict[str, Any]:
    said = {"operationId": "a.b", "summary": "Do it", "responses": {"200": {}}, **(operation or {})}
    return {"openapi": "3.1.1", "info": {}, "paths": {path: {method: said}}}


def backend_of(operation: dict[str, Any] | None = None, *, said: dict[str, Any] | None = None, **more: Any) -> ORPC:
    place = more.pop("path", "/a/b"), more.pop("method", "post")
    return ORPC(
        more.pop("contract", {"a": {"b": LEAF}}),
        document=more.pop("document", None) or document_of(operation, *place),
        base_url="http://h.test/rpc",
        expose={"x": Procedure("a.b", **{"effect": "server-query", **(said or {})})},
        **more,
    )


def parameter(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, **more}


def body(schema: Any, **more: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}, **more}}


def leaf(**route: Any) -> dict[str, Any]:
    return {"~orpc": {"route": route}}


@pytest.mark.requirement("10.7-what-cannot-be-sent")
@pytest.mark.parametrize(
    ("operation", "more", "reason"),
    [
        ({"operationId": "other"}, {"path": "/elsewhere"}, "the document has no POST /a/b"),
        ({"parameters": [parameter("s", "cookie")]}, {}, "in another place than path, query and headers"),
        ({"parameters": [parameter("", "query")]}, {}, "a parameter without a name"),
        ({"parameters": [parameter("q", schema={"anyOf": [DATE, TEXT]})]}, {}, "the query parameter 'q': a value"),
        ({"parameters": [parameter("authorization", "header", required=True)]}, {}, "'authorization' is the session's"),
        ({"parameters": [parameter("a[b")]}, {"form": "openapi"}, "'a[b' has a name that bracket notation"),
        (body(TEXT), {"form": "openapi", "method": "get"}, "a GET with a body"),
        ({"requestBody": {"content": {}}}, {}, "its input is "),
        ({"requestBody": {"content": {"text/event-stream": {}}}}, {}, "its input is text/event-stream"),
        (
            {"parameters": [parameter("id")], **body(objects({"id": TEXT})[0])},
            {},
            "its body repeats the parameter 'id'",
        ),
        ({"responses": {"200": {"content": {"image/png": {}}}}}, {}, "its answer is image/png: files"),
        ({"summary": ""}, {}, "has no description"),
        ({"responses": {"200": {"content": {"application/json": {"schema": {"type": "what"}}}}}}, {}, "its answer"),
    ],
)
def test_what_cannot_be_listed_says_why(operation: Any, more: Any, reason: str) -> None:
    backend = backend_of(operation, **more)
    assert backend.names() == ()
    assert reason in backend.refused()["x"]


@pytest.mark.requirement("10.7-rpc-wire")
def test_a_step_of_the_router_that_no_address_has_is_refused() -> None:
    document = document_of({"operationId": "...b"})
    backend = ORPC(
        {"..": {"b": LEAF}},
        document=document,
        base_url="http://h.test",
        expose={"x": Procedure("...b", effect="server-query")},
    )
    assert backend.refused() == {"x": "its path in the router cannot be written in an address"}


@pytest.mark.requirement("10.7-rpc-wire")
@pytest.mark.parametrize(
    ("contract", "document"),
    [
        ({"a": {"b": leaf(operationId="own")}}, document_of({"operationId": "own"}, "/q", "get")),
        (
            {"a": {"b": leaf(method="GET", path="/q/{+rest}")}},
            document_of({"operationId": "x", "parameters": [parameter("rest", "path")]}, "/q/{rest}", "get"),
        ),
        (
            {"a": {"b": {"~orpc": {"meta": {"~openapi": {"method": "GET", "path": "/q", "prefix": "/v1/"}}}}}},
            document_of({"operationId": "x"}, "/v1/q", "get"),
        ),
        ({"a": {"b": leaf()}, "c": "text"}, document_of({"operationId": "x"})),
    ],
)
def test_a_procedure_is_found_in_the_document_by_its_id_or_its_route(contract: Any, document: Any) -> None:
    backend = backend_of(contract=contract, document=document)
    assert backend.names() == ("x",), backend.refused()
    (offer,) = backend.offers()
    assert (offer.request, offer.name, offer.summary) == ("a.b", "x", "Do it")
    assert backend.opted_in_by == "remit.procedures.orpc.Procedure" and not backend.strict_backend


@pytest.mark.requirement("10.7-rpc-wire")
def test_what_is_no_contract_or_no_wire_says_what_to_give() -> None:
    deep: Any = LEAF
    for _ in range(40):
        deep = {"a": deep}
    for contract in ({}, {"a": 1}, deep):
        with pytest.raises(DefinitionError, match="no contract dump"):
            backend_of(contract=contract)
    ways: list[tuple[dict[str, Any], str]] = [({"form": "soap"}, "form='soap'"), ({"dialect": "3"}, "dialect='3'")]
    for more, reason in ways:
        with pytest.raises(DefinitionError, match=reason):
            backend_of(**more)
    wrong: Iterable[tuple[dict[str, Any], str]] = [
        ({"stream": "all"}, "stream='all'"),
        ({"max_events": 0}, "max_events="),
        ({"max_events": True}, "max_events="),
        ({"progress": lambda event: (1, None, None)}, "progress= stands"),
    ]
    for said, reason in wrong:
        with pytest.raises(DefinitionError, match=reason):
            backend_of(said=said)
    with pytest.raises(DefinitionError, match="something else than a Procedure"):
        ORPC({"a": LEAF}, document=document_of(), base_url="http://h.test", expose={"x": "a"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("10.7-rpc-wire")
def test_parameters_and_a_whole_body_are_one_object() -> None:
    either = {"anyOf": objects({"a": TEXT}, {"b": TEXT})}
    backend = backend_of({"parameters": [parameter("id", "path")], **body(either)}, path="/a/{id}")
    operation = backend.get("x")
    assert operation is not None, backend.refused()
    write = operation.wire.write
    assert write("/rpc", {"id": "1", "body": {"a": "x"}}).content == b'{"json":{"a":"x","id":"1"}}'
    assert write("/rpc", {"id": "1"}).content == b'{"json":{"id":"1"}}'
    wrong: list[Any] = ["text", {"id": "2"}]
    for given in wrong:
        with pytest.raises(ValueRefused):
            write("/rpc", {"id": "1", "body": given})


@pytest.mark.requirement("10.7-rpc-wire")
def test_a_detailed_input_has_its_four_groups_and_a_body_that_may_be_one_value() -> None:
    said = {
        "parameters": [parameter("id", "path"), parameter("x-trace", "header")],
        **body({"type": "array", "items": DATE}),
    }
    backend = backend_of(said, path="/a/{id}", contract={"a": {"b": leaf(inputStructure="detailed")}})
    operation = backend.get("x")
    assert operation is not None, backend.refused()
    input: Any = {"id": "1", "x-trace": "t", "body": ["1970-01-01T00:00:00Z"]}
    assert operation.wire.write("", input).content == (
        b'{"json":{"body":["1970-01-01T00:00:00.000Z"],"headers":{"x-trace":"t"},"params":{"id":"1"}},'
        b'"meta":[[1,"body",0]]}'
    )


@pytest.mark.requirement("10.7-openapi-form")
def test_a_query_in_another_style_is_as_openapi_says_and_headers_go_as_headers() -> None:
    lists = {"type": "array", "items": TEXT}
    said = {
        "parameters": [
            parameter("a", schema=lists, explode=False),
            parameter("b", schema=lists, style="pipeDelimited", explode=False),
            parameter("c", content={"application/json": {"schema": {"type": "object", "properties": {"x": TEXT}}}}),
            parameter("d", schema={"type": "object", "properties": {"x": {"type": ["boolean", "null"]}}}),
            parameter("x-trace", "header"),
        ]
    }
    backend = backend_of(said, method="get", form="openapi")
    operation = backend.get("x")
    assert operation is not None, backend.refused()
    input: Any = {"a": ["1", "2"], "b": ["3", "4"], "c": {"x": "y"}, "d": {"x": True}, "x-trace": "t"}
    outgoing = operation.wire.write("/api", input)
    assert outgoing.target == b"/api/a/b?a=1,2&b=3%7C4&c=%7B%22x%22%3A%22y%22%7D&d%5Bx%5D=true"
    assert outgoing.headers == ((b"x-trace", b"t"),)
    emptied: list[Any] = [{"d": {}}, {"d": {"x": None}}]
    for empty in emptied:
        with pytest.raises(ValueRefused):
            operation.wire.write("/api", empty)


@pytest.mark.requirement("10.7-answers")
def test_what_the_document_says_of_answers_is_their_schema() -> None:
    def answer(schema: Any) -> dict[str, Any]:
        return {"responses": {"200": {"content": {"application/json": {"schema": schema}}}, "404": {}}}

    nothing: Any = {"anyOf": [{}, {"not": {}}]}
    for operation, schema in ((answer(TEXT), TEXT), (answer(nothing), None), (answer({}), None), (answer(True), None)):
        found = backend_of(operation).get("x")
        assert found is not None and found.output_schema == schema
    unread = backend_of(answer(TEXT), said={"check_output": False}).get("x")
    assert unread is not None and unread.output_schema is None
    detailed = backend_of(answer(TEXT), contract={"a": {"b": leaf(outputStructure="detailed")}}).get("x")
    assert detailed is not None and detailed.output_schema is None
    streamed = backend_of({"responses": {"200": {"content": STREAM}}}).get("x")
    assert streamed is not None and streamed.stream is not None and streamed.output_schema is not None
    bare = backend_of({"responses": {"200": {"content": {"text/event-stream": {}}}}}).get("x")
    assert bare is not None and bare.stream is not None


@pytest.mark.requirement("10.7-typed-errors")
def test_only_an_error_object_is_one() -> None:
    whole: Any = {"defined": True, "code": "X", "status": 409, "message": "m", "data": 1}
    found = thrown_of(whole)
    assert found is not None and (found.status, found.status_of_event(), found.data) == (409, 409, 1)
    known = thrown_of({"defined": False, "code": "GONE", "message": "m"})
    unknown = thrown_of({"defined": False, "code": "X", "status": 200, "message": "m"})
    assert known is not None and known.status_of_event() == 410
    assert unknown is not None and unknown.status_of_event() == 500
    others: list[Any] = [None, 1, [], {}, {**whole, "more": 1}, {**whole, "defined": 1}, {**whole, "message": None}]
    for other in others:
        assert thrown_of(other) is None


@pytest.mark.requirement("10.7-typed-errors")
def test_a_declaration_that_cannot_be_read_declares_nothing() -> None:
    def branch(data: Any, **more: Any) -> dict[str, Any]:
        return {"properties": {"defined": {"const": True}, "code": {"const": "X"}, "data": data, **more}}

    schemas: list[tuple[Any, str | None]] = [
        (branch(TEXT), "X"),
        (branch({"type": "what"}), None),
        (branch(TEXT, defined={"const": False}), None),
        ({"$ref": "#/nowhere"}, None),
        ({"oneOf": [{}, branch(TEXT)]}, "X"),
        ({"oneOf": 1}, None),
    ]
    for schema, code in schemas:
        said = {"responses": {"200": {}, "409": {"content": {"application/json": {"schema": schema}}}, "500": {}}}
        operation = backend_of(said).get("x")
        assert operation is not None
        message: Any = {"defined": True, "code": "X", "status": 409, "message": "m", "data": "d"}
        told = operation.errors.of_event(message, changed=False)
        assert isinstance(told, BackendError) and (told.status, told.code) == (409, code)
        assert operation.errors.of_event({"not": "one"}, changed=False).status == 502


@pytest.mark.requirement("10.7-answers")
def test_a_branch_of_a_stream_that_names_no_event_says_nothing_of_one() -> None:
    done = {"properties": {"event": {"const": "done"}, "data": TEXT}}
    content = {"text/event-stream": {"schema": {"oneOf": [{}, {"properties": {"event": "message"}}, done]}}}
    found: Any = backend_of({"responses": {"200": {"content": content}}}).get("x")
    assert found.output_schema["properties"]["result"] == TEXT


@pytest.mark.requirement("10.7-streams-as-progress")
async def test_a_stream_whose_progress_nobody_reads_gives_its_result() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b'data: {"json":1}\n\nevent: done\ndata: {"json":{"total":1}}\n\n'

    found: Any = backend_of({"responses": {"200": {"content": STREAM}}}, said={"stream": "progress"}).get("x")
    assert await found.stream.take(chunks(), found.errors, None) == {"total": 1}


@pytest.mark.requirement("10.7-typed-errors")
def test_an_issue_whose_path_is_no_list_names_no_field() -> None:
    operation: Any = backend_of().get("x")
    thrown = {"defined": False, "code": "BAD_REQUEST", "status": 400, "message": "m"}
    told = operation.errors.of_event({**thrown, "data": {"issues": [{"path": "ids"}]}}, changed=False)
    assert told.status == 400 and not told.issues


@pytest.mark.requirement("10.7-rpc-wire")
async def test_an_input_that_does_not_fit_is_not_sent() -> None:
    operation: Any = backend_of(body(objects({"n": {"type": "integer"}})[0])).get("x")
    with pytest.raises(NotSent) as refused:
        await operation.run({"n": "many"}, b'{"n":"many"}', None)
    assert (refused.value.status, [issue.path for issue in refused.value.issues]) == (422, ["n"])


@pytest.mark.requirement("10.7-rpc-wire")
def test_a_procedure_that_the_document_does_not_have_is_offered_without_a_summary() -> None:
    (offer,) = backend_of({"operationId": "other"}, path="/elsewhere").offers()
    assert (offer.request, offer.operation_id, offer.summary, offer.name) == ("a.b", "POST /a/b", "", "x")
    assert "the document has no POST /a/b" in str(offer.refused)


@pytest.mark.requirement("10.7-what-cannot-be-sent")
def test_a_map_without_its_two_positions_is_refused_and_so_is_half_an_address() -> None:
    for items in ({"type": "array"}, {"type": "array", "prefixItems": [TEXT]}):
        backend = backend_of(body(objects({"m": {"type": "array", "x-native-type": "map", "items": items}})[0]))
        assert "a map whose keys and values are not said" in backend.refused()["x"]
    for given in ("http://h.test:port", "no-scheme"):
        with pytest.raises(ValueRefused, match="must be a whole address"):
            written({"type": "string", "x-native-type": "url"}, given)
    assert written({"type": "string", "x-native-type": "url"}, "https://h.test/") == ("https://h.test/", [["url"]])


async def test_a_call_that_is_cancelled_while_its_answer_comes_says_nothing_against_the_backend() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    said: Any = dict.fromkeys(("base_url", "credentials", "errors", "idempotency_header", "clock"))
    way = way_of(Said(subject="x", place="x", app=app, timeout_s=1.0, circuit_failures=1, circuit_pause_s=10.0, **said))
    outgoing = Outgoing(method="POST", target=b"/", headers=(), content=None)
    with pytest.raises(asyncio.CancelledError):
        async with way.opened(way.address(), outgoing, []) as answer:
            assert answer.status == 200
            raise asyncio.CancelledError
    assert way.circuit.status().failures == 0


@pytest.mark.parametrize(("message", "failures"), [(None, 0), (DEADLINE, 1)])
async def test_a_stream_that_does_not_begin_counts_against_the_backend_only_when_its_deadline_passes(
    message: str | None, failures: int
) -> None:
    asked = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    said: Any = dict.fromkeys(("base_url", "credentials", "errors", "idempotency_header", "clock"))
    way = way_of(Said(subject="x", place="x", app=app, timeout_s=9.0, circuit_failures=9, circuit_pause_s=10.0, **said))
    outgoing = Outgoing(method="POST", target=b"/", headers=(), content=None)

    async def call() -> None:
        async with way.opened(way.address(), outgoing, []):
            raise AssertionError("it has begun")

    calling = asyncio.ensure_future(call())
    await asked.wait()
    calling.cancel(message)
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert way.circuit.status().failures == failures
