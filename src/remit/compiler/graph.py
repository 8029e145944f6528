"""The module graph of a project, read from its sources and never imported (SPEC 13.2)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from remit.compiler.external import Outside
from remit.compiler.scopes import read_scopes
from remit.compiler.source import MANY, Binding, Defined, Definition, Imported, Many, Scope, Source, absolute
from remit.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Something outside the project, by its dotted name: `remit.observation`, `dataclasses.dataclass`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """Something of the project: a class, a function or a constant expression, and the scope it stands in."""

    scope: Scope
    node: "Definition | ast.expr"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRef:
    """A module of the project."""

    source: Source


Resolved: TypeAlias = External | Local | ModuleRef | Many | None
_IMPORTERS: Final = frozenset({"importlib.import_module", "builtins.__import__"})
_API_HOMES: Final = frozenset({"remit"})
_DYNAMIC: Final = frozenset({"builtins.exec", "builtins.eval"})
_Seen = set[tuple[int, str]]


@dataclass(slots=True, kw_only=True, eq=False)
class Graph:
    """Every module reached from the entries, by name and in the order in which they were reached.

    `roots` are the folders that imports start from; `folders` are those of each package, several for one without an
    `__init__.py`. `foreign` are the names of the modules that lie `outside`, in approved distributions.
    """

    roots: tuple[Path, ...]
    modules: dict[str, Source] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    folders: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    foreign: set[str] = field(default_factory=set)

    def resolve(self, scope: Scope, expression: ast.expr) -> Resolved:
        """What an expression names where it stands: follows bindings, aliases, attribute chains and star imports."""
        return self._resolve(scope, expression, set())

    def _resolve(self, scope: Scope, expression: ast.expr, seen: _Seen) -> Resolved:
        if isinstance(expression, ast.Name):
            return self._name(scope, expression.id, expression.lineno, seen)
        if isinstance(expression, ast.Attribute):
            return self._attribute(self._resolve(scope, expression.value, seen), expression.attr, seen)
        return None

    def _name(self, scope: Scope, name: str, line: int, seen: _Seen) -> Resolved:
        home, bound = scope.find(name, line)
        if (id(home), name) in seen:
            return None
        seen.add((id(home), name))
        if bound is None:
            bound = self._from_stars(home.source, name, set())
        match bound:
            case Many():
                return MANY
            case Imported():
                return self._imported(bound, seen)
            case Defined(node=ast.Name() | ast.Attribute() as alias):
                found = self._resolve(home, alias, seen)
                return Local(scope=home, node=alias) if found is None else found
            case Defined():
                return Local(scope=home, node=bound.node)
            case None:
                return External(name=f"builtins.{name}")

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
            if shared and (name in target.top.names or self._from_stars(target, name, seen) is not None):
                return Imported(module=module, attribute=name)
        return None

    def _imported(self, bound: Imported, seen: _Seen) -> Resolved:
        source = self.modules.get(bound.module)
        owner: Resolved = External(name=bound.module) if source is None else ModuleRef(source=source)
        return owner if bound.attribute is None else self._attribute(owner, bound.attribute, seen)

    def _attribute(self, owner: Resolved, attribute: str, seen: _Seen) -> Resolved:
        match owner:
            case External(name=name):
                module = self.modules.get(f"{name}.{attribute}")
                return External(name=f"{name}.{attribute}") if module is None else ModuleRef(source=module)
            case ModuleRef(source=source):
                known = attribute in source.top.names or self._from_stars(source, attribute, set()) is not None
                if not known and (module := self.modules.get(f"{source.name}.{attribute}")) is not None:
                    return ModuleRef(source=module)
                return self._name(source.top, attribute, 0, seen) if known else None
            case _:
                return None


def load_graph(root: Path, entries: Sequence[str], roots: Iterable[Path], outside: Outside | None = None) -> Graph:
    """Read every module that the entries reach, from `roots` in order, then in the approved distributions `outside`.

    An entry that is not there, a module that does not parse and an import that cannot be read are findings. A worklist
    and no recursion: chains of imports may be long. A call that imports is known by what its name is bound to, which
    may stand in another module; so calls are read when the modules known so far are there.
    """
    graph = Graph(roots=tuple(roots), outside=Outside() if outside is None else outside)
    pending: list[str] = []
    for entry in entries:
        if (_locate(graph, entry) or graph.outside.locate(entry)) is None:
            graph.findings.append(
                Finding(found=f"the entry {entry!r} is no module of this project", write='entries = ["app"]')
            )
        pending.append(entry)
    pending.reverse()
    judged = 0
    while pending:
        name = pending.pop()
        for each in _with_parents(name):
            if each in graph.modules:
                continue
            source = _load(graph, root, each)
            if source is not None:
                graph.modules[each] = source
                pending.extend(reversed(source.imports))
        if not pending:
            fresh = list(graph.modules.values())[judged:]
            judged = len(graph.modules)
            pending.extend(each for source in fresh for each in _called_imports(graph, source))
            pending.reverse()
    return graph


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])


def _folders(graph: Graph, package: str) -> tuple[Path, ...]:
    """Where the modules of a package are looked for: its folder, or every folder of one without an `__init__.py`."""
    if not package:
        return graph.roots
    known = graph.folders.get(package)
    if known is None:
        parent, _, name = package.rpartition(".")
        outer = _folders(graph, parent)
        found = _locate(graph, package)
        if found is None:
            known = tuple(each / name for each in outer if (each / name).is_dir())
        else:
            known = (found[0].parent,) if found[1] else ()
        graph.folders[package] = known
    return known


def _locate(graph: Graph, name: str) -> tuple[Path, bool] | None:
    """The file of a module, and whether it is a package; None for what is not there or has no file of its own."""
    parent, _, own = name.rpartition(".")
    for folder in _folders(graph, parent):
        package = folder / own / "__init__.py"
        if package.is_file():
            return package, True
        module = folder / f"{own}.py"
        if module.is_file():
            return module, False
    return None


def _load(graph: Graph, root: Path, name: str) -> Source | None:
    found = _locate(graph, name)
    if found is None:
        found = graph.outside.locate(name)
        if found is None:
            return None
        graph.foreign.add(name)
    file, package = found
    path = (graph.outside.shown(file) if name in graph.foreign else None) or relative_path(root, file)
    try:
        tree = ast.parse(file.read_bytes(), filename=path)
    except (SyntaxError, ValueError) as problem:
        line = problem.lineno if isinstance(problem, SyntaxError) else None
        graph.findings.append(Finding(path=path, line=line, found=f"does not parse: {type(problem).__name__}"))
        return None
    source = Source(name=name, path=path, package=package, tree=tree)
    read_scopes(source)
    graph.files[name] = file.resolve()
    return source


def relative_path(root: Path, file: Path) -> str:
    """The path of a file below the project's root with forward slashes; only its name when it is elsewhere."""
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return file.name


def _called_imports(graph: Graph, source: Source) -> Iterator[str]:
    """The modules that calls of a module import by a literal name; a computed one, and `exec`, are findings.

    Not in a dependency: what that loads later is in no contract, so it cannot be mounted.
    """
    foreign = source.name in graph.foreign
    for node, scope in source.nodes:
        target = graph.resolve(scope, node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(target, External):
            continue
        name = _literal_target(source, node) if target.name in _IMPORTERS else None
        if name is not None:
            yield name
        elif not foreign and target.name in _DYNAMIC:
            graph.findings.append(
                source.finding(node, f"{target.name.removeprefix('builtins.')}(…) can declare anything", "plain code")
            )
        elif not foreign and target.name in _IMPORTERS:
            graph.findings.append(
                source.finding(
                    node,
                    "imports a module whose name is computed",
                    'import_module("a.literal.name"), or add it to entries',
                )
            )


def _literal_target(source: Source, node: ast.Call) -> str | None:
    name = _argument(node, 0, "name")
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    level = len(name.value) - len(name.value.lstrip("."))
    if not level:
        return name.value
    anchor = _argument(node, 1, "package")
    if isinstance(anchor, ast.Constant) and isinstance(anchor.value, str):
        return absolute(anchor.value, level, name.value[level:] or None)
    if isinstance(anchor, ast.Name) and anchor.id in {"__package__", "__name__"}:
        base = source.anchor if anchor.id == "__package__" else source.name
        return absolute(base, level, name.value[level:] or None)
    return None


def _argument(node: ast.Call, index: int, name: str) -> ast.expr | None:
    if len(node.args) > index:
        return node.args[index]
    return next((each.value for each in node.keywords if each.arg == name), None)
