"""Values that can be read without running anything: literals, and names that stand for literals (SPEC 13.2)."""

import ast
from typing import Final, TypeAlias

from remit.compiler.graph import External, Graph, Local
from remit.compiler.source import Many, Source

Plain: TypeAlias = "str | int | float | bool | None | list[Plain]"
_DEPTH: Final = 40


class NotLiteral(Exception):
    """An expression has to run before its value is known; `found` says what it is."""

    def __init__(self, found: str) -> None:
        super().__init__(found)
        self.found = found


def literal(graph: Graph, source: Source, expression: ast.expr, depth: int = 0) -> Plain:
    """The value of a literal, of literals joined by `+`, or of a name that is bound once to such; tuples are lists."""
    if depth > _DEPTH:
        raise NotLiteral("a constant that refers to itself")
    match expression:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return [literal(graph, source, item, depth + 1) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _negative(literal(graph, source, operand, depth + 1))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined(literal(graph, source, left, depth + 1), literal(graph, source, right, depth + 1))
        case ast.Name() | ast.Attribute():
            return _named(graph, source, expression, depth)
        case ast.JoinedStr():
            raise NotLiteral("an f-string")
        case _:
            raise NotLiteral(f"the expression `{_shown(expression)}`")


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


def _named(graph: Graph, source: Source, expression: ast.Name | ast.Attribute, depth: int) -> Plain:
    match graph.resolve(source, expression):
        case Local(source=home, node=ast.expr() as value):
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
