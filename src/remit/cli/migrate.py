"""`remit migrate`: bring the file of a store to the schema of this version (SPEC 15.6)."""

import sys
from pathlib import Path

import click

from remit._contract.durable import durable_of
from remit.cli.project import could_not_run, project_option
from remit.compiler import find_root
from remit.errors import CompileError, DefinitionError, Finding
from remit.store.schema import VERSION
from remit.store.sqlite import StoreError, migrate_file

FOUND = 1


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@project_option
def migrate(file: Path | None, start: Path) -> None:
    """Bring the store to the schema of this version, forward only; workers never do that by themselves.

    FILE is the store; by default what `state` of [tool.remit] names. Exit 0: it is as it must be; 1: it is newer than
    this version, and was left as it is; 2: it could not be looked at.
    """
    try:
        kept = state_in(start) if file is None else file
        before, after = migrate_file(kept)
    except CompileError as problem:
        could_not_run(problem.findings)
    except (DefinitionError, StoreError) as problem:
        could_not_run([Finding(found=str(problem))])
    known, shown = VERSION, kept.name
    if after > known:
        click.echo(f"{shown} has the schema {after}, newer than this version's {known}; it was left as it is", err=True)
        sys.exit(FOUND)
    click.echo(f"{shown} has the schema {after}" + ("" if before == after else f", it had {before}"))


def state_in(start: Path) -> Path:
    """The store of the project; CompileError where it names none."""
    kept = durable_of(find_root(start))
    if kept is None:
        raise CompileError([Finding(found="[tool.remit] names no state", write='state = ".remit/state.db"')])
    return kept.state
