"""The killing suite: which files are mutated, which tests may kill, and which of them runs which line."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import coverage
import pytest

from tests.mutants.operators import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "mutants"
MUTATED = ("src/remit/_registry/visibility.py", "src/remit/_invocation", "src/remit/_confirmation")
KILLERS = (
    "tests/unit/_registry",
    "tests/unit/_confirmation",
    "tests/unit/_invocation",
    "tests/behaviour",
    "tests/properties/test_surface.py",
    "tests/properties/test_explain.py",
    "tests/oracle/test_oracle.py",
)


def files(only: str | None = None) -> list[Path]:
    """The mutated files, or those of them whose path contains `only`."""
    found: list[Path] = []
    for name in MUTATED:
        place = ROOT / name
        found += sorted(place.glob("*.py")) if place.is_dir() else [place]
    return [path for path in found if only is None or only in str(path.relative_to(ROOT))]


def mutants(paths: Sequence[Path]) -> list[Mutant]:
    """Every mutant of these files, in order."""
    found: list[Mutant] = []
    for path in paths:
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        found += mutants_of(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)), vars(module))
    return found


def state(killers: Sequence[str]) -> str:
    """A digest of the sources and of the tests that may kill: the same digest, the same verdicts."""
    digest = hashlib.sha256("\n".join(killers).encode())
    for name in ("src/remit", "tests/unit", "tests/behaviour", "tests/properties", "tests/oracle", "tests/mutants"):
        for path in sorted((ROOT / name).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Cover:
    """What each test took, in seconds, and which tests ran which line of which file."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's line; where a line has no code of its own, its statement's."""
        lines = self.lines.get(mutant.key.file, {})
        return lines.get(mutant.line) or lines.get(mutant.statement_line) or []


class Red(Exception):
    """The suite is not green without a mutant."""


def cover(items: Sequence[pytest.Item], watch: Watch, workers: int, kept: Path) -> Cover:
    """Who runs what: measured once, in as many processes as may be used, and kept."""
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        parts = [_measured_apart(items[start::workers], watch) for start in range(workers)]
        merged: dict[str, dict[str, object]] = {"seconds": {}, "lines": {}}
        lines: dict[str, dict[str, list[str]]] = {}
        for pid, path in parts:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if status != 0:
                raise Red(path.read_text(encoding="utf-8"))
            part = json.loads(path.read_text(encoding="utf-8"))
            merged["seconds"].update(part["seconds"])
            for file, tests in part["lines"].items():
                for line, names in tests.items():
                    lines.setdefault(file, {}).setdefault(line, []).extend(names)
            path.unlink()
        kept.write_text(json.dumps({"seconds": merged["seconds"], "lines": lines}), encoding="utf-8")
    form = json.loads(kept.read_text(encoding="utf-8"))
    by_file = {file: {int(line): names for line, names in each.items()} for file, each in form["lines"].items()}
    return Cover(form["seconds"], by_file)


class Watch:
    """The plugin that hears how tests end."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed."""
        if report.failed:
            self.failed.append(f"{report.nodeid} ({report.when})\n{report.longreprtext}")

    def run(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Run one test as pytest does; say whether it passed."""
        before = len(self.failed)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return len(self.failed) == before


def quietly() -> None:
    """Let nothing of this process be seen: it is a child, and its tests print."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _measured_apart(items: Sequence[pytest.Item], watch: Watch) -> tuple[int, Path]:
    handle, name = tempfile.mkstemp(dir=CACHE, suffix=".part")
    os.close(handle)
    pid = os.fork()
    if pid:
        return pid, Path(name)
    status = 1
    try:
        quietly()
        status = _measure(items, watch, Path(name))
    finally:
        os._exit(status)


def _measure(items: Sequence[pytest.Item], watch: Watch, path: Path) -> int:
    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(each) for each in files()])
    seconds: dict[str, float] = {}
    measured.start()
    for item, following in zip(items, [*items[1:], None], strict=True):
        measured.switch_context(item.nodeid)
        begun = perf_counter()
        if not watch.run(item, following):
            path.write_text(watch.failed[-1], encoding="utf-8")
            return 1
        seconds[item.nodeid] = perf_counter() - begun
    measured.stop()
    data = measured.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            str(line): [name for name in names if name] for line, names in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    path.write_text(json.dumps({"seconds": seconds, "lines": lines}), encoding="utf-8")
    return 0
