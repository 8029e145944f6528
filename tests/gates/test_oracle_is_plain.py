"""The oracle's model shares nothing with the product but ids and enums: a mistake has to be made twice to be missed."""

import ast
from pathlib import Path

import pytest

PLAIN = ("model.py", "world.py")
ALLOWED = {
    "dataclasses": {"dataclass", "field"},
    "remit._model.ids": {"CapabilityId", "ConfirmationId", "InvocationId", "RegistrationId", "SurfaceId"},
    "remit._model.effects": {"Confirmation", "Effect", "Kind"},
    "remit.errors": {"ErrorCode", "Happened", "RetryAdvice"},
}
OWN = "tests.oracle.world"
MOST_LINES = 220
REACHING = {"__import__", "import_module", "eval", "exec", "compile", "globals", "getattr", "open"}


def faults(file: Path) -> list[str]:
    """Every import that is not on the list, and every way around an import, as `line: what`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: import {alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = {alias.name for alias in node.names}
            if module == OWN and "*" not in names:
                continue
            wrong = names - ALLOWED.get(module, set())
            found += [f"{node.lineno}: from {module} import {name}" for name in sorted(wrong)]
        elif isinstance(node, ast.Name) and node.id in REACHING:
            found.append(f"{node.lineno}: {node.id}")
        elif isinstance(node, ast.Attribute) and (node.attr.startswith("__") or node.attr in REACHING):
            if node.attr != "__init__":
                found.append(f"{node.lineno}: .{node.attr}")
    return found


def plain_lines(file: Path) -> int:
    """Lines of code: without blank ones, comments and docstrings."""
    tree = ast.parse(file.read_bytes())
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.end_lineno is not None:
            skipped.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    return sum(1 for number, line in lines if number not in skipped and line.split("#")[0].strip())


@pytest.mark.requirement("oracle-is-plain")
def test_the_model_imports_nothing_of_the_product_but_ids_and_enums(root: Path) -> None:
    folder = root / "tests" / "oracle"
    assert {name: faults(folder / name) for name in PLAIN} == {name: [] for name in PLAIN}
    assert plain_lines(folder / "model.py") <= MOST_LINES


def test_the_gate_sees_every_way_into_the_product(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "import remit\n"
        "from remit import Surface\n"
        "from remit.errors import ErrorCode, not_authorized\n"
        "from remit._model.effects import DEFAULTS\n"
        "from remit._model.pattern import Patterns\n"
        "from tests.oracle.stage import CAST\n"
        "from . import story\n"
        "found = __import__('remit')\n"
        "found = importlib.import_module('remit')\n"
        "from tests.oracle.world import World\n"
        "class No(Exception):\n    def __init__(self):\n        super().__init__(1)\n"
        "ErrorCode.__module__\n",
        encoding="utf-8",
    )
    assert sorted(faults(file), key=lambda line: int(line.split(":")[0])) == [
        "2: import remit",
        "3: from remit import Surface",
        "4: from remit.errors import not_authorized",
        "5: from remit._model.effects import DEFAULTS",
        "6: from remit._model.pattern import Patterns",
        "7: from tests.oracle.stage import CAST",
        "8: from . import story",
        "9: __import__",
        "10: .import_module",
        "15: .__module__",
    ]


def test_the_gate_counts_code_only(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        '"""A\nlong docstring."""\n\nx = 1  # why\n# a comment\n\n\ndef f():\n    """Say."""\n    return x\n'
    )
    assert plain_lines(file) == 3
