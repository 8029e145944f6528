"""The mutants are worth something: small changes, put into living code, judged by the tests that run them."""

import importlib.util
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.plant import functions_of, plant
from tests.mutants.suite import ROOT, files, mutants


class Colour(Enum):
    """Two members, so that each has a next one."""

    RED = "red"
    BLUE = "blue"


def changes(body: str) -> list[tuple[str, str]]:
    text = "def f(a, b):\n" + "\n".join(f"    {line}" for line in body.splitlines())
    return [(m.key.operator, m.key.becomes) for m in mutants_of(text, "f.py", {"Colour": Colour})]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", [("returns None", "return None"), ("comparison", "return a <= b")]),
        ("if a is None: b()", [("comparison", "if a is not None:"), ("call removed", "pass")]),
        ("if a: pass", [("condition", "if not a:")]),
        ("if not a: pass", [("not removed", "if a:")]),
        (
            "if a and b: pass",
            [("and/or", "if a or b:"), ("condition", "if not (a and b):")],
        ),
        ("a.x = b", [("assignment removed", "pass")]),
        ("a += 1", [("assignment removed", "pass"), ("arithmetic", "a -= 1"), ("constant", "a += 2")]),
        ("raise a", [("raise removed", "pass")]),
        ("if a: return\nb()", [("return removed", "pass"), ("call removed", "pass")]),
        ("try: a()\nexcept E: return None\nb = a", [("return removed", "pass")]),
        ("del a[b]", [("deletion removed", "pass")]),
        ("a = Colour.BLUE", [("enum member", "a = Colour.RED")]),
        ("a = min(b)", [("other function", "a = max(b)")]),
        ("a = [b for b in a if b]", [("condition", "a = [b for b in a if not b]")]),
        ("match a:\n    case Colour.RED if b: a()", [("enum member", "case Colour.BLUE if b:")]),
        ("a = 'code'", [("constant", "a = ''")]),
        ("a = 'some prose'", []),
        ("assert a < b", []),
        ("raise TypeError(a < b)", [("raise removed", "pass")]),
    ],
)
def test_what_may_be_changed(body: str, expected: list[tuple[str, str]]) -> None:
    found = changes(body)
    assert [each for each in found if each in expected] == expected
    assert "prose" in body or len(found) >= len(expected)


@pytest.mark.parametrize(
    "body",
    [
        "return",
        "if a: b = a\nelse: return None",
        "with a: return",
        "try: b = a\nexcept E: return None",
        "match a:\n    case _: return None",
        "assert_never(a)",
    ],
)
def test_what_would_change_nothing_is_no_mutant(body: str) -> None:
    assert {operator for operator, _ in changes(body)} <= {"condition"}


def test_equal_lines_of_one_function_are_told_apart_and_lines_do_not_matter() -> None:
    text = "class C:\n    def f(self):\n        self.x = 1\n        self.x = 1\n        def g(): return self.x < 2\n"
    keys = [m.key for m in mutants_of(text, "c.py", {})]
    assert [(k.function, k.nth) for k in keys if k.operator == "assignment removed"] == [("C.f", 1), ("C.f", 2)]
    assert {k.function for k in keys} == {"C.f", "C.f.<locals>.g"}
    assert [m.key for m in mutants_of("\n\n" + text, "c.py", {})] == keys


def living(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_whoever_holds_a_function_runs_its_mutant(tmp_path: Path) -> None:
    path = tmp_path / "grown.py"
    text = "def f(a):\n    return a < 1\n\n\nclass C:\n    @property\n    def p(self):\n        return 1 + 1\n"
    path.write_text(text, encoding="utf-8")
    module = living(path)
    held, one = module.f, module.C()
    functions = functions_of(frozenset({str(path)}))

    def planted(becomes: str) -> None:
        mutant = next(m for m in mutants_of(text, "grown.py", {}) if m.key.becomes == becomes)
        plant(mutant, str(path), functions)

    assert (held(1), one.p) == (False, 2)
    planted("return a <= 1")
    assert held(1) is True
    planted("return a < 2")
    assert (held(1), held(2)) == (True, False)
    planted("return 1 - 1")
    assert one.p == 0
    assert path.read_text(encoding="utf-8") == text


def test_every_function_of_the_mutated_files_can_be_replaced() -> None:
    first: dict[tuple[str, str], Mutant] = {}
    for mutant in mutants(files()):
        first.setdefault((mutant.key.file, mutant.outer_name), mutant)
    functions = functions_of(frozenset(str(path) for path in files()))
    assert len(first) > 100
    for mutant in first.values():
        before = {place: [f.__code__ for f in held] for place, held in functions.items()}
        try:
            plant(mutant, str(ROOT / mutant.key.file), functions)
        finally:
            for place, held in functions.items():
                for function, code in zip(held, before[place], strict=True):
                    function.__code__ = code


def test_a_process_that_stands_still_for_longer_than_it_may_is_ended() -> None:
    code = "from threading import Event; from tests.mutants import judge; judge._end_if_it_hangs(0.1); Event().wait()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=120)
    assert done.returncode == 4


def test_a_run_kills_and_tells_who_survived() -> None:
    tests = "tests/unit/_confirmation/test_deciding.py"
    command = [sys.executable, "-m", "tests.mutants", "--killers", tests, "--only", "desk"]
    done = subprocess.run(
        [*command, "--sample", "6", "--seed", "3"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "seed 3"
    assert any(line.startswith("seed 3, 6 mutants, ") for line in lines)
    (altogether,) = (line for line in lines if line.startswith("altogether"))
    killed, timeouts, survived, uncovered, faulty = map(int, altogether.split()[1:6])
    assert killed > 0 and faulty == 0
    assert killed + timeouts + survived + uncovered == 6
    assert done.returncode == (1 if survived + uncovered else 0)
    assert sum(line.startswith(("survived: ", "uncovered: ")) for line in lines) == survived + uncovered
