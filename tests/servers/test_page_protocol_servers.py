"""Servers of the page protocol written against the specification alone: they pass, and a fault is found out."""

import ast
import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from remit.cli import main
from remit.testing.conformance.running import Cases
from tests.servers.access import Access, Lists, Rules, Tables, every, named, rows
from tests.servers.control import controlled
from tests.servers.world import Agent, Entry, Site, View

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "spec" / "page-protocol"
OWN = ("access", "control", "door", "inputs", "loopback", "messages", "world")


class FiltersOnlyInDescribe(Lists):
    """Lists what an agent may see, and calls whatever is mounted."""

    def found(self, agent: Agent, view: View, id: str) -> list[Entry]:
        return [entry for entry in every(view) if named(id, entry)]

    def still(self, agent: Agent, view: View, entry: Entry) -> bool:
        return True


class KeepsTheFirstTable(Tables):
    """Never makes a table anew."""

    def moved(self, version: int) -> bool:
        return False


class CountsAllRows(Rules):
    """Counts the rows that anybody reaches."""

    def counts(self, agent: Agent) -> tuple[int, int]:
        reached = {repr(id) for each in self.site.rows.values() for id in each.get("ids", ())}
        return len(reached), len(rows(self.site, agent).get("offscreen", ()))


async def conformance(access: Callable[[Site], Access], only: str = "*") -> tuple[int, str]:
    """`remit conformance --control URL`: its status, and what it says."""
    async with controlled(access) as control:
        given = ["conformance", "--control", control, "--cases", str(FOLDER), "--only", only]
        result = await asyncio.to_thread(CliRunner().invoke, main, given)
    return result.exit_code, result.output


@pytest.mark.requirement("11.1-servers-of-the-spec-alone")
@pytest.mark.parametrize("access", [Lists, Tables, Rules])
async def test_a_server_written_against_the_specification_passes_every_case(access: Callable[[Site], Access]) -> None:
    status, said = await conformance(access)
    assert (status, said.splitlines()[-1]) == (0, f"{len(Cases(FOLDER).cases)} passed, 0 failed"), said


@pytest.mark.requirement("11.1-servers-of-the-spec-alone")
@pytest.mark.parametrize(
    ("access", "only", "case"),
    [
        (FiltersOnlyInDescribe, "visible", "scope narrows what is exposed: what is not listed does not run"),
        (KeepsTheFirstTable, "visible", "what is hidden after describe does not run"),
        (CountsAllRows, "records", "counts are over the rows of the agent that asks"),
    ],
)
async def test_a_server_with_one_fault_is_found_out(access: Callable[[Site], Access], only: str, case: str) -> None:
    status, said = await conformance(access, only)
    assert status == 1 and f"failed  {case}\n" in said, said


@pytest.mark.requirement("11.1-servers-of-the-spec-alone")
@pytest.mark.parametrize("name", OWN)
def test_nothing_of_remit_is_in_such_a_server(name: str) -> None:
    tree = ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
    imported = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    imported |= {alias.name for each in ast.walk(tree) if isinstance(each, ast.Import) for alias in each.names}
    assert not {each for each in imported if each.split(".")[0] == "remit"}
    assert {each for each in imported if each.startswith("tests")} <= {f"tests.servers.{each}" for each in OWN}


def ran(*given: str) -> tuple[int, str]:
    """`remit conformance` with the cases of this source: its status, and what it says."""
    result = CliRunner().invoke(main, ["conformance", "--cases", str(FOLDER), *given])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.requirement("11.1-conformance-says-what-is-in-the-way")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--control", "http://127.0.0.1:1", "--only", "nope"), "there are no cases in "),
        (("http://127.0.0.1:1", "--token", "t", "--only", "records"), "there are no cases that any site passes in "),
        (("http://127.0.0.1:1/remit/page", "--token", "t"), "the server cannot be reached: "),
        (("nowhere", "--token", "t"), "the server cannot be reached: "),
        (("http://[", "--token", "t"), "the server cannot be reached: "),
        (("--control", "http://["), "the server cannot be reached: "),
        (("http://127.0.0.1:1", "--token", "t\u2026"), "--token is no token: "),
        (("http://127.0.0.1:1", "--token", "two words"), "--token is no token: "),
    ],
)
def test_what_keeps_the_cases_from_being_run_is_one_line(given: tuple[str, ...], said: str) -> None:
    status, told = ran(*given)
    lines = told.splitlines()
    assert (status, len(lines), lines[-1]) == (2, 2, "1 finding"), told
    assert said in lines[0]


@pytest.mark.requirement("11.1-conformance-says-what-is-in-the-way")
async def test_a_token_that_a_live_site_does_not_know_is_one_line() -> None:
    async with controlled(Lists) as control, httpx2.AsyncClient(trust_env=False) as http:
        made = (await http.post(f"{control}/case", json={"given": Cases(FOLDER).givens["any"]})).json()
        status, told = await asyncio.to_thread(ran, made["url"], "--token", "made-up")
        assert (status, told.splitlines()[0]) == (2, "the token is not good at this door: 401"), told
        status, told = await asyncio.to_thread(ran, made["url"], "--token", made["token"])
        assert (status, told.splitlines()[-1].endswith("passed, 0 failed")) == (0, True), told
