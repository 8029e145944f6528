"""Members of closed sets of words, as an application names them."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound=StrEnum)


def one_of(words: type[E], given: object, what: str) -> E:
    """The member that is meant; any other is a ValueError that names `what` was asked for and lists them all."""
    if not isinstance(given, str) or given not in list(words):
        raise ValueError(f"{what}: {given!r:.80} is none of {', '.join(words)}")
    return words(given)


def some_of(words: type[E], given: object, what: str) -> frozenset[E] | None:
    """The members that are meant, None for all; one text, or what is no collection, is a TypeError that says so."""
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(f"{what}: types is a collection, not one text: write [{str(given)!r}]")
    if not isinstance(given, Iterable):
        raise TypeError(f"{what}: types is a collection, not {type(given).__name__}")
    return frozenset(one_of(words, each, what) for each in given)
