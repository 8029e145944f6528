"""`ORPC(…)`: an existing oRPC backend as a catalogue, by its contract and its document (SPEC 10.7)."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from remit._base.clock import Clock
from remit.procedures.catalogue import Offer
from remit.procedures.http.answer import ErrorMap
from remit.procedures.http.catalogue import HttpCatalogue
from remit.procedures.http.checked import Checked
from remit.procedures.http.credentials import Credentials
from remit.procedures.http.way import BaseURL, Said, way_of
from remit.procedures.listing import wrong
from remit.procedures.openapi.building import TRIED, cannot_list, summary_of
from remit.procedures.openapi.document import JsonSource, read_document, read_json
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.request import operation_at
from remit.procedures.orpc.building import build, build_of, request_of
from remit.procedures.orpc.contract import Dialect, Form, read_contract
from remit.procedures.orpc.operation import ORPCOperation, Procedure

_SUBJECT: Final = "ORPC(…)"


class ORPC(HttpCatalogue[ORPCOperation]):
    """A catalogue of the procedures of an oRPC backend.

        backend = ORPC("contract.json", document="backend.openapi.json", base_url="https://fleet.example/rpc", expose={
            "devices.disable": Procedure("devices.disable", effect="destructive")})

    `contract` is what `minifyContractRouter` gives, `document` the OpenAPI document of the same router: the first has
    the procedures and their routes, the second their schemas and errors. Each is a file (a relative name is beside
    the file that makes the catalogue), an address, or a mapping.

    `form` is the wire: `rpc`, always by POST, has the types of JavaScript that the document marks with
    `x-native-type`, and streams that say where they end; `openapi` is plain HTTP. `base_url` ends with the prefix of
    the handler of that wire. `dialect` is the version of oRPC. With `batch`, where the backend has its
    `BatchHandlerPlugin`, so many reads that one session makes at the same time are one request. Everything else is as
    for `OpenAPI`: nothing is listed unless `expose` names it, what cannot be sent exactly is refused with the reason,
    credentials go to one origin only.
    """

    def __init__(  # noqa: PLR0913 - one keyword a property of the backend
        self,
        contract: JsonSource,
        *,
        document: JsonSource,
        base_url: BaseURL,
        expose: Mapping[str, Procedure],
        form: Form = "rpc",
        dialect: Dialect = "1.x",
        batch: int | None = None,
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
        folder = Path(caller.f_code.co_filename).parent
        if form not in ("rpc", "openapi"):
            raise wrong(_SUBJECT, f"form={form!r} is no wire of oRPC", place, "use 'rpc' or 'openapi'")
        if dialect not in ("1.x", "2.0-beta"):
            raise wrong(_SUBJECT, f"dialect={dialect!r} is not known", place, "use '1.x' or '2.0-beta'")
        if batch is not None and (isinstance(batch, bool) or batch < 2 or form != "rpc"):
            raise wrong(_SUBJECT, f"batch={batch!r}: of at least 2 reads, on the RPC wire", place, "write batch=10")
        Checked(_SUBJECT, place).exposed(expose)
        way = way_of(
            Said(
                subject=_SUBJECT,
                place=place,
                base_url=base_url,
                app=None,
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
        self._build = build_of(
            place=place,
            routes=read_contract(*read_json(contract, folder=folder)),
            document=read_document(document, folder=folder),
            form=form,
            dialect=dialect,
            way=way,
            batch=batch,
        )
        self._procedures: dict[str, str] = {}
        for name, said in expose.items():
            self._list(name, said)

    @property
    def opted_in_by(self) -> str:
        """`Procedure`, called with the path of a procedure."""
        return f"{__package__}.{Procedure.__name__}"

    def offers(self) -> tuple[Offer, ...]:
        """All procedures of the contract, in its order: listed, refused, and those that nobody opted in.

        `request` is the path in the router, which `Procedure` takes; `operation_id` is method and path of the document.
        """
        of_path = {path: name for name, path in self._procedures.items()}
        offers: list[Offer] = []
        for path, route in self._build.routes.items():
            method, target = request_of(route, self._build)
            name = of_path.get(path)
            offers.append(
                Offer(
                    request=path,
                    operation_id=f"{method} {target}",
                    summary=self._summary(method, target),
                    name=name,
                    refused=None if name is None else self._refused.get(name),
                )
            )
        return tuple(offers)

    def tried(self, request: str) -> ORPCOperation:
        """The procedure as it would be listed; DefinitionError with the reason when it could not be."""
        try:
            return build(TRIED, Procedure(request, effect="destructive", description=TRIED), self._build)
        except OperationRefused as refused:
            raise cannot_list(request, refused, self._build.place) from None

    def _summary(self, method: str, path: str) -> str:
        try:
            return summary_of(operation_at(self._build.document, method, path)[0])
        except OperationRefused:
            return ""

    def _list(self, name: str, said: Procedure) -> None:
        try:
            self._operations[name] = build(name, said, self._build)
        except OperationRefused as refused:
            self._refused[name] = str(refused)
        self._procedures[name] = said.path
