"""The conformance cases are worth something: each fault planted in a copy of the product is found by them (SPEC 11)."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.planted import ROOT, Fault, faults
from tests.faults.warm import Warm

ENTRY = "tests.faults.page_protocol:main"
SHORT, SEED = 4, 1
pytestmark = pytest.mark.timeout(120)  # each is a process of its own, which imports the product anew


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
def test_a_planted_fault_is_found_by_its_case(fault: Fault, tmp_path: Path, warm: Warm) -> None:
    fault.plant(tmp_path)
    status, said = warm.run([fault.cases, fault.case], tmp_path, {}, entry=ENTRY)
    assert status == 1 and said.startswith(f"failed: {fault.case}: "), said


def test_without_a_fault_nothing_is_found(tmp_path: Path, warm: Warm) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    assert warm.run(["descriptors", "*"], tmp_path, {}, entry=ENTRY) == (0, "")
