"""`remit derive`: declarations for review, from the forms of a page or from an OpenAPI document (SPEC 11.9)."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import click

from remit.cli.deriving.derived import Derived
from remit.cli.deriving.forms import NOWHERE
from remit.cli.deriving.from_page import derive_page
from remit.cli.project import could_not_run
from remit.cli.report import counted
from remit.errors import DefinitionError, Finding

FOUND = 1
DOCUMENTS: Final = "remit.cli.deriving.from_document"
"""Known by name, for it needs an extra that the other commands, and pages from files, do without."""

_MOST: Final = 5 * 1024 * 1024
_MARK: Final = b"\xef\xbb\xbf"


@click.command()
@click.argument("source")
@click.option("--to", "file", type=click.Path(path_type=Path), help="A new module to write; else standard output.")
@click.option("--base-url", metavar="URL", help="Where requests go, or where a page in a file is served.")
@click.option("--json", "for_programs", is_flag=True, help="Tell it as JSON.")
def derive(source: str, file: Path | None, base_url: str | None, for_programs: bool) -> None:
    """Write declarations for what a page's forms send, or what an OpenAPI document lists, to be reviewed.

    SOURCE is a file or an address. Each declaration says that it is derived: hidden unless the site exposes it,
    destructive until somebody has said what it does, and decided by a person. Passwords, hidden fields, files, payment
    and denied names are left out. Nothing is overwritten. Exit 0: written; 1: there is nothing to derive; 2: SOURCE
    cannot be read, or a file is there already.
    """
    stem = file.stem if file is not None else _stem_of(source)
    try:
        derived = _derived(source, base_url, stem)
    except DefinitionError as problem:
        could_not_run([Finding(found=f"{_shown(source)}: {problem.rule}", write=problem.do)])
    beside = None if file is None or derived.document is None else file.with_name(f"{file.stem}.openapi.json")
    if file is not None and derived.operations:
        _write(file, derived.source, beside, derived.document)
    _tell(derived, file if derived.operations else None, beside, for_programs)
    sys.exit(0 if derived.operations else FOUND)


def _derived(source: str, base_url: str | None, stem: str) -> Derived:
    data = _read(source)
    if not data.removeprefix(_MARK).lstrip().startswith(b"<"):
        read: Any = _documents()
        derived: Derived = read.derive_document(source, Path.cwd(), base_url=base_url, place=_shown(source), stem=stem)
        return derived
    address = source if _is_address(source) else f"{base_url or NOWHERE}/{_stem_of(source)}"
    return derive_page(data.decode("utf-8", errors="replace"), address, _shown(source), stem)


def _read(source: str) -> bytes:
    if _is_address(source):
        read: Any = _documents()
        data: bytes = read.fetched(source)
        return data
    path = Path(source)
    try:
        if path.stat().st_size > _MOST:
            _unreadable(path.name, f"has more than {_MOST} bytes")
        return path.read_bytes()
    except OSError as problem:
        _unreadable(path.name, f"cannot be read: {problem.strerror}")


def _unreadable(name: str, why: str) -> NoReturn:
    could_not_run([Finding(path=name, found=why)])


def _documents() -> Any:
    try:
        return resolve_name(DOCUMENTS)
    except ModuleNotFoundError as problem:
        could_not_run([Finding(found=f"{problem.name} is not installed", write='pip install "remit[openapi]"')])


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _shown(source: str) -> str:
    """How a source is called: an address without what may be secret in it, of a file its name alone."""
    if not _is_address(source):
        return Path(source).name
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"


def _stem_of(source: str) -> str:
    """A word for the page or the document: the end of its path."""
    path = urlsplit(source).path if _is_address(source) else source
    return Path(path).name.split(".")[0] or "page"


def _write(file: Path, source: str, beside: Path | None, document: str | None) -> None:
    wanted = [(file, source)] if beside is None or document is None else [(beside, document), (file, source)]
    for path, _ in wanted:
        if path.exists():
            found = Finding(path=path.name, found="is there already, and is not overwritten", write="another --to")
            could_not_run([found])
    for path, text in wanted:
        try:
            with path.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except OSError as problem:
            could_not_run([Finding(path=path.name, found=f"cannot be written: {problem.strerror}")])


def _tell(derived: Derived, file: Path | None, beside: Path | None, for_programs: bool) -> None:
    if for_programs:
        form = {
            "file": None if file is None else file.name,
            "document": None if beside is None else beside.name,
            "references": [asdict(each) for each in derived.operations],
            "skipped": [{"request": at, "field": each.name, "why": each.why} for at, each in derived.skipped],
            "left_out": [{"request": each.name, "why": each.why} for each in derived.left_out],
            "source": derived.source,
        }
        click.echo(json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False))
    elif not derived.operations:
        click.echo("nothing to derive: no form and no operation is left")
    elif file is None:
        click.echo(derived.source, nl=False)
    else:
        _say(derived, file, beside)
    for at, skipped in derived.skipped:
        click.echo(f"skipped   {at}  {skipped}", err=True)
    for each in derived.left_out:
        click.echo(f"left out  {each.name}  {each.why}", err=True)


def _say(derived: Derived, file: Path, beside: Path | None) -> None:
    also = "" if beside is None else f" and {beside.name}"
    count = counted(len(derived.operations), "derived reference", "derived references")
    click.echo(f"wrote     {file.name}{also}: {count}     nothing else was touched")
    click.echo("review    what each call does: until somebody says so, it is destructive, and a person decides")
    listed = ", ".join(f'"{each.id}"' for each in derived.operations[:3])
    more = ", …" if len(derived.operations) > 3 else ""
    click.echo(f"expose    [tool.remit.exposure]  derived = [{listed}{more}]     else it is hidden everywhere")
    click.echo("then      import it from an entry, mount the component where it belongs, remit compile; review; commit")
