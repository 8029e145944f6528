"""Importing a program keeps nothing: its child writes into a folder of its own, and nowhere else (SPEC 13.3)."""

import errno
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
# The arguments of an event that name what would change; those of `open` and of a database are told apart below.
_CHANGED: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "open": (0,),
        "sqlite3.connect": (0,),
        "os.chmod": (0,),
        "os.chown": (0,),
        "os.link": (1,),
        "os.mkdir": (0,),
        "os.remove": (0,),
        "os.rename": (0, 1),
        "os.rmdir": (0,),
        "os.symlink": (1,),
        "os.truncate": (0,),
        "os.utime": (0,),
    }
)
_DEVICES: Final = ("/dev/", "/proc/self/")


class Kept(PermissionError):
    """Something was written while a program was imported; `what` is its name, without the folder."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EACCES, "nothing is written while the compiler imports a program", what)
        self.what = what


def write_only_below(folder: str) -> None:
    """From here on, what this process would write outside of `folder` raises `Kept`, as on a file system without leave.

    It holds what Python itself opens, makes, moves and removes, for the rest of the process; a program that gets along
    without the right to write gets along here, too.
    """
    own = os.path.realpath(folder) + os.sep

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        changed = _CHANGED.get(event)
        if changed is None or not _writes(event, arguments):
            return
        for index in changed:
            path = _path(arguments[index])
            if path is not None and not (path + os.sep).startswith((own, *_DEVICES)):
                raise Kept(os.path.basename(path))

    sys.addaudithook(audit)


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "open":
        flags = arguments[2]
        return isinstance(flags, int) and bool(flags & _WRITING)
    # With the descriptor of a directory, the last argument, a name says nothing; so is a temporary folder removed.
    descriptor = arguments[-1]
    return event in {"sqlite3.connect", "os.truncate"} or not isinstance(descriptor, int) or descriptor < 0


def _path(named: object) -> str | None:
    """The real path; None for a descriptor and for a database in memory."""
    if not isinstance(named, str | bytes | os.PathLike):
        return None
    text = os.fsdecode(named)
    if text in {"", ":memory:"} or text.startswith("file:"):
        return None
    return os.path.join(os.path.realpath(os.path.dirname(text) or "."), os.path.basename(text))
