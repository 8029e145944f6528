"""Runs conformance cases against whatever remit is on the path; in a fork of `warm`, where nothing of it is there."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from remit.testing.conformance.running import Cases, Result
from remit.testing.conformance.running import controlled as run
from remit.testing.conformance.serving import controlled

FOLDER = Path(__file__).parents[2] / "spec" / "page-protocol"


def first_failure(file: str, name: str, control: str) -> Result | None:
    """The first case that fails, of this file and name (`*`: all of the file); None if all pass."""
    cases = Cases(FOLDER, file)
    cases.cases = [case for case in cases.cases if name in {"*", case.name}]
    assert cases.cases, f"{file} has no case {name!r}"
    return next((result for result in run(cases, control) if result.faults), None)


async def _main(file: str, name: str) -> int:
    async with controlled() as control:
        failed = await asyncio.to_thread(first_failure, file, name, control)
    if failed is None:
        return 0
    print(f"failed: {failed.case.name}: {failed.faults[0]}")
    return 1


def main(arguments: Sequence[str]) -> int:
    """Run the cases of this file and name; status 1 with the first that fails on standard output, or 0."""
    file, name = arguments
    return asyncio.run(_main(file, name))
