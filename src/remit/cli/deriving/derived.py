"""What was derived, whatever from, and the component that both kinds of modules end with (SPEC 11.9)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from remit._base.text import clean_line
from remit.cli.deriving.skipping import Skipped
from remit.cli.naming import attribute, text

_SHOWN: Final = 100
_TYPE: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One capability of the module, and the request behind it."""

    id: str
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What became of a source: the capabilities, the fields left out of them, and what was left out whole.

    `source` is the module, empty where nothing is left; `document` the text that stands beside it, None for no such.
    """

    operations: tuple[Written, ...]
    skipped: tuple[tuple[str, Skipped], ...]
    left_out: tuple[Skipped, ...]
    source: str
    document: str | None


def variable_of(stem: str) -> str:
    """The variable that holds the catalogue, after the name of the module."""
    return attribute(stem)


def heading(words: str) -> str:
    """The docstring of the module; what is quoted in it cannot end it."""
    plain = clean_line(words, 2 * _SHOWN).replace("\\", "/").replace('"', "'")
    return f'"""{plain}: to be reviewed."""'


def component(variable: str, references: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """A component with a derived reference for each (attribute, id, request)."""
    words = re.findall("[a-z0-9]+", variable[:_TYPE]) or ["page"]
    yield ""
    yield ""
    name = "".join(word.capitalize() for word in words) + "Derived"
    yield f'class {name}(Component, type="{"-".join(words)}.derived", headless=True):'
    yield f'    """Derived operations of {" ".join(words)}."""'
    for at, id, request in references:
        yield ""
        yield f"    # {clean_line(request, _SHOWN)}"
        yield f'    {at} = reference({text(id)}, source="derived")'
