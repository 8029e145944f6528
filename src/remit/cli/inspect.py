"""`remit inspect`: what agents could ever see, what opened it, and who must decide."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from remit._contract.manifest import RowKey
from remit._contract.options import DOORS
from remit.cli.detail import as_detail, as_offered
from remit.cli.offers import OfferLine, unexposed, unexposed_text
from remit.cli.project import compiled_project, could_not_run, project_option
from remit.cli.report import Line, as_json, as_text, counts, dependencies_text, lines_of
from remit.compiler import Compiled
from remit.errors import Finding


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@project_option
@click.option("--door", type=click.Choice(DOORS), help="Only what could appear at this door, and what opened it.")
@click.option("--json", "for_programs", is_flag=True, help="JSON instead of a table.")
def inspect(ids: tuple[str, ...], start: Path, door: str | None, for_programs: bool) -> None:
    """Show every capability of the source with its reach and its gates, and what backends offer besides.

    With an ID, `view:devices.table.clear` for instance, everything about that one; of an operation that no component
    references, what its backend says.
    """
    _, compiled = compiled_project(start)
    lines = lines_of(compiled.manifest, compiled.places, door)
    unused = {
        f"domain:{name}": each for name, each in compiled.offered.items() if name not in compiled.manifest.operations
    }
    rest = [] if door is not None else unexposed(compiled)
    if ids:
        _check_known(ids, compiled.manifest.capabilities, unused)
        lines = [line for line in lines if line.id in ids]
        rest = [line for line in rest if line.id in ids]
    if for_programs:
        click.echo(as_json(lines, compiled.manifest, [asdict(line) for line in rest]))
    elif ids:
        blocks = compiled.manifest.capabilities
        told = [as_detail(line, blocks[line.component, line.id]) for line in lines]
        click.echo("\n\n".join([*told, *(as_offered(unused[id]) for id in sorted(set(ids) & unused.keys()))]))
    else:
        _overview(compiled, lines, rest, door)


def _overview(compiled: Compiled, lines: list[Line], rest: list[OfferLine], door: str | None) -> None:
    if lines:
        click.echo(as_text(lines, door) + "\n")
    where = "" if door is None else f"door {door}: {len(lines)} of "
    click.echo(where + counts(compiled.manifest))
    if compiled.manifest.policies:
        click.echo(f"policies of every surface: {', '.join(compiled.manifest.policies)}")
    if door is None and (dependencies := dependencies_text(compiled.manifest)):
        click.echo("\n" + dependencies)
    if told := unexposed_text(rest):
        click.echo("\n" + told)
    if door is not None and not lines and compiled.manifest.capabilities:
        click.echo(f'do  add to [tool.remit.exposure]:  {door} = ["view:…"]')


def _check_known(ids: Iterable[str], rows: Iterable[RowKey], unused: Iterable[str]) -> None:
    known = {*(id for _, id in rows), *unused}
    if unknown := [each for each in ids if each not in known]:
        found = [Finding(found=f"there is no capability {each}") for each in unknown]
        could_not_run([*found[:-1], Finding(found=found[-1].found, write="one of those that remit inspect lists")])
