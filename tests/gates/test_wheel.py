"""The built wheel holds the package's source and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def expected(root: Path, tracked: list[Path]) -> set[str]:
    """What the wheel should hold of the source tree."""
    source = root / "src"
    return {path.relative_to(source).as_posix() for path in tracked if source in path.parents}


def faults(held: list[str], wanted: set[str]) -> list[str]:
    """What is missing from a wheel and what is too much, its own metadata aside."""
    own = {name for name in held if not name.split("/")[0].endswith(".dist-info")}
    return [f"missing: {name}" for name in sorted(wanted - own)] + [
        f"too much: {name}" for name in sorted(own - wanted)
    ]


@pytest.mark.xdist_group("wheel")
def test_the_wheel_holds_the_source_and_nothing_else(root: Path, tracked: list[Path], tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
        metadata = next(name for name in held if name.endswith("/METADATA"))
        described = archive.read(metadata).decode()
    wanted = expected(root, tracked)
    assert "remit/py.typed" in wanted
    assert faults(held, wanted) == []
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert "License-Expression: Apache-2.0\n" in described


def test_the_gate_sees_missing_and_surplus_files() -> None:
    held = ["remit/__init__.py", "tests/test_a.py", "remit-1.dist-info/METADATA"]
    assert faults(held, {"remit/__init__.py", "remit/py.typed"}) == [
        "missing: remit/py.typed",
        "too much: tests/test_a.py",
    ]
