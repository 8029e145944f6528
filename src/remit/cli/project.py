"""What every command needs of the project it is run in, and how it ends when that cannot be had."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import click

from remit._base.text import shown
from remit._contract.manifest import Manifest
from remit.cli.report import counted
from remit.compiler import Compiled, compile_project, find_root
from remit.errors import CompileError, Finding

COULD_NOT_RUN = 2

project_option = click.option(
    "--project",
    "start",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The project's folder; by default the one you are in, or the nearest above it.",
)


def compiled_project(start: Path) -> tuple[Path, Compiled]:
    """The root of the project and its contract, or findings on standard error and exit 2."""
    try:
        root = find_root(start)
        return root, compile_project(root)
    except CompileError as problem:
        could_not_run(problem.findings)


def warn(manifest: Manifest) -> None:
    """Say on standard error what a setting lets stand: one name on both planes (SPEC 2.7)."""
    for name in manifest.on_both_planes:
        click.echo(f"warning  view:{name} and domain:{name} are two capabilities of one name", err=True)
        click.echo("  do     rename one of the two", err=True)


def could_not_run(findings: Iterable[Finding]) -> NoReturn:
    """Print what is in the way and end with exit code 2."""
    every = list(findings)
    for finding in every:  # it may quote a file that nobody vouches for
        click.echo("\n".join(shown(line) for line in str(finding).split("\n")), err=True)
    click.echo(counted(len(every), "finding", "findings"), err=True)
    sys.exit(COULD_NOT_RUN)
