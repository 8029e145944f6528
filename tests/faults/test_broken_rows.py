"""A row counts if its rule, broken in the source, turns a test red that holds it: tried for rows drawn by a seed."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.breaking import ROOT, Breakage, breakages, red, run
from tests.faults.warm import Warm

SHORT, SEED = 4, 1
pytestmark = pytest.mark.timeout(180)  # each is a process of its own, which imports the product and its tests anew


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(ROOT) as process:
        yield process


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A few by a seed, the same in every process; all with `--long`. The seed stands in the test's name."""
    if "breakage" not in metafunc.fixturenames:
        return
    chosen, prefix = breakages(), ""
    if not metafunc.config.getoption("--long"):
        given = metafunc.config.getoption("--seed")
        seed = given if isinstance(given, int) else SEED
        chosen, prefix = random.Random(seed).sample(chosen, min(SHORT, len(chosen))), f"seed {seed}: "
    metafunc.parametrize("breakage", chosen, ids=[f"{prefix}{each.row}" for each in chosen])


@pytest.mark.requirement("rows-broken-on-purpose")
def test_a_broken_rule_turns_a_test_of_its_row_red(breakage: Breakage, tmp_path: Path, warm: Warm) -> None:
    noticed, said = run(breakage, tmp_path, warm)
    assert noticed, f"{breakage.row} was broken and its tests stayed green:\n{said}"


def test_over_a_copy_that_is_whole_they_are_green(tmp_path: Path, warm: Warm) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    noticed, said = red("9.1-overflow", tmp_path, warm)
    assert not noticed, said


def test_the_copy_is_what_runs_and_a_file_that_cannot_be_read_is_no_red_test(tmp_path: Path, warm: Warm) -> None:
    breakage = Breakage(
        row="5.3-order-and-strictest",
        file="src/remit/_policy/decision.py",
        find="from dataclasses import dataclass\n",
        replace="raise SystemExit(7)\n",
    )
    with pytest.raises(RuntimeError, match="pytest ended with"):
        run(breakage, tmp_path, warm)
