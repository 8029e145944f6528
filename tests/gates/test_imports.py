"""Imports stand at the head of a module, where the import rules see them as they are."""

import ast
from collections.abc import Iterator
from pathlib import Path

PROJECT = frozenset({"remit", "examples", "bench"})
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def imported(node: ast.AST) -> list[str]:
    """The modules an import statement names; a relative one counts as the project's own."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["remit" if node.level else node.module or ""]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = ast.unparse(node.func)
        if name in {"__import__", "import_module", "importlib.import_module"}:
            return [str(node.args[0].value)]
    return []


def inner_imports(tree: ast.AST) -> Iterator[int]:
    """Lines inside functions that import the project's own modules."""
    for function in ast.walk(tree):
        if not isinstance(function, FunctionNode):
            continue
        for node in ast.walk(function):
            if any(name.split(".")[0] in PROJECT for name in imported(node)):
                yield getattr(node, "lineno", 0)


def faults(folder: Path) -> list[str]:
    """Every import of the project's own modules inside a function, as `file:line`."""
    return [
        f"{path.relative_to(folder)}:{line}"
        for path in sorted(folder.rglob("*.py"))
        for line in sorted(set(inner_imports(ast.parse(path.read_bytes()))))
    ]


def test_no_function_imports_the_projects_own_modules(root: Path, package: Path) -> None:
    assert faults(package) == []
    assert faults(root / "examples") == []


def test_the_gate_sees_every_way_to_import_inside_a_function(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import remit\n"
        "def one():\n    from remit._base import clock\n"
        "async def two():\n    import json, remit.errors\n"
        "def three():\n    def inner():\n        from . import sibling\n"
        "def four():\n    return importlib.import_module('remit.compiler')\n"
        "def five():\n    import json\n",
        encoding="utf-8",
    )
    assert faults(tmp_path) == ["bad.py:3", "bad.py:5", "bad.py:8", "bad.py:10"]
