"""The conformance cases are worth something: each fault planted in a copy of the product is found by them (SPEC 11)."""

import random
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.warm import Warm

ROOT = Path(__file__).parents[2]
ENTRY = "tests.faults.page_protocol:main"
SHORT, SEED = 4, 1
pytestmark = pytest.mark.timeout(120)  # each is a process of its own, which imports the product anew


@dataclass(frozen=True)
class Edit:
    """A text of the source, which stands there once, and what stands there instead."""

    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Fault:
    """One fault, and the case that finds it in a file of cases."""

    name: str
    cases: str
    case: str
    edits: tuple[Edit, ...]

    def plant(self, folder: Path) -> None:
        """Copy the sources into `folder`, with the fault."""
        shutil.copytree(ROOT / "src", folder / "src")
        for edit in self.edits:
            spoilt = folder / edit.file
            spoilt.write_text(spoilt.read_text(encoding="utf-8").replace(edit.find, edit.replace), encoding="utf-8")


def faults() -> list[Fault]:
    """Every fault there is."""
    rows: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("page_protocol.toml").read_text())["fault"]
    return [Fault(row["name"], row["cases"], row["case"], tuple(Edit(**edit) for edit in row["edit"])) for row in rows]


FAULTS = faults()


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(ROOT) as process:
        yield process


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A few by a seed, the same in every process; all with `--long`."""
    if "fault" not in metafunc.fixturenames:
        return
    chosen = FAULTS
    if not metafunc.config.getoption("--long"):
        given = metafunc.config.getoption("--seed")
        chosen = random.Random(given if isinstance(given, int) else SEED).sample(FAULTS, SHORT)
    metafunc.parametrize("fault", chosen, ids=[each.name for each in chosen])


@pytest.mark.requirement("11.1-cases-find-faults")
def test_at_least_twelve_faults_are_planted_and_each_text_stands_once_in_the_source() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS) >= 12
    for each in FAULTS:
        for edit in each.edits:
            assert (ROOT / edit.file).read_text(encoding="utf-8").count(edit.find) == 1, (each.name, edit.file)


@pytest.mark.requirement("11.1-cases-find-faults")
def test_a_planted_fault_is_found_by_its_case(fault: Fault, tmp_path: Path, warm: Warm) -> None:
    fault.plant(tmp_path)
    status, said = warm.run([fault.cases, fault.case], tmp_path, {}, entry=ENTRY)
    assert status == 1 and said.startswith(f"failed: {fault.case}: "), said


def test_without_a_fault_nothing_is_found(tmp_path: Path, warm: Warm) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    assert warm.run(["descriptors", "*"], tmp_path, {}, entry=ENTRY) == (0, "")
