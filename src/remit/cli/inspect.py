"""`remit inspect`: what agents could ever see, what opened it, and who must decide."""

from collections.abc import Iterable
from pathlib import Path

import click

from remit._contract.manifest import RowKey
from remit._contract.options import DOORS
from remit.cli.detail import as_detail
from remit.cli.project import compiled_project, could_not_run, project_option
from remit.cli.report import as_json, as_text, counts, dependencies_text, lines_of, unused_text
from remit.errors import Finding


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@project_option
@click.option("--door", type=click.Choice(DOORS), help="Only what could appear at this door, and what opened it.")
@click.option("--json", "for_programs", is_flag=True, help="JSON instead of a table.")
def inspect(ids: tuple[str, ...], start: Path, door: str | None, for_programs: bool) -> None:
    """Show every capability of the source with its reach and its gates, and what backends offer besides.

    With an ID, `view:devices.table.clear` for instance, everything about that one.
    """
    _, compiled = compiled_project(start)
    lines = lines_of(compiled.manifest, compiled.places, door)
    if ids:
        _check_known(ids, compiled.manifest.capabilities)
        lines = [line for line in lines if line.id in ids]
    if for_programs:
        click.echo(as_json(lines, compiled.manifest, compiled.offered))
        return
    if ids:
        blocks = compiled.manifest.capabilities
        click.echo("\n\n".join(as_detail(line, blocks[line.component, line.id]) for line in lines))
        return
    if lines:
        click.echo(as_text(lines, door) + "\n")
    where = "" if door is None else f"door {door}: {len(lines)} of "
    click.echo(where + counts(compiled.manifest))
    if compiled.manifest.policies:
        click.echo(f"policies of every surface: {', '.join(compiled.manifest.policies)}")
    if door is None and (dependencies := dependencies_text(compiled.manifest)):
        click.echo("\n" + dependencies)
    if door is None and (rest := unused_text(compiled.offered, compiled.manifest)):
        click.echo("\n" + rest)
    if door is not None and not lines and compiled.manifest.capabilities:
        click.echo(f'do  add to [tool.remit.exposure]:  {door} = ["view:…"]')


def _check_known(ids: Iterable[str], rows: Iterable[RowKey]) -> None:
    known = {id for _, id in rows}
    if unknown := [each for each in ids if each not in known]:
        found = [Finding(found=f"there is no capability {each}") for each in unknown]
        could_not_run([*found[:-1], Finding(found=found[-1].found, write="one of those that remit inspect lists")])
