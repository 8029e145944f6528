"""An OpenAPI document as a catalogue: what is listed, what is refused and why, and a backend that moves (SPEC 10)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, File, UploadFile
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from remit import Component, DefinitionError, FindingKind, Surface, reference
from remit.procedures.openapi import OpenAPI, Operation
from tests.behaviour.conftest import AGENT, authority_of, failed, output
from tests.unit.procedures.openapi_echo import serving

BASE = "http://h.test"
TEXT = {"type": "string"}


class Page(Component, type="page"):
    """A page."""

    read = reference("domain:read")


def document_of(
    *, version: str = "3.1.0", schemas: Mapping[str, Any] | None = None, **operation: Any
) -> dict[str, Any]:
    """A document with one GET /read."""
    return {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "paths": {"/read": {"get": {"summary": "Read it", **operation}}},
        "components": {"schemas": schemas or {}},
    }


def answering(schema: Any, **more: Any) -> dict[str, Any]:
    return document_of(
        responses={"200": {"description": "", "content": {"application/json": {"schema": schema}}}}, **more
    )


def backend_of(document: Any, request: str = "GET /read", **more: Any) -> OpenAPI:
    return OpenAPI(document, base_url=BASE, expose={"read": Operation(request, effect="server-query")}, **more)


def schemas_of(backend: OpenAPI) -> tuple[Any, Any]:
    operation = backend.get("read")
    assert operation is not None, backend.refused()
    return operation.input_schema, operation.output_schema


@pytest.mark.requirement("10.1-openapi-sources")
async def test_a_document_comes_from_a_file_an_address_a_mapping_or_a_live_application(tmp_path: Path) -> None:
    app = FastAPI()

    @app.get("/read")
    async def read(limit: int = 5) -> dict[str, int]:
        """Read it all."""
        return {"limit": limit}

    document = app.openapi()
    (tmp_path / "backend.json").write_text(json.dumps(document))

    async def told(request: Request) -> JSONResponse:
        return JSONResponse(document)

    with serving(Starlette(routes=[Route("/openapi.json", told)])) as url:
        found = [
            backend_of(document),
            backend_of(tmp_path / "backend.json"),
            backend_of(str(tmp_path / "backend.json")),
            backend_of(f"{url}/openapi.json"),
            OpenAPI(app, expose={"read": Operation("GET /read", effect="server-query")}),
            OpenAPI(document, app=app, expose={"read": Operation("read_read_get", effect="server-query")}),
        ]
        with pytest.raises(DefinitionError, match="answers 404"):
            backend_of(f"{url}/elsewhere")
    assert len({each.get("read").hash for each in found}) == 1  # type: ignore[union-attr]
    for live in found[-2:]:
        surface = Surface(authority_of(Page, procedures=live), principal="operator", procedures=live)
        surface.mount(Page())
        assert output(await surface.connect(AGENT).call("domain:read", {"limit": 7})) == {"limit": 7}


@pytest.mark.requirement("10.1-openapi-sources")
def test_what_is_no_document_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<html>")
    (tmp_path / "large.json").write_bytes(b" " * (5 * 1024 * 1024 + 1))
    wrong: list[tuple[Any, str]] = [
        (tmp_path / "none.json", "cannot be read"),
        (tmp_path / "page.html", "is not JSON"),
        (tmp_path / "large.json", "has more than 5242880 bytes"),
        ({"swagger": "2.0"}, "no OpenAPI document"),
        ({"openapi": "3.2.0"}, "no OpenAPI document"),
        ({"openapi": "3.1.0", "jsonSchemaDialect": "http://json-schema.org/draft-07/schema#"}, "another dialect"),
        ({"openapi": "3.1.0", "paths": []}, "has no paths"),
        ({"openapi": object()}, "is not JSON"),
        (Starlette(), "says nothing of its operations"),
        ("http://127.0.0.1:1/openapi.json", "cannot be fetched"),
    ]
    for source, reason in wrong:
        with pytest.raises(DefinitionError, match=reason):
            backend_of(source)
    for base in ("ftp://h.test", "http://user@h.test", "http://h.test?x=1", "nothing", "http://"):
        with pytest.raises(DefinitionError, match="base_url"):
            OpenAPI(document_of(), base_url=base, expose={})
    with pytest.raises(DefinitionError, match="has no base_url"):
        OpenAPI(document_of(), expose={})


@pytest.mark.requirement("10.6-documents-are-fetched-once")
def test_a_redirected_document_is_not_followed() -> None:
    async def moved(request: Request) -> JSONResponse:
        return JSONResponse(None, 302, {"location": "/openapi.json"})

    with (
        serving(Starlette(routes=[Route("/moved", moved)])) as url,
        pytest.raises(DefinitionError, match="answers 302"),
    ):
        backend_of(f"{url}/moved")


@pytest.mark.requirement("10.2-openapi-is-opt-in")
def test_nothing_is_listed_that_is_not_named_and_an_effect_is_always_said() -> None:
    document = document_of()
    assert OpenAPI(document, base_url=BASE, expose={}).names() == ()
    with pytest.raises(TypeError):
        Operation("GET /read")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    said = Operation("GET /read", effect="destructive", confirmation="always", tags=("b", "a"), idempotent=True)
    backend = OpenAPI(document, base_url=BASE, expose={"wipe": said})
    operation = backend.get("wipe")
    assert operation is not None
    assert (operation.effect, operation.confirmation, operation.tags) == ("destructive", "always", ("a", "b"))
    assert (operation.idempotent, operation.description) == (True, "Read it")
    wrong: list[tuple[str, Any, str]] = [
        ("x", Operation("GET /read", effect="read"), "no effect of a backend"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ("x", Operation("GET /read", effect="destructive", confirmation="never"), "below the default"),
        ("x", Operation("GET /read", effect="server-query", tags="a"), "collection of names"),
        ("x", Operation("GET /read", effect="server-query", description=" "), "no description"),
        ("bad\nname", Operation("GET /read", effect="server-query"), "control"),
        ("x", "GET /read", "something else than an Operation"),
    ]
    for name, meant, reason in wrong:
        with pytest.raises(DefinitionError, match=reason):
            OpenAPI(document, base_url=BASE, expose={name: meant})


@pytest.mark.requirement("10.2-openapi-is-opt-in", "10.6-refused-when-built")
def test_the_reason_of_a_refusal_is_told_and_the_other_operations_stay() -> None:
    document = document_of()
    document["paths"]["/read"]["post"] = {"summary": "Same", "operationId": "twice"}
    document["paths"]["/other"] = {
        "get": {"operationId": "twice", "summary": "Other"},
        "head": {"summary": "H"},
        "put": {"description": "x" * 400},
        "patch": {},
    }
    names = ["GET /read", "GET /none", "twice", "unknown", "HEAD /other", "PUT /other", "PATCH /other"]
    backend = OpenAPI(
        document,
        base_url=BASE,
        expose={f"n{number}": Operation(name, effect="server-query") for number, name in enumerate(names)},
    )
    assert backend.names() == ("n0",)
    told = backend.refused()
    assert "has no GET /none" in told["n1"]
    assert "2 operations of the document have the operationId" in told["n2"]
    assert "0 operations" in told["n3"]
    assert "HEAD is no method" in told["n4"]
    assert "at most 300" in told["n5"] and "description=" in told["n5"]
    assert "has no description" in told["n6"]
    offers = {offer.request: offer for offer in backend.offers()}
    assert (offers["GET /read"].name, offers["GET /read"].refused) == ("n0", None)
    assert offers["HEAD /other"].refused == told["n4"]
    assert (offers["POST /read"].name, offers["POST /read"].operation_id) == ("n2", "twice")


@pytest.mark.requirement("10.6-both-versions-mean-the-same")
def test_nullable_of_both_versions_gives_one_schema() -> None:
    old = {"type": "number", "nullable": True, "minimum": 1, "exclusiveMinimum": True}
    new = {"type": ["number", "null"], "exclusiveMinimum": 1}

    def whole(version: str, schema: Any) -> OpenAPI:
        body = {"type": "object", "properties": {"size": schema}, "required": ["size"]}
        content = {"application/json": {"schema": body}}
        operation = {"summary": "Write", "requestBody": {"required": True, "content": content}}
        operation["responses"] = {"200": {"description": "", "content": content}}
        document = {"openapi": version, "info": {}, "paths": {"/read": {"post": operation}}}
        return backend_of(document, "POST /read")

    before, after = schemas_of(whole("3.0.3", old)), schemas_of(whole("3.1.0", new))
    assert before == after
    assert before[0]["properties"]["size"] == {"type": ["number", "null"], "exclusiveMinimum": 1}
    plain = schemas_of(whole("3.0.3", {"type": "number"}))
    assert plain == schemas_of(whole("3.1.0", {"type": "number"}))
    assert plain[0]["properties"]["size"] == {"type": "number"}


@pytest.mark.requirement("10.6-both-versions-mean-the-same")
def test_a_nullable_reference_enum_and_default_keep_their_meaning() -> None:
    schemas = {"Kind": {"type": "string", "enum": ["a", "b"]}}
    body = {
        "type": "object",
        "properties": {
            "kind": {"allOf": [{"$ref": "#/components/schemas/Kind"}], "nullable": True, "description": "Which"},
            "mode": {"type": "string", "enum": ["x", "y"], "nullable": True, "default": None},
        },
    }
    _, given = schemas_of(backend_of(answering(body, version="3.0.0", schemas=schemas)))
    assert given["properties"]["kind"]["anyOf"][1] == {"type": "null"}
    assert given["properties"]["kind"]["description"] == "Which"
    assert given["properties"]["mode"]["anyOf"] == [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]


@pytest.mark.requirement("10.6-schemas-of-documents")
def test_a_cycle_refuses_what_is_sent_and_ends_what_is_answered() -> None:
    tree = {
        "type": "object",
        "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    reference = {"$ref": "#/components/schemas/Tree"}
    _, given = schemas_of(backend_of(answering(reference, schemas={"Tree": tree})))
    assert given["properties"]["children"]["items"] == {} and "$defs" not in given
    content = {"application/json": {"schema": reference}}
    document = document_of(schemas={"Tree": tree})
    document["paths"]["/read"]["post"] = {"summary": "W", "requestBody": {"required": True, "content": content}}
    assert "recursive type Tree" in backend_of(document, "POST /read").refused()["read"]


@pytest.mark.requirement("10.6-schemas-of-documents")
def test_all_of_plain_objects_is_one_object_and_one_of_is_any_of_where_no_two_overlap() -> None:
    named = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
    whole = {"allOf": [{"$ref": "#/components/schemas/Named"}, {"type": "object", "properties": {"size": {"oneOf": [
        {"type": "integer"}, TEXT]}}}]}  # fmt: skip
    content = {"application/json": {"schema": whole}}
    document = document_of(schemas={"Named": named})
    document["paths"]["/read"]["post"] = {"summary": "W", "requestBody": {"required": True, "content": content}}
    taken, _ = schemas_of(backend_of(document, "POST /read"))
    assert taken["properties"] == {"name": TEXT, "size": {"anyOf": [{"type": "integer"}, TEXT]}}
    whole["allOf"][1] = {"oneOf": [named, named]}
    assert "allOf" in backend_of(document, "POST /read").refused()["read"]


@pytest.mark.requirement("10.6-answers-of-documents")
def test_an_answer_says_what_the_document_says_as_far_as_it_can_be_said() -> None:
    free = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}
    assert schemas_of(backend_of(answering(free)))[1] == {"type": "object", "additionalProperties": True}
    empty = {"204": {"description": "nothing"}}
    assert schemas_of(backend_of(document_of(responses=empty)))[1] is None
    both = {**answering(TEXT)["paths"]["/read"]["get"]["responses"], **empty}
    assert schemas_of(backend_of(document_of(responses=both)))[1] == {"anyOf": [TEXT, {"type": "null"}]}
    words = {"200": {"description": "", "content": {"text/plain": {}}}}
    assert schemas_of(backend_of(document_of(responses=words)))[1] == TEXT
    image = {"200": {"description": "", "content": {"image/png": {}}}}
    assert "image/png: neither JSON nor text" in backend_of(document_of(responses=image)).refused()["read"]
    deep: dict[str, Any] = TEXT
    for _ in range(9):
        deep = {"type": "object", "properties": {"a": deep}}
    assert "check_output=False" in backend_of(answering(deep)).refused()["read"]
    said = Operation("GET /read", effect="server-query", check_output=False)
    unchecked = OpenAPI(answering(deep), base_url=BASE, expose={"read": said})
    assert schemas_of(unchecked)[1] is None


@pytest.mark.requirement("10.6-refused-when-built")
def test_an_upload_of_fastapi_is_refused_and_its_neighbours_are_not() -> None:
    class Item(BaseModel):
        name: str
        price: float | None = None

    app = FastAPI()

    @app.post("/files")
    async def upload(file: UploadFile = File()) -> None:  # noqa: B008
        """Take a file."""

    @app.post("/items")
    async def add(item: Item, dry: bool = False) -> Item:
        """Add an item."""
        return item

    expose = {name: Operation(f"POST /{name}", effect="server-mutation") for name in ("files", "items")}
    backend = OpenAPI(app, expose=expose)
    assert backend.names() == ("items",)
    assert "files do not travel" in backend.refused()["files"]
    items = backend.get("items")
    assert items is not None
    assert sorted(items.input_schema["properties"]) == ["dry", "name", "price"]  # type: ignore[arg-type,type-var]


@pytest.mark.requirement("10.2-a-compatible-move-warns")
def test_a_backend_that_moved_says_what_differs_and_one_that_still_fits_is_served() -> None:
    def limited(**schema: Any) -> OpenAPI:
        parameters = [{"name": "limit", "in": "query", "schema": {"type": "integer", **schema}}]
        return backend_of(document_of(parameters=parameters))

    authority = authority_of(Page, procedures=limited(maximum=10))
    for live, available in ((limited(maximum=20), True), (limited(maximum=5), False)):
        surface = Surface(authority, principal="operator", procedures=live)
        surface.mount(Page())
        (listed,) = surface.connect(AGENT).capabilities()
        assert listed.available is available
        (finding,) = [each for each in surface.findings() if each.kind is FindingKind.BACKEND_MOVED]
        assert "input limit: " in finding.found
        assert ("still fits" in finding.found) is available
    gone = Surface(authority, principal="operator", procedures=backend_of({"openapi": "3.1.0", "paths": {}}))
    (finding,) = [each for each in gone.findings() if each.kind is FindingKind.BACKEND_MOVED]
    assert "no longer offers it: the document has no GET /read" in finding.found


@pytest.mark.requirement("10.2-the-request-is-recorded")
async def test_a_name_that_stands_for_another_request_of_equal_schemas_has_moved() -> None:
    def backend(request: str, **more: Any) -> OpenAPI:
        responses = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "integer"}}}}}
        paths = {
            path: {method: {"summary": "Do it", "responses": responses}}
            for method, path in (("post", "/m"), ("delete", "/everything"))
        }
        document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
        return OpenAPI(document, base_url=BASE, expose={"read": Operation(request, effect="server-mutation")}, **more)

    authority = authority_of(Page, procedures=backend("POST /m"))
    assert authority.operations["read"].request == "POST /m"
    surface = Surface(authority, principal="operator", procedures=backend("DELETE /everything"))
    surface.mount(Page())
    agent = surface.connect(AGENT)
    assert failed(await agent.call("domain:read")).details["reason"] == "contract-moved"
    (finding,) = [each for each in surface.findings() if each.kind is FindingKind.BACKEND_MOVED]
    assert "is unavailable: contract-moved: request: POST /m → DELETE /everything" in finding.found
    with pytest.raises(DefinitionError, match="has moved away from the contract"):
        Surface(authority, principal="operator", procedures=backend("DELETE /everything", strict_backend=True))


@pytest.mark.requirement("10.2-strict-backend")
def test_a_strict_backend_that_moved_stops_the_start() -> None:
    def limited(most: int, *, strict: bool) -> OpenAPI:
        parameters = [{"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": most}}]
        return backend_of(document_of(parameters=parameters), strict_backend=strict)

    authority = authority_of(Page, procedures=limited(10, strict=True))
    for fits in (limited(10, strict=True), limited(20, strict=True), limited(5, strict=False)):
        Surface(authority, principal="operator", procedures=fits)
    with pytest.raises(DefinitionError, match="has moved away from the contract") as refused:
        Surface(authority, principal="operator", procedures=limited(5, strict=True))
    assert refused.value.code == "CONTRACT_MISMATCH"


@pytest.mark.requirement("10.2-large-documents")
def test_a_document_of_four_hundred_operations_is_listed_whole() -> None:
    app = FastAPI()

    class Owner(BaseModel):
        id: str
        name: str | None = None

    class Thing(BaseModel):
        id: str
        size: int = 1
        owner: Owner
        tags: list[str] = []

    for number in range(100):

        async def act(thing: Thing) -> Thing:
            return thing

        async def find(limit: int = 10, q: str | None = None) -> list[Thing]:
            return []

        app.get(f"/things{number}", summary="Find")(find)
        for method in (app.post, app.put, app.patch):
            method(f"/things{number}", summary="Write")(act)
    document = app.openapi()
    expose = {
        f"things{number}.{method}": Operation(f"{method.upper()} /things{number}", effect="server-mutation")
        for number in range(100)
        for method in ("get", "post", "put", "patch")
    }
    backend = OpenAPI(document, base_url=BASE, expose=expose)
    assert (len(backend.names()), backend.refused()) == (400, {})
