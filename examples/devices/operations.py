"""The backend operations that the console makes available: three functions over the backend's HTTP interface.

Each call carries the credential of the person for whom it is made, and a change the invocation's idempotency key. The
backend authenticates, authorizes and validates again; what it refuses is told on, never decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from backend.client import FleetError, FleetUnreachable
from backend.wire import (
    MAX_BATCH,
    MAX_NAME,
    Device,
    DeviceId,
    DeviceKind,
    DevicePage,
    DeviceQuery,
    DeviceStatus,
    DisableResult,
)
from host import AppHost
from pydantic import Field

from remit import Context
from remit.errors import Issue
from remit.procedures import BackendError, Procedures

backend = Procedures()


@backend.operation("devices.list", effect="server-query")
async def list_devices(
    ctx: Context,
    q: Annotated[str, Field(max_length=200, description="Looked for in id, name, city and owner.")] = "",
    city: Annotated[str | None, Field(max_length=200)] = None,
    status: DeviceStatus | None = None,
    kind: DeviceKind | None = None,
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
) -> DevicePage:
    """List devices of the fleet, 50 at a time, with the number of all that match."""
    host = _host(ctx)
    query = DeviceQuery(q=q, city=city, status=status, kind=kind, offset=offset)
    with _backend_errors():
        return await host.fleet.list(query, credential=host.credential)


@backend.operation("devices.rename", effect="server-mutation")
async def rename_device(
    ctx: Context, device_id: DeviceId, name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
) -> Device:
    """Give a device of the fleet another name."""
    host = _host(ctx)
    with _backend_errors():
        return await host.fleet.rename(device_id, name, credential=host.credential, idempotency_key=ctx.idempotency_key)


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(
    ctx: Context, device_ids: Annotated[list[DeviceId], Field(min_length=1, max_length=MAX_BATCH)]
) -> DisableResult:
    """Disable devices of the fleet: all that are named or, when one cannot be disabled, none."""
    host = _host(ctx)
    with _backend_errors():
        return await host.fleet.disable(device_ids, credential=host.credential, idempotency_key=ctx.idempotency_key)


def _host(ctx: Context) -> AppHost:
    host = ctx.host
    if not isinstance(host, AppHost):
        raise TypeError(f"the session's host is {type(host).__name__}, not AppHost")
    if host.account != ctx.principal.id:
        raise BackendError(401)  # a credential is never lent to somebody else
    return host


@contextmanager
def _backend_errors() -> Iterator[None]:
    """Tell on how the backend answered, in the terms of SPEC 10.5."""
    try:
        yield
    except FleetError as error:
        issues = [Issue(path=issue.path, message=issue.message) for issue in error.body.issues]
        raise BackendError(
            error.status,
            issues=issues,
            code=error.body.code,
            data={"device_ids": [*error.body.device_ids]} if error.body.device_ids else None,
            retry_after=error.retry_after,
        ) from error
    except FleetUnreachable as error:
        # Both leave the outcome unknown: the backend may have done it before the line was lost.
        raise BackendError(504 if error.timed_out else 502) from error
