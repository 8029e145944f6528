"""`remit compile`: write the contract of a project."""

from pathlib import Path

import click

from remit._contract.manifest import FILE_NAME
from remit.cli.project import compiled_project, could_not_run, project_option, warn
from remit.cli.report import counts
from remit.compiler import write_contract
from remit.errors import CompileError


@click.command("compile")
@project_option
def compile_(start: Path) -> None:
    """Read the source and write remit.contract.json beside pyproject.toml.

    The contract is complete or it is not written: exit 2 with what was found and what to write instead.
    """
    root, compiled = compiled_project(start)
    warn(compiled.manifest)
    try:
        written = write_contract(root, compiled.manifest)
    except CompileError as problem:
        could_not_run(problem.findings)
    click.echo(f"{'wrote' if written else 'unchanged'}  {FILE_NAME}: {counts(compiled.manifest)}")
