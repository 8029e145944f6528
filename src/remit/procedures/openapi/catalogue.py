"""`OpenAPI(…)`: an existing HTTP backend as a catalogue, by its document (SPEC 10)."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias, cast

from remit._base.clock import Clock, SystemClock
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.catalogue import Catalogue
from remit.procedures.openapi.address import Address, address_of
from remit.procedures.openapi.answers import ErrorMap
from remit.procedures.openapi.building import Build, build, operations_of
from remit.procedures.openapi.circuit import Circuit, CircuitStatus
from remit.procedures.openapi.credentials import Credentials
from remit.procedures.openapi.document import Source, read_document
from remit.procedures.openapi.operation import OpenAPIOperation, Operation, Way
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.sending import App, Sender

BaseURL: TypeAlias = str | Callable[[], str]

_IN_PROCESS: Final = "http://localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One operation that the document has: `request` is `METHOD /path`; `name` and `refused` say what became of it."""

    request: str
    operation_id: str | None
    summary: str
    name: str | None
    refused: str | None


class OpenAPI(Catalogue):
    """A catalogue of the operations of an HTTP backend, described by OpenAPI 3.0 or 3.1.

        backend = OpenAPI("backend.openapi.json", base_url="https://fleet.example", credentials=Credentials(…), expose={
            "devices.disable": Operation("POST /devices/disable", effect="destructive")})

    `source` is a file (a relative name is beside the file that makes the catalogue), an address, the document as a
    mapping, or a FastAPI application of this process, which is then called without a network; `app=` does the same for
    any ASGI application with a document. Nothing is listed unless `expose` names it. What cannot be sent exactly is
    not listed, and `refused()` has the reason; an `Operation` that cannot be meant is a DefinitionError.

    `base_url` is where requests go, and with them the credentials of the call: to that origin and no other. It may be
    a function, asked for every call. `errors` sees each answer that is no success first and may say what it means;
    None leaves it to the table (SPEC 10.5). `idempotency_header` carries the invocation's key with everything that does
    more than read, None for a backend that knows no such header. `timeout_s` bounds the wait for an answer,
    `circuit_failures` in a row stop calls for `circuit_pause_s`. With `strict_backend` a backend that has moved away
    from the contract stops the start (SPEC 10.1, 10.2, 10.4).
    """

    def __init__(  # noqa: PLR0913 - one keyword a property of the backend
        self,
        source: Source,
        *,
        expose: Mapping[str, Operation],
        base_url: BaseURL | None = None,
        app: App | None = None,
        credentials: Credentials | None = None,
        errors: ErrorMap | None = None,
        idempotency_header: str | None = "Idempotency-Key",
        timeout_s: float = 30.0,
        circuit_failures: int = 5,
        circuit_pause_s: float = 10.0,
        strict_backend: bool = False,
        clock: Clock | None = None,
    ) -> None:
        caller = sys._getframe(1)
        place = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
        self._document = read_document(source, folder=Path(caller.f_code.co_filename).parent)
        self._strict = strict_backend
        clock = SystemClock() if clock is None else clock
        app = _app_of(source) if app is None else app
        if base_url is None:
            if app is None:
                raise _wrong(place, "has no base_url", 'say where requests go: base_url="https://…"')
            base_url = _IN_PROCESS
        fixed = None if callable(base_url) else _address(base_url, place)
        self._circuit = Circuit(clock, failures=circuit_failures, pause_s=circuit_pause_s)
        self._sender = Sender(app, timeout_s=timeout_s)
        header = None if idempotency_header is None else idempotency_header.lower()
        allowed = frozenset[str]() if credentials is None else credentials.names
        self._build = Build(
            place=place,
            base=fixed,
            filled=allowed | (frozenset() if header is None else {header}),
            cookies="cookie" not in allowed,
            way=Way(
                sender=self._sender,
                circuit=self._circuit,
                clock=clock,
                address=_Addresses(base_url, place) if callable(base_url) else _Fixed(fixed),
                credentials=credentials,
                idempotency_header=None if header is None else header.encode(),
                errors=errors,
            ),
        )
        self._operations: dict[str, OpenAPIOperation] = {}
        self._refused: dict[str, str] = {}
        self._requests: dict[str, str] = {}
        for name, said in expose.items():
            self._list(name, said)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running loop; a later call opens new ones."""
        await self._sender.close()

    def get(self, name: str) -> OpenAPIOperation | None:
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
        """Whether calls go out at present."""
        return self._circuit.status()

    def offers(self) -> tuple[Offer, ...]:
        """All that the document has, in its order: what is listed, what was refused, and what nobody opted in."""
        of_request = {request: name for name, request in self._requests.items()}
        offers: list[Offer] = []
        for request, node in operations_of(self._document):
            operation_id, summary = node.get("operationId"), node.get("summary")
            known = operation_id if isinstance(operation_id, str) else None
            name = of_request.get(request) or (None if known is None else of_request.get(known))
            offers.append(
                Offer(
                    request=request,
                    operation_id=known,
                    summary=summary if isinstance(summary, str) else "",
                    name=name,
                    refused=None if name is None else self._refused.get(name),
                )
            )
        return tuple(offers)

    def _list(self, name: str, said: Operation) -> None:
        try:
            self._operations[name] = build(self._document, name, said, self._build)
        except OperationRefused as refused:
            self._refused[name] = str(refused)
        self._requests[name] = said.request


class _Fixed:
    """The one address that was configured."""

    __slots__ = ("_address",)

    def __init__(self, address: Address | None) -> None:
        assert address is not None
        self._address = address

    def __call__(self) -> Address:
        return self._address


class _Addresses:
    """The address that a function gives, read anew only when it gives another."""

    __slots__ = ("_address", "_ask", "_place", "_url")

    def __init__(self, ask: Callable[[], str], place: str) -> None:
        self._ask = ask
        self._place = place
        self._url: str | None = None
        self._address: Address | None = None

    def __call__(self) -> Address:
        url = self._ask()
        if self._address is None or url != self._url:
            self._url, self._address = url, _address(url, self._place)
        return self._address


def _app_of(source: object) -> App | None:
    """The application itself where the source is one: it has `openapi()` and can be called."""
    if callable(source) and callable(getattr(source, "openapi", None)):
        return cast(App, source)
    return None


def _address(base_url: str, place: str) -> Address:
    try:
        return address_of(base_url)
    except ValueError as problem:
        raise _wrong(place, f"base_url: {problem}", "write base_url='https://fleet.example/api'") from problem


def _wrong(place: str, rule: str, do: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, "OpenAPI(…)", rule, place=place, do=do)
