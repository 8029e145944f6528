"""What may be changed in a source file, one small thing at a time: the mutants of a file, in the order of its text.

Only what stands in the body of a function: that can be put in place of the living code (`plant`). Left alone are
asserts, annotations, docstrings and prose (a string with a space in it): nobody's promise hangs on them. So is a bare
`return` after which the function ends anyway.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType

COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, ast.AST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What names a mutant, whatever line it stands on; `nth` tells equal ones of one function apart."""

    file: str
    function: str
    operator: str
    text: str
    becomes: str
    nth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slot:
    """The place of a node in its parent."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        """Let the node stand here."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mutant:
    """One change of one file; `outer` is the function whose code is replaced, `line` where the change can be seen."""

    key: Key
    tree: ast.Module
    slot: Slot
    replacement: ast.AST
    outer: Function
    outer_name: str
    line: int
    statement_line: int


@dataclass(frozen=True, slots=True)
class _At:
    """Where the walk is."""

    functions: tuple[Function, ...]
    names: tuple[str, ...]
    statement: ast.AST | None

    @property
    def qualname(self) -> str:
        return ".".join(self.names)


def mutants_of(text: str, file: str, names: Mapping[str, object]) -> list[Mutant]:
    """Every mutant of a file; `names` is the namespace of its module, in which enums are looked up."""
    tree = ast.parse(text)
    ends = {id(statement) for node in ast.walk(tree) if isinstance(node, Function) for statement in _ends(node.body)}
    found: list[Mutant] = []
    times: dict[Key, int] = {}
    for slot, node, at in _walk(tree, _At((), (), None)):
        if not at.functions or at.statement is None:
            continue
        for operator, replacement in _changes(node, slot, names):
            before, after = _heads(at.statement, slot, node, replacement)
            if before == after or (operator == "return removed" and id(node) in ends):
                continue
            key = Key(file=file, function=at.qualname, operator=operator, text=before, becomes=after)
            times[key] = nth = times.get(key, 0) + 1
            found.append(
                Mutant(
                    key=replace(key, nth=nth),
                    tree=tree,
                    slot=slot,
                    replacement=_located(replacement, node),
                    outer=at.functions[0],
                    outer_name=at.qualname.partition(".<locals>")[0],
                    line=getattr(node, "lineno", getattr(at.statement, "lineno", 0)),
                    statement_line=_line(at.statement),
                )
            )
    return found


def _ends(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements after which the function returns anyway."""
    match body[-1]:
        case ast.If(body=then, orelse=otherwise):
            yield from _ends(then)
            if otherwise:
                yield from _ends(otherwise)
        case ast.With(body=inner) | ast.AsyncWith(body=inner):
            yield from _ends(inner)
        case ast.Try(body=inner, handlers=handlers, orelse=otherwise):
            for block in (otherwise or inner, *(handler.body for handler in handlers)):
                yield from _ends(block)
        case ast.Match(cases=cases):
            for case in cases:
                yield from _ends(case.body)
        case last:
            yield last


def _line(statement: ast.AST) -> int:
    where = statement.pattern if isinstance(statement, ast.match_case) else statement
    line: int = getattr(where, "lineno", 0)
    return line


def _walk(node: ast.AST, at: _At) -> Iterator[tuple[Slot, ast.AST, _At]]:
    for field, value in ast.iter_fields(node):
        if _left_alone(node, field):
            continue
        inside = at
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            locals_ = ("<locals>",) if at.functions else ()
            inside = _At((*at.functions, node), (*at.names, *locals_, node.name), None)
        elif isinstance(node, ast.ClassDef):
            inside = _At(at.functions, (*at.names, node.name), at.statement)
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST):
                continue
            here = _At(inside.functions, inside.names, child) if _is_statement(child) else inside
            yield Slot(parent=node, field=field, index=index), child, here
            yield from _walk(child, here)


def _is_statement(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.match_case)


def _left_alone(node: ast.AST, field: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return field != "body"
        case ast.AnnAssign():
            return field == "annotation"
        case ast.Assert() | ast.JoinedStr():
            return True
        case ast.Call(func=ast.Name(id="cast")):
            return True
        case ast.ExceptHandler():
            return field == "type"
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name))):
            return name in ("TypeError", "ValueError", "RuntimeError", "AssertionError")
        case _:
            return False


def _changes(node: ast.AST, slot: Slot, names: Mapping[str, object]) -> Iterator[Change]:
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node, names)
        if slot.field in ("test", "guard") or (slot.field == "ifs" and isinstance(slot.parent, ast.comprehension)):
            yield from _of_condition(node)


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
            return  # without it the function's code no longer fits its closure
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return  # nothing comes there
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "call removed", ast.Pass()
        case ast.Assign(targets=targets) if all(isinstance(t, ast.Attribute | ast.Subscript) for t in targets):
            yield "assignment removed", ast.Pass()
        case ast.AugAssign(target=target, op=op, value=value):
            yield "assignment removed", ast.Pass()
            if type(op) in ARITHMETIC:
                yield "arithmetic", ast.AugAssign(target=target, op=ARITHMETIC[type(op)](), value=value)
        case _:
            yield from _of_jump(node)


def _of_jump(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Delete():
            yield "deletion removed", ast.Pass()
        case ast.Raise():
            yield "raise removed", ast.Pass()
        case ast.Continue() | ast.Break():
            yield "jump removed", ast.Pass()
        case ast.Return(value=None | ast.Constant(value=None)):
            yield "return removed", ast.Pass()
        case ast.Return(value=ast.Constant(value=False)):
            return  # None is as false, and every caller only asks
        case ast.Return():
            yield "returns None", ast.Return(value=ast.Constant(value=None))
        case _:
            return


def _of_expression(node: ast.expr, names: Mapping[str, object]) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                others: list[ast.cmpop] = [*ops[:index], COMPARISONS[type(op)](), *ops[index + 1 :]]
                yield "comparison", ast.Compare(left=left, ops=others, comparators=comparators)
        case ast.BoolOp(op=op, values=values):
            yield "and/or", ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            yield "arithmetic", ast.BinOp(left=left, op=ARITHMETIC[type(op)](), right=right)
        case ast.Constant(value=value):
            yield from _of_constant(value)
        case ast.Attribute(value=ast.Name(id=name), attr=member):
            following = _following(names.get(name), member)
            if following != member:
                yield "enum member", ast.Attribute(value=node.value, attr=following, ctx=ast.Load())
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in SWAPPED_CALLS:
            other = ast.Name(id=SWAPPED_CALLS[name], ctx=ast.Load())
            yield "other function", ast.Call(func=other, args=args, keywords=keywords)
        case _:
            return


def _following(kind: object, member: str) -> str:
    """The enum's next member; the member itself if it is none of an enum, or the only one."""
    if not isinstance(kind, enum.EnumMeta) or member not in kind.__members__:
        return member
    members = list(kind.__members__)
    return members[(members.index(member) + 1) % len(members)]


def _of_constant(value: object) -> Iterator[Change]:
    match value:
        case bool():
            yield "constant", ast.Constant(value=not value)
        case int() | float():
            yield "constant", ast.Constant(value=value + 1)
        case str() if " " not in value:
            yield "constant", ast.Constant(value="" if value else "x")
        case _:
            return


def _of_condition(node: ast.expr) -> Iterator[Change]:
    """A condition that is no comparison or connection by itself is turned round."""
    if not isinstance(node, ast.Compare | ast.Constant) and not (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        yield "condition", ast.UnaryOp(op=ast.Not(), operand=node)


def _heads(statement: ast.AST, slot: Slot, node: ast.AST, replacement: ast.AST) -> tuple[str, str]:
    """The statement's first line without and with the change."""
    before = _head(statement)
    if statement is node:
        return before, _head(replacement)
    slot.put(replacement)
    try:
        return before, _head(statement)
    finally:
        slot.put(node)


def _head(statement: ast.AST) -> str:
    return next((line for line in ast.unparse(statement).splitlines() if line), "").strip()


def _located(replacement: ast.AST, node: ast.AST) -> ast.AST:
    made = ast.copy_location(replacement, node)
    return ast.fix_missing_locations(made)


def compiled(mutant: Mutant, path: str) -> CodeType:
    """The code of the whole file with this one change."""
    held = getattr(mutant.slot.parent, mutant.slot.field)
    node = held if mutant.slot.index is None else held[mutant.slot.index]
    mutant.slot.put(mutant.replacement)
    try:
        return compile(mutant.tree, path, "exec", dont_inherit=True)
    finally:
        mutant.slot.put(node)
