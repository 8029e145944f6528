"""The same source gives the same bytes: twice, anywhere, under every Python and pydantic (SPEC 13.4)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from bench.compiler import EXAMPLES, MODULES, write_project
from remit.cli import main
from tests.conftest import missing
from tests.contract.everywhere import IMPORTS, write

ROOT: Final = Path(__file__).parents[2]
CONTRACT: Final = "remit.contract.json"
COMMAND: Final = "from remit.cli import main; main()"
# What must not matter, one of each in every run: the hash seed, the locale, the folder, the order of imports.
RUNS: Final = (
    ("0", "C", "a", IMPORTS),
    ("1", "et_EE.UTF-8", "some where", IMPORTS[::-1]),
    ("7", "tr_TR.UTF-8", "ünïcode", (*IMPORTS[2:], *IMPORTS[:2])),
    ("4242", "de_DE.ISO-8859-1", "deep/er/still", ("pages.base", "operations", "pages.table")),
    ("4294967295", "C.UTF-8", "z" * 60, ("pages.table", "operations")),
)
# `scripts/_pythons` makes them: each supported Python, and the minor version of pydantic before the locked one.
ENVIRONMENTS: Final = ("3.11", "3.12", "3.13", "pydantic")


def compiled(root: Path, python: str = sys.executable, **environment: str) -> bytes:
    """The contract that `remit compile` writes, run by some Python in a process of its own."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
    ran = subprocess.run(
        (python, "-c", COMMAND, "compile", "--project", str(root)),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env={**given, "PYTHONUTF8": "1", **environment},
        cwd=root,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return (root / CONTRACT).read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The contract as this interpreter compiles it."""
    return compiled(write(tmp_path_factory.mktemp("here")))


@pytest.mark.requirement("13.4-whatever-path-seed-locale-and-order")
@pytest.mark.parametrize(("seed", "locale", "folder", "imports"), RUNS, ids=[run[0] for run in RUNS])
def test_seed_locale_folder_and_import_order_change_no_byte(
    tmp_path: Path, expected: bytes, seed: str, locale: str, folder: str, imports: tuple[str, ...]
) -> None:
    root = write(tmp_path / folder, imports)
    assert compiled(root, PYTHONHASHSEED=seed, LC_ALL=locale, LANG=locale) == expected


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What puts this source, and the name and version it is installed under, on another Python's path."""
    found = next(file for file in distribution("remit").files or () if file.name == "METADATA")
    folder = Path(str(found.locate())).parent
    copied = tmp_path_factory.mktemp("installed")
    shutil.copytree(folder, copied / folder.name)
    yield os.pathsep.join((str(ROOT / "src"), str(copied)))


@pytest.mark.requirement("13.4-whatever-python-and-pydantic")
@pytest.mark.parametrize("name", [each for each in ENVIRONMENTS if not sys.version.startswith(f"{each}.")])
def test_another_python_and_another_pydantic_change_no_byte(
    tmp_path: Path, expected: bytes, beside: str, name: str
) -> None:
    python = ROOT / ".cache" / "pythons" / name / "bin" / "python"
    if not python.exists():
        missing(f"scripts/_pythons made no {name}")
    assert compiled(write(tmp_path), str(python), PYTHONPATH=beside) == expected


@pytest.mark.requirement("13.4-twice")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_an_example_compiled_twice_gives_the_bytes_that_are_committed(example: Path, tmp_path: Path) -> None:
    root = tmp_path / example.name
    shutil.copytree(example, root, ignore=shutil.ignore_patterns("__pycache__", ".nicegui"))
    committed = (root / CONTRACT).read_bytes()
    for _ in range(2):
        (root / CONTRACT).unlink()
        assert compiled(root) == committed


@pytest.mark.requirement("13.4-twice")
def test_three_hundred_modules_compiled_twice_give_equal_bytes(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    assert len(list(root.rglob("*.py"))) >= MODULES
    ran = CliRunner().invoke(main, ["compile", "--project", str(root)])
    assert "444 capabilities of 222 components" in ran.stdout, ran.output
    first = (root / CONTRACT).read_bytes()
    (root / CONTRACT).unlink()
    assert compiled(root) == first
