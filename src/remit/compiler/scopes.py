"""One walk over a module: which names each scope binds, what is imported, what runs (SPEC 13.2)."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from remit.compiler.source import MANY, Binding, Defined, Imported, Scope, Source, absolute, is_type_checking

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHES: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_RUNS: Final = (ast.Call, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
    """Where a node stands: its scope, whether it is under a condition, whether it exists at run time."""

    scope: Scope
    conditional: bool = False
    runs: bool = True


_Child = tuple[ast.AST, _At]
_Visit = Callable[[ast.AST, _At], Iterator[_Child]]


def read_scopes(source: Source) -> None:
    """Fill in the scopes of a parsed module, its imports, lazy ones too, and what runs in it.

    What stands under `if TYPE_CHECKING:` binds names, for a base class may be hidden from nobody, but is no import and
    does not run. A stack and no recursion: expressions may be deep.
    """
    at = _At(scope=source.top)
    pending: list[_Child] = [(node, at) for node in reversed(source.tree.body)]
    while pending:
        node, at = pending.pop()
        if at.runs and isinstance(node, _RUNS):
            source.nodes.append((node, at.scope))
        visit = _VISITS.get(type(node), _other)
        children = list(visit(node, at))
        pending.extend(reversed(children))


def _each(nodes: Iterable[ast.AST | None], at: _At) -> Iterator[_Child]:
    return ((node, at) for node in nodes if node is not None)


def _other(node: ast.AST, at: _At) -> Iterator[_Child]:
    inside = replace(at, conditional=True) if isinstance(node, _BRANCHES) else at
    return _each(ast.iter_child_nodes(node), inside)


def _leaf(_node: ast.AST, _at: _At) -> Iterator[_Child]:
    return iter(())


def _branch(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.If)
    if not is_type_checking(node.test):
        return _other(node, at)
    typed = _each(node.body, replace(at, runs=False))
    return iter((*typed, *_each(node.orelse, replace(at, conditional=True))))


# Statements that make a scope


def _function(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, _Function)
    at.scope.bind(node.name, Defined(node), node.lineno, conditional=at.conditional)
    inside = _At(scope=_parameters(node.args, at.scope), runs=at.runs)
    arguments = node.args
    outside = (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults, node.returns)
    return iter((*_each(outside, at), *_each(node.body, inside)))


def _lambda(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.Lambda)
    inside = _At(scope=_parameters(node.args, at.scope), runs=at.runs)
    return iter((*_each((*node.args.defaults, *node.args.kw_defaults), at), (node.body, inside)))


def _parameters(arguments: ast.arguments, parent: Scope) -> Scope:
    scope = Scope(source=parent.source, parent=parent)
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    scope.names.update({each.arg: MANY for each in every if each is not None})
    return scope


def _class(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.ClassDef)
    source = at.scope.source
    at.scope.bind(node.name, Defined(node), node.lineno, conditional=at.conditional)
    body = Scope(source=source, parent=at.scope, of_class=True)
    source.bodies[node], source.scopes[node] = body, at.scope
    outside = (*node.decorator_list, *node.bases, *node.keywords)
    return iter((*_each(outside, at), *_each(node.body, _At(scope=body, runs=at.runs))))


def _comprehension(node: ast.AST, at: _At) -> Iterator[_Child]:
    inner = Scope(source=at.scope.source, parent=at.scope)
    return _each(ast.iter_child_nodes(node), replace(at, scope=inner))


# What binds a name


def _assign(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.Assign)
    rest = [each for each in node.targets if not _bound(each, node.value, at)]
    return _each((*rest, node.value), at)


def _annotated(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.AnnAssign)
    if node.value is None:  # a type alone binds nothing
        return iter(())
    rest = () if _bound(node.target, node.value, at) else (node.target,)
    return _each((*rest, node.value), at)


def _bound(target: ast.expr, value: ast.expr, at: _At) -> bool:
    if not isinstance(target, ast.Name):
        return False
    at.scope.bind(target.id, Defined(value), value.lineno, conditional=at.conditional)
    return True


def _name(node: ast.AST, at: _At) -> Iterator[_Child]:
    """Every name that is stored or deleted otherwise: by a loop, `with`, unpacking, `:=`, `+=`, `del`."""
    assert isinstance(node, ast.Name)
    if not isinstance(node.ctx, ast.Load):
        at.scope.bind(node.id, MANY, node.lineno)
    return iter(())


def _captured(node: ast.AST, at: _At) -> Iterator[_Child]:
    """`except … as x`, and the names of a pattern."""
    assert isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping)
    name = node.rest if isinstance(node, ast.MatchMapping) else node.name
    if name is not None:
        at.scope.bind(name, MANY, node.lineno)
    return _other(node, at)


def _elsewhere(node: ast.AST, at: _At) -> Iterator[_Child]:
    """`global` and `nonlocal`: what is assigned here changes a name of somebody else."""
    assert isinstance(node, ast.Global | ast.Nonlocal)
    for name in node.names:
        if isinstance(node, ast.Global):
            at.scope.outer.add(name)
            at.scope.source.top.bind(name, MANY, node.lineno)
        else:
            at.scope.names[name] = MANY
    return iter(())


# Imports


def _import(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.Import)
    for alias in node.names:
        name, module = (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        at.scope.bind(name, Imported(module=module), node.lineno)
        if at.runs:
            at.scope.source.imports.append(alias.name)
    return iter(())


def _import_from(node: ast.AST, at: _At) -> Iterator[_Child]:
    assert isinstance(node, ast.ImportFrom)
    source = at.scope.source
    module = absolute(source.anchor, node.level, node.module)
    if module is None:
        return iter(())
    names = [alias for alias in node.names if alias.name != "*"]
    for alias in names:
        bound: Binding = Imported(module=module, attribute=alias.name)
        at.scope.bind(alias.asname or alias.name, bound, node.lineno)
    if len(names) < len(node.names):
        source.stars.append(module)
    if at.runs:
        source.imports += [module, *(f"{module}.{alias.name}" for alias in names)]
    return iter(())


_VISITS: Final[Mapping[type[ast.AST], _Visit]] = MappingProxyType(
    {
        ast.If: _branch,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.Lambda: _lambda,
        ast.ClassDef: _class,
        **dict.fromkeys(_COMPREHENSIONS, _comprehension),
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.Name: _name,
        ast.ExceptHandler: _captured,
        ast.MatchAs: _captured,
        ast.MatchStar: _captured,
        ast.MatchMapping: _captured,
        ast.Global: _elsewhere,
        ast.Nonlocal: _elsewhere,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Constant: _leaf,
    }
)
