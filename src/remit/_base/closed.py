"""Members of closed sets of words, as an application names them."""

from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound=StrEnum)


def one_of(words: type[E], given: object, what: str) -> E:
    """The member that is meant; any other is a ValueError that names `what` was asked for and lists them all."""
    if not isinstance(given, str) or given not in list(words):
        raise ValueError(f"{what}: {given!r:.80} is none of {', '.join(words)}")
    return words(given)
