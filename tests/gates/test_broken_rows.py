"""The breakages of rows fit the source and the ledger, and every row that was drawn has one."""

import ast
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.faults.breaking import SECTIONS, Breakage, breakages, drawn, draws, holders, rows
from tests.faults.planted import faults as planted


def faults(root: Path, held: Sequence[Breakage], known: Collection[str], picked: Collection[str]) -> list[str]:
    """Breakages that do not apply, make no Python, change nothing or name no row; drawn rows without one."""
    found: list[str] = []
    for each in held:
        if each.row not in known:
            found.append(f"{each.row}: is no row that can be drawn")
        try:
            broken = each.applied((root / each.file).read_text(encoding="utf-8"))
            ast.parse(broken)
        except (ValueError, SyntaxError, OSError) as error:
            found.append(str(error) if isinstance(error, ValueError) else f"{each.row}: {type(error).__name__}")
        if each.find == each.replace or not each.file.startswith("src/remit/"):
            found.append(f"{each.row}: breaks nothing of the product")
    found += [f"{row}: has {times} breakages" for row, times in Counter(each.row for each in held).items() if times > 1]
    having = {each.row for each in held}
    return found + [f"{row}: was drawn and has no breakage" for row in sorted(picked) if row not in having]


def test_every_breakage_applies_and_every_drawn_row_has_one(root: Path) -> None:
    assert faults(root, breakages(), rows(), drawn()) == []


def test_every_fault_planted_in_the_page_protocol_applies(root: Path) -> None:
    held = planted()
    assert len({each.name for each in held}) == len(held) >= 12
    for each in held:
        for edit in each.edits:
            text = (root / edit.file).read_text(encoding="utf-8")
            assert text.count(edit.find) == 1, f"{each.name}: what is to be replaced does not stand once in {edit.file}"
            ast.parse(text.replace(edit.find, edit.replace))


def test_rows_are_drawn_from_the_sections_of_the_core_and_have_tests() -> None:
    assert set(rows().values()) == set(SECTIONS)
    assert [row for row in drawn() if not holders(row)] == []
    assert len(drawn()) == len(set(drawn()))
    assert all(list(each.rows) == sorted(each.rows) and each.of >= len(each.rows) for each in draws())


def test_the_gate_sees_what_does_not_apply_and_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "src" / "remit").mkdir(parents=True)
    (tmp_path / "src" / "remit" / "a.py").write_text("x = 1\ny = 1\n", encoding="utf-8")

    def breakage(row: str, find: str, replace: str, file: str = "src/remit/a.py") -> Breakage:
        return Breakage(row=row, file=file, find=find, replace=replace)

    held = [
        breakage("GOOD", "x = 1", "x = 2"),
        breakage("TWICE", "= 1", "= 2"),
        breakage("TWICE", "y = 1", "y = 2"),
        breakage("BROKEN", "x = 1", "x ="),
        breakage("SAME", "x = 1", "x = 1"),
        breakage("UNKNOWN", "x = 1", "x = 2"),
        breakage("GONE", "x = 1", "x = 2", "src/remit/b.py"),
    ]
    known = {"GOOD", "TWICE", "BROKEN", "SAME", "GONE", "DRAWN"}
    assert faults(tmp_path, held, known, {"GOOD", "DRAWN"}) == [
        "TWICE: what is to be replaced stands 2 times in src/remit/a.py",
        "BROKEN: SyntaxError",
        "SAME: breaks nothing of the product",
        "UNKNOWN: is no row that can be drawn",
        "GONE: FileNotFoundError",
        "TWICE: has 2 breakages",
        "DRAWN: was drawn and has no breakage",
    ]
