"""Which texts JavaScript reads as the address that they seem to be (SPEC 10.7; the URL standard of WHATWG)."""

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Final

import httpx2

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ODD: Final = re.compile(r"[\x00-\x1f\x7f]|^ | $")
"""Removed wherever they stand, without a word."""

_WITH_HOST: Final = frozenset({"http", "https", "ws", "wss", "ftp"})
"""For these, any number of slashes of either kind begins a host."""

_AUTHORITY: Final = re.compile(r"//[^/\\?#]+(?:[/?#][^\\]*)?", re.DOTALL)
_FILE: Final = re.compile(r"//(?:/|[^/\\?#%]+/)[^\\]*", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_FORBIDDEN: Final = re.compile(r"[ <>^|%\[\]\\]")
_HIGHEST_PORT: Final = 65_535


def is_address(text: str) -> bool:
    """True for a whole address whose host JavaScript reads as it stands.

    False for what `new URL(text)` refuses, and for what it makes another address of: `https:///a`, which goes to the
    host `a`, backslashes that become slashes, `http://127.1`.
    """
    scheme = _SCHEME.match(text)
    if scheme is None or _ODD.search(text):
        return False
    kind, rest = scheme.group(1).lower(), text[scheme.end() :]
    if kind == "file":
        return _FILE.fullmatch(rest) is not None
    if kind not in _WITH_HOST:
        host = _host_of(text) if rest.startswith("//") else ""
        return bool(rest) and host is not None and not _FORBIDDEN.search(host)
    host = _host_of(text) if _AUTHORITY.fullmatch(rest) else None
    return host is not None and host != "" and _is_read_alike(host)


def _host_of(text: str) -> str | None:
    """The host, empty for none; None where it, or the port, cannot be."""
    try:
        url = httpx2.URL(text)
        return url.host if (url.port or 0) <= _HIGHEST_PORT else None
    except (httpx2.InvalidURL, ValueError):  # a host is read only when it is asked for
        return None


def _is_read_alike(host: str) -> bool:
    """Whether a host is what it looks like: a name, an IPv6 address, or an IPv4 address in four decimal parts."""
    if ":" in host:  # in brackets, and read as IPv6 already
        return True
    if _FORBIDDEN.search(host) or "xn--" in host.lower().split("."):
        return False
    last = host.removesuffix(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last) is None:
        return True
    try:
        return bool(IPv4Address(host))
    except AddressValueError:
        return False
