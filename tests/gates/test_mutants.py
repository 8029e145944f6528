"""What spec/mutants.toml tells is true of the source as it stands: each survivor is a mutant, and has its reason."""

import tomllib
from collections.abc import Set
from pathlib import Path
from typing import Any

from tests.mutants.known import NAMES
from tests.mutants.operators import Key
from tests.mutants.suite import files, mutants

LEAST_KILLED = 0.9
"""The part of all mutants that must be dead."""


def faults(text: str, there: Set[Key]) -> list[str]:
    """Survivors that are none, have no reason or stand twice; a result that does not add up or is too low."""
    data: dict[str, Any] = tomllib.loads(text)
    found: list[str] = []
    seen: set[Key] = set()
    for row in data.get("survivor", []):
        place = f"{row.get('file')} {row.get('function')}: {row.get('becomes')}"
        if set(row) - {"nth"} != NAMES - {"nth"} | {"reason"}:
            found.append(f"{place}: has other keys than it should")
            continue
        key = Key(**{name: value for name, value in row.items() if name in NAMES})
        if key not in there:
            found.append(f"{place}: the source has no such mutant")
        if not row["reason"].strip():
            found.append(f"{place}: has no reason")
        if key in seen:
            found.append(f"{place}: stands twice")
        seen.add(key)
    result: dict[str, int] | None = data.get("result")
    if result is not None:
        dead, alive = result["killed"] + result["timeouts"], result["survived"]
        if dead + alive != result["mutants"]:
            found.append("the result does not add up")
        if dead < LEAST_KILLED * result["mutants"]:
            found.append("too many mutants live")
    return found


def test_every_survivor_is_a_mutant_of_the_source_and_has_its_reason(root: Path) -> None:
    there = {mutant.key for mutant in mutants(files())}
    assert faults((root / "spec" / "mutants.toml").read_text(encoding="utf-8"), there) == []


def test_the_gate_sees_what_is_no_mutant_and_what_has_no_reason() -> None:
    key = Key(file="a.py", function="f", operator="comparison", text="if a < b:", becomes="if a <= b:")
    row = '[[survivor]]\nfile = "a.py"\nfunction = "f"\noperator = "comparison"\ntext = "if a < b:"\n'
    text = (
        "[result]\nmutants = 10\nkilled = 6\ntimeouts = 1\nsurvived = 4\n"
        + (row + 'becomes = "if a <= b:"\nreason = "equal"\n') * 2
        + (row + 'becomes = "if a > b:"\nreason = "gone"\n')
        + (row + 'becomes = "if a <= b:"\nnth = 2\nreason = " "\n')
        + row
    )
    assert faults(text, {key}) == [
        "a.py f: if a <= b:: stands twice",
        "a.py f: if a > b:: the source has no such mutant",
        "a.py f: if a <= b:: the source has no such mutant",
        "a.py f: if a <= b:: has no reason",
        "a.py f: None: has other keys than it should",
        "the result does not add up",
        "too many mutants live",
    ]
