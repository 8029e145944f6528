"""A module is named for what is in it."""

from pathlib import Path

FORBIDDEN = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "core"})


def faults(folder: Path) -> list[str]:
    """Every module or folder whose name says nothing."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if (path.suffix == ".py" or path.is_dir()) and path.stem.strip("_").lower() in FORBIDDEN
    ]


def test_no_module_has_a_name_that_says_nothing(root: Path, package: Path) -> None:
    assert faults(package) == []
    assert faults(root / "examples") == []
    assert faults(root / "bench") == []


def test_the_gate_sees_files_folders_and_private_names(tmp_path: Path) -> None:
    (tmp_path / "_core").mkdir()
    (tmp_path / "_core" / "utils.py").touch()
    (tmp_path / "scoring.py").touch()
    assert faults(tmp_path) == ["_core", "_core/utils.py"]
