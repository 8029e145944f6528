"""The import rules know every room: a new one cannot stand outside them."""

import tomllib
from pathlib import Path
from typing import Any

# What may know a framework: the doors, what stands on them, and the tools.
OUTER = frozenset(
    {"cli", "testing", "gateway", "adapters", "integrations", "compiler", "procedures", "store", "_session", "client"}
)


def rooms(package: Path) -> set[str]:
    """The folders and modules directly under the package."""
    folders = {path.parent.name for path in package.glob("*/__init__.py")} | {
        path.name for path in package.iterdir() if path.is_dir() and any(path.rglob("*.py"))
    }
    return folders | {path.stem for path in package.glob("*.py") if path.stem != "__init__"}


def faults(package: Path, file: Path) -> list[str]:
    """The rooms that a rule should name and does not."""
    contracts: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    by_id = {contract["id"]: contract for contract in contracts}
    floors = {name.strip("() ") for layer in by_id["floors"]["layers"] for name in layer.split("|")}
    inner = {name.removeprefix("remit.") for name in by_id["outside"]["source_modules"]}
    found = [f"{room} has no floor" for room in sorted(rooms(package) - floors)]
    found += [
        f"{room} is not among the rooms that know no framework" for room in sorted(rooms(package) - inner - OUTER)
    ]
    return found


def test_every_room_has_a_floor_and_the_inner_ones_know_no_framework(root: Path, package: Path) -> None:
    assert faults(package, root / "pyproject.toml") == []


def test_the_gate_sees_a_room_that_no_rule_names(tmp_path: Path) -> None:
    for room in ("_base", "_extra", "cli"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").touch()
    (tmp_path / "errors.py").touch()
    file = tmp_path / "rules.toml"
    file.write_text(
        '[[tool.importlinter.contracts]]\nid = "floors"\nlayers = ["cli | (errors)", "_base"]\n'
        '[[tool.importlinter.contracts]]\nid = "outside"\nsource_modules = ["remit._base"]\n',
        encoding="utf-8",
    )
    assert faults(tmp_path, file) == [
        "_extra has no floor",
        "_extra is not among the rooms that know no framework",
        "errors is not among the rooms that know no framework",
    ]
