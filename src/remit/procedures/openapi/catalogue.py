"""`OpenAPI(…)`: an existing HTTP backend as a catalogue, by its document (SPEC 10)."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from remit._base.clock import Clock
from remit.procedures.catalogue import Offer
from remit.procedures.http.answer import ErrorMap
from remit.procedures.http.catalogue import HttpCatalogue
from remit.procedures.http.checked import Checked
from remit.procedures.http.credentials import Credentials
from remit.procedures.http.in_process import App
from remit.procedures.http.way import BaseURL, Said, way_of
from remit.procedures.openapi.building import TRIED, Build, build, cannot_list, operations_of, summary_of
from remit.procedures.openapi.document import Source, read_document
from remit.procedures.openapi.operation import OpenAPIOperation, Operation
from remit.procedures.openapi.refusal import OperationRefused


class OpenAPI(HttpCatalogue[OpenAPIOperation]):
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
    more than read, None for a backend that knows no such header. `timeout_s` bounds a whole request,
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
        Checked("OpenAPI(…)", place).exposed(expose)
        way = way_of(
            Said(
                subject="OpenAPI(…)",
                place=place,
                base_url=base_url,
                app=_app_of(source) if app is None else app,
                credentials=credentials,
                errors=errors,
                idempotency_header=idempotency_header,
                timeout_s=timeout_s,
                circuit_failures=circuit_failures,
                circuit_pause_s=circuit_pause_s,
                clock=clock,
            )
        )
        super().__init__(way, strict_backend=strict_backend)
        self._build = Build(place=place, way=way)
        self._requests: dict[str, str] = {}
        for name, said in expose.items():
            self._list(name, said)

    @property
    def opted_in_by(self) -> str:
        """The class whose values opt an operation of the document in."""
        return f"{__package__}.{Operation.__name__}"

    def offers(self) -> tuple[Offer, ...]:
        """All that the document has, in its order: what is listed, what was refused, and what nobody opted in."""
        of_request = {request: name for name, request in self._requests.items()}
        offers: list[Offer] = []
        for request, node in operations_of(self._document):
            operation_id = node.get("operationId")
            known = operation_id if isinstance(operation_id, str) else None
            name = of_request.get(request) or (None if known is None else of_request.get(known))
            offers.append(
                Offer(
                    request=request,
                    operation_id=known,
                    summary=summary_of(node),
                    name=name,
                    refused=None if name is None else self._refused.get(name),
                )
            )
        return tuple(offers)

    def tried(self, request: str) -> OpenAPIOperation:
        """The operation as it would be listed; DefinitionError with the reason when it could not be."""
        try:
            return self._built(TRIED, Operation(request, effect="destructive", description=TRIED))
        except OperationRefused as refused:
            raise cannot_list(request, refused, self._build.place) from None

    def _list(self, name: str, said: Operation) -> None:
        try:
            self._operations[name] = self._built(name, said)
        except OperationRefused as refused:
            self._refused[name] = str(refused)
        self._requests[name] = said.request

    def _built(self, name: str, said: Operation) -> OpenAPIOperation:
        try:
            return build(self._document, name, said, self._build)
        except RecursionError:
            raise OperationRefused("it is nested too deep") from None


def _app_of(source: object) -> App | None:
    """The application itself where the source is one: it has `openapi()` and can be called."""
    if callable(source) and callable(getattr(source, "openapi", None)):
        return cast(App, source)
    return None
