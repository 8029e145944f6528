"""`remit keys`: the file with the keys of a deployment (SPEC 15.1)."""

from collections.abc import Callable
from pathlib import Path

import click

from remit._contract.durable import durable_of
from remit._session.keys_file import KeysFile, new_keys, rotate_keys
from remit.cli.project import could_not_run, project_option
from remit.compiler import find_root
from remit.errors import CompileError, DefinitionError, Finding

file_option = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; by default what `keys` of [tool.remit] names, else keys.json beside its `state`.",
)


@click.group()
def keys() -> None:
    """Make and replace the keys that sign tokens and bind confirmation requests.

    The file is for its owner alone (mode 0600) and is read when the program starts. Exit 2: it could not be written.
    """


@keys.command()
@file_option
@project_option
def new(file: Path | None, start: Path) -> None:
    """Write the file, with one fresh key. One that was made for development is replaced, and its key is not kept."""
    where, made = _written(file, start, new_keys)
    click.echo(f"{where.name}  {made.active} signs and binds\nKeep it secret, and out of the repository.")


@keys.command()
@file_option
@project_option
def rotate(file: Path | None, start: Path) -> None:
    """Make a new key the active one; the one before still reads. Start the program anew afterwards."""
    where, made = _written(file, start, rotate_keys)
    before = ", ".join(kid for kid in made.keys if kid != made.active)
    click.echo(f"{where.name}  {made.active} signs and binds, {before} still reads\nStart the program anew.")


def _written(file: Path | None, start: Path, write: Callable[[Path], KeysFile]) -> tuple[Path, KeysFile]:
    try:
        where = _file_in(start) if file is None else file
        return where, write(where)
    except CompileError as problem:
        could_not_run(problem.findings)
    except (DefinitionError, OSError, ValueError) as problem:
        could_not_run([Finding(found=str(problem))])


def _file_in(start: Path) -> Path:
    kept = durable_of(find_root(start))
    if kept is None:
        raise CompileError([Finding(found="[tool.remit] names no state", write='state = ".remit/state.db"')])
    return kept.keys
