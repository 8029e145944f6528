"""One module as the static pass sees it: its tree, what its names are bound to, what it imports (SPEC 13.2)."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from remit.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A name that stands for a module, or for an attribute of one (which may itself be a submodule)."""

    module: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Defined:
    """A name bound by `class`, `def` or one plain assignment at module level."""

    node: "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr"


@dataclass(frozen=True, slots=True)
class Many:
    """A name bound more than once, or under a condition: never a constant."""


Binding: TypeAlias = Imported | Defined | Many
MANY: Final = Many()


@dataclass(slots=True, kw_only=True, eq=False)
class Source:
    """A parsed module of the project. `path` is relative to the project, with forward slashes.

    `nodes` are all nodes but those for type checkers only: the tree is walked once.
    """

    name: str
    path: str
    package: bool
    tree: ast.Module
    bindings: dict[str, Binding] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    local_imports: dict[str, Binding] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    nodes: list[ast.AST] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.package else self.name.rpartition(".")[0]

    def finding(self, node: ast.AST, found: str, write: str | None = None) -> Finding:
        """A finding at a node of this module."""
        return Finding(path=self.path, line=getattr(node, "lineno", None), found=found, write=write)

    def exports(self) -> tuple[str, ...] | None:
        """What `__all__` says when it is a literal; None without one."""
        bound = self.bindings.get("__all__")
        if isinstance(bound, Defined) and isinstance(bound.node, ast.List | ast.Tuple):
            items = [item.value for item in bound.node.elts if isinstance(item, ast.Constant)]
            if len(items) == len(bound.node.elts) and all(isinstance(item, str) for item in items):
                return tuple(str(item) for item in items)
        return None


def absolute(source_anchor: str, level: int, module: str | None) -> str | None:
    """The absolute name of a relative import; None when it leaves the top-level package."""
    if level == 0:
        return module
    parts = source_anchor.split(".") if source_anchor else []
    if level - 1 > len(parts) or not parts:
        return None
    base = parts[: len(parts) - (level - 1)]
    return ".".join([*base, *([module] if module else [])]) or None


def read_bindings(source: Source) -> None:
    """Fill in what names are bound to and which modules are imported, lazily too; type-only imports do not count."""
    for statement, conditional in _top_level(source.tree.body, False):
        _bind_statement(source, statement, conditional)
    top = set(map(id, (statement for statement, _ in _top_level(source.tree.body, False))))
    source.nodes = list(_runtime_nodes(source.tree))
    for node in source.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, bound in _import_bindings(source, node):
                if id(node) not in top:
                    source.local_imports.setdefault(name, bound)
            source.imports.extend(_imported_modules(source, node))
        elif isinstance(node, ast.Global):
            for name in node.names:
                source.bindings[name] = MANY


def is_type_checking(test: ast.expr) -> bool:
    """True for `TYPE_CHECKING` and `typing.TYPE_CHECKING`."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under `if TYPE_CHECKING:`, in source order of their parents."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and is_type_checking(node.test):
            pending.extend(reversed(node.orelse))
        else:
            pending.extend(reversed(list(ast.iter_child_nodes(node))))


def _top_level(body: list[ast.stmt], conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in body:
        yield statement, conditional
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            # Names that exist for the type checker still resolve: a base class may be hidden from nobody.
            yield from _top_level(statement.body, False)
            yield from _top_level(statement.orelse, True)
            continue
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = getattr(statement, name, None)
                if isinstance(inner, list):
                    yield from _top_level(inner, True)
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body, True)


def _bind_statement(source: Source, statement: ast.stmt, conditional: bool) -> None:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        for name, bound in _import_bindings(source, statement):
            _bind(source, name, bound, conditional=False)
        if isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names):
            module = absolute(source.anchor, statement.level, statement.module)
            if module is not None:
                source.stars.append(module)
    elif isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        _bind(source, statement.name, Defined(statement), conditional)
    else:
        for target, value in _assigned(statement):
            _bind_target(source, target, value, conditional)


def _assigned(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets of an assignment with their value; None where it is not one expression for one name."""
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value
    elif isinstance(statement, ast.AugAssign | ast.For | ast.AsyncFor):
        yield statement.target, None


def _bind_target(source: Source, target: ast.expr, value: ast.expr | None, conditional: bool) -> None:
    if isinstance(target, ast.Name):
        _bind(source, target.id, MANY if value is None else Defined(value), conditional)
    elif isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            _bind_target(source, each, None, True)


def _bind(source: Source, name: str, bound: Binding, conditional: bool) -> None:
    known = source.bindings.get(name)
    constant = isinstance(bound, Defined) and isinstance(bound.node, ast.expr)
    if (known is not None and known != bound) or (conditional and constant):
        source.bindings[name] = MANY
    else:
        source.bindings[name] = bound


def _import_bindings(source: Source, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Imported(module=alias.name)
            else:
                top = alias.name.split(".")[0]
                yield top, Imported(module=top)
        return
    module = absolute(source.anchor, node.level, node.module)
    if module is not None:
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, Imported(module=module, attribute=alias.name)


def _imported_modules(source: Source, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
        return
    module = absolute(source.anchor, node.level, node.module)
    if module is not None:
        yield module
        for alias in node.names:
            if alias.name != "*":
                yield f"{module}.{alias.name}"
