"""One module as the static pass sees it: its tree, its scopes, what it imports (SPEC 13.2)."""

import ast
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from remit.errors import Finding

Definition: TypeAlias = "ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A name that stands for a module, or for an attribute of one (which may itself be a submodule)."""

    module: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Defined:
    """A name bound by `class`, `def` or one plain assignment."""

    node: "Definition | ast.expr"


@dataclass(frozen=True, slots=True)
class Many:
    """A name bound more than once, under a condition, or by something else than a plain assignment: no constant."""


Binding: TypeAlias = Imported | Defined | Many
MANY: Final = Many()


@dataclass(slots=True, kw_only=True, eq=False)
class Scope:
    """The names of a module, a class body, a function or a comprehension.

    `parent` is None for the module. `outer` are the names that a function declares to be somebody else's. In the body
    of a class a name counts from the line on that first binds it (`since`), and inside its methods it does not count.
    """

    source: "Source"
    parent: "Scope | None" = None
    of_class: bool = False
    names: dict[str, Binding] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)

    def find(self, name: str, line: int) -> "tuple[Scope, Binding | None]":
        """The scope that a name used here at `line` belongs to, and what it is bound to there."""
        each = self
        while each.parent is not None:
            visible = not each.of_class or (each is self and each.since.get(name, line) < line)
            if visible and name in each.names:
                return each, each.names[name]
            each = each.parent
        return each, each.names.get(name)

    def bind(self, name: str, bound: Binding, line: int, *, conditional: bool = False) -> None:
        """Bind a name; twice to different things, or to a value under a condition, is no constant."""
        if name in self.outer and self.parent is not None:
            self.source.top.bind(name, MANY, line)
            return
        known = self.names.get(name)
        constant = isinstance(bound, Defined) and isinstance(bound.node, ast.expr)
        self.names[name] = MANY if (known is not None and known != bound) or (conditional and constant) else bound
        self.since[name] = min(line, self.since.get(name, line))


@dataclass(slots=True, kw_only=True, eq=False)
class Source:
    """A parsed module of the project. `path` is relative to the project, with forward slashes.

    `top` is the scope of the module, `bodies` that of each class body, `scopes` the one a class statement stands in.
    `nodes` are the calls, assignments and deletions that run, each with its scope: the tree is walked once.
    """

    name: str
    path: str
    package: bool
    tree: ast.Module
    stars: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    nodes: list[tuple[ast.AST, Scope]] = field(default_factory=list)
    bodies: dict[ast.ClassDef, Scope] = field(default_factory=dict)
    scopes: dict[ast.ClassDef, Scope] = field(default_factory=dict)
    top: Scope = field(init=False)

    def __post_init__(self) -> None:
        self.top = Scope(source=self)

    @property
    def anchor(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.package else self.name.rpartition(".")[0]

    def finding(self, node: ast.AST, found: str, write: str | None = None) -> Finding:
        """A finding at a node of this module."""
        return Finding(path=self.path, line=getattr(node, "lineno", None), found=found, write=write)

    def exports(self) -> tuple[str, ...] | None:
        """What `__all__` says when it is a literal; None without one."""
        bound = self.top.names.get("__all__")
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


def is_type_checking(test: ast.expr) -> bool:
    """True for `TYPE_CHECKING` and `typing.TYPE_CHECKING`."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )
