"""What the catalogues of backends over HTTP share: what is listed, what was refused, one way to the backend."""

from collections.abc import Mapping
from typing import Generic, Self, TypeVar

from remit.procedures.catalogue import BackendOperation, Catalogue
from remit.procedures.http.circuit import CircuitStatus
from remit.procedures.http.way import Way

OperationT = TypeVar("OperationT", bound=BackendOperation)


class HttpCatalogue(Catalogue, Generic[OperationT]):
    """A catalogue whose operations go one way; a subclass fills it while it is made."""

    def __init__(self, way: Way, *, strict_backend: bool) -> None:
        self._way = way
        self._strict = strict_backend
        self._operations: dict[str, OperationT] = {}
        self._refused: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running loop; a later call opens new ones.

        An application in this process is not waited for: what it still does after its answers is cancelled.
        """
        await self._way.sender.close()

    def get(self, name: str) -> OperationT | None:
        """The operation of that name, or None."""
        return self._operations.get(name)

    def names(self) -> tuple[str, ...]:
        """Every name that is listed, sorted."""
        return tuple(sorted(self._operations))

    def refused(self) -> Mapping[str, str]:
        """The names that were opted in and cannot be sent, each with the reason."""
        return dict(self._refused)

    @property
    def strict_backend(self) -> bool:
        """True when a backend that moved away from the contract stops the start."""
        return self._strict

    @property
    def circuit(self) -> CircuitStatus:
        """Whether calls go out at present; where they go to several origins, the one that fares worst."""
        return self._way.circuit.status()
