"""The command: measures one suite, prints a table, writes JSON."""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import backends, compiler, identity
from bench.cases import SUITES
from bench.harness import ROUNDS, Figure, machine, measure

IDENTITY = "identity"
"""The suite that compares what is hidden with what was never there."""
COMPILER = "compiler"
"""The suite that compiles; its project is written to disk first."""
BACKENDS = "backends"
"""The suite that lists a large document, and calls beside a bare client."""


def table(figures: Sequence[Figure]) -> str:
    """The figures for reading."""
    lines = [f"{'case':<24}{'median':>12}{'p99':>12}{'n':>9}"]
    lines += [f"{f.name:<24}{f.median:>9.1f} {f.unit}{f.p99:>9.1f} {f.unit}{f.n:>9}" for f in figures]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite that is named."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what calls and compiling cost.")
    parser.add_argument("suite", choices=sorted([*SUITES, IDENTITY, COMPILER, BACKENDS]))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply every number of runs (default 1)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"slices a case is measured in (default {ROUNDS})")
    options = parser.parse_args(arguments)
    where = machine()
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    form: dict[str, object] = {"machine": where}
    if options.suite == IDENTITY:
        comparisons = asyncio.run(identity.compare(scale=options.scale))
        print(identity.table(comparisons))
        form["comparisons"] = [comparison.to_json() for comparison in comparisons]
    elif options.suite == BACKENDS:
        listed = backends.listing(round(backends.LISTINGS * options.scale))
        beside = asyncio.run(backends.beside(scale=options.scale))
        print(backends.table(listed, beside))
        form |= {"listing": listed.to_json(), "beside": [each.to_json() for each in beside]}
    else:
        with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
            cases = compiler.cases(Path(folder)) if options.suite == COMPILER else SUITES[options.suite]
            figures = asyncio.run(measure(cases, scale=options.scale, rounds=options.rounds))
        print(table(figures))
        form["cases"] = [figure.to_json() for figure in figures]
    if options.json is not None:
        options.json.write_text(json.dumps(form, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
