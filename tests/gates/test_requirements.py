"""Every promise is a row with a test, and every test that claims a row names one that exists."""

import ast
import tomllib
from pathlib import Path

KEYS = {"id", "source", "sentence"}


def marks(tests: Path) -> dict[str, list[str]]:
    """Where each requirement is claimed: id to `file:line`, from the source, so an unselected test counts too."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                place = f"{path.relative_to(tests)}:{node.lineno}"
                ids = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
                assert len(ids) == len(node.args) > 0, f"{place}: a requirement is named by a plain string"
                for each in ids:
                    found.setdefault(str(each), []).append(place)
    return found


def faults(file: Path, tests: Path) -> list[str]:
    """Where rows and tests do not match."""
    rows: list[dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8")).get("requirement", [])
    claimed = marks(tests)
    found: list[str] = []
    seen: set[str] = set()
    for row in rows:
        name = row.get("id", "a row without an id")
        if set(row) - {"gap"} != KEYS or not all(value.strip() for value in row.values()):
            found.append(f"{name}: needs {', '.join(sorted(KEYS))}, perhaps gap, and nothing else")
        if name in seen:
            found.append(f"{name}: stands twice")
        seen.add(name)
        if name not in claimed and "gap" not in row:
            found.append(f"{name}: no test holds it")
        if name in claimed and "gap" in row:
            found.append(f"{name}: called a gap, but {claimed[name][0]} holds it")
    return found + [f"{places[0]}: {name} is no row" for name, places in claimed.items() if name not in seen]


def test_requirements_and_tests_are_bound_both_ways(root: Path) -> None:
    assert faults(root / "spec" / "requirements.toml", root / "tests") == []


def test_the_gate_sees_rows_without_tests_and_tests_without_rows(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.requirement('HELD', 'CLOSED')\ndef test_a(): ...\n"
        "@pytest.mark.requirement('UNKNOWN')\ndef test_b(): ...\n",
        encoding="utf-8",
    )
    file = tmp_path / "requirements.toml"

    def row(name: str, extra: str = "") -> str:
        return f'[[requirement]]\nid = "{name}"\nsource = "SPEC 1"\nsentence = "It holds."\n{extra}\n'

    file.write_text(
        row("HELD")
        + row("HELD")
        + row("OPEN")
        + row("GAP", 'gap = "later"')
        + row("CLOSED", 'gap = "later"')
        + row("ODD", 'gap = ""'),
        encoding="utf-8",
    )
    assert faults(file, tests) == [
        "HELD: stands twice",
        "OPEN: no test holds it",
        "CLOSED: called a gap, but test_some.py:2 holds it",
        "ODD: needs id, sentence, source, perhaps gap, and nothing else",
        "test_some.py:4: UNKNOWN is no row",
    ]
