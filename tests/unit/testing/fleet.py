"""An application to be tested: a table, what it offers, and a backend."""

from collections.abc import Awaitable, Callable
from typing import Literal

from remit import BackendError, Component, Context, Principal, Procedures, Unavailable, action, observation, reference

backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str], caller: Principal) -> int:
    """Disable devices in the fleet."""
    if caller.id == "auditor":
        raise BackendError(403)
    return len(device_ids)


@backend.operation("devices.rename", effect="server-mutation")
async def rename_device(device_id: str, name: str, context: Context) -> str:
    """Rename a device."""
    return f"{device_id} is {name}"


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows
        self.selected: list[str] = []
        self.peeking: Callable[[], Awaitable[object]] | None = None

    @observation
    def read_rows(self) -> list[str]:
        """Visible devices."""
        return self.rows

    @observation
    def drain_rows(self) -> list[str]:
        """An observation that takes what it reads."""
        rows, self.rows = self.rows, []
        return rows

    @observation
    async def peek_rows(self) -> list[str]:
        """An observation that lets the test do something meanwhile."""
        if self.peeking is not None:
            await self.peeking()
        return self.rows

    @action
    def select_rows(self, ids: list[str]) -> None:
        """Replace the row selection."""
        self.selected = ids

    @select_rows.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable("There are no rows")

    @action(confirmation="required")
    def clear(self) -> None:
        """Forget the rows."""
        self.rows = []

    disable = reference("domain:devices.disable", confirmation="required", approver="fleet-operator")
    rename = reference("domain:devices.rename")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return self.selected
