"""The capabilities that the demonstration uses, and the shape in which the table is read."""

from __future__ import annotations

from typing import Final

FILTER: Final = "view:devices.filters.setFilters"
READ: Final = "view:devices.table.readState"
SELECT: Final = "view:devices.table.selectRows"
DETAILS: Final = "view:devices.table.openDetails"
NAVIGATE: Final = "view:app.navigation.goTo"
SUMMARY: Final = "view:reports.summary.readSummary"
DISABLE: Final = "domain:devices.disable"
RENAME: Final = "domain:devices.rename"
"""Lives in the drawer, for people only: the site exposes it at no network door."""
MADE_UP: Final = "domain:devices.rerack"


def ids_of(state: object, *, enabled: bool | None = None) -> list[str]:
    """The ids of the rows in an answer of `READ`; with `enabled` only of those that are, or are not."""
    rows = state.get("rows") if isinstance(state, dict) else None
    if not isinstance(rows, list):
        return []
    return [str(row["id"]) for row in rows if enabled is None or row["enabled"] is enabled]
