"""The project of the walk-through in docs/guides/review.md, before the pull request."""

from typing import Literal

from remit import Component, Procedures, action, observation, reference

backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str]) -> int:
    """Disable devices in the fleet."""
    return len(device_ids)


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    @observation
    def read_state(self) -> list[str]:
        """Visible devices."""
        return []

    @action
    def select_rows(self, ids: list[str], mode: Literal["replace", "add"] = "replace") -> None:
        """Replace the row selection."""

    disable = reference("domain:devices.disable", approver="fleet-operator")
