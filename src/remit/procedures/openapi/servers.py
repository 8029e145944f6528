"""The path that the servers of a document put in front of its own (SPEC 10.6)."""

import re
from collections.abc import Mapping
from typing import Final, cast

import httpx2

from remit._base.boundary import Json
from remit.procedures.http.address import PORTS, Address, origin_of
from remit.procedures.openapi.document import Node
from remit.procedures.openapi.refusal import OperationRefused

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")


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
            if base is None or url.scheme not in PORTS or origin_of(url) != base.origin:
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
