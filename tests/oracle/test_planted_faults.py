"""The oracle is worth something: each fault planted in a copy of the product is found within 5,000 steps."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = sorted((Path(__file__).parent / "faults").glob("*.patch"))
SEED, STEPS = 8, 5_000  # one seed for all, that is quick: a step that finds a fault today finds it tomorrow


def apply(patch: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Apply the patch exactly, to a folder that belongs to no repository."""
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "-p1", str(patch)]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)


def run(folder: Path, steps: int) -> subprocess.CompletedProcess[str]:
    """Drive random steps over the sources in `folder`."""
    command = [sys.executable, "-m", "tests.oracle.drive", "--seed", str(SEED), "--steps", str(steps)]
    spoilt = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=ROOT, env=spoilt, capture_output=True, text=True, check=False, timeout=150)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the sources, which may be spoilt."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def test_at_least_ten_faults_are_planted() -> None:
    assert len(FAULTS) >= 10


@pytest.mark.requirement("oracle-finds-faults")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.stem)
def test_a_planted_fault_is_found_and_told(fault: Path, copy: Path) -> None:
    applied = apply(fault, copy)
    assert applied.returncode == 0, applied.stderr
    done = run(copy, STEPS)
    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    head = re.match(rf"oracle: seed {SEED}, {STEPS} steps\nseed {SEED}, story \d+, step (\d+)\n", done.stdout)
    assert head is not None and int(head[1]) <= STEPS
    assert "\n>>> " in done.stdout and "\n    model    " in done.stdout and "\n    product  " in done.stdout


def test_without_a_fault_nothing_is_found(copy: Path) -> None:
    done = run(copy, 500)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1].startswith("agreed: call ")


def test_the_copy_is_what_runs(copy: Path) -> None:
    (copy / "src" / "remit" / "_policy" / "decision.py").write_text("raise SystemExit(7)\n", encoding="utf-8")
    assert run(copy, 1).returncode == 7
