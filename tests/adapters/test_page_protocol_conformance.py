"""The cases of `spec/page-protocol` against the gateway, the runner against servers that are wrong (SPEC 11)."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import httpx2
import jsonschema_rs
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from remit.cli import main
from remit.testing.conformance.hearing import Streams
from remit.testing.conformance.matching import faults, filled
from remit.testing.conformance.running import Cases, Result
from remit.testing.conformance.running import controlled as run
from remit.testing.conformance.serving import controlled
from remit.testing.loopback import listening
from tests.adapters.page_client import token_for
from tests.adapters.site import Table, serving

FOLDER = Path(__file__).parents[2] / "spec" / "page-protocol"
FILES = sorted(path.stem for path in (FOLDER / "cases").glob("*.json"))


def shown(results: Iterable[Result]) -> list[str]:
    return [f"{result.case.name}: {fault}" for result in results for fault in result.faults]


@pytest.mark.requirement("11.1-cases-in-data")
def test_the_cases_fit_their_schema_are_many_and_a_third_of_them_ends_in_a_refusal() -> None:
    cases = Cases(FOLDER).cases
    assert len({case.name for case in cases}) == len(cases) >= 150
    assert sum(case.refuses for case in cases) * 3 >= len(cases)
    assert sum(case.given is None for case in cases) >= 20


@pytest.mark.requirement("11.1-cases-in-data")
@pytest.mark.parametrize("name", FILES)
async def test_the_gateway_passes_every_case(name: str) -> None:
    cases = Cases(FOLDER, name)
    async with controlled() as control:
        results = await asyncio.to_thread(lambda: list(run(cases, control)))
    assert shown(results) == []
    assert len(results) == len(cases.cases) > 0


@pytest.mark.requirement("11.1-the-control")
async def test_the_control_takes_and_gives_what_its_schema_says() -> None:
    schema = json.loads((FOLDER / "control.schema.json").read_text(encoding="utf-8"))
    judges = {
        name: jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        for name in ("request", "answer")
    }
    cases = Cases(FOLDER)
    for given in [*cases.givens.values(), *(case.given for case in cases.cases if case.given is not None)]:
        judges["request"].validate({"given": given})
    async with controlled() as control, httpx2.AsyncClient(trust_env=False) as http:
        made = (await http.post(f"{control}/case", json={"given": cases.givens["orders"]})).json()
        judges["answer"].validate(made)
        # The site is on an address of its own: there the control is not to be had.
        assert (await http.post(f"{made['url']}/case", json={"given": {}})).status_code == 404
        assert not made["url"].startswith(control)


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
async def test_a_live_site_passes_what_is_asked_of_any_and_none_of_its_data_changes() -> None:
    async with serving() as site:
        session, table = site.open(), Table()
        session.surface.mount(table)
        given = ["conformance", f"{site.address}/remit/page", "--token", token_for(site), "--cases", str(FOLDER), "-v"]
        result = await asyncio.to_thread(CliRunner().invoke, main, given)
    assert result.exit_code == 0, result.output
    assert result.output.endswith(f"{sum(case.given is None for case in Cases(FOLDER).cases)} passed, 0 failed\n")
    assert (table.selected, site.backend.disabled, site.backend.renamed) == ([], [], [])


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
async def test_a_server_that_says_yes_to_everything_is_found_out_case_by_case() -> None:
    async def agree(request: Request) -> JSONResponse:
        return JSONResponse({"protocol": "remit/1", "ok": True})

    app = Starlette(routes=[Route("/{path:path}", agree, methods=["GET", "POST"])])
    async with listening(app) as address:
        given = ["conformance", address, "--token", "any", "--cases", str(FOLDER)]
        result = await asyncio.to_thread(CliRunner().invoke, main, given)
    assert result.exit_code == 1
    assert "failed  no token opens nothing\n  step 0: status 200\n" in result.output


@pytest.mark.requirement("11.1-cases-of-streams")
async def test_what_a_stream_tells_is_held_against_what_is_awaited_and_what_must_not_come() -> None:
    def told(name: str, **data: object) -> str:
        return f"event: {name}\ndata: {json.dumps({'protocol': 'remit/1', 'event': name, 'data': data})}\n\n"

    async def events(request: Request) -> Response:
        parts = [told("listening"), ":\n\n", told("route-changed", route="/a"), told("made-up"), told("lost")]
        return Response("".join(parts), media_type="text/event-stream")

    def heard(**wanted: object) -> tuple[list[object], list[str]]:
        with httpx2.Client(trust_env=False) as http, Streams(http, Cases(FOLDER, "any").event) as streams:
            status, first = streams.begin("a", {"method": "GET", "url": f"{address}/events"})
            assert (status, first["event"]) == (200, "listening")
            return streams.hear("a", wanted)

    async with listening(Starlette(routes=[Route("/events", events)])) as address:
        route, lost = {"event": "route-changed"}, {"event": "lost"}
        came, found = await asyncio.to_thread(heard, events=[{**route, "data": {"route": "/a"}}])
        assert ([each["event"] for each in came if isinstance(each, dict)], found) == (["route-changed"], [])
        _, found = await asyncio.to_thread(heard, events=[lost], **{"not": [route]})
        assert any("route-changed" in each and each.endswith("is heard") for each in found)
        assert any("made-up" in each for each in found), "an event that is not of the schema is a fault"
        _, found = await asyncio.to_thread(heard, events=[lost, route])
        assert found[-1] == "it ended before {'event': 'route-changed'}"
        _, found = await asyncio.to_thread(heard, events=[route], ends=True)
        assert len(found) == 1 and "made-up" in found[0]


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
@pytest.mark.parametrize(
    "given", [[], ["http://localhost:1"], ["http://localhost:1", "--token", "x", "--control", "http://localhost:1"]]
)
def test_the_command_wants_a_control_or_an_address_with_a_token(given: list[str]) -> None:
    result = CliRunner().invoke(main, ["conformance", *given, "--cases", str(FOLDER)])
    assert (result.exit_code, "give --control URL, or URL and --token" in result.output) == (2, True)


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
def test_the_command_says_what_it_could_not_run(tmp_path: Path) -> None:
    runner = CliRunner()
    without = runner.invoke(main, ["conformance", "--control", "http://127.0.0.1:1", "--cases", str(tmp_path)])
    assert (without.exit_code, "cannot be read" in without.output) == (2, True)
    alone = runner.invoke(main, ["conformance", "--control", "http://127.0.0.1:1", "--cases", str(FOLDER)])
    assert (alone.exit_code, "cannot be reached" in alone.output) == (2, True)


@pytest.mark.requirement("11.1-cases-in-data")
def test_what_is_expected_is_held_in_part_and_exactly() -> None:
    assert faults({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}) == []
    assert faults({"a": {"$any": True}, "b": {"$absent": True}}, {"a": None}) == []
    assert faults({"b": {"$absent": True}}, {"b": None}) == ["b is there"]
    assert faults({"a": True}, {"a": 1}) == ["a is 1, not True"]
    assert faults({"a": [1]}, {"a": [1, 2]}) == ["a is [1, 2], not [1]"]
    assert faults({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == ["a[0].b is 2, not 1"]
    assert faults({"a": 1}, []) == ["it is [], no object"]
    answers = [{"list": [{"id": "x", "n": 1}, {"id": "y", "n": 2}]}]
    assert filled({"k": [{"$answer": [0, "list", {"id": "y"}, "n"]}]}, answers) == {"k": [2]}
    with pytest.raises(LookupError):
        filled({"$answer": [0, "list", {"id": "z"}]}, answers)
