"""What backends offer and what became of it, even where the project does not compile (SPEC 10.2, 13.1)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit._model.effects import Kind
from remit.compiler.backends import Backend, joined, settled
from remit.compiler.compile import both_passes, builds, stop_at
from remit.compiler.drift import opened_by
from remit.compiler.evaluate import TIME_LIMIT_S
from remit.compiler.extract import Extraction
from remit.compiler.live import Evaluated, refusal
from remit.compiler.project import read_project
from remit.errors import Finding

_PLANE = "domain:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Referenced:
    """A component that references an operation, and the doors at which it may appear there."""

    component: str
    doors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """The backends of a project; `references` says by name who references an operation, `types` are its components.

    `findings` are what else is wrong with the project: a reference to what nobody lists, for instance. What a
    catalogue refused stands at its operation, and is none of them.
    """

    backends: tuple[Backend, ...]
    references: Mapping[str, tuple[Referenced, ...]]
    findings: tuple[Finding, ...]
    types: frozenset[str]


def offering(root: Path, *, limit_s: float = TIME_LIMIT_S, trying: bool = False) -> Offering:
    """Read and import the project in `root` and tell what its backends offer.

    CompileError when it cannot be read or imported; a project that does not compile for another reason is told of. With
    `trying`, each operation says too why a reference could not name it (`Offered.unfit`).
    """
    project = read_project(root.resolve())
    backends: list[Backend] = []
    references: dict[str, dict[str, Referenced]] = {}
    findings: dict[Finding, None] = {}
    types: set[str] = set()
    for _, part in builds(project):
        graph, extraction, evaluated = both_passes(part, limit_s, trying=trying)
        if not evaluated.components and not evaluated.backends:
            stop_at(evaluated.findings)
        backends += [settled(each, graph) for each in evaluated.backends]
        types |= {each.type for each in extraction.components}
        findings |= dict.fromkeys(_besides_refusals(evaluated))
        for name, each in _references(extraction, evaluated, project.exposure):
            references.setdefault(name, {}).setdefault(each.component, each)
    return Offering(
        backends=joined(backends),
        references={name: tuple(each[key] for key in sorted(each)) for name, each in references.items()},
        findings=tuple(findings),
        types=frozenset(types),
    )


def _besides_refusals(evaluated: Evaluated) -> Iterator[Finding]:
    refused = {
        refusal(path, str(each.offer.name), each.offer.refused)
        for backend in evaluated.backends
        for path, _ in backend.places
        for each in backend.operations
        if each.offer.refused is not None
    }
    return (finding for finding in evaluated.findings if finding not in refused)


def _references(
    extraction: Extraction, evaluated: Evaluated, exposure: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, Referenced]]:
    """Every reference of the source; one whose component has no rows is at no door."""
    rows = {(str(block["component"]), str(block["id"])): block for block in evaluated.capability_blocks}
    for component in extraction.components:
        for each in component.capabilities.values():
            if each.kind == Kind.REFERENCE.value:
                block = rows.get((component.type, each.name))
                doors = () if block is None else tuple(opened_by(exposure, block))
                yield each.name.removeprefix(_PLANE), Referenced(component=component.type, doors=doors)
