"""The files of a project's folder that are its own: no environment, no installed package, nothing hidden."""

import os
from collections.abc import Collection, Iterator
from typing import Final

_PASSED_OVER: Final = frozenset({"__pycache__", "node_modules", "site-packages"})
_ENVIRONMENT: Final = "pyvenv.cfg"


def own_files(folder: str, *, besides: Collection[str] = ()) -> Iterator[os.DirEntry[str]]:
    """Every file below a folder, in no order; without what cannot be read, and folders of the names in `besides`."""
    pending = [folder]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        if any(entry.name == _ENVIRONMENT for entry in entries):
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif not entry.name.startswith(".") and entry.name not in _PASSED_OVER and entry.name not in besides:
                pending.append(entry.path)
