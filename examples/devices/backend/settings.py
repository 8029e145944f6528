"""What a backend needs to know to start, and its form on the pipe between the two processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from backend.accounts import Account

BACKEND_URL: Final = "FLEET_BACKEND_URL"
"""The environment variable that holds the address of the backend: whoever starts it sets this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSettings:
    """The database to serve, the accounts by credential, and how long to wait for a locked database, in seconds."""

    database: Path
    accounts: Mapping[str, Account]
    busy_timeout: float = 5.0


def format_settings(settings: BackendSettings) -> bytes:
    """Return the settings as one line of JSON."""
    record = {
        "database": str(settings.database.resolve()),
        "accounts": {credential: asdict(account) for credential, account in settings.accounts.items()},
        "busy_timeout": settings.busy_timeout,
    }
    return json.dumps(record).encode() + b"\n"


def parse_settings(line: bytes) -> BackendSettings:
    """Return the settings that `format_settings` wrote."""
    record = json.loads(line)
    return BackendSettings(
        database=Path(record["database"]),
        accounts={credential: Account(**account) for credential, account in record["accounts"].items()},
        busy_timeout=record["busy_timeout"],
    )
