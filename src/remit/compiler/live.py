"""What the classes and catalogues of this process declare; the second half of every compilation (SPEC 13.3)."""

import gc
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from remit._base.boundary import Json
from remit._contract.component import Component, Declaration, declaration_of
from remit._contract.operation import OperationRecord, record_of
from remit._contract.row import rows_of
from remit.compiler.backends import Met, meet
from remit.compiler.declared import DeclaredComponent, live_component
from remit.compiler.external import Foreign
from remit.compiler.writes import Kept
from remit.errors import DefinitionError, Finding
from remit.procedures.catalogue import Catalogue, is_catalogue

_NOT_NOW: Final = "it where the program starts, and not while it is imported"


@dataclass(slots=True, kw_only=True, eq=False)
class Evaluated:
    """What the import pass found: the declared set, blocks of the contract, backends, distributions that add."""

    components: list[DeclaredComponent] = field(default_factory=list)
    component_blocks: list[dict[str, Json]] = field(default_factory=list)
    capability_blocks: list[dict[str, Json]] = field(default_factory=list)
    operations: dict[str, OperationRecord] = field(default_factory=dict)
    backends: list[Met] = field(default_factory=list)
    external: list[Foreign] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """Which files belong to the project: `files` maps those of the module graph to their shown path.

    `roots` are the project's folders; with `strict`, a component from below them that the graph does not hold, or from
    no file at all, is reported, otherwise it is somebody else's.
    """

    files: Mapping[Path, str]
    roots: tuple[Path, ...]
    strict: bool

    def is_below(self, file: Path, module: str) -> bool:
        """True for a module of the project; an environment that lies inside the project's folder is not it."""
        return _below(resolved(str(file)), module, self.roots)


def evaluate_loaded(reach: Reach, *, trying: bool = False) -> Evaluated:
    """Derive everything that the loaded modules declare; no capability runs.

    With `trying`, each backend says too which of its operations a reference could not name.
    """
    out = Evaluated()
    refused = _operations(out, reach, trying)
    for path, cls in _classes(reach):
        declaration = declaration_of(cls)
        if declaration is None:
            continue
        out.components.append(live_component(declaration, path))
        try:
            rows = rows_of(cls, out.operations, refused)
        except DefinitionError as problem:
            out.findings.append(of_definition(problem, path))
            continue
        out.component_blocks.append(rows.block)
        out.capability_blocks.extend(row.block for row in rows.capabilities)
    return out


def of_definition(problem: DefinitionError, path: str | None) -> Finding:
    """A finding for a declaration that cannot stand. Its place is a file's name and a line.

    `path` is the file of the class; what it inherits may stand in another, of which only the name is known.
    """
    name, _, line = (problem.place or "").rpartition(":")
    inherited = bool(name) and path is not None and path.rpartition("/")[2] != name
    return Finding(
        path=name if inherited else path,
        line=int(line) if line.isdigit() else None,
        found=f"{problem.subject} {problem.rule}",
        write=problem.do,
    )


def of_exception(problem: BaseException, reach: Reach, entry: str) -> Finding:
    """A finding for a module that raised while it was imported, at the innermost line of the project."""
    place: tuple[str | None, int | None] = (None, None)
    for frame, line in traceback.walk_tb(problem.__traceback__):
        path = reach.files.get(resolved(frame.f_code.co_filename))
        if path is not None:
            place = (path, line)
    if isinstance(problem, DefinitionError):
        return Finding(path=place[0], line=place[1], found=f"{problem.subject} {problem.rule}", write=problem.do)
    if isinstance(problem, Kept):
        return Finding(
            path=place[0], line=place[1], found=f"importing {entry} would write {problem.what}", write=_NOT_NOW
        )
    text = " ".join(_without_roots(str(problem), reach).split())[:200]
    return Finding(
        path=place[0],
        line=place[1],
        found=f"importing {entry} raised {type(problem).__name__}" + (f": {text}" if text else ""),
    )


def _without_roots(text: str, reach: Reach) -> str:
    """Nothing the compiler says holds a path of this machine."""
    for root in sorted(map(str, reach.roots), key=len, reverse=True):
        text = text.replace(root + os.sep, "")
    return text


def resolved(file: str) -> Path:
    """The real path of a file name that Python keeps."""
    return Path(file).resolve()


def loaded_modules(files: Iterable[Path]) -> dict[Path, ModuleType]:
    """The loaded module of each file; `__main__` counts, and what was loaded under two names counts once."""
    wanted = set(files)
    found: dict[Path, ModuleType] = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (path := resolved(file)) in wanted:
            found.setdefault(path, module)
    return found


def loaded_classes() -> Iterator[type]:
    """Every class below `Component` that this process holds, the outer ones first."""
    pending: list[type] = list(Component.__subclasses__())
    while pending:
        cls = pending.pop(0)
        pending.extend(cls.__subclasses__())
        yield cls


def _classes(reach: Reach) -> Iterator[tuple[str, type]]:
    gc.collect()  # the first class of a `@dataclass(slots=True)` is garbage that `__subclasses__` still shows
    chosen: dict[tuple[str, str, str], type] = {}
    for cls in loaded_classes():
        declaration = declaration_of(cls)
        if declaration is None or (path := _path_of(cls, declaration, reach)) is None:
            continue
        key = (path, declaration.name, declaration.type)
        bound = getattr(sys.modules.get(cls.__module__), cls.__name__, None)
        if key not in chosen or bound is cls:
            chosen[key] = cls
    for (path, _, _), cls in sorted(chosen.items(), key=lambda item: item[0]):
        yield path, cls


def _path_of(cls: type, declaration: Declaration, reach: Reach) -> str | None:
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        path = resolved(file)
        if path in reach.files:
            return reach.files[path]
        if not reach.strict or not _below(path, cls.__module__, reach.roots):
            return None
        return path.name
    if not reach.strict:
        return None
    # Its module is gone, as after `runpy`; the file that was run is still known.
    return (declaration.at.place or "").rpartition(":")[0] or f"<{cls.__module__.strip('<>')}>"


def _below(path: Path, module: str, roots: tuple[Path, ...]) -> bool:
    """True for a module of the project; an environment that lies inside the project's folder is not it."""
    relative = Path(*module.split("."))
    return any(path in {(root / relative).with_suffix(".py"), root / relative / "__init__.py"} for root in roots)


def _operations(out: Evaluated, reach: Reach, trying: bool) -> dict[str, str]:
    """Meet every catalogue; returned is what they refused, by name."""
    found: dict[int, tuple[Catalogue, list[tuple[str, str]]]] = {}
    for path, module in sorted(loaded_modules(reach.files).items(), key=lambda item: reach.files[item[0]]):
        for name, value in list(vars(module).items()):
            if is_catalogue(value):
                _, places = found.setdefault(id(value), (cast(Catalogue, value), []))
                places.append((reach.files[path], name))
    refused: dict[str, str] = {}
    for catalogue, places in found.values():
        first = places[0][0]
        for name in catalogue.names():
            _record(out, catalogue, name, first)
        out.findings += [refusal(first, name, reason) for name, reason in catalogue.refused().items()]
        refused |= catalogue.refused()
        out.backends.append(meet(catalogue, places, trying=trying))
    return refused


def refusal(path: str, name: str, reason: str) -> Finding:
    """The finding for an operation that was opted in and cannot be listed."""
    return Finding(path=path, found=f"domain:{name} cannot be listed: {reason}", write="another operation, or none")


def _record(out: Evaluated, catalogue: Catalogue, name: str, path: str) -> None:
    if name in out.operations:
        out.findings.append(
            Finding(path=path, found=f"two catalogues list domain:{name}", write="one of them, or another name")
        )
        return
    operation = catalogue.get(name)
    if operation is None:
        return
    try:
        out.operations[name] = record_of(operation)
    except DefinitionError as problem:
        out.findings.append(of_definition(problem, path))
