"""The fixture for pytest, in a project of its own, run as its owner runs it (SPEC 16.1)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit._contract.manifest import FILE_NAME
from remit.compiler import compile_project

APP = '''
from remit import Component, action, observation

class Counter(Component, type="demo.counter"):
    """A counter on a page."""

    def __init__(self) -> None:
        self.value = 0

    @observation
    def read_value(self) -> int:
        """The current value."""
        return self.value

    @action
    def increment(self, by: int) -> int:
        """Add to the value."""
        self.value += by
        return self.value
'''

CONFTEST = """
from remit.testing.pytest_plugin import remit_harness

harness = remit_harness(principal="operator")
"""

TESTS = """
import asyncio

from app import Counter
from remit.testing import assert_ok

def test_counting(harness):
    async def count():
        with harness.mount(Counter()):
            assert assert_ok(await harness.call(Counter.increment, {"by": 2})) == 2
            assert await harness.observe(Counter.read_value) == 2
    asyncio.run(count())

def test_every_test_has_a_harness_of_its_own(harness):
    assert harness.events == ()
    assert harness.consumer.kind == "test"

def test_without_a_harness():
    pass
"""


def write(root: Path, folder: str = "checks", name: str = "test_counter.py") -> Path:
    (root / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    (root / "app.py").write_text(APP, encoding="utf-8")
    tests = root / folder
    tests.mkdir()
    (tests / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tests / name).write_text(TESTS, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The reviewed contract of the project."""
    return compile_project(write(tmp_path_factory.mktemp("project"))).manifest.to_bytes()


def run(project: Path) -> str:
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # an owner with pytest and nothing beside it
    options = ["-q", "-p", "no:cacheprovider", "-o", "pythonpath=.", "-o", "addopts=", "-W", "error", "checks"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options], check=False, capture_output=True, text=True, cwd=project, env=plain
    )
    assert ran.stderr == ""
    return ran.stdout


@pytest.mark.requirement("16.1-a-plugin-without-autouse")
def test_the_fixture_gives_each_test_a_fresh_harness_over_the_reviewed_contract(
    tmp_path: Path, contract: bytes
) -> None:
    project = write(tmp_path)
    (project / FILE_NAME).write_bytes(contract)
    assert "3 passed" in run(project)


@pytest.mark.requirement("16.1-a-plugin-without-autouse")
def test_a_contract_that_does_not_equal_the_source_fails_the_tests_that_use_it(tmp_path: Path, contract: bytes) -> None:
    project = write(tmp_path)
    (project / FILE_NAME).write_bytes(contract)
    changed = APP.replace("by: int)", "by: int, twice: bool = False)").replace("The current value.", "The value now.")
    changed += '\n    @action\n    def reset(self) -> None:\n        """Back to zero."""\n'
    (project / "app.py").write_text(changed, encoding="utf-8")
    said = run(project)
    assert "1 passed, 2 errors" in said
    assert (
        "remit.contract.json does not equal the source\n"
        "  demo.counter  differs in capabilities\n"
        "  view:demo.counter.increment of demo.counter  differs in input\n"
        "  view:demo.counter.readValue of demo.counter  differs in description\n"
        "  view:demo.counter.reset of demo.counter  is in the source only\n"
        "  do  remit compile; review; commit"
    ) in said


def test_without_a_contract_that_can_be_read_the_tests_say_what_to_do(tmp_path: Path) -> None:
    project = write(tmp_path)
    broken = write(project, "checks/broken", "test_broken.py") / "checks" / "broken"
    (broken / FILE_NAME).write_text("{}", encoding="utf-8")
    said = run(project)
    assert "2 passed, 4 errors" in said
    assert "no remit.contract.json beside test_counter.py or above\n  do  remit compile" in said
    assert "[CONTRACT_MISMATCH] remit.contract.json: is no contract" in said
