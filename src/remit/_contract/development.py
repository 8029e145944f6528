"""The contract that `remit dev` hands to its child, over a local socket; it lies in no file (SPEC 13.7)."""

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Final

HANDED: Final = "REMIT_DEV"
"""Names the socket of the `remit dev` that started this process; nothing else sets it."""

PRODUCTION: Final = "production"
OTHER: Final = b"other\n"
CONTRACT: Final = b"contract\n"
REQUEST_BYTES: Final = 65_536
_TIME_LIMIT_S: Final = 120.0
"""A reload asks while the source is being compiled, and waits for it."""


def is_production() -> bool:
    """True with REMIT_ENV=production, in any spelling of the word."""
    return os.environ.get("REMIT_ENV", "").strip().lower() == PRODUCTION


def handed_out(folder: Path) -> bytes | None:
    """The development contract of the project in `folder`; None outside of `remit dev`, and for any other project.

    RuntimeError: with REMIT_ENV=production, and when the `remit dev` that started this process has ended; the reviewed
    file is no second choice, for nobody would notice.
    """
    address = os.environ.get(HANDED)
    if not address:
        return None
    if is_production():
        raise RuntimeError(
            "a development contract is refused with REMIT_ENV=production\n"
            f"  why  nobody reviewed it        do  unset {HANDED}, and start the program without remit dev"
        )
    answer = _ask(address, {"root": str(folder.resolve())})
    if answer == OTHER:
        return None
    if not answer.startswith(CONTRACT):
        raise _ended()
    return answer.removeprefix(CONTRACT)


def report(facts: dict[str, str]) -> None:
    """Tell `remit dev` where this program serves; outside of it, and when it does not listen, nothing happens."""
    address = os.environ.get(HANDED)
    if address:
        with contextlib.suppress(RuntimeError):
            _ask(address, facts)


def _ask(address: str, question: dict[str, str]) -> bytes:
    parts: list[bytes] = []
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_TIME_LIMIT_S)
            line.connect(address)
            line.sendall(json.dumps(question).encode() + b"\n")
            while part := line.recv(REQUEST_BYTES):
                parts.append(part)
    except (OSError, AttributeError) as problem:
        raise _ended() from problem
    return b"".join(parts)


def _ended() -> RuntimeError:
    return RuntimeError(
        "the remit dev that started this program has ended\n"
        f"  why  {HANDED} is set, and nobody answers there        do  remit dev -- COMMAND"
    )
