"""Break the rule of one row in a copy of the sources, and run exactly the tests that hold the row.

The breakages are data: `rows/*.toml`, one small entry a row. Which rows have one was drawn, not chosen: `drawn.toml`.
`python -m tests.faults.breaking --draw N --seed SEED` draws N more; with ids, or without anything, it tries breakages.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.warm import Warm

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).parent / "rows"
DRAWN = Path(__file__).parent / "drawn.toml"
REQUIREMENTS = ROOT / "spec" / "requirements.toml"
SECTIONS = ("2", "3", "4", "5", "6", "7", "8", "9", "17")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """A plausible way to break one rule: `find` stands once in `file`, and becomes `replace`."""

    row: str
    file: str
    find: str
    replace: str

    def applied(self, text: str) -> str:
        """The file's text with the rule broken; ValueError if what is to be replaced does not stand there once."""
        times = text.count(self.find)
        if times != 1:
            raise ValueError(f"{self.row}: what is to be replaced stands {times} times in {self.file}")
        return text.replace(self.find, self.replace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Rows that were drawn together, by this seed, from the sorted ids of that time that had not been drawn before."""

    seed: int
    of: int
    rows: tuple[str, ...]


def breakages(folder: Path = ROWS) -> list[Breakage]:
    """Every breakage there is."""
    found: list[Breakage] = []
    for path in sorted(folder.glob("*.toml")):
        rows: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("breakage", [])
        found += [Breakage(**row) for row in rows]
    return found


def draws(file: Path = DRAWN) -> list[Drawn]:
    """What was drawn, oldest first."""
    if not file.exists():
        return []
    forms: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8")).get("draw", [])
    return [Drawn(seed=form["seed"], of=form["of"], rows=tuple(form["rows"])) for form in forms]


def drawn() -> list[str]:
    """Every row that was drawn."""
    return [row for each in draws() for row in each.rows]


def rows(file: Path = REQUIREMENTS) -> dict[str, str]:
    """The rows that can be drawn, with the section of SPEC each comes from."""
    listed: list[dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))["requirement"]
    found: dict[str, str] = {}
    for row in listed:
        text, _, number = row["source"].partition(" ")
        section = number.split(".")[0]
        if text == "SPEC" and section in SECTIONS and "gap" not in row:
            found[row["id"]] = section
    return found


def holders(row: str) -> list[str]:
    """The files in which a test may hold the row: they name it as a text of its own."""
    named = f'"{row}"'.encode()
    found = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if named in path.read_bytes())
    return [str(path.relative_to(ROOT)) for path in found]


def run(breakage: Breakage, folder: Path, warm: Warm) -> tuple[bool, str]:
    """Whether a test of the row turned red over a copy in `folder` with the rule broken, and what pytest said."""
    shutil.copytree(ROOT / "src", folder / "src")
    spoilt = folder / breakage.file
    spoilt.write_text(breakage.applied(spoilt.read_text(encoding="utf-8")), encoding="utf-8")
    return red(breakage.row, folder, warm)


def red(row: str, folder: Path, warm: Warm) -> tuple[bool, str]:
    """Whether a test of the row fails over the sources in `folder`; one that cannot be collected does not count."""
    command = ["-q", "-x", "--tb=short", "-p", "no:cacheprovider", "-n", "0"]
    given = [*command, "-o", "timeout=30", "-m", "not browser", "--long", "--row", row, *holders(row)]
    status, said = warm.run(given, folder, {"CI": "true"})
    if status not in (0, 1):
        raise RuntimeError(f"{row}: pytest ended with {status}\n{said}")
    return status == 1, said


def _draw(count: int, seed: int) -> None:
    there = sorted(set(rows()) - set(drawn()))
    picked = sorted(random.Random(seed).sample(there, count))
    listed = "".join(f'    "{row}",\n' for row in picked)
    with DRAWN.open("a", encoding="utf-8") as file:
        file.write(f"\n[[draw]]\nseed = {seed}\nof = {len(there)}\nrows = [\n{listed}]\n")


def _try(wanted: Sequence[str]) -> int:
    green = 0
    with Warm(ROOT) as warm:
        for breakage in [each for each in breakages() if not wanted or each.row in wanted]:
            with tempfile.TemporaryDirectory() as folder:
                noticed, said = run(breakage, Path(folder), warm)
            green += not noticed
            print(f"{'red  ' if noticed else 'GREEN'} {breakage.row}  {said.strip().splitlines()[-1]}", flush=True)
    return green


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw rows, or try breakages; the status is the number of those that nothing noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.breaking")
    parser.add_argument("row", nargs="*", help="try these only")
    parser.add_argument("--draw", type=int, metavar="N", help="draw so many more rows")
    parser.add_argument("--seed", type=int, default=1, help="the seed that draws them (default 1)")
    options = parser.parse_args(arguments)
    if options.draw is not None:
        _draw(options.draw, options.seed)
        return 0
    return min(_try(options.row), 100)


if __name__ == "__main__":
    sys.exit(main())
