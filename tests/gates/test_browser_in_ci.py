"""In CI a missing browser is a failure; elsewhere it is a skip that says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("ci", "summary", "code"),
    [("true", "1 error", pytest.ExitCode.TESTS_FAILED), ("", "1 skipped", pytest.ExitCode.OK)],
)
def test_a_missing_browser_fails_in_ci_and_skips_elsewhere(root: Path, ci: str, summary: str, code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/e2e/test_browser.py"],
        cwd=root,
        env={**os.environ, "CI": ci, "CHROMIUM": "nowhere/chromium"},
        capture_output=True,
        text=True,
    )
    assert summary in ran.stdout
    assert "no Chromium" in ran.stdout
    assert ran.returncode == code
