"""`compile_project`: both passes, their agreement, and the contract (SPEC 13)."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from remit._contract.external import ExternalRecord
from remit._contract.manifest import FILE_NAME, Manifest, assemble
from remit._contract.operation import OperationRecord
from remit.compiler.agreement import differences
from remit.compiler.backends import Backend, joined, settled
from remit.compiler.evaluate import TIME_LIMIT_S, evaluate
from remit.compiler.external import Outside, judge
from remit.compiler.extract import Extraction, extract
from remit.compiler.graph import Graph, load_graph
from remit.compiler.live import Evaluated
from remit.compiler.project import Project, read_project
from remit.compiler.targets import Joining
from remit.errors import CompileError, DefinitionError, Finding

_STRIPPED: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compiled:
    """A complete contract, and what the project has beside it.

    `offered` are all operations of its catalogues, referenced or not; `backends` are the catalogues with all that they
    offer, opted in or not; `places` names file and line of each capability by (component type, capability id).
    """

    manifest: Manifest
    offered: Mapping[str, OperationRecord]
    places: Mapping[tuple[str, str], str]
    backends: tuple[Backend, ...] = ()


def compile_project(root: Path, *, limit_s: float = TIME_LIMIT_S) -> Compiled:
    """Compile the project whose `pyproject.toml` lies in `root`; complete, or CompileError with every finding.

    Both passes must agree on everything declared. Equal sources give equal bytes, wherever they lie. Targets are
    compiled one by one, as if there were no other, and joined.
    """
    refuse_without_docstrings()
    project = read_project(root.resolve())
    joining = Joining()
    backends: list[Backend] = []
    for name, part in builds(project):
        build = _build(part, limit_s)
        if name is None:
            return build
        joining.add(name, build.manifest, build.places, build.offered)
        backends += build.backends
    manifest = joining.contract(
        exposure=project.exposure, policies=project.policies, warns_of_planes=project.warns_of_planes
    )
    return Compiled(manifest=manifest, offered=joining.offered, places=joining.places, backends=joined(backends))


def builds(project: Project) -> Iterator[tuple[str | None, Project]]:
    """Each build by the name of its target, with its own entries; one without a name where there are no targets."""
    if not project.targets:
        yield None, project
    for name, entries in project.targets.items():
        yield name, replace(project, entries=(*project.entries, *entries))


def both_passes(
    project: Project, limit_s: float = TIME_LIMIT_S, *, trying: bool = False
) -> tuple[Graph, Extraction, Evaluated]:
    """Read one build and import it; CompileError for what the source does not show. The import's findings are kept."""
    graph = load_graph(project.root, project.entries, project.roots, Outside(project.external))
    extraction = extract(graph)
    stop_at(extraction.findings)
    return graph, extraction, evaluate(project, graph, extraction, limit_s=limit_s, trying=trying)


def _build(project: Project, limit_s: float) -> Compiled:
    graph, extraction, evaluated = both_passes(project, limit_s)
    stop_at(evaluated.findings)
    external = judge(
        evaluated.external,
        project.external,
        components=evaluated.component_blocks,
        capabilities=evaluated.capability_blocks,
    )
    return agree(
        graph,
        extraction,
        evaluated,
        exposure=project.exposure,
        policies=project.policies,
        external=external,
        warns_of_planes=project.warns_of_planes,
    )


def agree(  # noqa: PLR0913 - one keyword a part of the head
    graph: Graph,
    extraction: Extraction,
    evaluated: Evaluated,
    *,
    exposure: Mapping[str, Iterable[str]],
    policies: Iterable[str],
    external: Iterable[ExternalRecord] = (),
    warns_of_planes: bool = False,
) -> Compiled:
    """Build the contract from two passes that agree; CompileError where they do not."""
    paths = [source.path for source in graph.modules.values()]
    stop_at(differences(extraction.components, evaluated.components, paths))
    lines = {
        (each.type, cap.name): f"{cap.path}:{cap.line}"
        for each in extraction.components
        for cap in each.capabilities.values()
    }
    try:
        manifest = assemble(
            evaluated.component_blocks,
            evaluated.capability_blocks,
            evaluated.operations,
            exposure=exposure,
            policies=policies,
            external=external,
            warns_of_planes=warns_of_planes,
        )
    except DefinitionError as problem:
        path, _, line = next((place for key, place in lines.items() if key[1] == problem.subject), "").rpartition(":")
        finding = Finding(
            path=path or None,
            line=int(line) if line else None,
            found=f"{problem.subject}: {problem.rule}",
            write=problem.do,
        )
        raise CompileError([finding]) from problem
    backends = joined(settled(each, graph) for each in evaluated.backends)
    return Compiled(manifest=manifest, offered=evaluated.operations, places=lines, backends=backends)


def write_contract(root: Path, manifest: Manifest) -> bool:
    """Write the contract beside the `pyproject.toml`; False when the file already held the same bytes.

    CompileError where it cannot be written; what stood there stands there still, and nothing lies beside it.
    """
    file, data = root / FILE_NAME, manifest.to_bytes()
    if file.is_dir():
        raise CompileError([Finding(path=FILE_NAME, found="cannot be written, it is a directory: move it away")])
    half = file.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        if file.is_file() and file.read_bytes() == data:
            return False
        half.write_bytes(data)
        half.replace(file)
    except OSError as problem:
        found = f"cannot be written, {problem.strerror}: make the file and its folder writable"
        raise CompileError([Finding(path=FILE_NAME, found=found)]) from problem
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
    return True


def stop_at(findings: list[Finding]) -> None:
    """Raise CompileError when there is anything to report."""
    if findings:
        raise CompileError(findings)


def refuse_without_docstrings() -> None:
    """Refuse to compile under -OO, where docstrings, the descriptions agents read, do not exist."""
    if sys.flags.optimize >= _STRIPPED:
        raise CompileError([Finding(found="Python runs with -OO and drops docstrings", write="run without -OO")])
