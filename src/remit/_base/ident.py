"""Opaque ids from the system's randomness, and the grammar of the ids a caller may choose (SPEC 2.5, 6.14)."""

import os
import re
from binascii import b2a_base64
from typing import Final

_CALLER_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_CORRELATION_ID: Final = re.compile(r"[A-Za-z0-9._-]+")
_TOKEN_BYTES: Final = 16
_TOKEN_CHARACTERS: Final = 22
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def new_id(prefix: str) -> str:
    """Return `prefix` and 22 unguessable characters of `[A-Za-z0-9_-]`, 128 bits: `new_id("reg_")` (SPEC 2.5)."""
    random = b2a_base64(os.urandom(_TOKEN_BYTES), newline=False)
    return prefix + random[:_TOKEN_CHARACTERS].translate(_URL_SAFE).decode("ascii")


def is_invocation_id(text: object) -> bool:
    """Say whether `text` may be an invocation id: 1 to 128 characters of `[A-Za-z0-9._-]` (SPEC 2.5)."""
    return isinstance(text, str) and _CALLER_ID.fullmatch(text) is not None


def is_correlation_id(text: object, most: int = 128) -> bool:
    """Say whether `text` may be a correlation id: 1 to `most` characters of `[A-Za-z0-9._-]` (SPEC 6.14, 17)."""
    return isinstance(text, str) and len(text) <= most and _CORRELATION_ID.fullmatch(text) is not None
