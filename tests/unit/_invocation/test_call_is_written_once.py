"""Each field of a call is written by one phase only (decision 1)."""

import ast
from collections import defaultdict
from pathlib import Path

import remit._invocation.call as call_module
from remit._invocation.call import Call

ROOM = Path(call_module.__file__).parent
ADDED_TO = {"votes", "waited", "policy_s", "waiters"}
"""What several phases add to: the journal's account of a call, and how many wait for it."""


def writers_in(source: str) -> set[str]:
    """Names of attributes that are assigned on a variable called `call`."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "call"
    }


def test_no_two_phases_write_the_same_field_of_a_call() -> None:
    writers: dict[str, list[str]] = defaultdict(list)
    for file in ROOM.glob("*.py"):
        for field in writers_in(file.read_text(encoding="utf-8")):
            writers[field].append(file.stem)
    assert {field: sorted(by) for field, by in writers.items() if len(by) > 1 and field not in ADDED_TO} == {}
    assert set(writers) <= set(Call.__slots__)
    assert "effective" in writers and writers["effective"] == ["effective_input"]


def test_the_counter_sees_every_kind_of_assignment() -> None:
    assert writers_in("call.a = 1\ncall.b += 1\ncall.c: int = 2\nother.d = 1\ncall.e, x = 1, 2") == {"a", "b", "c", "e"}
