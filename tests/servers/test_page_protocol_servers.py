"""Servers of the page protocol written against the specification alone: they pass, and a fault is found out."""

import ast
import asyncio
from collections.abc import Callable
from pathlib import Path

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
