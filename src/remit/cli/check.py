"""`remit check`: does the reviewed contract equal the source?"""

import sys
from pathlib import Path
from typing import NoReturn

import click

from remit._contract.manifest import FILE_NAME, parse
from remit.cli.project import compiled_project, project_option
from remit.cli.report import changes, counts, table
from remit.errors import DefinitionError

FOUND = 1


@click.command()
@project_option
def check(start: Path) -> None:
    """Compile in memory and compare with remit.contract.json. Exit 0: equal; 1: it differs; 2: could not compile."""
    root, compiled = compiled_project(start)
    file = root / FILE_NAME
    if not file.is_file():
        _end(f"there is no {FILE_NAME}", counts(compiled.manifest) + " in the source")
    try:
        recorded = parse(file.read_bytes())
    except DefinitionError as problem:
        _end(f"{problem.subject} {problem.rule}")
    if recorded.hash == compiled.manifest.hash:
        click.echo(f"{FILE_NAME} equals the source: {counts(recorded)}")
        return
    rows = changes(recorded, compiled.manifest)
    click.echo(table(("", "what", "how"), rows))
    _end(f"{len(rows)} {'change' if len(rows) == 1 else 'changes'}; {FILE_NAME} does not equal the source")


def _end(*lines: str) -> NoReturn:
    for line in lines:
        click.echo(line)
    click.echo("do  remit compile; review; commit")
    sys.exit(FOUND)
