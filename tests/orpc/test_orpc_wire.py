"""oRPC on the wire, by table: the bytes of each request, and what a real server of either version makes of them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from remit.procedures.orpc import ORPC, Procedure
from tests.behaviour.conftest import failed, output
from tests.orpc.backend import Backend
from tests.orpc.page import call, catalogue_of

pytestmark = pytest.mark.xdist_group("orpc")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input of one procedure: the body for each version, and the server's own account of what it got."""

    path: str = "types.read"
    input: Any
    stable: str
    beta: str | None = None
    told: str

    def body(self, backend: Backend) -> str:
        return self.stable if backend.dialect == "1.x" or self.beta is None else self.beta


CASES = [
    Case(
        input={"when": "2026-01-02T03:04:05.678Z"},
        stable='{"json":{"when":"2026-01-02T03:04:05.678Z"},"meta":[[1,"when"]]}',
        beta='{"json":{"when":"2026-01-02T03:04:05.678Z"},"meta":[["date","when"]]}',
        told="{ when: 2026-01-02T03:04:05.678Z }",
    ),
    Case(
        input={"when": "2026-01-02T05:04:05+02:00"},
        stable='{"json":{"when":"2026-01-02T03:04:05.000Z"},"meta":[[1,"when"]]}',
        beta='{"json":{"when":"2026-01-02T03:04:05.000Z"},"meta":[["date","when"]]}',
        told="{ when: 2026-01-02T03:04:05.000Z }",
    ),
    Case(
        input={"when": "2026-01-02T03:04:05.120000Z"},
        stable='{"json":{"when":"2026-01-02T03:04:05.120Z"},"meta":[[1,"when"]]}',
        beta='{"json":{"when":"2026-01-02T03:04:05.120Z"},"meta":[["date","when"]]}',
        told="{ when: 2026-01-02T03:04:05.120Z }",
    ),
    Case(
        input={"when": "0001-01-01T00:00:00Z"},
        stable='{"json":{"when":"0001-01-01T00:00:00.000Z"},"meta":[[1,"when"]]}',
        beta='{"json":{"when":"0001-01-01T00:00:00.000Z"},"meta":[["date","when"]]}',
        told="{ when: 0001-01-01T00:00:00.000Z }",
    ),
    Case(input={"maybe": None}, stable='{"json":{"maybe":null}}', told="{ maybe: null }"),
    Case(
        input={"maybe": "1970-01-01T00:00:00Z"},
        stable='{"json":{"maybe":"1970-01-01T00:00:00.000Z"},"meta":[[1,"maybe"]]}',
        beta='{"json":{"maybe":"1970-01-01T00:00:00.000Z"},"meta":[["date","maybe"]]}',
        told="{ maybe: 1970-01-01T00:00:00.000Z }",
    ),
    Case(
        input={"big": "12345678901234567890"},
        stable='{"json":{"big":"12345678901234567890"},"meta":[[0,"big"]]}',
        beta='{"json":{"big":"12345678901234567890"},"meta":[["bigint","big"]]}',
        told="{ big: 12345678901234567890n }",
    ),
    Case(
        input={"big": "-5"},
        stable='{"json":{"big":"-5"},"meta":[[0,"big"]]}',
        beta='{"json":{"big":"-5"},"meta":[["bigint","big"]]}',
        told="{ big: -5n }",
    ),
    Case(
        input={"link": "https://example.com/a%20b?x=1#y"},
        stable='{"json":{"link":"https://example.com/a%20b?x=1#y"},"meta":[[4,"link"]]}',
        beta='{"json":{"link":"https://example.com/a%20b?x=1#y"},"meta":[["url","link"]]}',
        told="{ link: URL(https://example.com/a%20b?x=1#y) }",
    ),
    Case(
        input={"pattern": "/ab+c\\/d/gi"},
        stable='{"json":{"pattern":"/ab+c\\\\/d/gi"},"meta":[[5,"pattern"]]}',
        beta='{"json":{"pattern":"/ab+c\\\\/d/gi"},"meta":[["regexp","pattern"]]}',
        told="{ pattern: /ab+c\\/d/gi }",
    ),
    Case(
        input={"nothing": None},
        stable='{"json":{"nothing":null},"meta":[[2,"nothing"]]}',
        beta='{"json":{"nothing":null},"meta":[["nan","nothing"]]}',
        told="{ nothing: NaN }",
    ),
    Case(
        input={"names": ["a", "b"]},
        stable='{"json":{"names":["a","b"]},"meta":[[6,"names"]]}',
        beta='{"json":{"names":["a","b"]},"meta":[["set","names"]]}',
        told="{ names: Set(2) { 'a', 'b' } }",
    ),
    Case(
        input={"names": []},
        stable='{"json":{"names":[]},"meta":[[6,"names"]]}',
        beta='{"json":{"names":[]},"meta":[["set","names"]]}',
        told="{ names: Set(0) {} }",
    ),
    Case(
        input={"days": ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.001Z"]},
        stable='{"json":{"days":["1970-01-01T00:00:00.000Z","1970-01-01T00:00:00.001Z"]},'
        '"meta":[[1,"days",0],[1,"days",1],[6,"days"]]}',
        beta='{"json":{"days":["1970-01-01T00:00:00.000Z","1970-01-01T00:00:00.001Z"]},'
        '"meta":[["date","days",0],["date","days",1],["set","days"]]}',
        told="{ days: Set(2) { 1970-01-01T00:00:00.000Z, 1970-01-01T00:00:00.001Z } }",
    ),
    Case(
        input={"ages": [{"key": "ada", "value": "36"}, {"key": "bob", "value": "7"}]},
        stable='{"json":{"ages":[["ada","36"],["bob","7"]]},"meta":[[0,"ages",0,1],[0,"ages",1,1],[7,"ages"]]}',
        beta='{"json":{"ages":[["ada","36"],["bob","7"]]},'
        '"meta":[["bigint","ages",0,1],["bigint","ages",1,1],["map","ages"]]}',
        told="{ ages: Map(2) { 'ada' => 36n, 'bob' => 7n } }",
    ),
    Case(
        input={"starts": [{"key": "1970-01-01T00:00:00Z", "value": ["1", "2"]}]},
        stable='{"json":{"starts":[["1970-01-01T00:00:00.000Z",["1","2"]]]},'
        '"meta":[[1,"starts",0,0],[0,"starts",0,1,0],[0,"starts",0,1,1],[6,"starts",0,1],[7,"starts"]]}',
        beta='{"json":{"starts":[["1970-01-01T00:00:00.000Z",["1","2"]]]},"meta":[["date","starts",0,0],'
        '["bigint","starts",0,1,0],["bigint","starts",0,1,1],["set","starts",0,1],["map","starts"]]}',
        told="{ starts: Map(1) { 1970-01-01T00:00:00.000Z => Set(2) { 1n, 2n } } }",
    ),
    Case(
        input={"deep": [{"at": "1970-01-01T00:00:00Z", "sizes": ["5"]}, {"at": "1970-01-01T00:00:01Z"}]},
        stable='{"json":{"deep":[{"at":"1970-01-01T00:00:00.000Z","sizes":["5"]},{"at":"1970-01-01T00:00:01.000Z"}]},'
        '"meta":[[1,"deep",0,"at"],[0,"deep",0,"sizes",0],[1,"deep",1,"at"]]}',
        beta='{"json":{"deep":[{"at":"1970-01-01T00:00:00.000Z","sizes":["5"]},{"at":"1970-01-01T00:00:01.000Z"}]},'
        '"meta":[["date","deep",0,"at"],["bigint","deep",0,"sizes",0],["date","deep",1,"at"]]}',
        told="{ deep: [ { at: 1970-01-01T00:00:00.000Z, sizes: [ 5n ] }, { at: 1970-01-01T00:00:01.000Z } ] }",
    ),
    Case(
        input={"either": "1970-01-01T00:00:00Z"},
        stable='{"json":{"either":"1970-01-01T00:00:00.000Z"},"meta":[[1,"either"]]}',
        beta='{"json":{"either":"1970-01-01T00:00:00.000Z"},"meta":[["date","either"]]}',
        told="{ either: 1970-01-01T00:00:00.000Z }",
    ),
    Case(input={"either": 2.5}, stable='{"json":{"either":2.5}}', told="{ either: 2.5 }"),
    Case(
        input={"plain": {"a": None, "b": ["é", ""], "c": True}},
        stable='{"json":{"plain":{"a":null,"b":["é",""],"c":true}}}',
        told="{ plain: { a: null, b: [ 'é', '' ], c: true } }",
    ),
    Case(input={}, stable='{"json":{}}', told="{}"),
    Case(
        path="types.root",
        input={"body": ["1970-01-01T00:00:00Z"]},
        stable='{"json":["1970-01-01T00:00:00.000Z"],"meta":[[1,0]]}',
        beta='{"json":["1970-01-01T00:00:00.000Z"],"meta":[["date",0]]}',
        told="[ 1970-01-01T00:00:00.000Z ]",
    ),
    Case(
        path="types.set",
        input={"body": ["5"]},
        stable='{"json":["5"],"meta":[[0,0],[6]]}',
        beta='{"json":["5"],"meta":[["bigint",0],["set"]]}',
        told="Set(1) { 5n }",
    ),
    Case(path="types.maybe", input={}, stable="{}", told="undefined"),
    Case(path="types.maybe", input={"body": {"a": 1}}, stable='{"json":{"a":1}}', told="{ a: 1 }"),
    Case(path="types.nothing", input={}, stable="{}", told="undefined"),
    Case(
        path="devices.list",
        input={"limit": 2, "tags": ["a"], "filter": {"site": "x y", "rooms": ["1"]}},
        stable='{"json":{"filter":{"rooms":["1"],"site":"x y"},"limit":2,"tags":["a"]}}',
        told="{ limit: 2, tags: [ 'a' ], filter: { site: 'x y', rooms: [ '1' ] } }",
    ),
    Case(
        path="devices.disable",
        input={"id": "../a?b#c", "reason": "old"},
        stable='{"json":{"id":"../a?b#c","reason":"old"}}',
        told="../a?b#c old  ",
    ),
    Case(
        path="devices.replace",
        input={"id_in_path": "dev-1", "force": "yes", "id_in_body": "dev-9"},
        stable='{"json":{"body":{"id":"dev-9"},"params":{"id":"dev-1"},"query":{"force":"yes"}}}',
        told="{ params: { id: 'dev-1' }, query: { force: 'yes' }, body: { id: 'dev-9' } }",
    ),
]


@pytest.mark.requirement("10.7-rpc-wire", "10.7-type-codes")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path}-{json.dumps(case.input)[:40]}")
async def test_an_input_is_sent_as_its_literal_bytes_and_read_as_it_was_meant(orpc: Backend, case: Case) -> None:
    got = output(await call(catalogue_of(orpc, case.path, idempotency_header=None), case.input))
    request = orpc.last()
    assert request["body"].encode("latin-1").decode() == case.body(orpc)
    assert (request["method"], request["url"]) == ("POST", "/rpc/" + case.path.replace(".", "/"))
    assert set(request["headers"]) == {
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
        "content-type",
        "content-length",
    }
    assert got == case.told


@pytest.mark.requirement("10.7-rpc-wire")
async def test_each_part_of_a_path_is_one_escaped_segment(orpc: Backend) -> None:
    assert output(await call(catalogue_of(orpc, "odd name/é.p q"))) == "odd"
    assert orpc.last()["url"] == "/rpc/odd%20name%2F%C3%A9/p%20q"
    slashed = catalogue_of(orpc, "types.nothing", base_url=orpc.url + "/rpc/")
    assert output(await call(slashed)) == "undefined"


REST: list[tuple[str, Any, tuple[str, str, str], Any]] = [
    ("devices.list", {"limit": 2}, ("GET", "/api/devices?limit=2", ""), "{ limit: 2 }"),
    (
        "devices.list",
        {"tags": ["a&b"], "filter": {"site": "x y", "rooms": ["1", "2"]}},
        (
            "GET",
            "/api/devices?tags%5B0%5D=a%26b&filter%5Brooms%5D%5B0%5D=1&filter%5Brooms%5D%5B1%5D=2"
            "&filter%5Bsite%5D=x%20y",
            "",
        ),
        "{ tags: [ 'a&b' ], filter: { site: 'x y', rooms: [ '1', '2' ] } }",
    ),
    ("devices.list", {}, ("GET", "/api/devices", ""), "{}"),
    (
        "devices.disable",
        {"id": "dev 1", "reason": "old"},
        ("POST", "/api/devices/dev%201/disable", '{"reason":"old"}'),
        "dev 1 old  ",
    ),
    ("devices.disable", {"id": "a"}, ("POST", "/api/devices/a/disable", "{}"), "a   "),
    (
        "devices.replace",
        {"id_in_path": "dev-1", "force": "yes", "id_in_body": "dev-9"},
        ("PUT", "/api/devices/dev-1?force=yes", '{"id":"dev-9"}'),
        "{ params: { id: 'dev-1' }, query: { force: 'yes' }, body: { id: 'dev-9' } }",
    ),
    ("devices.remove", {"id": "a"}, ("DELETE", "/api/devices/a", ""), None),
    ("types.nothing", {}, ("POST", "/api/types/nothing", ""), "undefined"),
]


@pytest.mark.requirement("10.7-openapi-form")
@pytest.mark.parametrize(("path", "input", "wire", "told"), REST)
async def test_the_openapi_form_sends_literal_bytes_too(
    orpc: Backend, path: str, input: Any, wire: tuple[str, str, str], told: Any
) -> None:
    method, url, body = wire
    got = output(await call(catalogue_of(orpc, path, form="openapi", idempotency_header=None), input))
    request = orpc.last()
    assert (request["method"], request["url"]) == (method, url)
    assert request["body"] == ("{}" if path == "devices.remove" and orpc.dialect == "2.0-beta" else body)
    assert got == told


@pytest.mark.requirement("10.7-a-path-parameter-once")
async def test_a_path_parameter_is_never_repeated_in_the_body(orpc: Backend) -> None:
    catalogue = catalogue_of(orpc, "devices.disable", form="openapi")
    assert output(await call(catalogue, {"id": "dev-1"}))
    assert "dev-1" not in orpc.last()["body"]
    document = json.loads(json.dumps(orpc.document))
    body = document["paths"]["/devices/{id}/disable"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body["properties"]["id"] = {"type": "string"}
    for form in ("rpc", "openapi"):
        refused = catalogue_of(orpc, "devices.disable", form=form, document=document).refused()
        assert refused == {"x": "its body repeats the parameter 'id'"}


@pytest.mark.requirement("10.7-what-cannot-be-sent")
async def test_a_procedure_that_cannot_be_sent_exactly_is_refused_alone_with_the_reason(orpc: Backend) -> None:
    paths = ["files.up", "files.down", "types.ambiguous", "types.missing", "types.nothing"]
    expose = {path.lower(): Procedure(path, effect="server-mutation") for path in paths}
    catalogue = ORPC(orpc.contract, document=orpc.document, base_url=orpc.url, dialect=orpc.dialect, expose=expose)
    assert catalogue.names() == ("types.nothing",)
    refused = catalogue.refused()
    assert set(refused) == set(paths) - {"types.nothing"}
    assert "multipart/form-data: files" in refused["files.up"]
    assert "*/*: files" in refused["files.down"]
    assert refused["types.ambiguous"] == "a value that may be of two types, which JSON does not tell apart"
    assert refused["types.missing"] == "the contract has no procedure 'types.missing'"
    offers = {offer.request: offer for offer in catalogue.offers()}
    assert offers["types.nothing"].name == "types.nothing" and offers["types.nothing"].summary == "Take nothing"
    assert offers["files.up"].refused == refused["files.up"]
    assert (offers["devices.list"].operation_id, offers["devices.list"].name) == ("GET /devices", None)


@pytest.mark.requirement("10.7-what-cannot-be-sent")
@pytest.mark.parametrize(
    ("input", "field"),
    [
        ({"when": "2026-01-02T03:04:05.678901Z"}, "when"),  # the backend would cut it to milliseconds
        ({"when": "0001-01-01T00:00:00+02:00"}, "when"),
        ({"big": "007"}, "big"),
        ({"link": "nowhere"}, "link"),
        ({"pattern": "ab+c"}, "pattern"),
        ({"pattern": "/a/gg"}, "pattern"),
        ({"days": ["1970-01-01T00:00:00Z", "1970-01-01T01:00:00+01:00"]}, "days"),
        ({"ages": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}, "ages"),
        ({"deep": [{"at": "1970-01-01T00:00:00.0001Z"}]}, "deep[0].at"),
    ],
)
async def test_a_value_that_would_be_read_otherwise_never_leaves(orpc: Backend, input: Any, field: str) -> None:
    before = len(orpc.seen()["requests"])
    error = failed(await call(catalogue_of(orpc, "types.read"), input), "INVALID_INPUT")
    assert [issue["path"] for issue in error.details["issues"]] == [field]  # type: ignore[attr-defined]
    assert len(orpc.seen()["requests"]) == before


@pytest.mark.requirement("10.7-answers")
async def test_every_kind_of_value_comes_back_as_its_json_form(orpc: Backend) -> None:
    assert output(await call(catalogue_of(orpc, "types.every"))) == {
        "date": "2026-01-02T03:04:05.678Z",
        "big": "12345678901234567890",
        "nan": None,
        "list": [1, None, "1970-01-01T00:00:00.000Z", {"deep": "7"}],
        "url": "https://example.com/a%20b?x=1#y",
        "pattern": "/ab+c\\/d/gi",
        "set": [1, "two", "1970-01-01T00:00:00.000Z", ["3"]],
        "map": [["k", 1], ["1970-01-01T00:00:00.000Z", "2"], [{"o": 1}, [[1, None]]]],
    }
    typed = {"at": "1970-01-01T00:00:00.000Z", "big": "7", "names": ["a"], "ages": [["k", 1]]}
    for form in ("rpc", "openapi"):
        assert output(await call(catalogue_of(orpc, "types.typed", form=form))) == typed
        roots = {"undefined": None, "null": None, "number": 42, "date": "1970-01-01T00:00:00.000Z", "bigint": "7"}
        for of, value in roots.items():
            assert output(await call(catalogue_of(orpc, "types.one", form=form), {"of": of})) == value


@pytest.mark.requirement("10.7-answers")
async def test_an_answer_with_a_file_is_done_and_invalid(orpc: Backend) -> None:
    for form in ("rpc", "openapi"):
        error = failed(await call(catalogue_of(orpc, "files.sly", form=form)))
        assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")
