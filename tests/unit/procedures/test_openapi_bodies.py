"""Bodies, names and addresses on the wire: literal bytes at a real server, and what Starlette reads (SPEC 10.6)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from remit.procedures.errors import NotSent
from remit.procedures.openapi import OpenAPI, Operation
from tests.unit.procedures.openapi_echo import Echo, serving_echo
from tests.unit.procedures.test_openapi_wire import call

TEXT = {"type": "string"}
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    with serving_echo() as served:
        yield served


def posted(content: Mapping[str, Any], *, required: bool = True, **more: Any) -> dict[str, Any]:
    """A document of one POST with this body."""
    operation = {"summary": "Do it", "requestBody": {"required": required, "content": content}, "responses": {}, **more}
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/do": {"post": operation}}}


def backend_of(document: Mapping[str, Any], url: str, request: str = "POST /do") -> OpenAPI:
    return OpenAPI(document, base_url=url, expose={"x": Operation(request, effect="server-mutation")})


def fields(*names: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), **more}


BODIES = [
    ("application/json", fields("b", "a"), {"b": "é", "a": "x"}, b'{"a":"x","b":"\xc3\xa9"}'),
    ("application/json", {"type": "array", "items": TEXT}, {"body": ["a"]}, b'["a"]'),
    ("application/json", {"type": ["string", "null"]}, {"body": None}, b"null"),
    ("application/merge-patch+json", fields("a"), {"a": "x"}, b'{"a":"x"}'),
    ("application/json", fields("a"), {}, b"{}"),
    (FORM, fields("a", "b"), {"a": "x y", "b": "1&2=3+é"}, b"a=x%20y&b=1%262%3D3%2B%C3%A9"),
    (FORM, {"type": "object", "properties": {"a": {"type": "array", "items": TEXT}}}, {"a": ["x", "y"]}, b"a=x&a=y"),
    (FORM, {"type": "object", "properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}}},
     {"n": 5, "b": True}, b"n=5&b=true"),
    ("text/plain", TEXT, {"body": "héllo\n"}, "héllo\n".encode()),
]  # fmt: skip


@pytest.mark.requirement("10.6-bodies-by-table")
@pytest.mark.parametrize(("media", "schema", "input", "sent"), BODIES)
async def test_a_body_goes_out_in_its_declared_media_type(
    media: str, schema: dict[str, Any], input: dict[str, Any], sent: bytes, echo: Echo
) -> None:
    await call(backend_of(posted({media: {"schema": schema}}), echo.url), input)
    raw, read = echo.last
    assert raw.partition(b"\r\n\r\n")[2] == sent
    assert read["headers"]["content-type"].split(";")[0] == media
    assert read["headers"]["content-length"] == str(len(sent))
    if media == FORM:
        texts = {True: "true", 5: "5"}
        pairs = [(k, each) for k, v in input.items() for each in (v if isinstance(v, list) else [v])]
        assert read["body"] == [[k, texts.get(v, v)] for k, v in pairs]
    else:
        assert read["body"] == input.get("body", input)


@pytest.mark.requirement("10.6-bodies-by-table")
async def test_multipart_is_sent_as_literal_parts_and_equal_for_equal_values(echo: Echo) -> None:
    schema = {
        "type": "object",
        "properties": {"note": TEXT, "tags": {"type": "array", "items": TEXT}, "at": fields("city")},
    }
    backend = backend_of(posted({MULTIPART: {"schema": schema}}), echo.url)
    for _ in range(2):
        await call(backend, {"note": "a\r\nb", "tags": ["x", "y"], "at": {"city": "é"}})
    first, second = (raw.partition(b"\r\n\r\n")[2] for raw in echo.raw[-2:])
    mark = first.split(b"\r\n", 1)[0]
    assert first == second
    assert first == (
        mark
        + b'\r\nContent-Disposition: form-data; name="note"\r\n\r\na\r\nb\r\n'
        + mark
        + b'\r\nContent-Disposition: form-data; name="tags"\r\n\r\nx\r\n'
        + mark
        + b'\r\nContent-Disposition: form-data; name="tags"\r\n\r\ny\r\n'
        + mark
        + b'\r\nContent-Disposition: form-data; name="at"\r\nContent-Type: application/json\r\n\r\n'
        + b'{"city":"\xc3\xa9"}\r\n'
        + mark
        + b"--\r\n"
    )
    assert echo.last[1]["body"] == [["note", "a\r\nb"], ["tags", "x"], ["tags", "y"], ["at", '{"city":"é"}']]


@pytest.mark.requirement("10.6-bodies-by-table")
async def test_the_choice_among_media_types_does_not_depend_on_their_order_and_is_told(echo: Echo) -> None:
    kinds = ["text/plain", MULTIPART, FORM, "application/vnd.x+json", "application/json"]
    schemas = {kind: {"schema": TEXT if kind == "text/plain" else fields("a")} for kind in kinds}
    for left in range(len(kinds), 0, -1):
        for order in (kinds[:left], kinds[:left][::-1]):
            operation = backend_of(posted({kind: schemas[kind] for kind in order}), echo.url).get("x")
            assert operation is not None
            assert operation.request == f"POST /do {kinds[left - 1]}"


@pytest.mark.requirement("10.6-refused-when-built")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({MULTIPART: {"schema": {"type": "object", "properties": {"f": {**TEXT, "format": "binary"}}}}}, "a file"),
        ({MULTIPART: {"schema": {"type": "object", "properties": {
            "f": {"type": "string", "contentMediaType": "application/octet-stream"}}}}}, "a file"),
        ({"application/octet-stream": {}}, "which is not sent"),
        ({"application/xml": {"schema": fields("a")}}, "which is not sent"),
        ({FORM: {"schema": {"type": "object", "properties": {"a": fields("b")}}}}, "loses its name"),
        ({FORM: {"schema": {"type": "object", "properties": {"a": {"type": "array", "items": fields("b")}}}}}, "'a'"),
        ({FORM: {"schema": TEXT}}, "no object of named fields"),
        ({MULTIPART: {"schema": fields('a"b')}}, "cannot be written"),
        ({MULTIPART: {"schema": fields("a"), "encoding": {"a": {"contentType": "image/png"}}}}, "of its own"),
        ({"text/plain": {"schema": {"type": "integer"}}}, "no string"),
        ({"application/json": {"schema": {"type": "object", "additionalProperties": TEXT}}}, "free keys"),
        ({"application/json": {"schema": {"not": TEXT}}}, "`not` is outside the subset"),
        ({}, "no media type"),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_sent_refuses_its_operation(content: dict[str, Any], reason: str) -> None:
    backend = backend_of(posted(content), "http://h.test")
    assert backend.names() == ()
    assert reason in backend.refused()["x"]


@pytest.mark.requirement("10.6-refused-before-it-is-sent")
async def test_an_empty_list_in_a_form_is_refused_for_it_would_leave_no_trace(echo: Echo) -> None:
    many = {"type": "object", "properties": {"a": {"type": "array", "items": TEXT}}}
    for media in (FORM, MULTIPART):
        before = len(echo.raw)
        with pytest.raises(NotSent):
            await call(backend_of(posted({media: {"schema": many}}), echo.url), {"a": []})
        assert len(echo.raw) == before


@pytest.mark.requirement("10.6-one-name-in-several-places")
async def test_one_name_in_path_query_header_cookie_and_body_is_five_fields(echo: Echo) -> None:
    operation = {
        "summary": "Do it",
        "parameters": [
            {"name": "id", "in": place, "required": place == "path", "schema": TEXT}
            for place in ("path", "query", "header", "cookie")
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": fields("id", "other")}}},
    }
    document = {"openapi": "3.0.3", "info": {}, "paths": {"/do/{id}": {"post": operation}}}
    places = ("path", "query", "header", "cookie", "body")
    await call(backend_of(document, echo.url, "POST /do/{id}"), {**{f"id_in_{at}": at for at in places}, "other": "o"})
    raw, read = echo.last
    assert raw.startswith(b"POST /do/path?id=query HTTP/1.1\r\n")
    assert (read["headers"]["id"], read["cookies"]["id"]) == ("header", "cookie")
    assert read["body"] == {"id": "body", "other": "o"}


@pytest.mark.requirement("10.6-names-that-models-take")
async def test_names_that_models_refuse_are_mapped_and_mapped_back(echo: Echo) -> None:
    long = "x" * 80
    names = ["$top", "ids[]", "date<", "date", "é", "f[a.b]", long]
    parameters = [{"name": name, "in": "query", "required": True, "schema": TEXT} for name in names]
    document = {
        "openapi": "3.1.0",
        "info": {},
        "paths": {"/do": {"post": {"summary": "Do it", "parameters": parameters}}},
    }
    backend = backend_of(document, echo.url)
    operation = backend.get("x")
    assert operation is not None
    schema: Any = operation.input_schema
    mapped = ["top", "ids", "date_2", "date", "field", "f_a_b", *(name for name in schema["properties"] if "x" in name)]
    assert sorted(schema["properties"]) == sorted(mapped) == schema["required"]
    assert (len(mapped), len(mapped[6])) == (7, 64)
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in mapped) and len(set(mapped)) == len(mapped)
    await call(backend, {field: str(number) for number, field in enumerate(mapped)})
    assert echo.last[1]["query"] == [[name, str(number)] for number, name in enumerate(names)]


@pytest.mark.requirement("10.6-servers-and-base-paths")
@pytest.mark.parametrize(
    ("servers", "base", "path"),
    [
        ([], "", "/do"),
        ([], "/top/", "/top/do"),
        ([{"url": "/"}], "", "/do"),
        ([{"url": "/myapp"}], "", "/myapp/do"),
        ([{"url": "/myapp/"}], "/", "/myapp/do"),
        ([{"url": "myapp"}], "", "/myapp/do"),
        ([{"url": "/myapp"}], "/top/", "/top/myapp/do"),
        ([{"url": "/top"}], "/top", "/top/do"),
        ([{"url": "/top/v2"}], "/top", "/top/v2/do"),
        ([{"url": "BASE/v1"}], "", "/v1/do"),
        ([{"url": "BASE/v1"}], "/v1", "/v1/do"),
        ([{"url": "https://elsewhere.test/v9"}, {"url": "/v1"}], "", "/v1/do"),
        ([{"url": "/{version}", "variables": {"version": {"default": "v3"}}}], "", "/v3/do"),
    ],
)
async def test_the_path_of_a_server_is_kept(servers: list[Any], base: str, path: str, echo: Echo) -> None:
    listed = [{**each, "url": each["url"].replace("BASE", echo.url)} for each in servers]
    document = {**posted({"application/json": {"schema": fields("a")}}), "servers": listed}
    await call(backend_of(document, echo.url + base), {"a": "x"})
    assert echo.last[0].startswith(f"POST {path} HTTP/1.1\r\n".encode())


@pytest.mark.requirement("10.6-servers-and-base-paths")
def test_a_document_of_another_origin_is_refused() -> None:
    plain = posted({"application/json": {"schema": fields("a")}})
    for url in ("https://h.test/v1", "http://h.test:81", "//other.test"):
        backend = backend_of({**plain, "servers": [{"url": url}]}, "http://h.test")
        assert "another origin" in backend.refused()["x"]
    own = posted({"application/json": {"schema": fields("a")}}, servers=[{"url": "http://other.test"}])
    assert "another origin" in backend_of(own, "http://h.test").refused()["x"]


@pytest.mark.requirement("10.6-read-only-and-write-only")
async def test_read_only_fields_are_not_sent_and_write_only_ones_not_answered(echo: Echo) -> None:
    schema = {
        "type": "object",
        "required": ["id", "name", "pin"],
        "properties": {"id": {**TEXT, "readOnly": True}, "name": TEXT, "pin": {**TEXT, "writeOnly": True}},
    }
    content = {"application/json": {"schema": schema}}
    backend = backend_of(posted(content, responses={"200": {"description": "", "content": content}}), echo.url)
    operation = backend.get("x")
    assert operation is not None
    taken: Any = operation.input_schema
    given: Any = operation.output_schema
    assert (sorted(taken["properties"]), taken["required"]) == (["name", "pin"], ["name", "pin"])
    assert (sorted(given["properties"]), given["required"]) == (["id", "name"], ["id", "name"])


@pytest.mark.requirement("10.6-refused-when-built")
@pytest.mark.parametrize(
    ("path", "parameters", "reason"),
    [
        ("/do/{id}", [], "declared nowhere"),
        ("/do", [{"name": "id", "in": "path", "required": True, "schema": TEXT}], "has no place for"),
        ("/{a}.{b}", [{"name": n, "in": "path", "required": True, "schema": TEXT} for n in "ab"], "told apart"),
        ("/do?x=1", [], "is no path"),
        ("/do/../x", [], "is no path"),
        ("/do", [{"in": "query", "schema": TEXT}], "without a name"),
        ("/do", [{"name": "a", "in": "query"}], "no schema"),
        ("/do", [{"$ref": "#/components/parameters/none"}], "does not have"),
        ("/do", [{"$ref": "other.json#/x"}], "another document"),
        (
            "/do",
            [
                {"name": "a", "in": "query", "schema": {"type": "object", "properties": {"b": TEXT}}},
                {"name": "b", "in": "query", "schema": TEXT},
            ],
            "two query parameters",
        ),
        ("/do", [{"name": "a", "in": "header", "content": {"application/json": {}}}], "in a query only"),
    ],
)
def test_an_operation_whose_address_cannot_be_made_is_refused(path: str, parameters: list[Any], reason: str) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {},
        "paths": {path: {"post": {"summary": "Do it", "parameters": parameters}}},
    }
    backend = backend_of(document, "http://h.test", f"POST {path}")
    assert backend.names() == ()
    assert reason in backend.refused()["x"]
