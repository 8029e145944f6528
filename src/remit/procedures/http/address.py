"""Where a backend is: one configured origin, and the path in front of every operation (SPEC 10.4, 10.6)."""

from dataclasses import dataclass
from typing import Final

import httpx2

PORTS: Final = {"http": 80, "https": 443}

_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Scheme, host and port: all that a credential is for."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """As it stands in `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An origin and a path without a slash at its end."""

    origin: Origin
    path: str


def address_of(base_url: object) -> Address:
    """Read a configured base URL; ValueError for one that is no plain http(s) address."""
    if not isinstance(base_url, str):
        raise ValueError(f"{type(base_url).__name__} is no text of a URL")
    try:
        url = httpx2.URL(base_url)
        known = bool(url.host)  # a host is read only when it is asked for
    except (httpx2.InvalidURL, ValueError) as problem:
        raise ValueError(f"{base_url[:80]!r} is no URL") from problem
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise ValueError(f"{base_url[:80]!r} has a port that is none")
    if url.scheme not in PORTS or not known or url.userinfo or url.query or url.fragment:
        raise ValueError(f"{base_url[:80]!r} is no http(s) address without user, query and fragment")
    return Address(origin=origin_of(url), path=url.raw_path.decode().rstrip("/"))


def origin_of(url: httpx2.URL) -> Origin:
    """The origin of an absolute http(s) URL; KeyError for another scheme."""
    return Origin(scheme=url.scheme, host=url.raw_host.decode(), port=url.port or PORTS[url.scheme])
