"""What tests of the static pass share: a table to find, and all that was found."""

from collections.abc import Callable, Iterable
from pathlib import Path

from remit.compiler.declared import DeclaredComponent
from remit.compiler.extract import extract
from remit.compiler.graph import load_graph

WriteProject = Callable[..., Path]
TABLE = '''
from remit import Component, observation

class Table(Component, type="t.table"):
    """A table."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1
'''


def components(root: Path, *entries: str, roots: Iterable[str] = ()) -> dict[str, DeclaredComponent]:
    """Every component by its type; no finding may stand beside them. Imports start from the root, then from `roots`."""
    extraction = extract(load_graph(root, entries or ("app",), [root, *(root / each for each in roots)]))
    assert extraction.findings == []
    return {each.type: each for each in extraction.components}
