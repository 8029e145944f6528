"""What the catalogues of a project offer, opted in or not (SPEC 10.2, 13.1)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import new_class
from typing import Any, Final

from remit._base.text import clean_line, shown
from remit._contract.component import Component
from remit._contract.operation import OperationRecord, record_of
from remit._contract.reference import reference
from remit._contract.row import rows_of
from remit.compiler.graph import Graph
from remit.compiler.source import Defined, Imported
from remit.errors import DefinitionError
from remit.procedures.catalogue import Catalogue, Offer
from remit.procedures.listing import is_description

_SUMMARY: Final = 300
_REQUEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One operation of a backend: an `Offer` in text that may be shown, with what its catalogue says of a listed one.

    `effect` and `confirmation` are None for what is not listed; the latter, too, where the effect's default holds.
    `unfit` is why `reference(id)` alone would not compile, for what is listed and for what could be opted in; None,
    too, where nobody asked. `described` says whether the backend's own text is one that an agent may read.
    """

    offer: Offer
    effect: str | None = None
    confirmation: str | None = None
    unfit: str | None = None
    described: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One catalogue of a project.

    `name` is the variable that holds it, `path` the file in which it is made and `line` the line, 0 where that cannot
    be read. `opted_in_by` is the class that opts an operation in, as `module.Class`.
    """

    name: str
    path: str
    line: int
    opted_in_by: str | None
    operations: tuple[Offered, ...]

    @property
    def place(self) -> str:
        """`backend.py:12`."""
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A catalogue as a running process has it: every module and variable in which it was found."""

    places: tuple[tuple[str, str], ...]
    opted_in_by: str | None
    operations: tuple[Offered, ...]


def meet(catalogue: Catalogue, places: Iterable[tuple[str, str]], *, trying: bool = False) -> Met:
    """Ask a catalogue what its backend has; nothing of the backend is called.

    With `trying`, a reference to each operation is tried, which takes as long as to list them all.
    """
    operations = list(_operations(catalogue))
    if trying:
        operations = [replace(each, unfit=_unfit(catalogue, each.offer)) for each in operations]
    return Met(places=tuple(places), opted_in_by=catalogue.opted_in_by, operations=tuple(map(_shown, operations)))


def met_from_json(form: Mapping[str, Any]) -> Met:
    """What `asdict` made of one, and JSON after it."""
    return Met(
        places=tuple((str(path), str(name)) for path, name in form["places"]),
        opted_in_by=form["opted_in_by"],
        operations=tuple(Offered(**{**each, "offer": Offer(**each["offer"])}) for each in form["operations"]),
    )


def settled(met: Met, graph: Graph) -> Backend:
    """The catalogue with the place where it is made: where its variable is bound, and not only imported."""
    for path, name, line in _homes(met, graph):
        return Backend(name=name, path=path, line=line, opted_in_by=met.opted_in_by, operations=met.operations)
    path, name = met.places[0]
    return Backend(name=name, path=path, line=0, opted_in_by=met.opted_in_by, operations=met.operations)


def joined(backends: Iterable[Backend]) -> tuple[Backend, ...]:
    """Those of several builds, each once, by file and line."""
    found = {(each.path, each.name): each for each in backends}
    return tuple(sorted(found.values(), key=lambda each: (each.path, each.line, each.name)))


def _homes(met: Met, graph: Graph) -> Iterator[tuple[str, str, int]]:
    sources = {source.path: source for source in graph.modules.values()}
    for path, name in met.places:
        bound = sources[path].top.names.get(name) if path in sources else None
        if bound is not None and not isinstance(bound, Imported):
            yield path, name, bound.node.lineno if isinstance(bound, Defined) else 0


def _operations(catalogue: Catalogue) -> Iterator[Offered]:
    """Every offer, and what was opted in twice or is not there at all, which no offer has."""
    told: set[str] = set()
    for offer in catalogue.offers():
        told.update(() if offer.name is None else (offer.name,))
        yield _offered(catalogue, offer)
    rest: dict[str, str | None] = {**dict.fromkeys(catalogue.names()), **catalogue.refused()}
    for name in sorted(rest.keys() - told):
        yield _offered(catalogue, Offer(request="", name=name, refused=rest[name]))


def _offered(catalogue: Catalogue, offer: Offer) -> Offered:
    operation = None if offer.name is None or offer.refused is not None else catalogue.get(offer.name)
    if operation is None:
        return Offered(offer=offer)
    level = operation.confirmation
    return Offered(offer=offer, effect=operation.effect.value, confirmation=None if level is None else level.value)


def _unfit(catalogue: Catalogue, offer: Offer) -> str | None:
    """Why a reference to it would not compile; of what its catalogue refused that is said already."""
    if offer.refused is not None:
        return None
    if offer.name is None and clean_line(offer.request, _REQUEST) != offer.request:
        return "its name is too long, or holds what cannot be shown"
    try:
        operation = catalogue.tried(offer.request) if offer.name is None else catalogue.get(offer.name)
        if operation is not None:
            _try(record_of(operation))
    except DefinitionError as problem:
        return problem.rule
    return None


def _try(record: OperationRecord) -> None:
    """Declare a component with nothing but a reference to it; DefinitionError when that does not stand."""

    def body(namespace: dict[str, object]) -> None:
        namespace["tried"] = reference(f"domain:{record.name}")

    keywords = {"type": "tried", "description": "Never mounted.", "headless": True}
    rows_of(new_class("Tried", (Component,), keywords, body), {record.name: record})


def _shown(offered: Offered) -> Offered:
    """The same in text that may be shown."""
    offer = offered.offer
    return replace(
        offered,
        offer=replace(
            offer,
            request=clean_line(offer.request, _REQUEST),
            operation_id=_safe(offer.operation_id),
            summary=clean_line(offer.summary, _SUMMARY),
            refused=_safe(offer.refused),
        ),
        unfit=_safe(offered.unfit),
        described=is_description(offer.summary),
    )


def _safe(text: str | None) -> str | None:
    return None if text is None else shown(text)
