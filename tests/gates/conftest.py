"""The tree the gates look at."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def package(root: Path) -> Path:
    """The folder of the package's source."""
    return root / "src" / "remit"


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[Path]:
    """Every file of the project: known to git, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (root / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())
