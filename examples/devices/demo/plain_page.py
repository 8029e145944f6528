"""The console without a browser: the same parts over the same state, opened and left as a person's page does it."""

from __future__ import annotations

from typing import Final

from backend.client import FleetClient
from backend.wire import DevicePage, DeviceQuery
from console.components import (
    DeviceDrawer,
    DevicesFilters,
    DevicesTable,
    DevicesTabs,
    FirmwareSummary,
    Navigation,
    Page,
    ReportsSummary,
)
from console.fleet_view import FleetView
from host import AppHost

from remit import Component, EventType, Mount, Surface

HEADINGS: Final = {"devices": "Devices", "reports": "Reports"}


class PlainPage:
    """One person's page. What is on screen is what its state says."""

    name = "view"

    def __init__(self, surface: Surface, host: AppHost) -> None:
        self._surface = surface
        self._host = host
        self._mounts: list[Mount] = []
        self._at: Page = "devices"
        self._view = FleetView(self._fetch)
        surface.mount(Navigation(self.open))
        surface.subscribe(lambda _: self._view.outdated(), types={EventType.INVOCATION_SETTLED})

    async def open(self, part: Page) -> None:
        """Go to a part; what the one before showed is gone."""
        for mount in self._mounts:
            mount.unmount()
        self._at = part
        self._view = FleetView(self._fetch)
        await self._view.refresh()
        self._mounts = [self._surface.mount(component) for component in self._parts()]

    def _parts(self) -> list[Component]:
        view = self._view
        if self._at == "reports":
            return [ReportsSummary(view)]
        return [DevicesFilters(view), DevicesTable(view), DevicesTabs(view), FirmwareSummary(view), DeviceDrawer(view)]

    async def _fetch(self, query: DeviceQuery) -> DevicePage:
        fleet: FleetClient = self._host.fleet
        return await fleet.list(query, credential=self._host.credential)

    async def heading(self, wanted: str) -> str:
        """The heading of the part that is open."""
        return HEADINGS[self._at]

    async def rows(self, wanted: list[str]) -> list[str]:
        """The ids of the rows shown."""
        return sorted(self._view.shown)

    async def checked(self, wanted: list[str]) -> list[str]:
        """The ids of the rows selected."""
        return sorted(self._view.selected)

    async def disabled(self, wanted: list[str]) -> list[str]:
        """The ids of the rows shown as disabled."""
        return sorted(device.id for device in self._view.rows if not device.enabled)

    async def details(self, wanted: str) -> str:
        """The id of the device whose details are open."""
        return self._view.opened or ""

    async def dialogs(self) -> int:
        """How many requests wait for the person."""
        return len(self._surface.confirmations.pending())
