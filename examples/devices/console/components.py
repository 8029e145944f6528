"""What agents may see and do in the console. Nothing else of it exists for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from backend.wire import Device, DeviceKind, DeviceStatus
from pydantic import BaseModel, Field

from console.fleet_view import Filters, FleetView, SelectMode, SortColumn, Tab, column_of
from remit import Component, Refused, Unavailable, action, observation, reference
from remit.policies import require_grant

PAGE: Final = 50
OPERATOR: Final = "fleet-operator"
"""The grant of people who may change devices, and approve that an agent does."""

Page = Literal["devices", "reports"]
DeviceIds = Annotated[list[Annotated[str, Field(pattern=r"^d-[0-9]{4}$")]], Field(max_length=200)]


class FilterState(BaseModel):
    """The filters, and what can be chosen."""

    filters: Filters
    matching: int
    cities: list[str]


@dataclass
class DevicesFilters(Component, type="devices.filters"):
    """Filters above the table of devices: text, city, status and kind."""

    view: FleetView

    @observation
    def read_filters(self) -> FilterState:
        """The filters as they are set, how many devices match, and the cities there are."""
        return FilterState(filters=self.view.filters, matching=len(self.view.rows), cities=self.view.cities)

    @action
    async def set_filters(
        self,
        text: Annotated[str, Field(max_length=200, description="Looked for in id, name, city and owner.")] = "",
        city: Annotated[str | None, Field(max_length=200, description="Empty: devices without a city.")] = None,
        status: DeviceStatus | None = None,
        kind: DeviceKind | None = None,
    ) -> FilterState:
        """Replace all filters; what is left out does not filter. The table then shows the devices that match."""
        await self.view.show(Filters(text=text, city=city, status=status, kind=kind))
        return FilterState(filters=self.view.filters, matching=len(self.view.rows), cities=self.view.cities)


class Row(BaseModel):
    """One device in the table."""

    id: str
    name: str
    kind: DeviceKind
    city: str
    status: DeviceStatus
    enabled: bool
    last_seen: str


class TableState(BaseModel):
    """A part of the table, the number of all rows, and the selection."""

    total: int
    offset: int
    rows: list[Row]
    selected: list[str]
    sort: SortColumn
    descending: bool


@dataclass
class DevicesTable(Component, type="devices.table"):
    """Table of the devices that match the filters, with a selection."""

    view: FleetView

    @observation
    async def read_state(self, offset: Annotated[int, Field(ge=0, le=1000)] = 0) -> TableState:
        """The rows from `offset` on, 50 at most, the number of all rows, the selection and the order."""
        await self.view.refresh()
        column, descending = column_of(self.view.sort)
        return TableState(
            total=len(self.view.rows),
            offset=offset,
            rows=[Row.model_validate(each.model_dump()) for each in self.view.rows[offset : offset + PAGE]],
            selected=sorted(self.view.selected),
            sort=column,
            descending=descending,
        )

    @action
    def select_rows(self, ids: DeviceIds, mode: SelectMode = "replace") -> list[str]:
        """Replace, extend or reduce the selection, and return it. An empty list with `replace` selects nothing."""
        self.view.select(ids, mode)
        return sorted(self.view.selected)

    @action
    async def sort_by(self, column: SortColumn, descending: bool = False) -> None:
        """Sort the table by one column."""
        await self.view.order(column, descending=descending)

    @action
    def open_details(self, id: str) -> None:
        """Open the details of one device of the table beside it."""
        self.view.look_at(id)

    @select_rows.available
    @sort_by.available
    @open_details.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.view.rows else Unavailable("No device matches the filters")

    @select_rows.precondition
    def all_are_shown(self, ids: list[str]) -> Refused | None:
        unknown = sorted(set(ids) - self.view.shown)
        return Refused("Some ids are not in the table", ids=unknown[:20]) if unknown else None

    @open_details.precondition
    def is_shown(self, id: str) -> Refused | None:
        return None if id in self.view.shown else Refused("This id is not in the table")

    find = reference("domain:devices.list")

    @find.bind("limit")
    def page_size(self) -> int:
        return PAGE

    disable = reference(
        "domain:devices.disable",
        title="Disable devices",
        approver=OPERATOR,
        policies=[require_grant(OPERATOR)],
    )

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return sorted(self.view.selected)

    @disable.available
    def has_selection(self) -> Literal[True] | Unavailable:
        return True if self.view.selected else Unavailable("Select at least one device first")

    @disable.summary
    def how_many(self) -> str:
        count = len(self.view.selected)
        return "1 device that is selected in the table" if count == 1 else f"{count} devices, all that are selected"


class Details(BaseModel):
    """Everything the console knows of one device."""

    id: str
    name: str
    kind: DeviceKind
    city: str
    country: str
    status: DeviceStatus
    firmware: str
    last_seen: str
    owner: str
    enabled: bool


@dataclass
class DeviceDrawer(Component, type="devices.drawer"):
    """The details of one device, opened beside the table."""

    view: FleetView

    @observation
    async def read_details(self) -> Details | None:
        """All about the device whose details are open."""
        await self.view.refresh()
        device = self.view.device
        return None if device is None else Details.model_validate(device.model_dump())

    @action
    def close(self) -> None:
        """Close the details."""
        self.view.look_at(None)

    rename = reference("domain:devices.rename", title="Rename the device", policies=[require_grant(OPERATOR)])

    @rename.bind("device_id")
    def device_id(self) -> str | None:
        return self.view.opened


class VersionCount(BaseModel):
    """How many devices of one kind run one version."""

    kind: DeviceKind
    firmware: str
    devices: int


@dataclass
class FirmwareSummary(Component, type="devices.firmware"):
    """Firmware versions of the devices that match the filters; the second tab."""

    view: FleetView

    @observation
    async def read_versions(self) -> list[VersionCount]:
        """How many devices run which version, by kind, most frequent first."""
        await self.view.refresh()
        return [
            VersionCount(kind=kind, firmware=version, devices=count)
            for kind, versions in sorted(self.view.firmware().items())
            for version, count in versions.most_common()
        ]


@dataclass
class DevicesTabs(Component, type="devices.tabs"):
    """The two tabs of the devices page."""

    view: FleetView

    @observation
    def read_tab(self) -> Tab:
        """The tab that is open."""
        return self.view.tab

    @action
    def open_tab(self, tab: Tab) -> None:
        """Open the list of devices or the firmware summary."""
        self.view.open_tab(tab)


@dataclass
class Navigation(Component, type="app.navigation"):
    """The parts of the console."""

    go: Callable[[Page], Awaitable[None]]

    @action(effect="navigation")
    async def go_to(self, page: Page) -> None:
        """Open another part of the console: `devices` or `reports`."""
        await self.go(page)


class Group(BaseModel):
    """How many devices of a group are in which state."""

    name: str
    online: int
    offline: int
    maintenance: int
    disabled: int


Grouping = Literal["city", "kind"]


@dataclass
class ReportsSummary(Component, type="reports.summary"):
    """The fleet in numbers, by city or by kind."""

    view: FleetView
    group: Grouping = "city"
    changed: Callable[[], None] = lambda: None

    @observation
    async def read_summary(self) -> list[Group]:
        """How many devices are online, offline, in maintenance and disabled, by city or by kind, largest first."""
        await self.view.refresh()
        return self.groups()

    @action
    def group_by(self, group: Grouping) -> None:
        """Group the numbers by city or by kind."""
        self.group = group
        self.changed()

    def groups(self) -> list[Group]:
        """The numbers as they are shown, largest group first."""
        devices = Counter(self._name(device) for device in self.view.rows)
        states = Counter((self._name(device), device.status) for device in self.view.rows)
        disabled = Counter(self._name(device) for device in self.view.rows if not device.enabled)
        return [
            Group(
                name=name,
                online=states[name, "online"],
                offline=states[name, "offline"],
                maintenance=states[name, "maintenance"],
                disabled=disabled[name],
            )
            for name, _ in devices.most_common()
        ]

    def _name(self, device: Device) -> str:
        return (device.city or "No city") if self.group == "city" else device.kind
