"""The module graph of a project, read from its sources and never imported (SPEC 13.2)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from remit.compiler.source import (
    MANY,
    Binding,
    Defined,
    Imported,
    Many,
    Source,
    absolute,
    read_bindings,
)
from remit.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Something outside the project, by its dotted name: `remit.observation`, `dataclasses.dataclass`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Something of the project: a class, a function or a constant expression, and the module it stands in."""

    source: Source
    node: "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRef:
    """A module of the project."""

    source: Source


Resolved: TypeAlias = External | Local | ModuleRef | Many | None
_IMPORTERS: Final = frozenset({"importlib.import_module", "builtins.__import__"})
_API_HOMES: Final = frozenset({"remit"})
_DYNAMIC: Final = frozenset({"builtins.exec", "builtins.eval"})


@dataclass(slots=True, kw_only=True, eq=False)
class Graph:
    """Every module reached from the entries, by name and in the order in which they were reached."""

    roots: tuple[Path, ...]
    modules: dict[str, Source] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def resolve(self, source: Source, expression: ast.expr) -> Resolved:
        """What an expression names: follows bindings, aliases, attribute chains and star imports."""
        if isinstance(expression, ast.Name):
            return self._name(source, expression.id, set())
        if isinstance(expression, ast.Attribute):
            return self._attribute(self.resolve(source, expression.value), expression.attr, set())
        return None

    def _name(self, source: Source, name: str, seen: set[tuple[str, str]]) -> Resolved:
        if (source.name, name) in seen:
            return None
        seen.add((source.name, name))
        bound: Binding | None = source.bindings.get(name) or source.local_imports.get(name)
        if bound is None:
            bound = self._from_stars(source, name, set())
        match bound:
            case Many():
                return MANY
            case Imported():
                return self._imported(bound, seen)
            case Defined(node=ast.Name() | ast.Attribute() as alias):
                found = self._alias(source, alias, seen)
                return Local(source=source, node=alias) if found is None else found
            case Defined():
                return Local(source=source, node=bound.node)
            case None:
                return External(name=f"builtins.{name}")

    def _alias(self, source: Source, alias: ast.Name | ast.Attribute, seen: set[tuple[str, str]]) -> Resolved:
        if isinstance(alias, ast.Name):
            return self._name(source, alias.id, seen)
        return self._attribute(self.resolve(source, alias.value), alias.attr, seen)

    def _from_stars(self, source: Source, name: str, seen: set[str]) -> Binding | None:
        if source.name in seen:
            return None
        seen.add(source.name)
        for module in reversed(source.stars):
            target = self.modules.get(module)
            if target is None:
                if module in _API_HOMES:
                    return Imported(module=module, attribute=name)
                continue
            exported = target.exports()
            shared = not name.startswith("_") if exported is None else name in exported
            if shared and (name in target.bindings or self._from_stars(target, name, seen) is not None):
                return Imported(module=module, attribute=name)
        return None

    def _imported(self, bound: Imported, seen: set[tuple[str, str]]) -> Resolved:
        source = self.modules.get(bound.module)
        if bound.attribute is None:
            return External(name=bound.module) if source is None else ModuleRef(source=source)
        return self._attribute(
            External(name=bound.module) if source is None else ModuleRef(source=source), bound.attribute, seen
        )

    def _attribute(self, owner: Resolved, attribute: str, seen: set[tuple[str, str]]) -> Resolved:
        match owner:
            case External(name=name):
                module = self.modules.get(f"{name}.{attribute}")
                return External(name=f"{name}.{attribute}") if module is None else ModuleRef(source=module)
            case ModuleRef(source=source):
                known = attribute in source.bindings or self._from_stars(source, attribute, set()) is not None
                if not known and (module := self.modules.get(f"{source.name}.{attribute}")) is not None:
                    return ModuleRef(source=module)
                return self._name(source, attribute, seen) if known else None
            case _:
                return None


def load_graph(root: Path, entries: Sequence[str], roots: Iterable[Path]) -> Graph:
    """Read every module that the entries reach, from `roots` in order; what is outside them is not read.

    An entry that is not there, a module that does not parse and an import that cannot be read are findings. A worklist
    and no recursion: chains of imports may be long.
    """
    graph = Graph(roots=tuple(roots))
    pending: list[str] = []
    for entry in entries:
        if _locate(graph.roots, entry) is None:
            graph.findings.append(
                Finding(found=f"the entry {entry!r} is no module of this project", write='entries = ["app"]')
            )
        pending.append(entry)
    pending.reverse()
    while pending:
        name = pending.pop()
        for each in _with_parents(name):
            if each in graph.modules:
                continue
            source = _load(graph, root, each)
            if source is None:
                break
            graph.modules[each] = source
            pending.extend(reversed(source.imports))
    for source in list(graph.modules.values()):
        _check_dynamic(graph, source)
    return graph


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])


def _locate(roots: Sequence[Path], name: str) -> tuple[Path, bool] | None:
    relative = Path(*name.split("."))
    for root in roots:
        package = root / relative / "__init__.py"
        if package.is_file():
            return package, True
        module = (root / relative).with_suffix(".py")
        if module.is_file():
            return module, False
    return None


def _load(graph: Graph, root: Path, name: str) -> Source | None:
    found = _locate(graph.roots, name)
    if found is None:
        return None
    file, package = found
    path = relative_path(root, file)
    try:
        tree = ast.parse(file.read_bytes(), filename=path)
    except (SyntaxError, ValueError) as problem:
        line = problem.lineno if isinstance(problem, SyntaxError) else None
        graph.findings.append(Finding(path=path, line=line, found=f"does not parse: {type(problem).__name__}"))
        return None
    source = Source(name=name, path=path, package=package, tree=tree)
    read_bindings(source)
    source.imports.extend(_literal_imports(source))
    graph.files[name] = file.resolve()
    return source


def relative_path(root: Path, file: Path) -> str:
    """The path of a file below the project's root with forward slashes; only its name when it is elsewhere."""
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return file.name


def _calls(source: Source) -> Iterator[ast.Call]:
    return (node for node in source.nodes if isinstance(node, ast.Call))


def _import_call(node: ast.Call) -> bool:
    """A cheap test by spelling, before anything can be resolved; the check after the graph resolves properly."""
    function = node.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return name in {"import_module", "__import__"}


def _literal_imports(source: Source) -> Iterator[str]:
    for node in _calls(source):
        if _import_call(node) and (name := _literal_target(source, node)) is not None:
            yield name


def _literal_target(source: Source, node: ast.Call) -> str | None:
    if not node.args or not isinstance(node.args[0], ast.Constant) or not isinstance(node.args[0].value, str):
        return None
    name = node.args[0].value
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    anchor = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "package"), None)
    if isinstance(anchor, ast.Constant) and isinstance(anchor.value, str):
        return absolute(anchor.value, level, name[level:] or None)
    if isinstance(anchor, ast.Name) and anchor.id in {"__package__", "__name__"}:
        base = source.anchor if anchor.id == "__package__" else source.name
        return absolute(base, level, name[level:] or None)
    return None


def _check_dynamic(graph: Graph, source: Source) -> None:
    for node in _calls(source):
        target = graph.resolve(source, node.func)
        if not isinstance(target, External):
            continue
        if target.name in _DYNAMIC:
            graph.findings.append(
                source.finding(node, f"{target.name.removeprefix('builtins.')}(…) can declare anything", "plain code")
            )
        elif target.name in _IMPORTERS and _literal_target(source, node) is None:
            graph.findings.append(
                source.finding(
                    node,
                    "imports a module whose name is computed",
                    'import_module("a.literal.name"), or add it to entries',
                )
            )
