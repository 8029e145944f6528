"""OpenAPI on the wire, by table: raw bytes at a real server, and what an independent reader makes of them."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from remit._base.boundary import take
from remit._model.consumer import Consumer, Principal
from remit._model.context import Context, LazySignal
from remit.procedures.errors import NotSent
from remit.procedures.openapi import OpenAPI, Operation
from tests.unit.procedures.openapi_echo import Echo, serving_echo
from tests.unit.procedures.openapi_table import CASES, NOTHING, Case


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    with serving_echo() as served:
        yield served


def context() -> Context:
    return Context(
        capability="domain:x",
        registration="reg_1",
        invocation="inv_1",
        consumer=Consumer("copilot", kind="embedded"),
        principal=Principal("ada"),
        host=None,
        cancelled=LazySignal(),
        evidence=None,
        idempotency_key="key",
    )


def document_of(case: Case) -> dict[str, Any]:
    node: dict[str, Any] = {"name": case.name, "in": case.place, "required": case.place == "path", **(case.more or {})}
    if case.style == "json":
        node["content"] = {"application/json": {"schema": case.schema}}
    else:
        node["schema"] = case.schema
        node |= {} if case.style is None else {"style": case.style}
        node |= {} if case.explode is None else {"explode": case.explode}
    path = "/items/{" + case.name + "}" if case.place == "path" else "/items"
    operation = {"summary": "Read items", "parameters": [node], "responses": {"200": {"description": "ok"}}}
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {path: {"get": operation}}}


def catalogue_of(case: Case, url: str) -> OpenAPI:
    path = "/items/{" + case.name + "}" if case.place == "path" else "/items"
    return OpenAPI(document_of(case), base_url=url, expose={"x": Operation(f"GET {path}", effect="server-query")})


async def call(backend: OpenAPI, input: Mapping[str, Any]) -> object:
    value, data = take(dict(input))
    assert isinstance(value, dict)
    async with backend:
        operation = backend.get("x")
        assert operation is not None, backend.refused()
        return await operation.run(value, data, context())


def text(value: Any) -> str:
    """A value as the text that stands for it on the wire, written down independently of the product."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "1e+21" if value == 1e21 else str(value)


def decoded(case: Case, read: Mapping[str, Any]) -> Any:
    """What a reader who knows style and explode gets of a request that Starlette has read."""
    shape = case.schema.get("type")
    shape = shape if shape in ("array", "object") else "scalar"
    match case.place:
        case "path":
            return _of_path(case, shape, read["raw_path"].split("/")[-1])
        case "header":
            return _of_parts(shape, bool(case.explode), read["headers"][case.name], ",")
        case "cookie":
            return read["cookies"][case.name]
        case _:
            return _of_query(case, shape, read)


def _of_query(case: Case, shape: str, read: Mapping[str, Any]) -> Any:
    pairs = read["query"]
    explode = (case.style in (None, "form", "deepObject")) if case.explode is None else case.explode
    if case.style == "deepObject":
        return {name[len(case.name) + 1 : -1]: value for name, value in pairs}
    if shape == "array" and explode:
        return [value for name, value in pairs if name == case.name]
    if shape == "object" and explode:
        return dict(pairs)
    if shape == "scalar":
        ((name, value),) = pairs
        assert name == case.name
        return value
    raw = read["query_string"].split("=", 1)[1]
    mark = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(case.style or "form", ",")
    return _of_parts(shape, False, raw, mark)


def _of_path(case: Case, shape: str, segment: str) -> Any:
    explode = bool(case.explode)
    match case.style:
        case "label":
            return _of_parts(shape, explode, segment[1:], "." if explode and shape != "scalar" else ",")
        case "matrix" if explode and shape == "array":
            return [unquote(each.split("=", 1)[1]) for each in segment[1:].split(";")]
        case "matrix" if explode and shape == "object":
            return _of_parts(shape, True, segment[1:], ";")
        case "matrix":
            return _of_parts(shape, False, segment.split("=", 1)[1], ",")
        case _:
            return _of_parts(shape, explode, segment, ",")


def _of_parts(shape: str, explode: bool, raw: str, mark: str) -> Any:
    """Split first, decode then: the order that RFC 6570 asks of a reader."""
    if shape == "scalar":
        return unquote(raw)
    parts = raw.split(mark)
    if shape == "array":
        return [unquote(each) for each in parts]
    if explode:
        return {unquote(each.split("=", 1)[0]): unquote(each.split("=", 1)[1]) for each in parts}
    return {unquote(name): unquote(value) for name, value in zip(parts[::2], parts[1::2], strict=True)}


def meant(value: Any) -> Any:
    if isinstance(value, list):
        return [text(each) for each in value]
    if isinstance(value, dict):
        return {name: text(each) for name, each in value.items()}
    return text(value)


def field_of(backend: OpenAPI) -> str:
    operation = backend.get("x")
    assert operation is not None, backend.refused()
    properties: Any = operation.input_schema["properties"]
    (field,) = properties
    return str(field)


def _id(case: Case) -> str:
    return case.id


@pytest.mark.requirement("10.6-parameters-by-table")
@pytest.mark.parametrize("case", [case for case in CASES if case.sent is not None], ids=_id)
async def test_a_parameter_is_sent_as_its_literal_bytes_and_read_as_it_was_meant(case: Case, echo: Echo) -> None:
    backend = catalogue_of(case, echo.url)
    assert await call(backend, {field_of(backend): case.value}) == {"ok": True}
    raw, read = echo.last
    lines = raw.decode().split("\r\n")
    if case.place in ("header", "cookie"):
        assert lines[0] == "GET /items HTTP/1.1"
        assert [line for line in lines if line.lower().startswith(case.sent.split(":")[0] + ":")] == [case.sent]  # type: ignore[union-attr]
    else:
        assert lines[0] == f"GET {case.sent} HTTP/1.1"
    if case.style == "json":
        ((_, value),) = read["query"]
        assert value.replace(" ", "") == str(case.value).replace("'", '"').replace(" ", "")
    else:
        assert decoded(case, read) == meant(case.value)


@pytest.mark.requirement("10.6-refused-when-built", "10.6-refused-before-it-is-sent")
@pytest.mark.parametrize("case", [case for case in CASES if case.sent is None], ids=_id)
async def test_what_cannot_be_sent_exactly_is_refused_by_rule_and_nothing_leaves(case: Case, echo: Echo) -> None:
    backend = catalogue_of(case, echo.url)
    assert case.refused is not None
    before = len(echo.raw)
    if case.value is NOTHING:
        assert backend.names() == ()
        assert case.refused in backend.refused()["x"]
        return
    with pytest.raises(NotSent) as refused:
        await call(backend, {field_of(backend): case.value})
    (issue,) = refused.value.issues
    assert refused.value.status == 422
    assert case.refused in issue.message
    await asyncio.sleep(0)
    assert len(echo.raw) == before


@pytest.mark.requirement("10.6-parameters-by-table")
def test_the_table_covers_every_style_explode_and_type() -> None:
    assert sum(case.sent is not None for case in CASES) >= 120
    seen = {(case.place, case.style, case.explode, str(case.schema.get("type"))) for case in CASES}
    styles = {
        "path": ("simple", "label", "matrix"),
        "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
        "header": ("simple",),
        "cookie": ("form",),
    }
    for place, known in styles.items():
        for style in known:
            for explode in (False, True):
                for kind in ("string", "integer", "boolean", "array", "object"):
                    assert (place, style, explode, kind) in seen
