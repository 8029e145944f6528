"""`remit inspect`: what agents could ever see, what opened it, and who must decide."""

from pathlib import Path

import click

from remit._contract.options import DOORS
from remit.cli.project import compiled_project, project_option
from remit.cli.report import as_json, as_text, counts, lines_of, unused_text


@click.command()
@project_option
@click.option("--door", type=click.Choice(DOORS), help="Only what could appear at this door, and what opened it.")
@click.option("--json", "for_programs", is_flag=True, help="JSON instead of a table.")
def inspect(start: Path, door: str | None, for_programs: bool) -> None:
    """Show every capability of the source with its reach and its gates, and what backends offer besides."""
    _, compiled = compiled_project(start)
    lines = lines_of(compiled.manifest, compiled.places, door)
    if for_programs:
        click.echo(as_json(lines, compiled.manifest, compiled.offered))
        return
    if lines:
        click.echo(as_text(lines, door) + "\n")
    where = "" if door is None else f"door {door}: {len(lines)} of "
    click.echo(where + counts(compiled.manifest))
    if compiled.manifest.policies:
        click.echo(f"policies of every surface: {', '.join(compiled.manifest.policies)}")
    if door is None and (rest := unused_text(compiled.offered, compiled.manifest)):
        click.echo("\n" + rest)
    if door is not None and not lines and compiled.manifest.capabilities:
        click.echo(f'do  add to [tool.remit.exposure]:  {door} = ["view:…"]')
