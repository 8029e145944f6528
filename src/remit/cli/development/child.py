"""The program that `remit dev` runs: in a group of its own, with the terminal, and never longer than `remit dev`."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Final

GRACE_S: Final = 25.0
"""How long a program may take to stop; a gateway lets running calls go on for 20 s."""

_REST_S: Final = 5.0
_POLL_S: Final = 0.05
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WANTS_TERMINAL: Final = frozenset({signal.SIGTTIN, signal.SIGTTOU})
# What must not outlive us even when we are killed is ended by a process that waits for the end of its input.
_KEEPER: Final = f"""
import os, signal, sys, time
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_IGN)
group = 0
for line in sys.stdin:
    group = int(line)
try:
    if group:
        os.killpg(group, signal.SIGTERM)
        os.killpg(group, signal.SIGCONT)
        for _ in range({int(_REST_S / _POLL_S)}):
            time.sleep({_POLL_S})
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)
except OSError:
    pass
"""


class Child:
    """Runs one command, again when it is told to, and answers with the exit code of the last run.

    The command is a process group of its own. With a terminal it has that, so keys and `breakpoint()` go where they
    belong. SIGINT, SIGTERM and SIGHUP are passed on; the second one, or 25 s, ends the group by force. What the command
    leaves behind in its group is ended with it; so is all of it when this process is killed.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._group: int | None = None
        self._asked_to_end = 0
        self._again = False
        self._terminal = _terminal()

    def run(self) -> int:
        """Run until the command ends by itself or is ended; OSError when it cannot be started.

        The exit code is the command's own; 128 and the number of the signal that ended it otherwise.
        """
        with _keeper() as keep, self._passing_on():
            while True:
                self._again = False
                self._start(keep)
                code = self._wait()
                self._end_the_rest()
                keep(0)
                if not self._again or self._asked_to_end:
                    return code

    def restart(self) -> None:
        """End the command and run it anew; from any thread."""
        self._again = True
        self._send(signal.SIGTERM)
        self._force_later()

    def _start(self, keep: Callable[[int], None]) -> None:
        default = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTTOU, signal.SIGPIPE]
        pid = os.posix_spawnp(
            self._command[0], self._command, self._environment, setpgroup=0, setsigdef=default, setsigmask=[]
        )
        keep(pid)
        self._group = pid
        self._give_terminal(pid)
        if self._asked_to_end:
            self._send(signal.SIGTERM)

    def _wait(self) -> int:
        assert self._group is not None
        while True:
            _, status = os.waitpid(self._group, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            if os.WSTOPSIG(status) not in _WANTS_TERMINAL and self._terminal is not None:
                self._give_terminal(os.getpgrp())
                os.kill(os.getpid(), signal.SIGSTOP)  # a person stopped it; we go on when our shell says so
            self._give_terminal(self._group)
            self._send(signal.SIGCONT)
        self._give_terminal(os.getpgrp())
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _end_the_rest(self) -> None:
        """What the command left running in its group."""
        group, self._group = self._group, None
        if group is None or not _signal(group, signal.SIGTERM):
            return
        end = time.monotonic() + _REST_S
        while _signal(group, 0):
            if time.monotonic() > end:
                _signal(group, signal.SIGKILL)
                return
            time.sleep(_POLL_S)

    @contextlib.contextmanager
    def _passing_on(self) -> Iterator[None]:
        before = {each: signal.signal(each, self._end) for each in _ENDING}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self._asked_to_end += 1
        self._send(signal.SIGKILL if self._asked_to_end > 1 else number)
        if self._asked_to_end == 1:
            self._force_later()

    def _force_later(self) -> None:
        group = self._group

        def force() -> None:
            if group == self._group:
                self._send(signal.SIGKILL)

        timer = threading.Timer(GRACE_S, force)
        timer.daemon = True
        timer.start()

    def _send(self, number: int) -> None:
        if self._group is not None:
            _signal(self._group, number)

    def _give_terminal(self, group: int) -> None:
        if self._terminal is None:
            return
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(self._terminal, group)
        finally:
            signal.signal(signal.SIGTTOU, before)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _terminal() -> int | None:
    """The terminal we may hand on: that of standard input, when we are in front of it."""
    try:
        terminal = sys.stdin.fileno()
        return terminal if os.isatty(terminal) and os.tcgetpgrp(terminal) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError):
        return None


@contextlib.contextmanager
def _keeper() -> Iterator[Callable[[int], None]]:
    """A process that ends the group it was told of when this one is gone, however that came."""
    with subprocess.Popen(
        (sys.executable, "-I", "-S", "-c", _KEEPER),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        pipe = process.stdin
        assert pipe is not None

        def keep(group: int) -> None:
            with contextlib.suppress(BrokenPipeError):
                pipe.write(b"%d\n" % group)
                pipe.flush()

        yield keep
        keep(0)
