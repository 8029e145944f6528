"""From source to a reviewed file to a live surface, and what stops on the way (SPEC 3.7, 3.8, 13)."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.compiler import compile_project, write_contract

APP = '''
import asyncio
from remit import Authority, Component, Consumer, DefinitionError, Surface, action, observation

class Table(Component, type="devices.table"):
    """Table of devices."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    @observation
    def read(self) -> list[str]:
        """Visible rows."""
        return self.rows

    @action
    def select_rows(self, ids: list[str]) -> None:
        """Replace the selection."""
        self.rows = ids

async def main() -> None:
    surface = Surface(Authority.load(beside=__file__), principal="operator")
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(Table()):
        await agent.call(Table.select_rows, {"ids": ["d1"]})
        print((await agent.call(Table.read)).output)

if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (DefinitionError, FileNotFoundError) as problem:
        print(f"{type(problem).__name__} {problem}")
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    return tmp_path


def run(root: Path, *options: str) -> str:
    ran = subprocess.run([sys.executable, *options, "app.py"], check=True, capture_output=True, text=True, cwd=root)
    return ran.stdout


def compiled(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)


@pytest.mark.requirement("3.7-from-source-to-surface")
def test_a_compiled_program_runs(root: Path) -> None:
    compiled(root)
    assert run(root) == "['d1']\n"


@pytest.mark.requirement("3.7-load")
def test_without_a_contract_it_says_what_to_do(root: Path) -> None:
    assert run(root) == (
        "FileNotFoundError no remit.contract.json beside app.py\n"
        "  do  remit compile     (while writing: remit dev -- python app.py)\n"
    )


@pytest.mark.requirement("3.8-a-mismatch-shows-both-sides")
def test_a_class_edited_since_is_refused_with_both_sides_and_the_reason(root: Path) -> None:
    compiled(root)
    (root / "app.py").write_text(APP.replace("ids: list[str])", 'ids: list[str], mode: str = "a")'), encoding="utf-8")
    assert run(root) == (
        "DefinitionError [CONTRACT_MISMATCH] devices.table.selectRows: input differs from remit.contract.json"
        "        app.py:16\n"
        "  declared  ids, mode        recorded  ids        why  `mode` is new in app.py:16"
        "        do  remit compile; review; commit\n"
    )


@pytest.mark.requirement("3.3-static-metadata")
def test_a_handler_may_change_without_a_new_contract(root: Path) -> None:
    compiled(root)
    (root / "app.py").write_text(APP.replace("self.rows = ids", "self.rows = ids * 2"), encoding="utf-8")
    assert run(root) == "['d1', 'd1']\n"


@pytest.mark.requirement("13.4-canonical")
def test_a_project_compiles_to_the_same_bytes_where_it_was_copied(root: Path, tmp_path: Path) -> None:
    compiled(root)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("app.py", "pyproject.toml"):
        (copy / name).write_bytes((root / name).read_bytes())
    compiled(copy)
    assert (copy / "remit.contract.json").read_bytes() == (root / "remit.contract.json").read_bytes()


@pytest.mark.requirement("3.8-under-oo")
def test_without_docstrings_mounting_says_so(root: Path) -> None:
    compiled(root)
    said = run(root, "-OO")
    assert said.startswith(
        "DefinitionError [INVALID_DEFINITION] devices.table: has no description, because Python ran with -OO"
    )
    assert "run without -OO" in said
