"""`remit conformance`: whether a server speaks the page protocol, by the cases of `spec/page-protocol`."""

import sys
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

import click

from remit.cli.project import could_not_run
from remit.errors import Finding

FINDINGS = 1
RUNNER: Final = "remit.testing.conformance.running"
"""Known by name, for it needs an extra that the other commands do without."""


@click.command()
@click.argument("url", required=False)
@click.option("--token", help="A token for the door, with URL.")
@click.option("--control", metavar="URL", help="The control of a server under test: run all cases.")
@click.option(
    "--cases",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="spec/page-protocol",
    show_default=True,
    help="The folder of the cases.",
)
@click.option("--only", metavar="NAME", default="*", help="The cases of one file, `records` for instance.")
@click.option("-v", "--verbose", is_flag=True, help="Name the cases that pass, too.")
def conformance(
    url: str | None, token: str | None, control: str | None, folder: Path, only: str, verbose: bool
) -> None:
    """Hold a server against the cases of the page protocol.

    With --control all of them, each on a site that the server makes for it; with URL and --token those that any live
    site has to pass, which change none of its data.
    """
    if (control is None) == (url is None) or (url is None) != (token is None):
        raise click.UsageError("give --control URL, or URL and --token")
    running: Any = _running()
    try:
        cases = running.Cases(folder, only)
    except (OSError, ValueError, KeyError) as problem:
        could_not_run([Finding(found=f"the cases in {folder} cannot be read: {problem}")])
    chosen = [case for case in cases.cases if control is not None or case.given is None]
    if not chosen:
        site = "" if control is not None else " that any site passes"
        could_not_run([Finding(found=f"there are no cases{site} in {folder / 'cases' / f'{only}.json'}")])
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        could_not_run([Finding(found="--token is no token: those are printable ASCII characters, without a space")])
    try:
        if url is not None and (met := running.in_the_way(url, token)) is not None:
            could_not_run([Finding(found=met)])
        _tell(running.live(cases, url, token) if control is None else running.controlled(cases, control), verbose)
    except (running.httpx2.HTTPError, running.httpx2.InvalidURL) as problem:
        could_not_run([Finding(found=f"the server cannot be reached: {problem}")])


def _running() -> Any:
    try:
        return resolve_name(RUNNER)
    except ModuleNotFoundError as problem:
        could_not_run([Finding(found=f"{problem.name} is not installed", write='pip install "remit[client]"')])


def _tell(results: Iterable[Any], verbose: bool) -> None:
    passed = failed = 0
    for result in results:
        if result.faults:
            failed += 1
            click.echo(f"failed  {result.case.name}")
            for fault in result.faults:
                click.echo(f"  {fault}")
        else:
            passed += 1
            if verbose:
                click.echo(f"passed  {result.case.name}")
    click.echo(f"{passed} passed, {failed} failed")
    if failed:
        sys.exit(FINDINGS)
