"""`remit doctor`: is everything as it must be here, and if not, what to do (SPEC 13.7)."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from remit.cli import checks
from remit.cli.diagnosis import Diagnosis, as_json, as_text, well
from remit.cli.project import could_not_run, project_option
from remit.compiler import compile_project, find_root, read_project
from remit.compiler.graph import load_graph
from remit.errors import CompileError

FOUND = 1


@click.command()
@project_option
@click.option("--json", "for_programs", is_flag=True, help="JSON instead of lines.")
def doctor(start: Path, for_programs: bool) -> None:
    """Look at environment, settings, source, contract, doors, keys and pipeline; say what is wrong and what to do.

    Exit 0: all is well; 1: findings; 2: there is no project to look at. REMIT_ENV=production asks for what a deployment
    needs.
    """
    try:
        root = find_root(start)
    except CompileError as problem:
        could_not_run(problem.findings)
    found = [*checks.environment(), *_project(root), *checks.pipeline(root)]
    click.echo(as_json(found) if for_programs else as_text(found))
    sys.exit(FOUND if any(not each.ok for each in found) else 0)


def _project(root: Path) -> Iterator[Diagnosis]:
    """What the project says of itself; what cannot be read leaves nothing further to look at."""
    try:
        project = read_project(root)
    except CompileError as problem:
        yield from checks.unsettled(problem.findings, "settings")
        return
    # All builds at once: what is looked at here is of the whole project.
    entries = tuple(dict.fromkeys([*project.entries, *(each for some in project.targets.values() for each in some)]))
    targets = f", targets {', '.join(project.targets)}" if project.targets else ""
    yield well("settings", f"entries {', '.join(entries)}{targets}")
    graph = load_graph(root, entries, project.roots)
    yield from checks.packages(graph)
    made = checks.gateways(graph)
    try:
        compiled = compile_project(root)
    except CompileError as problem:
        yield from checks.unsettled(problem.findings, "source")
    else:
        if not compiled.manifest.components:
            yield Diagnosis(
                check="source",
                ok=False,
                what="declares no component",
                why="what the contract cannot list does not exist",
                do="remit init prints a first one",
            )
        yield from checks.contract(root, compiled)
        yield from checks.doors(project, compiled.manifest, served=bool(made))
    yield from checks.keys(made, root)
