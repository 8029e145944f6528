"""Digests: SHA-256, HMAC-SHA-256 and a comparison that takes equal time."""

import hashlib
import hmac


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def keyed_hex(key: bytes, data: bytes) -> str:
    """Return the HMAC-SHA-256 of `data` under `key` as 64 hexadecimal digits; an empty key is a `ValueError`."""
    if not key:
        raise ValueError("the key of a keyed digest is empty")
    return hmac.digest(key, data, "sha256").hex()


def same(left: str | bytes, right: str | bytes) -> bool:
    """Compare two secrets or digests in a time that does not depend on where they differ."""
    return hmac.compare_digest(_as_bytes(left), _as_bytes(right))


def _as_bytes(value: str | bytes) -> bytes:
    # surrogatepass: text from outside may hold lone surrogates, and comparing must not raise for any text.
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
