"""In CI a missing Node is a failure: without one no real oRPC server answers, and a skip would pass for that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_missing_node_fails_in_ci(root: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/orpc/test_orpc_guide.py"],
        cwd=root,
        env={**os.environ, "CI": "true", "NODE": "nowhere/node"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "no Node 22 or later" in ran.stdout
    assert "2 errors" in ran.stdout
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
