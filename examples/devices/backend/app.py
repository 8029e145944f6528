"""The backend's HTTP interface."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from backend import store
from backend.accounts import Account, Guard
from backend.wire import (
    Device,
    DeviceId,
    DevicePage,
    DeviceQuery,
    DisableRequest,
    DisableResult,
    EffectLog,
    FieldIssue,
    Problem,
    RenameRequest,
)

MAX_KEY = 200
_PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem, "description": description}
    for status, description in (
        (400, "No usable idempotency key."),
        (401, "No known credential."),
        (403, "The account may only read."),
        (404, "No such device."),
        (409, "Disabled already, or the key belongs to another request."),
        (422, "Some fields are not valid."),
        (503, "The database is busy."),
    )
}
_READ: Final[dict[int | str, dict[str, Any]]] = {status: _PROBLEMS[status] for status in (401, 422, 503)}


class KeyMissing(Exception):
    """A change came without a usable idempotency key."""


def create_app(database: Path, accounts: Mapping[str, Account], *, busy_timeout: float = 5.0) -> FastAPI:
    """Make the backend over a database that `store.prepare_database` made.

    `accounts` maps credentials to accounts. Every path but `/healthz` needs a bearer credential, else 401. Changes
    need an account that may write (403) and an `Idempotency-Key` (400). A field that is wrong is 422 with its issues,
    an unknown device 404, one that is disabled already or a key that belongs to another request 409. When the database
    stays locked for `busy_timeout` seconds the answer is 503 with `Retry-After`. After any answer that is no
    success nothing has changed.
    """
    app = FastAPI(title="Fleet backend", docs_url=None, redoc_url=None, openapi_url=None)
    _add_routes(app, store.DeviceStore(database, busy_timeout=busy_timeout))
    _add_problems(app)
    app.add_middleware(Guard, accounts=accounts)
    return app


def _change(request: Request, idempotency_key: Annotated[str | None, Header()] = None) -> store.Change:
    if idempotency_key is None or not 1 <= len(idempotency_key) <= MAX_KEY:
        raise KeyMissing
    account: Account = request.state.account
    return store.Change(principal=account.name, idempotency_key=idempotency_key, request_id=uuid.uuid4().hex)


def _reply(change: store.Change, answer: store.Answer) -> Response:
    headers = {"X-Request-Id": change.request_id, "Idempotent-Replayed": "true" if answer.replayed else "false"}
    return Response(answer.body, media_type="application/json", headers=headers)


def _add_routes(app: FastAPI, devices: store.DeviceStore) -> None:
    # Plain functions on purpose: they wait for the database in a thread of the server's pool.

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        """Say that the backend answers."""
        return {"status": "ok"}

    @app.get("/devices", responses=_READ)
    def list_devices(query: Annotated[DeviceQuery, Query()]) -> DevicePage:
        """List devices of the fleet, page by page, with the number of all that match."""
        return devices.find(query)

    @app.patch("/devices/{device_id}", response_model=Device, responses=_PROBLEMS)
    def rename_device(
        device_id: Annotated[DeviceId, InPath()], body: RenameRequest, change: Annotated[store.Change, Depends(_change)]
    ) -> Response:
        """Give a device of the fleet another name."""
        return _reply(change, devices.rename(change, device_id, body.name))

    @app.post("/devices/disable", response_model=DisableResult, responses=_PROBLEMS)
    def disable_devices(body: DisableRequest, change: Annotated[store.Change, Depends(_change)]) -> Response:
        """Disable devices of the fleet: all that are named or, when one cannot be disabled, none."""
        return _reply(change, devices.disable(change, body.device_ids))

    @app.get("/effects", responses=_READ)
    def list_effects(after: Annotated[int, Query(ge=0)] = 0) -> EffectLog:
        """List what has changed, in the order in which it happened."""
        return EffectLog(items=devices.effects(after=after))


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # The framework's own answer repeats what was sent; this one names the field and the rule.
        issues = [FieldIssue(path=_path(issue["loc"][1:]), message=issue["msg"]) for issue in error.errors()]
        return _problem(422, Problem(code="invalid", message="Some fields are not valid.", issues=issues))

    @app.exception_handler(KeyMissing)
    async def key_missing(_: Request, __: KeyMissing) -> JSONResponse:
        message = f"A change needs an Idempotency-Key of 1 to {MAX_KEY} characters."
        return _problem(400, Problem(code="idempotency-key-missing", message=message))

    @app.exception_handler(store.UnknownDevices)
    async def unknown(_: Request, error: store.UnknownDevices) -> JSONResponse:
        return _problem(404, Problem(code="unknown-device", message="No such device.", device_ids=error.device_ids))

    @app.exception_handler(store.AlreadyDisabled)
    async def disabled(_: Request, error: store.AlreadyDisabled) -> JSONResponse:
        message = "Disabled already; nothing was changed."
        return _problem(409, Problem(code="already-disabled", message=message, device_ids=error.device_ids))

    @app.exception_handler(store.KeyReused)
    async def key_reused(_: Request, __: store.KeyReused) -> JSONResponse:
        message = "This Idempotency-Key belongs to another request."
        return _problem(409, Problem(code="idempotency-key-reused", message=message))

    @app.exception_handler(sqlite3.OperationalError)
    async def busy(_: Request, error: sqlite3.OperationalError) -> JSONResponse:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise error
        response = _problem(503, Problem(code="busy", message="The database is busy."))
        response.headers["Retry-After"] = "1"
        return response

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        return _problem(error.status_code, Problem(code="refused", message=error.detail))


def _path(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _problem(status: int, problem: Problem) -> JSONResponse:
    return JSONResponse(problem.model_dump(), status)
