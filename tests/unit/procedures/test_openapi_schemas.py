"""What becomes of the rarer words of a document: kept, left out where it does no harm, or refused (SPEC 10.6)."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from remit import DefinitionError
from remit.procedures.openapi import OpenAPI, Operation
from tests.unit.procedures.openapi_echo import serving

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def document_of(
    operation: Mapping[str, Any], *, schemas: Mapping[str, Any] | None = None, version: str = "3.1.0", **more: Any
) -> dict[str, Any]:
    """A document with one POST /do."""
    paths = {"/do": {"post": {"summary": "Do it", **operation}}}
    return {"openapi": version, "info": {}, "paths": paths, "components": {"schemas": schemas or {}}, **more}


def sent(schema: Any, media: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"content": {media: {"schema": schema}}}}


def asked(schema: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "q", "in": "query", "schema": schema}]}


def answered(schema: Any) -> dict[str, Any]:
    return {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}


def backend_of(document: Any, request: str = "POST /do") -> OpenAPI:
    return OpenAPI(document, base_url="http://h.test", expose={"x": Operation(request, effect="server-query")})


def schemas_of(document: Any) -> tuple[Any, Any]:
    operation = backend_of(document).get("x")
    assert operation is not None, backend_of(document).refused()
    return operation.input_schema, operation.output_schema


def nested(schema: Any, depth: int) -> Any:
    return schema if depth == 0 else {"type": "array", "items": nested(schema, depth - 1)}


REFUSED = [
    (sent({"$ref": "#/components/schemas/Round"}), "refers to itself"),
    (sent({"allOf": [{"$ref": "#/components/schemas/Round"}, {"type": "object"}]}), "refers to itself"),
    (sent({"$ref": "#/components/schemas/None"}), "what the document does not have"),
    (sent({"$ref": "other.json#/A"}), "another document"),
    (sent({"$ref": "#/components/schemas/Listed/prefixItems/9"}), "what the document does not have"),
    (sent([]), "something else where a schema belongs"),
    (
        sent({"type": "object", "properties": {f"n{n}": {"type": "array", "items": TEXT} for n in range(2_501)}}),
        "nodes",
    ),
    (
        sent(
            {
                "allOf": [
                    {"type": "object", "properties": {"a": TEXT}},
                    {"type": "object", "properties": {"a": NUMBER}},
                ]
            }
        ),
        "two things of the field 'a'",
    ),
    (sent({"allOf": [TEXT, {"minLength": 1}]}), "`allOf` of something else than plain objects"),
    (sent({"type": "object", "properties": {"a b": TEXT}}), "a field inside the body is named 'a b'"),
    (asked(nested(TEXT, 18)), "nested too deep"),
    (asked({"anyOf": [TEXT, {}]}), "a value of no type"),
    (asked({"enum": ["a", 1]}), "several that cannot be told apart"),
    (asked({"enum": [[1], [2]]}), "a value of no type"),
    (
        sent({"type": "object", "properties": {"a": TEXT}}, "application/x-www-form-urlencoded")
        | {
            "requestBody": {
                "content": {
                    "application/x-www-form-urlencoded": {
                        "schema": {"type": "object", "properties": {"a": TEXT}},
                        "encoding": {"a": {"contentType": "text/csv"}},
                    }
                }
            }
        },
        "has an encoding of its own",
    ),
    ({"parameters": [{"$ref": "#/components/parameters/Round"}]}, "lead in a circle"),
    ({"parameters": ["q"]}, "something else where an object belongs"),
    ({"servers": [{"url": "/v1?x=1"}]}, "a server with a query"),
]


@pytest.mark.requirement("10.6-schemas-of-documents", "10.6-refused-when-built")
@pytest.mark.parametrize(("operation", "reason"), REFUSED)
def test_what_a_document_says_in_vain_refuses_its_operation(operation: dict[str, Any], reason: str) -> None:
    schemas = {"Round": {"$ref": "#/components/schemas/Round"}, "Listed": {"prefixItems": [TEXT]}}
    document = document_of(operation, schemas=schemas)
    document["components"]["parameters"] = {"Round": {"$ref": "#/components/parameters/Round"}}
    backend = backend_of(document)
    assert backend.names() == ()
    assert reason in backend.refused()["x"]


@pytest.mark.requirement("10.6-refused-when-built")
def test_a_get_with_a_body_and_a_path_that_leads_nowhere_refuse_themselves_alone() -> None:
    document = document_of(answered(TEXT))
    document["paths"]["/do"]["get"] = {"summary": "Read", **sent(TEXT)}
    document["paths"]["/lost"] = {"$ref": "#/paths/~1none"}
    assert "a GET with a body" in backend_of(document, "GET /do").refused()["x"]
    assert [offer.request for offer in backend_of(document).offers()] == ["GET /do", "POST /do"]
    assert backend_of(document).names() == ("x",)


SENT = [
    (True, {}),
    ({"type": "integer", "minimum": -(2**60), "maximum": 9, "format": "int64"}, {"type": "integer", "maximum": 9}),
    ({"type": "number", "minimum": 1, "exclusiveMinimum": False}, {"type": "number", "minimum": 1}),
    (
        {"type": "object", "properties": {"a": TEXT, "b": True}},
        {"type": "object", "properties": {"a": TEXT, "b": {}}, "additionalProperties": False},
    ),
    (
        {"oneOf": [TEXT, NUMBER], "discriminator": {"propertyName": "kind"}},
        {"anyOf": [TEXT, NUMBER]},
    ),
    ({"oneOf": [{"type": ["string", "null"]}, NUMBER]}, {"anyOf": [{"type": ["string", "null"]}, NUMBER]}),
    ({"anyOf": [TEXT, NUMBER], "discriminator": {"propertyName": "kind"}}, {"anyOf": [TEXT, NUMBER]}),
    ({"$ref": "#/components/schemas/Listed/prefixItems/0"}, {"$ref": "#/$defs/0"}),
    ({"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2, "items": False},
     {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}),
]  # fmt: skip


@pytest.mark.requirement("10.6-schemas-of-documents")
@pytest.mark.parametrize(("schema", "meant"), SENT)
def test_what_is_sent_says_the_same_as_the_document(schema: Any, meant: Any) -> None:
    given, _ = schemas_of(document_of(sent(schema), schemas={"Listed": {"prefixItems": [TEXT]}}))
    body = given["properties"]["body"]
    if "$ref" in meant:
        (body,) = given["$defs"].values()
        meant = TEXT
    assert body == meant


ASKED = [
    ({"anyOf": [TEXT, NUMBER, {"type": "null"}]}, None),
    ({"type": ["number", "integer"]}, {"type": ["integer", "number"]}),
    ({"enum": [True, False]}, {"enum": [True, False]}),
    ({"enum": [1, 2]}, {"enum": [1, 2]}),
    ({"enum": [0.5, 1.5]}, {"enum": [0.5, 1.5]}),
    ({"const": "a"}, {"const": "a"}),
    ({"type": ["string", "null"], "default": None}, TEXT),
    ({"type": "string", "enum": ["a", "b", None], "nullable": True}, {"type": "string", "enum": ["a", "b"]}),
    ({"anyOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]}, {"anyOf": [{"const": "a"}, {"const": "b"}]}),
    ({"type": "array", "items": TEXT, "default": []}, {"type": "array", "items": TEXT, "minItems": 1}),
    ({"type": "array", "items": TEXT, "default": ["a"]},
     {"type": "array", "items": TEXT, "minItems": 1, "default": ["a"]}),
]  # fmt: skip


@pytest.mark.requirement("10.6-schemas-of-documents")
@pytest.mark.parametrize(("schema", "meant"), ASKED)
def test_a_parameter_is_what_an_address_can_hold(schema: Any, meant: Any) -> None:
    document = document_of(asked(schema))
    if meant is None:
        assert "several that cannot be told apart" in backend_of(document).refused()["x"]
        return
    given, _ = schemas_of(document)
    found = given["properties"]["q"]
    assert {**found, "type": sorted(found["type"])} == meant if isinstance(found.get("type"), list) else found == meant


ANSWERED = [
    ({"allOf": [TEXT, {"minLength": 1}]}, {}),
    ({"type": "array", "prefixItems": [TEXT], "items": False}, {"type": "array"}),
    ({"type": "string", "pattern": "(?=a)b", "contentMediaType": "text/html"}, TEXT),
    ({"type": "object", "patternProperties": {"a": TEXT}, "additionalProperties": TEXT},
     {"type": "object", "additionalProperties": True}),
    ({"type": "array", "items": TEXT, "uniqueItems": True, "contains": TEXT}, None),
]  # fmt: skip


@pytest.mark.requirement("10.6-answers-of-documents")
@pytest.mark.parametrize(("schema", "meant"), ANSWERED)
def test_what_is_answered_may_say_less_than_the_document(schema: Any, meant: Any) -> None:
    _, given = schemas_of(document_of(answered(schema)))
    assert "contains" not in given and given["type"] == "array" if meant is None else given == meant


@pytest.mark.requirement("10.6-answers-of-documents")
def test_several_successes_are_any_of_them_and_one_of_anything_is_anything() -> None:
    def responses(**said: Any) -> dict[str, Any]:
        named = {status.removeprefix("s"): each for status, each in said.items()}
        return document_of({"responses": named})

    def of(schema: Any) -> dict[str, Any]:
        return {"content": {"application/json": {"schema": schema}}}

    assert schemas_of(responses(s200=of(TEXT), s201=of(TEXT), s404=of(NUMBER)))[1] == TEXT
    assert schemas_of(responses(s200=of(TEXT), s204={}))[1] == {"anyOf": [TEXT, {"type": "null"}]}
    assert schemas_of(responses(s200=of(TEXT), s202=of({})))[1] is None
    assert schemas_of(responses(default=of(NUMBER)))[1] == NUMBER
    assert schemas_of(responses(s404=of(NUMBER)))[1] is None


@pytest.mark.requirement("10.6-names-that-models-take")
def test_headers_that_remit_fills_are_no_fields() -> None:
    headers = [{"name": name, "in": "header", "schema": TEXT} for name in ("Authorization", "accept", "X-Region")]
    given, _ = schemas_of(document_of({"parameters": headers}))
    assert list(given["properties"]) == ["X-Region"]


@pytest.mark.requirement("10.6-documents-are-fetched-once")
def test_a_document_that_is_too_large_is_refused_wherever_it_comes_from() -> None:
    large = {"openapi": "3.1.0", "info": {"description": "x" * (5 * 1024 * 1024)}}
    with pytest.raises(DefinitionError, match="has more than 5242880 bytes"):
        OpenAPI(large, base_url="http://h.test", expose={})

    async def endless(request: Request) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            for _ in range(200):
                yield b" " * 65_536

        return StreamingResponse(parts())

    async def small(request: Request) -> Response:
        return JSONResponse({"openapi": "3.1.0"})

    with serving(Starlette(routes=[Route("/endless", endless), Route("/small", small)])) as url:
        assert OpenAPI(f"{url}/small", base_url="http://h.test", expose={}).offers() == ()
        with pytest.raises(DefinitionError, match="has more than 5242880 bytes"):
            OpenAPI(f"{url}/endless", base_url="http://h.test", expose={})
