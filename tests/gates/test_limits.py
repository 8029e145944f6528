"""Every limit is read by what it bounds; those that nothing reads yet say why (SPEC 17)."""

import ast
from dataclasses import fields
from pathlib import Path

from remit import Limits

UNREAD = {
    "meta_bytes": "nothing declares meta yet",
    "heading": "headings are titles and descriptions, which have limits of their own",
    "message": "sentences are fixed, and a gate measures them",
    "quote": "an author quotes with no surface at hand, so the number is fixed",
}


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


def test_every_limit_is_read_or_says_why_it_is_not(package: Path) -> None:
    names = {field.name for field in fields(Limits)}
    assert names - read(package) == set(UNREAD)


def test_a_limit_that_nothing_reads_is_seen(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("x = self._limits.note\ny = Limits().depth\nz = other.quote\n", encoding="utf-8")
    assert read(tmp_path) == {"note", "depth"}
