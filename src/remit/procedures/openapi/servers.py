"""The path that the servers of a document put in front of its own (SPEC 10.6)."""

import re
from typing import Final

import httpx2

from remit._base.boundary import Json
from remit.procedures.http.address import PORTS, Address, origin_of
from remit.procedures.openapi.document import Node
from remit.procedures.openapi.refusal import OperationRefused

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_STEPS: Final = re.compile(r"(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\?#]|$)", re.IGNORECASE)


def server_path(servers: Json, base: Address | None) -> str:
    """Return the path that the document's servers put in front of its own; OperationRefused for another origin.

    Of several servers the first counts that is relative or has the configured origin; one that cannot be read is no
    more than one of another origin. A path that already begins with
    that of the base URL counts as the whole; any other follows it.
    """
    listed = [each for each in servers if isinstance(each, dict)] if isinstance(servers, list) else []
    own = "" if base is None else base.path
    if not listed:
        return ""
    elsewhere = unread = ""
    for server in listed:
        written = _filled(server)
        try:
            url = httpx2.URL(written)
            is_elsewhere = bool(url.host) and (base is None or url.scheme not in PORTS or origin_of(url) != base.origin)
        except (httpx2.InvalidURL, ValueError):  # a host is read only when it is asked for
            unread = unread or f"a server whose address cannot be read: {written[:80]!r}"
            continue
        if is_elsewhere:
            elsewhere = elsewhere or str(url)[:80]
            continue
        if _STEPS.search(written):  # else it would be sent as it stands, or be one path here and another there
            raise OperationRefused(f"a server with a step . or .. in its path: {written[:80]!r}")
        if url.query or url.fragment:
            raise OperationRefused("a server with a query")
        path = "/" + url.raw_path.decode().strip("/") if url.path.strip("/") else ""
        if own and (path == own or path.startswith(own + "/")):
            return path[len(own) :]
        return path
    raise OperationRefused(f"the document names another origin: {elsewhere!r}" if elsewhere else unread)


def _filled(server: Node) -> str:
    variables = server.get("variables")
    known = variables if isinstance(variables, dict) else {}

    def value(found: re.Match[str]) -> str:
        variable = known.get(found.group(1), {})
        return str(variable.get("default", "")) if isinstance(variable, dict) else ""

    return _VARIABLE.sub(value, str(server.get("url", "")))
