"""`remit diff`: every change between two contracts, as a reviewer reads it."""

import sys
from pathlib import Path
from typing import get_args

import click

from remit._contract.files import contract_at
from remit._contract.manifest import FILE_NAME, Manifest
from remit.cli.drift_report import Format, Report, Verbosity, rendered
from remit.cli.project import could_not_run, project_option
from remit.compiler import drift, find_root, manifest_at
from remit.errors import CompileError, DefinitionError, Finding


@click.command()
@project_option
@click.argument("before")
@click.argument("after", required=False)
@click.option("--format", "form", type=click.Choice(get_args(Format)), default="human", help="How to tell it.")
@click.option(
    "--verbosity", type=click.Choice(get_args(Verbosity)), default="normal", help="How much of it, for people."
)
def diff(start: Path, before: str, after: str | None, form: Format, verbosity: Verbosity) -> None:
    """Compare two contracts; each is a file or a git revision, and the second one by default the file of the project.

    Nothing is compiled and nothing fails: exit 0, or 2 when one of them cannot be read.
    """
    try:
        old, new = _contract(start, before), _contract(start, after or str(find_root(start) / FILE_NAME))
    except CompileError as problem:
        could_not_run(problem.findings)
    if new is None:
        could_not_run([Finding(found=f"{after} has no {FILE_NAME}")])
    report = Report(
        drifted=drift(old, new, {}), base=Path(before).name, fails=frozenset(), equals=None, adopted=old is None
    )
    click.echo(rendered(report, form, verbosity))
    sys.exit(0)


def _contract(start: Path, named: str) -> Manifest | None:
    file = Path(named)
    if not file.is_file() and not (file.name == FILE_NAME and file.exists()):
        return manifest_at(find_root(start), named, or_file=True)
    try:
        return contract_at(file)
    except DefinitionError as problem:
        raise CompileError([Finding(found=f"{problem.subject} {problem.rule}")]) from problem
