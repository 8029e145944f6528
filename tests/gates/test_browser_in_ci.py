"""In CI a missing browser is a failure: a skip there would pass for a test that ran."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_missing_browser_fails_in_ci(root: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/e2e/test_browser.py"],
        cwd=root,
        env={**os.environ, "CI": "true", "CHROMIUM": "nowhere/chromium"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "no Chromium" in ran.stdout
    assert "1 error" in ran.stdout
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
