"""The names that the declarations enforce are those of spec/denied-names.toml."""

import tomllib
from pathlib import Path

import pytest

from remit._contract.denied import EXACT, SUFFIXES


@pytest.mark.requirement("11.10-denied-names-are-data")
def test_the_denied_names_of_the_code_are_those_of_the_data(root: Path) -> None:
    groups = tomllib.loads((root / "spec" / "denied-names.toml").read_text(encoding="utf-8"))["group"]
    assert sorted(EXACT) == sorted(name for each in groups for name in each["exact"])
    assert sorted(SUFFIXES) == sorted(name for each in groups for name in each["suffix"])
    names = [*EXACT, *SUFFIXES]
    assert all(name == name.lower() and name.isalnum() for name in names)
    assert all(each["why"] for each in groups)
