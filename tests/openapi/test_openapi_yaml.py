"""OpenAPI documents in YAML, read as JSON would be: whatever other readers make of a word (SPEC 10.1)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit import DefinitionError
from remit.procedures.openapi import OpenAPI, Operation
from tests.unit.procedures.openapi_echo import serving

WRITTEN = """\
# A comment, an anchor and an alias, folded text, and words that other readers take for something else.
openapi: 3.1.0
info: {title: Fleet, version: 2026-12-01}
paths:
  /read:
    get:
      operationId: on
      description: >
        Read
        it.
      parameters:
        - {name: "no", in: query, schema: &country {type: string, enum: [no, on, yes, 012, 2026-12-01, 12:30, .5, 1_0]}}
        - {name: y, in: query, schema: *country}
        - {name: n, in: query, schema: {type: number, minimum: -1.5e1, maximum: 7}}
      responses:
        200: {description: "", content: {application/json: {schema: {type: string, pattern: !!str 12}}}}
"""
MEANT = {
    "openapi": "3.1.0",
    "info": {"title": "Fleet", "version": "2026-12-01"},
    "paths": {
        "/read": {
            "get": {
                "operationId": "on",
                "description": "Read it.\n",
                "parameters": [
                    {
                        "name": name,
                        "in": "query",
                        "schema": {
                            "type": "string",
                            "enum": ["no", "on", "yes", "012", "2026-12-01", "12:30", ".5", "1_0"],
                        },
                    }
                    for name in ("no", "y")
                ]
                + [{"name": "n", "in": "query", "schema": {"type": "number", "minimum": -15.0, "maximum": 7}}],
                "responses": {
                    "200": {
                        "description": "",
                        "content": {"application/json": {"schema": {"type": "string", "pattern": "12"}}},
                    }
                },
            }
        }
    },
}


def backend_of(source: Any, request: str = "GET /read") -> OpenAPI:
    return OpenAPI(source, base_url="http://h.test", expose={"read": Operation(request, effect="server-query")})


def told(backend: OpenAPI) -> tuple[Any, Any, str, str]:
    operation = backend.get("read")
    assert operation is not None, backend.refused()
    return operation.input_schema, operation.output_schema, operation.description, operation.hash


@pytest.mark.requirement("10.1-documents-in-yaml")
def test_a_document_in_yaml_means_what_it_would_mean_in_json(tmp_path: Path) -> None:
    (tmp_path / "backend.yaml").write_text(WRITTEN)
    (tmp_path / "backend.txt").write_text("\ufeff" + WRITTEN)
    (tmp_path / "flow.yml").write_text("{" + json.dumps(MEANT)[1:-1] + ", }")
    (tmp_path / "backend.json").write_text("\ufeff\n" + json.dumps(MEANT))

    async def document(request: Request) -> Response:
        assert "yaml" in request.headers["accept"]
        return Response(WRITTEN, media_type="application/yaml")

    meant = told(backend_of(MEANT))
    for name in ("backend.yaml", "backend.txt", "flow.yml", "backend.json"):
        assert told(backend_of(tmp_path / name)) == meant, name
    with serving(Starlette(routes=[Route("/openapi", document)])) as url:
        assert told(backend_of(f"{url}/openapi", request="on")) == meant


@pytest.mark.requirement("10.1-documents-in-yaml")
def test_plain_words_are_null_truth_and_numbers_only_where_json_has_them(tmp_path: Path) -> None:
    values = {
        "~": None, "null": None, "NULL": None, "": None, "true": True, "False": False, "-0.5": -0.5, "1e3": 1000,
        "0": 0, "yes": "yes", "Off": "Off", "+1": "+1", "0o7": "0o7", "0x1F": "0x1F", ".inf": ".inf", "1.": "1.",
        "007": "007", "9007199254740991": 9007199254740991, "1E-2": 0.01,
    }  # fmt: skip
    lines = [f"        - {text}\n" for text in values]
    text = "openapi: 3.1.0\npaths:\n  /read:\n    post:\n      summary: Read\n      requestBody:\n        content:\n"
    text += "          application/json:\n            schema:\n              examples:\n"
    (tmp_path / "b.yaml").write_text(text + "".join("        " + line for line in lines))
    operation = backend_of(tmp_path / "b.yaml", request="POST /read").get("read")
    assert operation is not None
    body: Any = operation.input_schema["properties"]
    assert json.dumps(body["body"]["examples"]) == json.dumps(list(values.values()))


@pytest.mark.requirement("10.1-documents-in-yaml")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("openapi: 3.1.0\nopenapi: 3.1.0\n", r"line 2: the key 'openapi' stands twice"),
        ("openapi: 3.1.0\n200: a\n'200': b\n", r"line 3: the key '200' stands twice"),
        ("openapi: 3.1.0\nbase: &b {a: 1}\ninfo:\n  <<: *b\n", r"line 4: a merge key"),
        ("openapi: 3.1.0\ninfo: !!python/object/apply:os.getcwd []\n", r"line 2: has the tag .*os.getcwd"),
        ("openapi: 3.1.0\ninfo: !!timestamp 2026-12-01\n", r"line 2: has the tag .*timestamp"),
        ('openapi: 3.1.0\ninfo: !!bool "true"\n', r"line 2: has the tag .*bool"),
        ("openapi: 3.1.0\ninfo: !mine {a: 1}\n", r"line 2: has the tag !mine"),
        ("openapi: 3.1.0\n? [a]\n: 1\n", r"line 2: a key that is no text"),
        ("openapi: 3.1.0\ninfo: *b\n", r"line 2: found undefined alias"),
        ("openapi: 3.1.0\ninfo: {a: [}\n", r"line 2: "),
        ("openapi: 3.1.0\n---\nopenapi: 3.1.0\n", r"line 2: but found another document"),
        ("openapi: &a [*a]\n", r"line 1: is nested deeper than 100, or in a circle"),
        ("a: " + "[" * 20_000, r"nesting|deeper|is no YAML"),
        ("".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9 if n else '1'}]\n" for n in range(8)), "aliases counted each time"),
        ("\x00", r"is YAML that cannot be read"),
        ("", r"is no OpenAPI document"),
        ("openapi: 3.0\n", r"is no OpenAPI document"),
    ],
)  # fmt: skip
def test_what_has_no_one_meaning_in_json_is_refused_with_its_line(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(text)
    with pytest.raises(DefinitionError, match=reason):
        backend_of(tmp_path / "b.yaml")


@pytest.mark.requirement("10.1-documents-in-yaml")
def test_text_that_is_neither_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a: b: c\n")
    with pytest.raises(DefinitionError, match="is neither JSON nor YAML: line 1"):
        backend_of(tmp_path / "notes")


@pytest.mark.requirement("10.1-documents-in-yaml")
def test_without_the_library_json_is_read_and_yaml_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("openapi: 3.1.0\n")
    (tmp_path / "b.json").write_text('{"openapi": "3.1.0"}')
    code = f"""
import sys
sys.modules["yaml"] = None
from remit import DefinitionError
from remit.procedures.openapi import OpenAPI
assert OpenAPI({str(tmp_path / "b.json")!r}, base_url="http://h.test", expose={{}}).names() == ()
try:
    OpenAPI({str(tmp_path / "b.yaml")!r}, base_url="http://h.test", expose={{}})
except DefinitionError as problem:
    print(problem)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "to read YAML takes PyYAML" in ran.stdout
    assert 'install "remit[openapi]"' in ran.stdout
