"""The socket at which the child of `remit dev` asks for its contract; only this user can reach it."""

import contextlib
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from remit._contract.development import CONTRACT, OTHER, REQUEST_BYTES

_PATIENCE_S: Final = 10.0
_BACKLOG: Final = 64
_LOG: Final = logging.getLogger("remit.cli")


@contextlib.contextmanager
def handing_out(
    address: Path, root: Path, contract: Callable[[], bytes], serving: Callable[[str], None]
) -> Iterator[None]:
    """Answer at `address` while the block runs, each question in a thread of its own.

    A question for the project at `root` is answered with `contract()`, one for another project with a refusal to say
    anything; a program that says where it serves is heard by `serving`.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(address))
        door.listen(_BACKLOG)
        thread = threading.Thread(
            target=_accept, args=(door, str(root.resolve()), contract, serving), name="remit-dev-handing", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)  # `accept` in the thread returns


def _accept(door: socket.socket, root: str, contract: Callable[[], bytes], serving: Callable[[str], None]) -> None:
    while True:
        try:
            line, _ = door.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(line, root, contract, serving), daemon=True).start()


def _answer(line: socket.socket, root: str, contract: Callable[[], bytes], serving: Callable[[str], None]) -> None:
    with line:
        line.settimeout(_PATIENCE_S)
        try:
            question = json.loads(_read(line))
            if "serving" in question:
                serving(str(question["serving"]))
            else:
                line.sendall(CONTRACT + contract() if question.get("root") == root else OTHER)
        except (OSError, ValueError, AttributeError) as problem:
            _LOG.debug("a program asked for its contract and did not wait for it: %s", type(problem).__name__)


def _read(line: socket.socket) -> bytes:
    """One line; a longer one than any question is none."""
    read = b""
    while not read.endswith(b"\n"):
        part = line.recv(REQUEST_BYTES)
        read += part
        if not part or len(read) > REQUEST_BYTES:
            raise ValueError("no question")
    return read
