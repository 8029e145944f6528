"""Where a backend is: one configured origin, and the path in front of every operation (SPEC 10.4, 10.6)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

import httpx2

from remit._base.boundary import Json
from remit.procedures.openapi.document import Node
from remit.procedures.openapi.refusal import OperationRefused

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_PORTS: Final = {"http": 80, "https": 443}


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
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An origin and a path without a slash at its end."""

    origin: Origin
    path: str


def address_of(base_url: str) -> Address:
    """Read a configured base URL; ValueError for one that is no plain http(s) address."""
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL as problem:
        raise ValueError(f"{base_url[:80]!r} is no URL") from problem
    if url.scheme not in _PORTS or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError(f"{base_url[:80]!r} is no http(s) address without user, query and fragment")
    return Address(origin=origin_of(url), path=url.raw_path.decode().rstrip("/"))


def origin_of(url: httpx2.URL) -> Origin:
    """The origin of an absolute http(s) URL; KeyError for another scheme."""
    return Origin(scheme=url.scheme, host=url.host, port=url.port or _PORTS[url.scheme])


def server_path(servers: Json, base: Address | None) -> str:
    """Return the path that the document's servers put in front of its own; OperationRefused for another origin.

    Of several servers the first counts that is relative or has the configured origin. A path that already begins with
    that of the base URL counts as the whole; any other follows it.
    """
    listed = [each for each in servers if isinstance(each, dict)] if isinstance(servers, list) else []
    own = "" if base is None else base.path
    if not listed:
        return ""
    elsewhere = ""
    for server in listed:
        url = httpx2.URL(_filled(server))
        if url.host:
            if base is None or url.scheme not in _PORTS or origin_of(url) != base.origin:
                elsewhere = elsewhere or str(url)[:80]
                continue
        if url.query or url.fragment:
            raise OperationRefused("a server with a query")
        path = "/" + url.raw_path.decode().strip("/") if url.path.strip("/") else ""
        if own and (path == own or path.startswith(own + "/")):
            return path[len(own) :]
        return path
    raise OperationRefused(f"the document names another origin: {elsewhere!r}")


def _filled(server: Node) -> str:
    variables = server.get("variables")
    known = cast("Mapping[str, Mapping[str, Json]]", variables if isinstance(variables, dict) else {})

    def value(found: re.Match[str]) -> str:
        variable = known.get(found.group(1), {})
        return str(variable.get("default", ""))

    return _VARIABLE.sub(value, str(server.get("url", "")))
