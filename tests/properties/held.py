"""What a surface holds: every container that can be reached from it, and how many entries are in it."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any, Final

from remit._base.bounded import Bounded
from remit._invocation.admit import Lanes
from remit._invocation.ledger import Ledger
from remit._invocation.pipeline import Pipeline

_CONTAINERS: Final = (dict, list, set, deque, OrderedDict)
_LEFT_OUT: Final = ("_contract", "_schema", "_model", "errors")
"""Rooms of fixed values: what they hold does not change."""


def reachable(root: object) -> Iterator[tuple[str, Any]]:
    """Every object of the live rooms, and every container, that can be reached from `root`, with its path."""
    seen: set[int] = set()
    pending: list[tuple[str, object]] = [(type(root).__name__, root)]
    while pending:
        path, one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, _CONTAINERS):
            yield path, one
            values = list(one.values()) if isinstance(one, dict) else list(one)
            pending += [(f"{path}[]", value) for value in values]
        elif isinstance(one, tuple):
            pending += [(f"{path}[]", value) for value in one]
        elif _is_live(one):
            yield path, one
            pending += [(f"{path}.{name}", value) for name, value in _fields(one)]


def _is_live(one: object) -> bool:
    module = type(one).__module__
    return module.startswith("remit.") and not any(f".{room}" in module for room in _LEFT_OUT)


def _fields(one: object) -> Iterator[tuple[str, object]]:
    for cls in type(one).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name != "__weakref__" and hasattr(one, name):
                yield name, getattr(one, name)
    yield from getattr(one, "__dict__", {}).items()


def sizes(root: object) -> dict[str, int]:
    """The most entries of any container, by its path."""
    found: dict[str, int] = {}
    for path, one in reachable(root):
        if isinstance(one, _CONTAINERS):
            found[path] = max(found.get(path, 0), len(one))
    return found


def over_capacity(root: object) -> list[str]:
    """Every bounded map that holds more than it may."""
    return [
        f"{path}: {len(one)} of {one._capacity}"
        for path, one in reachable(root)
        if isinstance(one, Bounded) and len(one._entries) > one._capacity
    ]


def running(root: object) -> list[str]:
    """What a surface still has running or waiting: none of it once it has ended."""
    found: list[str] = []
    for path, one in reachable(root):
        match one:
            case Pipeline() if one._running:
                found.append(f"{path}: {len(one._running)} calls run")
            case Lanes() if one._of:
                found.append(f"{path}: {len(one._of)} lanes")
            case Ledger() if one.running:
                found.append(f"{path}: {len(one.running)} calls of the ledger")
            case _:
                pass
    return found
