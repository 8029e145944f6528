"""`remit catalogue`: what backends offer, what became of each operation, and stubs for what is not exposed yet."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from remit.cli.offers import OfferLine, State, as_json, as_text, lines_of
from remit.cli.project import could_not_run, project_option
from remit.cli.report import counted
from remit.cli.stubs import OPERATIONS, Stub, stubs_of, written
from remit.compiler import Backend, find_root
from remit.compiler.offering import Offering, offering
from remit.errors import CompileError, Finding

FOUND = 1


@click.group()
def catalogue() -> None:
    """Show what the backends of a project offer, and write references to it for review."""


@catalogue.command()
@click.argument("names", metavar="[BACKEND]...", nargs=-1)
@project_option
@click.option("--json", "for_programs", is_flag=True, help="JSON instead of a table.")
def show(names: tuple[str, ...], start: Path, for_programs: bool) -> None:
    """Show every operation that a backend has: referenced, listed, refused with the reason, or only offered.

    BACKEND is the variable that holds a catalogue; without one, all of them. Exit 0: shown; 1: an operation was
    refused, or the project has other findings; 2: it cannot be read or imported.
    """
    found = offered(start, trying=True)
    backends = chosen(found, names)
    refused = any(line.state is State.REFUSED for each in backends for line in lines_of(each, found.references))
    if for_programs:
        click.echo(as_json(backends, found, found.findings))
    else:
        click.echo(as_text(backends, found) or "no catalogue stands at module level of the entries' modules")
    if found.findings and not for_programs:
        for finding in found.findings:
            click.echo(str(finding), err=True)
        click.echo(counted(len(found.findings), "finding", "findings"), err=True)
    sys.exit(FOUND if refused or found.findings else 0)


@catalogue.command("import")
@click.argument("operations", metavar="[OPERATION]...", nargs=-1)
@project_option
@click.option("--backend", "name", metavar="NAME", help="The variable of the catalogue, where there are several.")
@click.option("--to", "file", type=click.Path(path_type=Path), help="A new file to write; else standard output.")
@click.option("--json", "for_programs", is_flag=True, help="Tell it as JSON.")
def import_(operations: tuple[str, ...], start: Path, name: str | None, file: Path | None, for_programs: bool) -> None:
    """Write references to what a backend offers and no component references, as declarations to be reviewed.

    OPERATION is an id, `POST /devices`, or the backend's own name for it; without one, all of them. An effect that
    nobody has said is destructive, for a GET too. Nothing is overwritten, and nothing is exposed before the catalogue
    and a component that is mounted have it. Exit 0: written; 1: one that was named is refused or referenced already; 2:
    the project cannot be read, an operation is not there, or the file is.
    """
    found = offered(start, trying=True)
    backend = _one(chosen(found, [] if name is None else [name]))
    lines, left_out = _wanted(
        lines_of(backend, found.references), operations, opting_in=backend.opted_in_by is not None
    )
    taken = {each.offer.name for other in found.backends for each in other.operations if each.offer.name}
    stubs = stubs_of(lines, taken)
    unfit = [(line, reason) for line, reason in left_out if line.reason is not None or line.unfit is not None]
    source = written(backend, stubs, found.types, unfit) if stubs else ""
    if file is not None and stubs:
        _write(file, source)
    told = [f"{line.id or line.request} {reason}" for line, reason in left_out]
    if for_programs:
        form = {
            "backend": backend.name,
            "file": None if file is None or not stubs else file.name,
            "references": [asdict(stub) for stub in stubs],
            "left_out": told,
            "source": source,
        }
        click.echo(json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False))
    elif not stubs:
        click.echo(f"nothing to write: {backend.name} offers nothing else that can be listed")
    elif file is None:
        click.echo(source, nl=False)
    else:
        _say(backend, stubs, file)
    for each in told:
        click.echo(f"left out  {each}", err=True)
    sys.exit(FOUND if told and operations else 0)


def _one(backends: Sequence[Backend]) -> Backend:
    if len(backends) == 1:
        return backends[0]
    found = f"there are {len(backends)} catalogues" if backends else "no catalogue stands at module level"
    names = " or ".join(f"--backend {each.name}" for each in backends)
    could_not_run([Finding(found=found, write=names or None)])


def _wanted(
    lines: Sequence[OfferLine], operations: Sequence[str], *, opting_in: bool
) -> tuple[list[OfferLine], list[tuple[OfferLine, str]]]:
    """The lines to write, and those that were asked for and cannot be, each with the reason."""
    if unknown := [each for each in operations if not any(line.is_called(each) for line in lines)]:
        write = "one of those that remit catalogue show lists"
        could_not_run([Finding(found=f"the backend has no operation {each}", write=write) for each in unknown])
    wanted: list[OfferLine] = []
    left_out: list[tuple[OfferLine, str]] = []
    for line in lines:
        if operations and not any(line.is_called(each) for each in operations):
            continue
        if (why := _why_not(line, opting_in)) is None:
            wanted.append(line)
        elif operations or line.state is State.REFUSED or line.unfit is not None:
            left_out.append((line, why))
    return wanted, left_out


def _why_not(line: OfferLine, opting_in: bool) -> str | None:
    if line.state is State.REFUSED:
        return f"cannot be listed: {line.reason}"
    if line.state is State.REFERENCED:
        return f"is referenced by {', '.join(each.component for each in line.references)}"
    if line.state is State.OFFERED and not opting_in:
        return "is opted in where the catalogue is made"
    if line.unfit is not None:
        return f"{'cannot be listed' if line.state is State.OFFERED else 'cannot be referenced as it is'}: {line.unfit}"
    return None


def _write(file: Path, source: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(source)
    except FileExistsError:
        could_not_run([Finding(path=file.name, found="is there already, and is not overwritten", write="another --to")])
    except OSError as problem:
        could_not_run([Finding(path=file.name, found=f"cannot be written: {problem.strerror}")])


def _say(backend: Backend, stubs: Sequence[Stub], file: Path) -> None:
    new = sum(stub.operation is not None for stub in stubs)
    opted = f", {counted(new, 'operation', 'operations')} to opt in" if new else ""
    click.echo(
        f"wrote     {file.name}: {counted(len(stubs), 'reference', 'references')}{opted}     nothing else was touched"
    )
    if new:
        click.echo(f"review    every effect, then hand {OPERATIONS} to {backend.name} ({backend.place})")
    click.echo("then      import it from an entry, mount the component where it belongs, remit compile; review; commit")


def offered(start: Path, *, trying: bool = False) -> Offering:
    """What the project offers, or findings on standard error and exit 2."""
    try:
        return offering(find_root(start), trying=trying)
    except CompileError as problem:
        could_not_run(problem.findings)


def chosen(found: Offering, names: Sequence[str]) -> list[Backend]:
    """The backends of these names, all without one; exit 2 for a name that none has."""
    known = sorted({each.name for each in found.backends})
    if unknown := [name for name in names if name not in known]:
        write = f"one of {', '.join(known)}" if known else None
        could_not_run([Finding(found=f"there is no catalogue {name}", write=write) for name in unknown])
    return [each for each in found.backends if not names or each.name in names]
