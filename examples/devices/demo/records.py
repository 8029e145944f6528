"""The fleet's database, read beside the backend that owns it: what really happened."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One line of the backend's log of effects."""

    principal: str
    operation: str
    device_ids: list[str]


class Records:
    """Reads the database file and writes nothing."""

    def __init__(self, database: Path) -> None:
        self._uri = f"{database.resolve().as_uri()}?mode=ro"

    def first(self) -> str:
        """The first id of all."""
        return str(self._rows("SELECT min(id) FROM devices")[0][0])

    def offline_in(self, city: str) -> list[str]:
        """The ids of the devices that are offline in this city, sorted."""
        wanted = "SELECT id FROM devices WHERE city = ? AND status = 'offline' ORDER BY id"
        return [str(row[0]) for row in self._rows(wanted, city)]

    def disabled(self) -> list[str]:
        """The ids of all disabled devices, sorted."""
        return [str(row[0]) for row in self._rows("SELECT id FROM devices WHERE enabled = 0 ORDER BY id")]

    def effects(self, after: int = 0) -> list[Happened]:
        """The log of effects, oldest first, without its first `after` lines."""
        rows = self._rows("SELECT principal, operation, device_ids FROM effects ORDER BY seq")
        return [
            Happened(principal=principal, operation=operation, device_ids=json.loads(device_ids))
            for principal, operation, device_ids in rows[after:]
        ]

    def _rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self._uri, uri=True, timeout=5.0)) as db:
            return db.execute(query, values).fetchall()
