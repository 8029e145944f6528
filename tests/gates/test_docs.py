"""Every Python block of a page stands in a file of docs_src/, and every such file runs."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from remit import ErrorCode

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "docs_src").rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SERVES = {"app.py"}
"""Files that serve until they are stopped: their committed contract is held against them instead."""


def stands_in(block: str, source: str) -> bool:
    """True if the lines of the block follow each other in the source, at whatever indentation."""
    wanted = textwrap.dedent(block).strip().splitlines()
    lines = source.splitlines()
    for start in range(len(lines) - len(wanted) + 1):
        part = textwrap.dedent("\n".join(lines[start : start + len(wanted)])).splitlines()
        if [line.rstrip() for line in part] == [line.rstrip() for line in wanted]:
            return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_stands_in_a_file_that_is_run(page: Path) -> None:
    sources = [source.read_text(encoding="utf-8") for source in SOURCES]
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        assert any(stands_in(block, source) for source in sources), f"{page.name}: no docs_src file has\n{block}"


def test_a_block_that_stands_nowhere_is_seen() -> None:
    assert stands_in("a = 1\nb = 2", "x = 0\nif x:\n    a = 1\n    b = 2\n")
    assert not stands_in("a = 1\nb = 3", "x = 0\nif x:\n    a = 1\n    b = 2\n")


@pytest.mark.parametrize("source", [s for s in SOURCES if s.name not in SERVES], ids=lambda source: source.name)
def test_every_example_runs_as_it_is(source: Path) -> None:
    done = subprocess.run([sys.executable, source], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_readme_example_prints_what_the_readme_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs_src/counter.py"], capture_output=True, text=True, timeout=60, check=True
    )
    first, second, third = done.stdout.splitlines()
    assert first == "['view:demo.counter.readValue', 'view:demo.counter.increment']"
    assert second.startswith("Ok(") and "output=2" in second
    assert third.startswith("Failed(") and "COMPONENT_UNMOUNTED" in third


def test_the_page_of_errors_lists_every_code_and_no_other() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z_]+) \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(code.value for code in ErrorCode)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("example", ["browser", "nicegui", "server_rendered"])
def test_the_contract_of_a_served_example_equals_its_source(example: str) -> None:
    command = [
        sys.executable,
        "-c",
        "from remit.cli import main; main()",
        "check",
        "--project",
        str(ROOT / "docs_src" / example),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
