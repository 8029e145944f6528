"""The development contract: compiled when it is asked for and its sources have changed, and kept in memory only."""

import threading
from collections.abc import Callable
from pathlib import Path

from remit._contract.manifest import Manifest
from remit.cli.development.watching import Seen, look
from remit.compiler import Compiled, Drifted, compile_project, drift
from remit.errors import CompileError

Told = Callable[["Drifted | CompileError"], None]


class Kept:
    """The last contract that compiled, and what the files were then.

    `told` hears of each compilation after the first one the drift since the last contract that compiled, or the
    findings. What does not compile changes nothing: the last good contract stays, and nothing that differs from it is
    mounted.
    """

    def __init__(self, root: Path, told: Told) -> None:
        """Compile a project for the first time; CompileError when that fails."""
        self._root = root
        self._told = told
        self._one_at_a_time = threading.Lock()
        self._seen = look(root)
        self._fails = False
        self._compiled = compile_project(root)

    @property
    def compiled(self) -> Compiled:
        """The last one that compiled."""
        return self._compiled

    @property
    def seen(self) -> Seen:
        """The files as they were when they were compiled last."""
        return self._seen

    @property
    def fails(self) -> bool:
        """True while the sources do not compile."""
        return self._fails

    def current(self) -> Manifest:
        """The contract of the sources as they are now; that of the last ones that compiled when these do not."""
        with self._one_at_a_time:
            seen = look(self._root)
            if seen != self._seen:
                self._seen = seen
                self._told(self._compile())
            return self._compiled.manifest

    def _compile(self) -> Drifted | CompileError:
        before = self._compiled.manifest
        try:
            self._compiled = compile_project(self._root)
        except CompileError as problem:
            self._fails = True
            return problem
        self._fails = False
        return drift(before, self._compiled.manifest, self._compiled.places)
