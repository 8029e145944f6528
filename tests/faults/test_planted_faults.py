"""The demonstration's check is worth something: a fault planted in the product turns the right step red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent / "demo"
WATCHED_BY = {
    "approval-skipped": "deny",
    "backend-not-called": "approve",
    "binding-unlocked": "locked",
    "policy-removed": "auditor",
    "stale-accepted": "stale",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the sources, which may be spoilt."""
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def apply(patch: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Apply the patch exactly, to a folder that belongs to no repository."""
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "-p1", str(patch)]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)


def check(folder: Path, until: str) -> tuple[int, list[str]]:
    """Run the check over the sources in `folder`; its status, and the lines it printed."""
    command = [sys.executable, "-m", "examples.devices.demo", "--check", "--in-process", "--until", until]
    spoilt = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, cwd=ROOT, env=spoilt, capture_output=True, text=True, check=False, timeout=150)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_every_planted_fault_is_watched_for() -> None:
    assert {patch.stem for patch in PATCHES.glob("*.patch")} == set(WATCHED_BY)


@pytest.mark.requirement("0-the-main-job")
@pytest.mark.parametrize("fault", sorted(WATCHED_BY))
def test_a_planted_fault_turns_the_step_red_that_watches_for_it(fault: str, copy: Path) -> None:
    applied = apply(PATCHES / f"{fault}.patch", copy)
    assert applied.returncode == 0, applied.stderr
    status, lines = check(copy, WATCHED_BY[fault])
    assert lines[-1].startswith(f"RED {WATCHED_BY[fault]}  expected "), lines
    assert all(line.startswith("ok  ") for line in lines[:-1]), lines
    assert status == 1


def test_without_a_fault_every_step_is_ok(copy: Path) -> None:
    status, lines = check(copy, "auditor")
    assert all(line.startswith("ok  ") for line in lines[:-1]), lines
    assert lines[-1] == "demo: 16/16 steps ok, in process"
    assert status == 0


def test_a_patch_that_does_not_fit_is_noticed(tmp_path: Path) -> None:
    spoilt = tmp_path / "src" / "remit" / "_invocation" / "confirm.py"
    spoilt.parent.mkdir(parents=True)
    spoilt.write_text("nothing = 'of the kind'\n", encoding="utf-8")
    assert apply(PATCHES / "approval-skipped.patch", tmp_path).returncode != 0
