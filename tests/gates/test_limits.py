"""Every limit is read by what it bounds (SPEC 17)."""

import ast
from dataclasses import fields
from pathlib import Path

from remit import Limits


def read(package: Path) -> set[str]:
    """The names that are read from something called limits, in any file but the one that defines them."""
    found: set[str] = set()
    for file in package.rglob("*.py"):
        if file.name == "limits.py":
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Attribute) and "limits" in ast.unparse(node.value).lower().split(".")[-1]:
                found.add(node.attr)
    return found


def test_every_limit_is_read(package: Path) -> None:
    names = {field.name for field in fields(Limits)}
    assert names - read(package) == set()


def test_a_limit_that_nothing_reads_is_seen(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("x = self._limits.note\ny = Limits().depth\nz = other.quote\n", encoding="utf-8")
    assert read(tmp_path) == {"note", "depth"}
