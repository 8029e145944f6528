"""The key of one machine for development, in a file that nobody else may read (SPEC 15.1)."""

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from remit._contract.development import PRODUCTION, is_production

_BYTES: Final = 32
_KEY: Final = re.compile(rb"[0-9a-f]{64}\n?")
_MODE: Final = 0o600
MAKE: Final = 'python -c "import secrets; print(secrets.token_hex(32))"'


def secret_in(file: Path) -> bytes:
    """The secret that a file holds, as 64 hexadecimal digits; the file is made with a fresh one if it is not there.

    RuntimeError with REMIT_ENV=production: a deployment brings a key of its own.
    """
    if is_production():
        raise RuntimeError(
            f"a development key is refused with REMIT_ENV={PRODUCTION}"
            f'\n  why  it lies in {file.name}        do  Keys("k1", {{"k1": secret}}), the secret from  {MAKE}'
        )
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    except FileExistsError:
        return _read(file)
    with os.fdopen(made, "wb") as opened:
        text = secrets.token_hex(_BYTES).encode()
        opened.write(text + b"\n")
    return text


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
        text = opened.read(2 * _BYTES + 2)
    if os.name == "posix" and mode & ~_MODE:
        raise PermissionError(f"{file.name} may be read or written by others\n  do  chmod 600 {file}")
    if not _KEY.fullmatch(text):
        raise ValueError(f"{file.name} holds no development key\n  do  delete it, and it is made anew")
    return text.rstrip()
