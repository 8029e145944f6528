"""The client library of the fleet's backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ValidationError

from backend.wire import (
    Device,
    DevicePage,
    DeviceQuery,
    DisableResult,
    EffectLog,
    Problem,
)

_Answer = TypeVar("_Answer", bound=BaseModel)


class FleetError(Exception):
    """The backend answered and did not do it: the status, its own words, and how long to wait before the next try.

    `body` is a `Problem` with the code `unreadable` when what came was not one of the backend's own. `retry_after` is
    in seconds.
    """

    def __init__(self, status: int, body: Problem, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {body.code}")
        self.status = status
        self.body = body
        self.retry_after = retry_after


class FleetUnreachable(Exception):
    """No answer came. A change may have happened all the same; the same key asks again without doing it twice."""

    def __init__(self, *, timed_out: bool) -> None:
        super().__init__("no answer in time" if timed_out else "no connection")
        self.timed_out = timed_out


class FleetClient:
    """Talks to the backend at one address, each call with the credential of the person it is made for.

    It holds no credential itself and follows no redirect, so none travels further than `base_url`. Every call raises
    `FleetError` or `FleetUnreachable`. Close it, or use it as an asynchronous context manager.
    """

    def __init__(self, base_url: str, *, timeout: float = 10.0) -> None:
        self._http = httpx2.AsyncClient(base_url=base_url, timeout=timeout, follow_redirects=False, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def list(self, query: DeviceQuery, *, credential: str) -> DevicePage:
        """Return a page of the devices that match."""
        given = query.model_dump(exclude_none=True)
        return await self._send("GET", "/devices", DevicePage, _headers(credential), query=given)

    async def rename(self, device_id: str, name: str, *, credential: str, idempotency_key: str) -> Device:
        """Give a device another name and return it."""
        path = f"/devices/{quote(device_id, safe='')}"
        return await self._send("PATCH", path, Device, _headers(credential, idempotency_key), body={"name": name})

    async def disable(self, device_ids: Sequence[str], *, credential: str, idempotency_key: str) -> DisableResult:
        """Disable all these devices, or none."""
        headers = _headers(credential, idempotency_key)
        body = {"device_ids": [*device_ids]}
        return await self._send("POST", "/devices/disable", DisableResult, headers, body=body)

    async def effects(self, *, credential: str, after: int = 0) -> EffectLog:
        """Return the backend's log of effects with numbers above `after`."""
        return await self._send("GET", "/effects", EffectLog, _headers(credential), query={"after": after})

    async def _send(
        self,
        method: str,
        path: str,
        answer: type[_Answer],
        headers: Mapping[str, str],
        *,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> _Answer:
        try:
            response = await self._http.request(method, path, params=query, json=body, headers=headers)
        except httpx2.TimeoutException as error:
            raise FleetUnreachable(timed_out=True) from error
        except httpx2.TransportError as error:
            raise FleetUnreachable(timed_out=False) from error
        if not response.is_success:
            raise FleetError(response.status_code, _problem(response), _retry_after(response))
        return answer.model_validate_json(response.content)


def _headers(credential: str, idempotency_key: str | None = None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {credential}"}
    return headers if idempotency_key is None else {**headers, "Idempotency-Key": idempotency_key}


def _problem(response: httpx2.Response) -> Problem:
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return Problem(code="unreadable", message="The answer is not one of the backend's own.")


def _retry_after(response: httpx2.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdecimal() else None
