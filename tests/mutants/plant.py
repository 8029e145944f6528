"""Put a mutant in the place of living code: the functions stay who they are, their code becomes another.

So every module that has imported a function, and every object that holds it, runs the mutant.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

from tests.mutants.operators import Mutant, compiled

Place = tuple[str, str, int]
"""File as compiled, qualified name, first line: what is one function of one module."""


def functions_of(files: frozenset[str]) -> dict[Place, list[FunctionType]]:
    """Every living function that was compiled from one of these files, by its place."""
    found: dict[Place, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename in files:
            found.setdefault(_place(each.__code__), []).append(each)
    return found


def plant(mutant: Mutant, path: str, functions: Mapping[Place, list[FunctionType]]) -> None:
    """Let every function at the mutant's place run its code from now on; LookupError if there is none."""
    code = compiled(mutant, path)
    first = min([mutant.outer.lineno, *(decorator.lineno for decorator in mutant.outer.decorator_list)])
    wanted = (path, mutant.outer_name, first)
    made = next((each for each in _codes(code) if _place(each) == wanted), None)
    if made is None or wanted not in functions:
        raise LookupError(f"no living function {mutant.outer_name} at {path}:{first}")
    for function in functions[wanted]:
        function.__code__ = made


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
