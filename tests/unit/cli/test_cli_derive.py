"""`remit derive`: from a page's forms and from documents to declarations for review (SPEC 11.9)."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit._base.boundary import Json
from remit.cli import main
from remit.compiler import compile_project

PAGE = """<!doctype html>
<html><body>
{rows}
<form method="post" action="/login"><input name="user"><input type="password" name="pass_phrase" required></form>
<form method="post" action="/avatar"><input type="file" name="picture" required><button>Upload</button></form>
<form method="post" action="https://pay.example/now"><input name="amount"></form>
<form method="dialog"><button>Close</button></form>
<form action="/search"><input type="search" name="words"><input name="card-number">
  <input name="x" autocomplete="section-a cc-csc"><input name="auth_token"></form>
<form hx-delete="/orders/17" aria-label="Cancel the order"></form>
<form action="/plain" disabled><button formaction="/other">Go</button></form>
<template><form action="/never"><input name="a"></form></template>
</body></html>
"""
ROW = """
<form method="post" action="/orders/{id}/notes" aria-label="Add a note">
  <input type="hidden" name="csrf_token" value="s3cr3t">
  <label>Note <textarea name="note[text]" required maxlength="200">old</textarea></label>
  <label>Kind <select name="kind" required><option value="">choose</option><option value="a">A</option>
    <option>late</option><option value="gone" disabled>Gone</option></select></label>
  <label for="n{id}">How many</label><input id="n{id}" type="number" name="amount" min="1" max="9">
  <input type="number" name="weight" step="0.1"><input type="email" name="mail"><input type="date" name="due">
  <input type="checkbox" name="urgent">
  <input type="checkbox" name="tags" value="red"><input type="checkbox" name="tags" value="blue">
  <input type="radio" name="size" value="s" required><input type="radio" name="size" value="l">
  <fieldset disabled><input name="off"></fieldset>
  <button name="do" value="save">Save</button><button name="do" value="send">Send</button>
</form>
"""
SETTINGS = '[tool.remit]\nentries = ["page"]\n[tool.remit.exposure]\nderived = ["domain:**"]\n'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["derive", *arguments])


def page_in(root: Path) -> Path:
    page = root / "orders.html"
    page.write_text(PAGE.format(rows=ROW.format(id=17) + ROW.format(id="o-18")), encoding="utf-8")
    return page


def inputs_of(root: Path, entry: str = "page") -> Mapping[str, dict[str, Json]]:
    """What the written module declares, as the compiler sees it."""
    (root / "pyproject.toml").write_text(SETTINGS.replace('"page"', f'"{entry}"'), encoding="utf-8")
    manifest = compile_project(root).manifest
    assert {
        (block.get("source"), block.get("fidelity"), block["effect"]) for block in manifest.capabilities.values()
    } == {("derived", "low", "destructive")}
    inputs: dict[str, dict[str, Json]] = {}
    for (_, id), block in manifest.capabilities.items():
        schema = block["input"]
        assert isinstance(schema, dict)
        inputs[id] = schema
    return inputs


@pytest.mark.requirement("11.9-derive-forms")
def test_forms_become_derived_references_that_compile(tmp_path: Path) -> None:
    written = run(str(page_in(tmp_path)), "--to", str(tmp_path / "page.py"))
    assert written.exit_code == 0, written.output
    inputs = inputs_of(tmp_path)
    assert set(inputs) == {"domain:orders.notes", "domain:search", "domain:orders"}
    note = inputs["domain:orders.notes"]
    assert note["additionalProperties"] is False
    assert note["required"] == ["do", "kind", "note_text", "order", "size"]
    assert note["properties"] == {
        "order": {"type": "string", "minLength": 1},
        "note_text": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Note"},
        "kind": {"enum": ["a", "late"], "description": "Kind"},
        "amount": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many"},
        "weight": {"type": "number"},
        "mail": {"type": "string", "format": "email"},
        "due": {"type": "string", "format": "date"},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"enum": ["red", "blue"]}, "uniqueItems": True},
        "size": {"enum": ["s", "l"]},
        "do": {"enum": ["save", "send"]},
    }
    assert inputs["domain:search"]["properties"] == {"words": {"type": "string"}}
    assert inputs["domain:orders"]["properties"] == {"order": {"type": "string", "minLength": 1}}


@pytest.mark.requirement("11.9-derive-skips")
def test_what_is_left_out_is_told_with_its_reason_and_stands_nowhere_in_the_input(tmp_path: Path) -> None:
    told = run(str(page_in(tmp_path)), "--to", str(tmp_path / "page.py"))
    assert [" ".join(line.split()) for line in told.stderr.splitlines()] == [
        "skipped POST /orders/{order}/notes csrf_token (hidden: the page fills it, not a person)",
        "skipped GET /search card-number (payment)",
        "skipped GET /search x (payment)",
        "skipped GET /search auth_token (its name is one of those that never reach an agent)",
        "left out POST /login it asks for pass_phrase: a password",
        "left out POST /avatar it asks for picture: a file",
        "left out POST /now it goes to another origin",
        "left out DIALOG /orders it sends nothing",
        "left out GET /plain a button of it sends it elsewhere",
    ]
    source = (tmp_path / "page.py").read_text(encoding="utf-8")
    assert "s3cr3t" not in source, "no value of a hidden field is kept"
    assert str(tmp_path) not in told.output + source


@pytest.mark.requirement("11.9-derive-for-review")
def test_nothing_is_overwritten_and_without_a_file_the_module_is_printed(tmp_path: Path) -> None:
    page, file = page_in(tmp_path), tmp_path / "orders.py"
    printed = run(str(page))
    assert run(str(page), "--to", str(file)).exit_code == 0
    assert printed.stdout == file.read_text(encoding="utf-8")
    file.write_text("# mine\n", encoding="utf-8")
    again = run(str(page), "--to", str(file))
    assert again.exit_code == 2
    assert "orders.py  is there already, and is not overwritten" in again.stderr
    assert file.read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.requirement("11.9-derive-for-review")
def test_programs_are_told_the_same(tmp_path: Path) -> None:
    page = page_in(tmp_path)
    form = json.loads(run(str(page), "--json").stdout)
    assert [each["id"] for each in form["references"]] == ["domain:orders.notes", "domain:search", "domain:orders"]
    assert {"request": "GET /search", "field": "card-number", "why": "payment"} in form["skipped"]
    assert {"request": "POST /now", "why": "it goes to another origin"} in form["left_out"]
    assert (form["file"], form["document"]) == (None, None)


@pytest.mark.requirement("11.9-derive-for-review")
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("<p>nothing here</p>", 1, "nothing to derive"),
        ("neither: [this", 2, "is neither JSON nor YAML"),
        ('{"swagger": "2.0"}', 2, "is no OpenAPI document"),
    ],
)
def test_a_source_with_nothing_in_it_is_a_finding_and_one_that_is_neither_could_not_be_read(
    tmp_path: Path, text: str, code: int, said: str
) -> None:
    (tmp_path / "source").write_text(text, encoding="utf-8")
    told = run(str(tmp_path / "source"), "--to", str(tmp_path / "page.py"))
    assert told.exit_code == code
    assert said in told.output
    assert not (tmp_path / "page.py").exists()
    assert run(str(tmp_path / "missing.html")).exit_code == 2


@pytest.mark.requirement("11.9-derive-forms")
def test_words_of_a_page_stay_words_in_the_module(tmp_path: Path) -> None:
    lure = '"""\nimport os\n"""' + "\u202e \\"
    page = tmp_path / 'an "odd" page.html'
    form = f"<form method=post action='/a\"b/c'><legend>{lure}</legend><input name='reference' title='{lure}'></form>"
    twin = "<form method=post action='/reference'><input name='self'></form>"
    page.write_text(form + twin, encoding="utf-8")
    assert run(str(page), "--to", str(tmp_path / "page.py")).exit_code == 0
    source = (tmp_path / "page.py").read_text(encoding="utf-8")
    assert not [line for line in source.splitlines() if line.startswith("import os")]
    assert set(inputs_of(tmp_path)) == {"domain:a-b.c", "domain:reference"}


@pytest.mark.requirement("11.9-derive-skips")
def test_no_name_that_is_made_up_on_the_way_is_a_denied_one(tmp_path: Path) -> None:
    page = tmp_path / "tokens.html"
    page.write_text(
        "<form method=post action=/tokens/17><input name='to[ken]'><input name=label></form>", encoding="utf-8"
    )
    told = run(str(page), "--to", str(tmp_path / "page.py"))
    assert "to[ken] (its name is one of those that never reach an agent)" in told.stderr
    (schema,) = inputs_of(tmp_path).values()
    assert schema["properties"] == {"id": {"type": "string", "minLength": 1}, "label": {"type": "string"}}


@contextmanager
def served(body: bytes) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.requirement("11.9-derive-forms")
def test_a_page_is_read_from_an_address_and_its_own_is_where_a_form_without_one_goes(tmp_path: Path) -> None:
    with served(b"<form method=post><input name=note></form>") as origin:
        written = run(f"{origin}/orders/17/edit?key=s3cr3t", "--to", str(tmp_path / "page.py"))
    assert written.exit_code == 0, written.output
    assert set(inputs_of(tmp_path)) == {"domain:orders.edit"}
    assert "s3cr3t" not in (tmp_path / "page.py").read_text(encoding="utf-8") + written.output


TEXT: Json = {"type": "string"}
DONE: Json = {"204": {"description": "done"}}
USER: Json = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "pin": {"type": "string", "format": "password"},
        "card": {"$ref": "#/components/schemas/Card"},
    },
    "required": ["name"],
}
CARD: Json = {"type": "object", "properties": {"label": TEXT, "card_number": TEXT}}
FILE: Json = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}, "required": ["file"]}
LOGIN: Json = {"type": "object", "properties": {"name": TEXT, "password": TEXT}, "required": ["password"]}


def body(schema: Json, media: str = "application/json") -> Json:
    return {"required": True, "content": {media: {"schema": schema}}}


DOCUMENT: dict[str, Json] = {
    "openapi": "3.1.0",
    "info": {"title": "Fleet", "version": "1"},
    "servers": [{"url": "https://fleet.example/api"}],
    "paths": {
        "/devices/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": TEXT},
                {"name": "api_key", "in": "query", "schema": TEXT},
            ],
            "get": {"operationId": "class", "responses": DONE},
        },
        "/users": {
            "post": {"summary": "Add", "requestBody": body({"$ref": "#/components/schemas/User"}), "responses": DONE}
        },
        "/login": {"post": {"summary": "Log in", "requestBody": body(LOGIN), "responses": DONE}},
        "/map": {"put": {"summary": "Upload", "requestBody": body(FILE, "multipart/form-data"), "responses": DONE}},
        "/keys": {
            "post": {
                "summary": "Make a key",
                "responses": {
                    "200": {
                        "description": "made",
                        "content": {"application/json": {"schema": {"type": "object", "properties": {"token": TEXT}}}},
                    }
                },
            }
        },
    },
    "components": {"schemas": {"User": USER, "Card": CARD, "Unused": TEXT}},
}


@pytest.mark.requirement("11.9-derive-documents")
def test_a_document_becomes_derived_references_and_a_document_of_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "backend.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    written = run(str(tmp_path / "backend.json"), "--to", str(tmp_path / "fleet.py"))
    assert written.exit_code == 0, written.output
    assert [" ".join(line.split()) for line in written.stderr.splitlines()] == [
        "skipped GET /devices/{id} api_key (its name is one of those that never reach an agent)",
        "skipped POST /users pin (a password)",
        "skipped POST /users card_number (payment)",
        "left out POST /login it asks for password: its name is one of those that never reach an agent",
        "left out PUT /map it asks for file: a file",
        "left out POST /keys it answers with token, which never reaches an agent",
    ]
    kept = json.loads((tmp_path / "fleet.openapi.json").read_text(encoding="utf-8"))
    assert list(kept["paths"]) == ["/devices/{id}", "/users"]
    assert "Unused" not in json.dumps(kept) and "card_number" not in json.dumps(kept["paths"])
    inputs = inputs_of(tmp_path, "fleet")
    assert set(inputs) == {"domain:class", "domain:POST-users"}
    assert list(inputs["domain:class"]["properties"]) == ["id"]  # type: ignore[arg-type]
    assert "card_number" not in json.dumps(inputs) and "pin" not in json.dumps(inputs)


@pytest.mark.requirement("11.9-derive-documents", "11.9-derive-for-review")
def test_a_document_that_stands_beside_already_stops_everything(tmp_path: Path) -> None:
    (tmp_path / "backend.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    (tmp_path / "fleet.openapi.json").write_text("{}", encoding="utf-8")
    refused = run(str(tmp_path / "backend.json"), "--to", str(tmp_path / "fleet.py"))
    assert refused.exit_code == 2
    assert "fleet.openapi.json  is there already" in refused.stderr
    assert not (tmp_path / "fleet.py").exists()


@pytest.mark.requirement("11.9-derive-documents")
def test_where_no_document_says_where_requests_go_the_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "backend.json").write_text(json.dumps({**DOCUMENT, "servers": []}), encoding="utf-8")
    refused = run(str(tmp_path / "backend.json"))
    assert refused.exit_code == 2
    assert "--base-url" in refused.stderr
    printed = run(str(tmp_path / "backend.json"), "--base-url", "https://fleet.example")
    assert printed.exit_code == 0
    assert 'base_url="https://fleet.example"' in printed.stdout
