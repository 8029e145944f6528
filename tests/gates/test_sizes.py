"""A file stays under 400 lines and a function under 60."""

import ast
from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 60


def faults(folder: Path) -> list[str]:
    """Every file and function over its ceiling, with its length."""
    found: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(folder)
        lines = len(text.splitlines())
        if lines > FILE_LINES:
            found.append(f"{name}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES:
                    found.append(f"{name}:{node.lineno} {node.name}: {length} lines")
    return found


def test_no_file_and_no_function_is_over_its_ceiling(package: Path) -> None:
    assert faults(package) == []


def test_the_gate_measures_files_and_functions(tmp_path: Path) -> None:
    (tmp_path / "ceiling.py").write_text("x = 1\n" * FILE_LINES, encoding="utf-8")
    (tmp_path / "file.py").write_text("x = 1\n" * (FILE_LINES + 1), encoding="utf-8")
    (tmp_path / "fits.py").write_text("def f():\n" + "    x = 1\n" * (FUNCTION_LINES - 1), encoding="utf-8")
    (tmp_path / "function.py").write_text("class C:\n  async def f(self):\n" + "    x = 1\n" * 60, encoding="utf-8")
    assert faults(tmp_path) == ["file.py: 401 lines", "function.py:2 f: 61 lines"]
