"""The command: judges a seeded sample of mutants, or all, tells what survived, and keeps the result.

`scripts/check --mutants [--all] [--seed N] [--only PATH]`; minutes, so never in CI. `docs/design/proof.md` says more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic

import pytest

from tests.mutants.judge import Fate, Judge, Verdict
from tests.mutants.known import known
from tests.mutants.operators import Key, Mutant
from tests.mutants.suite import CACHE, KILLERS, ROOT, Cover, Red, Watch, cover, files, mutants, state

SAMPLE = 400
WORKERS = 2


class Run(Watch):
    """One run of the command, inside of pytest, where the tests are collected and everything is warm."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self._options = options
        self.status = 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge, instead of running the tests."""
        items = session.items
        print(f"{len(items)} tests may kill; measuring which of them runs which line", flush=True)
        now = state(self._options.killers)
        try:
            covered = cover(items, self, self._options.workers, CACHE / f"cover-{now}.json")
        except Red as red:
            print(f"the suite is red without a mutant:\n{red}")
            return True
        everything = mutants(files(self._options.only))
        chosen = _chosen(everything, self._options)
        kept = CACHE / f"verdicts-{now}.jsonl"
        before = _kept(kept) if self._options.all else {}
        self.status = self._judge(items, covered, chosen, before, kept)
        return True

    def _judge(
        self,
        items: Sequence[pytest.Item],
        covered: Cover,
        chosen: Sequence[Mutant],
        before: Mapping[Key, Fate],
        kept: Path,
    ) -> int:
        reasons = known()
        begun = monotonic()
        verdicts = [Verdict(mutant, before[mutant.key]) for mutant in chosen if mutant.key in before]
        left = [mutant for mutant in chosen if mutant.key not in before]
        with kept.open("a", encoding="utf-8") as log:
            for verdict in Judge(items, covered, self, self._options.workers).judge(left):
                verdicts.append(verdict)
                log.write(
                    json.dumps({**asdict(verdict.mutant.key), "fate": verdict.fate.value, "by": verdict.by}) + "\n"
                )
                log.flush()
                if verdict.fate.alive and verdict.mutant.key not in reasons:
                    print(_told(verdict), flush=True)
                if len(verdicts) % 50 == 0:
                    print(f"… {len(verdicts)} of {len(chosen)}, {monotonic() - begun:.0f} s", flush=True)
        print(_table(verdicts, reasons))
        print(f"seed {self._options.seed}, {len(chosen)} mutants, {monotonic() - begun:.0f} s")
        if self._options.write is not None:
            self._options.write.write_text(_toml(verdicts, reasons), encoding="utf-8")
        unexplained = [v for v in verdicts if v.fate.alive and v.mutant.key not in reasons]
        return 1 if unexplained else 0


def _chosen(everything: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    if options.all or len(everything) <= options.sample:
        return list(everything)
    picked = random.Random(options.seed).sample(range(len(everything)), options.sample)
    return [everything[index] for index in sorted(picked)]


def _kept(path: Path) -> dict[Key, Fate]:
    """What was judged before of the same sources by the same tests: a run of everything may be broken off."""
    if not path.exists():
        return {}
    found: dict[Key, Fate] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        form = json.loads(line)
        fate = Fate(form.pop("fate"))
        form.pop("by")
        found[Key(**form)] = fate
    return found


def _told(verdict: Verdict) -> str:
    key = verdict.mutant.key
    return (
        f"{verdict.fate.value}: {key.file}:{verdict.mutant.line} {key.function} [{key.operator}]\n"
        f"    {key.text}\n    {key.becomes}"
    )


def _table(verdicts: Iterable[Verdict], reasons: Mapping[Key, str]) -> str:
    by_file: dict[str, Counter[Fate]] = {}
    for verdict in verdicts:
        by_file.setdefault(verdict.mutant.key.file, Counter())[verdict.fate] += 1
    everything: Counter[Fate] = sum(by_file.values(), Counter())
    lines = [f"{'file':<44}" + "".join(f"{fate.value:>10}" for fate in Fate) + f"{'killed':>9}"]
    for file, counts in [*sorted(by_file.items()), ("altogether", everything)]:
        lines.append(f"{file:<44}" + "".join(f"{counts[fate]:>10}" for fate in Fate) + f"{_rate(counts):>8.1f}%")
    explained = sum(1 for verdict in verdicts if verdict.fate.alive and verdict.mutant.key in reasons)
    return "\n".join([*lines, f"survivors with a reason in spec/mutants.toml: {explained}"])


def _rate(counts: Counter[Fate]) -> float:
    dead = counts[Fate.KILLED] + counts[Fate.TIMEOUT]
    judged = counts.total() - counts[Fate.FAULTY]
    return 100 * dead / judged if judged else 100.0


def _toml(verdicts: Sequence[Verdict], reasons: Mapping[Key, str]) -> str:
    """The survivors as they stand in spec/mutants.toml; a reason that is missing is empty, which its gate refuses."""
    lines: list[str] = []
    for verdict in verdicts:
        if verdict.fate.alive:
            key = verdict.mutant.key
            lines.append("[[survivor]]")
            for name, value in asdict(key).items():
                if name != "nth" or value != 1:
                    lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
            lines.append(f"reason = {json.dumps(reasons.get(key, ''), ensure_ascii=False)}\n")
    return "\n".join(lines)


def _seed() -> int:
    return random.SystemRandom().randrange(1_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print, and keep."""
    parser = argparse.ArgumentParser(prog="scripts/check --mutants", description="Do the tests notice a changed line?")
    parser.add_argument(
        "--all", action="store_true", help="every mutant, not a sample; goes on where it was broken off"
    )
    parser.add_argument("--seed", type=int, default=_seed(), help="the seed of the sample (default: a new one)")
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"how many are drawn (default {SAMPLE})")
    parser.add_argument("--only", metavar="PATH", help="only files whose path contains PATH")
    parser.add_argument(
        "--killers", nargs="+", metavar="TESTS", default=KILLERS, help="other tests than the usual ones"
    )
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"processes side by side (default {WORKERS})")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the survivors to FILE, as spec/mutants.toml has them"
    )
    options = parser.parse_args(arguments)
    os.environ["CI"] = "true"  # properties and the oracle take the same examples on every run
    os.chdir(ROOT)
    run = Run(options)
    print(f"seed {options.seed}")
    quiet = [
        "-qq",
        "-s",
        "--no-header",
        "--no-summary",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-o",
        "timeout=0",
        "-o",
        "faulthandler_timeout=0",
    ]
    pytest.main([*quiet, *options.killers], plugins=[run])
    return run.status


if __name__ == "__main__":
    sys.exit(main())
