"""The contract dump of a backend: which procedures there are, and what their routes say (SPEC 10.7).

It is what `minifyContractRouter` (1.x) or `minifyRouterContract` (2.0-beta) of `@orpc/contract` gives, as JSON.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from remit._base.boundary import Json
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.openapi.document import Node
from remit.procedures.openapi.refusal import OperationRefused

Dialect: TypeAlias = Literal["1.x", "2.0-beta"]
Form: TypeAlias = Literal["rpc", "openapi"]

_LEAF: Final = "~orpc"
_MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One procedure of a dump.

    `operation_id`, `method` and `path` are None where the dump leaves them to oRPC; `detailed` is the input structure.
    """

    steps: tuple[str, ...]
    operation_id: str | None
    method: str | None
    path: str | None
    detailed: bool
    detailed_output: bool

    @property
    def name(self) -> str:
        """The path in the router, joined by dots."""
        return ".".join(self.steps)


def read_contract(root: Json, place: str) -> Mapping[str, Route]:
    """Every procedure of the dump by its dotted path; DefinitionError for something else than a dump."""
    routes = {route.name: route for route in _walk(root, ())} if isinstance(root, dict) else {}
    if not routes:
        raise DefinitionError(
            DefinitionCode.INVALID_DEFINITION,
            f"ORPC({place})",
            "is no contract dump: no procedure is in it",
            do="write JSON.stringify(minifyContractRouter(router)) to a file; in 2.0 it is minifyRouterContract",
        )
    return routes


def found(routes: Mapping[str, Route], procedure: str) -> Route:
    """The procedure of that path; OperationRefused when the dump has none."""
    if procedure not in routes:
        raise OperationRefused(f"the contract has no procedure {procedure[:80]!r}")
    return routes[procedure]


def _walk(node: Mapping[str, Json], steps: tuple[str, ...]) -> Iterator[Route]:
    leaf = node.get(_LEAF)
    if isinstance(leaf, dict):
        yield _route(leaf, steps)
        return
    for key, child in node.items():
        if isinstance(child, dict) and len(steps) < _MAX_DEPTH:
            yield from _walk(child, (*steps, key))


def _route(leaf: Node, steps: tuple[str, ...]) -> Route:
    meta = leaf.get("meta")
    said = leaf.get("route")
    if not isinstance(said, dict):
        said = meta.get("~openapi") if isinstance(meta, dict) else None
    route = said if isinstance(said, dict) else {}
    prefix, path = _text(route, "prefix"), _text(route, "path")
    return Route(
        steps=steps,
        operation_id=_text(route, "operationId"),
        method=_text(route, "method"),
        path=None if path is None else (prefix or "").rstrip("/") + path,
        detailed=route.get("inputStructure") == "detailed",
        detailed_output=route.get("outputStructure") == "detailed",
    )


def _text(node: Node, key: str) -> str | None:
    value = node.get(key)
    return value if isinstance(value, str) and value else None
