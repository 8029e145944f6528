"""What one person has open: filters, the devices that match, the selection, the device looked at, the open tab.

Pages draw it and agents work it through the same methods, so a click and a call lead to the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Literal, TypeAlias

from backend.wire import MAX_PAGE, Device, DeviceKind, DevicePage, DeviceQuery, DeviceStatus, SortOrder
from pydantic import BaseModel, Field

SortColumn: TypeAlias = Literal["id", "name", "city", "status", "kind", "last_seen"]
Tab: TypeAlias = Literal["list", "firmware"]
SelectMode: TypeAlias = Literal["replace", "add", "remove"]
Fetch: TypeAlias = Callable[[DeviceQuery], Awaitable[DevicePage]]
"""Asks the backend in the name of the person whose view this is."""

FIRST_SORT: Final[SortOrder] = "id"


class Filters(BaseModel):
    """Which devices are shown; what is not set does not filter."""

    text: str = Field(default="", description="Looked for in id, name, city and owner.")
    city: str | None = Field(default=None, description="Empty: devices without a city.")
    status: DeviceStatus | None = None
    kind: DeviceKind | None = None


class FleetView:
    """The state of one view; changes are told to `on_change` listeners after they happened."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._listeners: list[Callable[[], None]] = []
        self._changes = 1
        self._known = 0
        self.filters = Filters()
        self.sort: SortOrder = FIRST_SORT
        self.rows: list[Device] = []
        self.selected: frozenset[str] = frozenset()
        self.opened: str | None = None
        self.tab: Tab = "list"
        self.cities: list[str] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Hear of every change."""
        self._listeners.append(listener)

    def outdated(self) -> None:
        """Say that the backend may know better; the next `refresh` asks it."""
        self._changes += 1

    async def refresh(self) -> None:
        """Ask the backend again if what is shown may be old; it is not when this returns."""
        if self._known < self._changes:
            await self._load()

    async def show(self, filters: Filters) -> None:
        """Show the devices that match; the selection keeps what is still shown."""
        self.filters = filters
        await self._load()

    async def order(self, column: SortColumn, *, descending: bool) -> None:
        """Sort the table."""
        self.sort = _order(column, descending)
        await self._load()

    def select(self, ids: Iterable[str], mode: SelectMode = "replace") -> None:
        """Replace, extend or reduce the selection; ids that are not shown are ignored."""
        named = frozenset(ids) & self.shown
        match mode:
            case "replace":
                self.selected = named
            case "add":
                self.selected |= named
            case "remove":
                self.selected -= named
        self._changed()

    def look_at(self, device_id: str | None) -> None:
        """Open the details of a device that is shown, or close them."""
        self.opened = device_id
        self._changed()

    def open_tab(self, tab: Tab) -> None:
        """Show a tab."""
        if tab != self.tab:
            self.tab = tab
            self._changed()

    @property
    def shown(self) -> frozenset[str]:
        """The ids of all devices that match."""
        return frozenset(device.id for device in self.rows)

    @property
    def device(self) -> Device | None:
        """The device whose details are open."""
        return next((device for device in self.rows if device.id == self.opened), None)

    def firmware(self) -> dict[DeviceKind, Counter[str]]:
        """How many of the devices shown run which version, by kind."""
        counted: dict[DeviceKind, Counter[str]] = {}
        for device in self.rows:
            counted.setdefault(device.kind, Counter())[device.firmware] += 1
        return counted

    async def _load(self) -> None:
        asked, order, changes = self.filters, self.sort, self._changes
        query = DeviceQuery(
            q=asked.text, city=asked.city, status=asked.status, kind=asked.kind, sort=order, limit=MAX_PAGE
        )
        page = await self._fetch(query)
        if (asked, order) != (self.filters, self.sort):
            return  # the person has gone on meanwhile; that answer is on its way
        self._known = max(self._known, changes)
        self.rows = page.items
        self.selected &= self.shown
        if not self.cities and asked == Filters():
            self.cities = sorted({device.city for device in page.items if device.city}, key=str.casefold)
        if self.device is None:
            self.opened = None
        self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def column_of(order: SortOrder) -> tuple[SortColumn, bool]:
    """Take an order apart: the column, and whether it is descending."""
    descending = order.startswith("-")
    column: SortColumn = order.removeprefix("-")  # type: ignore[assignment]
    return column, descending


def _order(column: SortColumn, descending: bool) -> SortOrder:
    order: SortOrder = f"-{column}" if descending else column  # type: ignore[assignment]
    return order
