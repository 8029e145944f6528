"""What of a project is looked at for changes: its sources, its settings, and the documents catalogues are made of."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._contract.manifest import FILE_NAME
from remit.cli.walking import own_files
from remit.compiler.project import PYPROJECT

_DOCUMENTS: Final = frozenset({".json", ".yaml", ".yml"})

_Stamps = frozenset[tuple[str, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The state of a project's files at one moment: names, times and sizes. Equal states are not compiled again.

    `code` are the modules; `rest` are the settings and the documents. The contract itself is none of them.
    """

    code: _Stamps
    rest: _Stamps


def look(root: Path) -> Seen:
    """Look at a project once; hidden folders, environments and installed packages are passed over."""
    code: set[tuple[str, int, int]] = set()
    rest: set[tuple[str, int, int]] = set()
    for file in own_files(str(root)):
        kind = os.path.splitext(file.name)[1]
        wanted = code if kind == ".py" else rest if kind in _DOCUMENTS or file.name == PYPROJECT else None
        if wanted is None or file.name == FILE_NAME:
            continue
        try:
            stat = file.stat()
        except OSError:  # gone since it was listed
            continue
        wanted.add((file.path, stat.st_mtime_ns, stat.st_size))
    return Seen(code=frozenset(code), rest=frozenset(rest))
