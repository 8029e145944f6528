"""`remit check`: does the reviewed contract equal the source, and what changed since a base?"""

import sys
from pathlib import Path
from typing import get_args

import click

from remit._base.text import shown
from remit._contract.files import contract_at
from remit._contract.manifest import FILE_NAME, Manifest
from remit.cli.drift_report import Format, Report, Verbosity, rendered
from remit.cli.gate import fail_on_option
from remit.cli.project import compiled_project, could_not_run, project_option, warn
from remit.cli.report import counts
from remit.compiler import Drift, Drifted, drift, manifest_at
from remit.errors import CompileError, DefinitionError

FOUND = 1


@click.command()
@project_option
@click.option("--base", metavar="REF", help="Also show every change since the contract of this git revision.")
@fail_on_option
@click.option("--format", "form", type=click.Choice(get_args(Format)), default="human", help="How to tell it.")
@click.option(
    "--verbosity", type=click.Choice(get_args(Verbosity)), default="normal", help="How much of it, for people."
)
def check(start: Path, base: str | None, fails: frozenset[Drift], form: Format, verbosity: Verbosity) -> None:
    """Compile in memory and compare with remit.contract.json; with --base, with that of a git revision too.

    Exit 0: equal, and no change of a class that fails; 1: findings; 2: could not run.
    """
    root, compiled = compiled_project(start)
    warn(compiled.manifest)
    recorded, broken = _recorded(root)
    unreadable = None if broken is None else shown(f"{broken.subject} {broken.rule}")
    missing = recorded is None and unreadable is None
    equals = recorded is not None and recorded.hash == compiled.manifest.hash
    try:
        old = recorded if base is None else manifest_at(root, base)
    except CompileError as problem:
        could_not_run(problem.findings)
    report = Report(
        drifted=Drifted(changes=())
        if base is None and unreadable is not None  # against what cannot be read, nothing is added and nothing is gone
        else drift(old, compiled.manifest, compiled.places),
        base=FILE_NAME if base is None else base,
        fails=frozenset() if base is None else fails,  # without a base only one thing matters: whether they are equal
        equals=equals,
        adopted=old is None,
        unreadable=unreadable,
    )
    if form == "human" and base is None and equals:
        click.echo(f"{FILE_NAME} equals the source: {counts(compiled.manifest)}")
    else:
        click.echo(rendered(report, form, verbosity))
    if missing:
        click.echo(f"there is no {FILE_NAME}", err=form != "human")
    elif unreadable is not None and form != "human":
        click.echo(unreadable, err=True)
    if not equals:
        do = None if broken is None else broken.do
        click.echo(f"do  {do or 'remit compile; review; commit'}", err=form != "human")
    sys.exit(FOUND if report.failed else 0)


def _recorded(root: Path) -> tuple[Manifest | None, DefinitionError | None]:
    """The contract beside the project file, or why it cannot be read; neither where there is none.

    What was read is written as `remit compile` writes it, so equal hashes are equal bytes.
    """
    try:
        return contract_at(root / FILE_NAME), None
    except DefinitionError as problem:
        return None, problem
