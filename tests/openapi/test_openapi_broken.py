"""One operation that cannot be read takes nothing else with it (SPEC 10.6)."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit import DefinitionError
from remit._base.boundary import NotJson
from remit.procedures.openapi import OpenAPI, Operation
from remit.procedures.openapi.answers import parsed

GOOD: dict[str, Any] = {"responses": {"200": {"description": "ok"}}}


def parameter(schema: Any) -> dict[str, Any]:
    return {**GOOD, "parameters": [{"name": "q", "in": "query", "schema": schema}]}


def form(schema: Any) -> dict[str, Any]:
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    return {**GOOD, "requestBody": {"content": content}}


def answers(schema: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"responses": {"200": {"description": "ok", "content": content}}}


def nested(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"allOf": [schema]}
    return schema


BROKEN: dict[str, dict[str, Any]] = {
    "a parameter whose properties are a list": parameter({"type": "object", "properties": [1]}),
    "a parameter whose properties are a number": parameter({"type": "object", "properties": 5}),
    "a parameter with a field that is no schema": parameter({"type": "object", "properties": {"a": 5}}),
    "a form whose properties are a list": form({"type": "object", "properties": [1]}),
    "a form with a field that is no schema": form({"type": "object", "properties": {"a": "x"}}),
    "a reference with an index of 5,000 digits": {
        **GOOD,
        "parameters": [{"$ref": "#/paths/~1good/get/parameters/" + "9" * 5_000}],
    },
    "a reference with an index of other digits": {
        **GOOD,
        "parameters": [{"$ref": "#/paths/~1good/get/parameters/\u0663"}],
    },
    "an answer of 400 schemas in each other": answers(nested(400)),
    "a parameter of 400 schemas in each other": parameter(nested(400)),
}


@pytest.mark.requirement("10.6-refused-when-built")
@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
def test_a_broken_operation_is_refused_with_its_reason_and_the_others_are_listed(
    broken: dict[str, Any], tmp_path: Path
) -> None:
    good = {**GOOD, "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}]}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/good": {"get": good}, "/bad": {"get": broken}},
    }
    file = tmp_path / "api.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    read = {"effect": "server-query", "description": "Read."}
    offered = OpenAPI(
        file,
        base_url="http://127.0.0.1:9",
        expose={"good": Operation("GET /good", **read), "bad": Operation("GET /bad", **read)},  # type: ignore[arg-type]
    )
    assert offered.names() == ("good",)
    assert offered.refused()["bad"]
    with pytest.raises(DefinitionError):
        offered.tried("GET /bad")


@pytest.mark.requirement("10.6-refused-when-built")
def test_a_number_that_json_cannot_hold_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    file.write_text("openapi: 3.1.0\ninfo: {title: t, version: '1'}\nx-most: 1e400\npaths: {}\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match="a number that JSON cannot hold"):
        OpenAPI(file, base_url="http://127.0.0.1:9", expose={})


@pytest.mark.requirement("10.6-refused-when-built")
def test_a_mark_of_byte_order_before_an_answer_says_nothing() -> None:
    assert parsed(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    with pytest.raises(NotJson):
        parsed(b'\xef\xbb\xbf\xef\xbb\xbf{"a": 1}')
