"""What users of the idea expect, line by line: the test that holds it, the reason why not, or the area that owes it."""

import ast
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, TypeGuard

ANSWERS = ("test", "reason", "owed")
HEADER = {"done", "open", "ids", "expectation"}


def named(tests: Path) -> set[str]:
    """Every test as pytest names it, from the source: functions, classes, and the functions of a class."""
    found: set[str] = set()
    for path in tests.rglob("test_*.py"):
        place = path.relative_to(tests.parent).as_posix()
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                found.add(f"{place}::{node.name}")
                found.update(f"{place}::{node.name}::{inner.name}" for inner in node.body if is_test(inner))
            elif is_test(node):
                found.add(f"{place}::{node.name}")
    return found


def is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Whether pytest would collect this function."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def answer_faults(row: dict[str, Any], tests: set[str], open_: set[str], done: set[str]) -> list[str]:
    """What is wrong with the answer of one row: its test, its reason or the area that owes it."""
    given = [key for key in ANSWERS if key in row]
    if len(given) != 1:
        return [f"answers with {' and '.join(given) or 'nothing'} instead of one of {', '.join(ANSWERS)}"]
    value = row[given[0]]
    if given == ["test"]:
        listed = value if isinstance(value, list) else [value]
        missing = [each for each in listed if each not in tests]
        return [f"{each} is no test" for each in missing] if listed else ["names no test"]
    if not isinstance(value, str) or not value.strip():
        return [f"its {given[0]} says nothing"]
    if given == ["owed"] and value in done:
        return [f"still owed by {value}, which is done"]
    return [f"owed by {value}, which is no open area"] if given == ["owed"] and value not in open_ else []


def row_faults(row: dict[str, Any], tests: set[str], open_: set[str], done: set[str]) -> list[str]:
    """What is wrong with one row, apart from its id."""
    found = [f"has the unknown field {key}" for key in sorted(set(row) - {"id", "says", *ANSWERS})]
    if not str(row.get("says", "")).strip():
        found.append("says nothing")
    return found + answer_faults(row, tests, open_, done)


def faults(file: Path, tests: Path) -> list[str]:
    """Where the ledger does not hold: its header, its ids and each of its rows."""
    ledger = tomllib.loads(file.read_text(encoding="utf-8"))
    found = [f"the header lacks or does not know {key}" for key in sorted(HEADER ^ set(ledger))]
    if found:
        return found
    open_, done = set(ledger["open"]), set(ledger["done"])
    found += [f"{area} is open and done" for area in sorted(open_ & done)]
    wanted = Counter(each for ids in ledger["ids"].values() for each in ids)
    rows = ledger["expectation"]
    answered = Counter(row.get("id", "a row without an id") for row in rows)
    found += [f"{each} stands twice in the list of ids" for each, count in wanted.items() if count > 1]
    found += [f"{each} is answered twice" for each, count in answered.items() if count > 1]
    found += [f"{each} is not answered" for each in wanted if each not in answered]
    found += [f"{each} is not in the list of ids" for each in answered if each not in wanted]
    known = named(tests)
    return found + [f"{row.get('id')} {fault}" for row in rows for fault in row_faults(row, known, open_, done)]


def test_every_expectation_has_a_test_a_reason_or_an_area_that_owes_it(root: Path) -> None:
    assert faults(root / "spec" / "expectations.toml", root / "tests") == []


def test_the_gate_sees_every_way_an_expectation_can_be_dropped(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    (tests / "inner").mkdir(parents=True)
    (tests / "inner" / "test_some.py").write_text(
        "def test_a(): ...\nasync def test_b(): ...\nclass TestC:\n    def test_d(): ...\ndef helper(): ...\n",
        encoding="utf-8",
    )
    file = tmp_path / "expectations.toml"

    def row(name: str, answer: str, says: str = "It holds.") -> str:
        return f'[[expectation]]\nid = "{name}"\nsays = "{says}"\n{answer}\n'

    here = "tests/inner/test_some.py"
    file.write_text(
        'done = ["built", "both"]\nopen = ["later", "both"]\n'
        '[ids]\none = ["T-1", "T-2", "T-3", "R-1", "O-1", "B-1", "B-2", "B-3", "B-4", "B-5", "B-6", "B-7", "B-8"]\n'
        'two = ["L-1", "T-1", "D-1"]\n'
        + row("T-1", f'test = "{here}::test_a"')
        + row("T-2", f'test = ["{here}::test_b", "{here}::TestC", "{here}::TestC::test_d"]')
        + row("R-1", 'reason = "It is otherwise here."')
        + row("O-1", 'owed = "later"')
        + row("B-1", f'test = ["{here}::test_a", "{here}::helper"]')
        + row("B-2", "test = []")
        + row("B-3", f'test = "{here}::test_a"\nreason = "Both."')
        + row("B-4", "")
        + row("B-5", 'owed = "built"')
        + row("B-6", 'owed = "somewhere"')
        + row("B-7", 'reason = " "')
        + row("B-8", 'reason = "Here."\nwhy = "?"', says="")
        + row("D-1", 'owed = "later"')
        + row("D-1", 'owed = "later"')
        + row("X-1", 'owed = "later"'),
        encoding="utf-8",
    )
    assert faults(file, tests) == [
        "both is open and done",
        "T-1 stands twice in the list of ids",
        "D-1 is answered twice",
        "T-3 is not answered",
        "L-1 is not answered",
        "X-1 is not in the list of ids",
        f"B-1 {here}::helper is no test",
        "B-2 names no test",
        "B-3 answers with test and reason instead of one of test, reason, owed",
        "B-4 answers with nothing instead of one of test, reason, owed",
        "B-5 still owed by built, which is done",
        "B-6 owed by somewhere, which is no open area",
        "B-7 its reason says nothing",
        "B-8 has the unknown field why",
        "B-8 says nothing",
    ]
    file.write_text('done = []\nopen = []\nother = 1\n[ids]\none = ["T-1"]\n', encoding="utf-8")
    assert faults(file, tests) == [
        "the header lacks or does not know expectation",
        "the header lacks or does not know other",
    ]
