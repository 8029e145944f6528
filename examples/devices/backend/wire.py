"""What travels between the backend and its clients: the shapes of requests, answers and problems.

Requests refuse unknown fields. Times are UTC in the form `2026-11-30T08:00:00Z`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

DeviceKind: TypeAlias = Literal["gateway", "sensor", "camera", "meter", "controller", "kiosk"]
DeviceStatus: TypeAlias = Literal["online", "offline", "maintenance"]
SortOrder: TypeAlias = Literal[
    "id", "-id", "name", "-name", "city", "-city", "status", "-status", "kind", "-kind", "last_seen", "-last_seen"
]

MAX_PAGE = 1000
MAX_BATCH = 200
MAX_NAME = 200


def _shown_name(value: str) -> str:
    if not value.strip():
        raise ValueError("must hold more than spaces")
    if not value.isprintable():
        raise ValueError("must not hold control or invisible formatting characters")
    return value


def _each_once(value: list[str]) -> list[str]:
    if len(set(value)) != len(value):
        raise ValueError("must name each device once")
    return value


DeviceId: TypeAlias = Annotated[str, Field(pattern=r"^d-[0-9]{4}$", description="For example d-0042.")]
DeviceName: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_shown_name)]


class Device(BaseModel):
    """One device of the fleet as the backend last knew it."""

    id: str
    name: str
    kind: DeviceKind
    city: str = Field(description="Empty when nobody has said where the device stands.")
    country: str
    status: DeviceStatus
    firmware: str
    last_seen: str = Field(description="UTC, as in 2026-11-30T08:00:00Z.")
    owner: str
    enabled: bool


class DeviceQuery(BaseModel):
    """Which devices, in which order; `None` means any. `q` is looked for in any case."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(default="", max_length=200, description="Looked for in id, name, city and owner.")
    city: str | None = Field(default=None, max_length=200, description="Empty: devices without a city.")
    status: DeviceStatus | None = None
    kind: DeviceKind | None = None
    sort: SortOrder = "id"
    offset: int = Field(default=0, ge=0, le=1_000_000)
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)


class DevicePage(BaseModel):
    """A page of the devices that match, with the number of all that match."""

    total: int
    offset: int
    items: list[Device]


class RenameRequest(BaseModel):
    """The new name of a device."""

    model_config = ConfigDict(extra="forbid")

    name: DeviceName


class DisableRequest(BaseModel):
    """The devices to disable: all of them or, when one cannot be, none."""

    model_config = ConfigDict(extra="forbid")

    device_ids: Annotated[list[DeviceId], Field(min_length=1, max_length=MAX_BATCH), AfterValidator(_each_once)]


class DisableResult(BaseModel):
    """The devices that are disabled now and were enabled before."""

    disabled: list[str]


class Effect(BaseModel):
    """One line of the backend's log: something that changed, who asked for it, and under which key."""

    seq: int
    time: str
    principal: str
    operation: str
    device_ids: list[str]
    idempotency_key: str
    request_id: str


class EffectLog(BaseModel):
    """Effects in the order in which they happened."""

    items: list[Effect]


class FieldIssue(BaseModel):
    """What is wrong with one field; `path` is like `device_ids[0]`."""

    path: str
    message: str


class Problem(BaseModel):
    """The body of every answer that is not a success. It never repeats a value that was sent."""

    code: str
    message: str
    issues: list[FieldIssue] = []
    device_ids: list[str] = []
