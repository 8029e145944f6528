"""Values that can be read without running anything: literals, and names that stand for literals (SPEC 13.2)."""

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from remit._contract.concurrency import Key, Parallel, key, parallel
from remit._model.answers import Handoff
from remit._model.retry import Retry
from remit.compiler.graph import External, Graph, Local
from remit.compiler.source import Many, Scope

Setting: TypeAlias = Handoff | Key | Parallel | Retry
Plain: TypeAlias = "str | int | float | bool | None | Setting | list[Plain] | dict[str, Plain]"
# remit's own makers of values: with literals they are as good as literals.
_MAKERS: Final[Mapping[str, Callable[..., Setting]]] = MappingProxyType(
    {
        "remit.key": key,
        "remit._contract.concurrency.key": key,
        "remit.parallel": parallel,
        "remit._contract.concurrency.parallel": parallel,
        "remit.Handoff": Handoff,
        "remit._model.answers.Handoff": Handoff,
        "remit.Retry": Retry,
        "remit._model.retry.Retry": Retry,
    }
)
_DEPTH: Final = 40


class NotLiteral(Exception):
    """An expression has to run before its value is known; `found` says what it is."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


def literal(graph: Graph, scope: Scope, expression: ast.expr, depth: int = 0) -> Plain:
    """The value of a literal, of literals joined by `+`, of a dict of them, or of a name bound once to such.

    Tuples are lists. `key(…)`, `parallel(…)`, `Retry(…)` and `Handoff(…)` of remit count as literals when what they
    hold does.
    """
    if depth > _DEPTH:
        raise NotLiteral("a constant that refers to itself")
    match expression:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [literal(graph, scope, item, depth + 1) for item in items]
        case ast.Dict():
            return _mapping(graph, scope, expression, depth)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negative(literal(graph, scope, operand, depth + 1))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined(literal(graph, scope, left, depth + 1), literal(graph, scope, right, depth + 1))
        case ast.Name() | ast.Attribute():
            return _named(graph, scope, expression, depth)
        case ast.Call():
            return _made(graph, scope, expression, depth)
        case ast.JoinedStr():
            raise NotLiteral("an f-string")
        case _:
            raise NotLiteral(f"the expression `{_shown(expression)}`")


def _made(graph: Graph, scope: Scope, call: ast.Call, depth: int) -> Setting:
    called = graph.resolve(scope, call.func)
    make = _MAKERS.get(called.name) if isinstance(called, External) else None
    if make is None or any(keyword.arg is None for keyword in call.keywords):
        raise NotLiteral(f"the expression `{_shown(call)}`")
    arguments = [literal(graph, scope, each, depth + 1) for each in call.args]
    named = {str(each.arg): literal(graph, scope, each.value, depth + 1) for each in call.keywords}
    try:
        return make(*arguments, **named)
    except TypeError:
        raise NotLiteral(f"`{_shown(call)}`, which is not how {make.__name__} is called") from None


def _mapping(graph: Graph, scope: Scope, written: ast.Dict, depth: int) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for named, value in zip(written.keys, written.values, strict=True):
        if named is None:
            raise NotLiteral("a dict with `**` in it")
        name = literal(graph, scope, named, depth + 1)
        if not isinstance(name, str):
            raise NotLiteral(f"a dict with the key `{_shown(named)}`, which is no text")
        found[name] = literal(graph, scope, value, depth + 1)
    return found


def _negative(value: Plain) -> Plain:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotLiteral("a computed value")
    return -value


def _joined(left: Plain, right: Plain) -> Plain:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    raise NotLiteral("a computed value")


def _named(graph: Graph, scope: Scope, expression: ast.Name | ast.Attribute, depth: int) -> Plain:
    match graph.resolve(scope, expression):
        case Local(scope=home, node=ast.expr() as value):
            return literal(graph, home, value, depth + 1)
        case Many():
            raise NotLiteral(f"`{_shown(expression)}`, which is bound more than once or under a condition")
        case External(name=name):
            raise NotLiteral(f"`{name.removeprefix('builtins.')}`, whose value is not in this project")
        case _:
            raise NotLiteral(f"`{_shown(expression)}`, which is no constant")


def _shown(expression: ast.expr) -> str:
    text = ast.unparse(expression)
    return text if len(text) <= 60 else text[:59] + "…"
