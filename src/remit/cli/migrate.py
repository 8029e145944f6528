"""`remit migrate`: bring the file of a store to the schema of this version (SPEC 15.6)."""

import sys
from pathlib import Path
from pkgutil import resolve_name

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
@click.option("--database", metavar="CONNINFO", help="A PostgreSQL database, as libpq takes it, instead of a file.")
@project_option
def migrate(file: Path | None, database: str | None, start: Path) -> None:
    """Bring the store to the schema of this version, forward only; workers never do that by themselves.

    FILE is the store; by default what `state` of [tool.remit] names. Exit 0: it is as it must be; 1: it is newer than
    this version, and was left as it is; 2: it could not be looked at.
    """
    if file is not None and database is not None:
        raise click.UsageError("give FILE or --database")
    try:
        if database is None:
            kept = state_in(start) if file is None else file
            shown, (before, after) = kept.name, migrate_file(kept)
        else:
            shown, (before, after) = "the database", _migrate_database(database)
    except CompileError as problem:
        could_not_run(problem.findings)
    except (DefinitionError, StoreError) as problem:
        could_not_run([Finding(found=str(problem))])
    known = VERSION
    if after > known:
        click.echo(f"{shown} has the schema {after}, newer than this version's {known}; it was left as it is", err=True)
        sys.exit(FOUND)
    click.echo(f"{shown} has the schema {after}" + ("" if before == after else f", it had {before}"))


def _migrate_database(conninfo: str) -> tuple[int, int]:
    """Known by name, for it needs an extra that the other commands do without."""
    try:
        migrated: tuple[int, int] = resolve_name("remit.store.postgres:migrate_database")(conninfo)
    except ModuleNotFoundError as problem:
        could_not_run([Finding(found=f"{problem.name} is not installed", write='pip install "remit[postgres]"')])
    return migrated


def state_in(start: Path) -> Path:
    """The store of the project; CompileError where it names none."""
    kept = durable_of(find_root(start))
    if kept is None:
        raise CompileError([Finding(found="[tool.remit] names no state", write='state = ".remit/state.db"')])
    return kept.state
