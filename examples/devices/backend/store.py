"""The fleet's database: devices and the append-only log of effects, in one SQLite file.

A change and its line in the log are one transaction, and the log holds an idempotency key of a principal at most once:
there is no effect without a key, and no second effect under the same key, however many threads and processes ask.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from backend.wire import Device, DevicePage, DeviceQuery, DisableResult, Effect

FLEET_DATA: Final = Path(__file__).parent.parent / "data" / "devices.csv"
DATABASE_NAME: Final = "devices.sqlite3"

_SCHEMA: Final = """
CREATE TABLE devices (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, city TEXT NOT NULL, country TEXT NOT NULL,
    status TEXT NOT NULL, firmware TEXT NOT NULL, last_seen TEXT NOT NULL, owner TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1))
) STRICT;
CREATE TABLE effects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, principal TEXT NOT NULL, operation TEXT NOT NULL,
    device_ids TEXT NOT NULL, idempotency_key TEXT NOT NULL, request_id TEXT NOT NULL,
    request TEXT NOT NULL, answer TEXT NOT NULL, UNIQUE (principal, idempotency_key)
) STRICT;
CREATE TRIGGER effects_are_never_changed BEFORE UPDATE ON effects BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER effects_are_never_removed BEFORE DELETE ON effects BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
_DEVICE_COLUMNS: Final = tuple(Device.model_fields)
_EFFECT_COLUMNS: Final = tuple(Effect.model_fields)
_LOGGED_COLUMNS: Final = (*_EFFECT_COLUMNS[1:], "request", "answer")  # the number is the database's own
# Text is sorted as people read it; equal values fall back to the id, so pages never overlap.
_SORT_EXPRESSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "id",
        "name": "folded(name)",
        "city": "folded(city)",
        "status": "status",
        "kind": "kind",
        "last_seen": "last_seen",
    }
)


class UnknownDevices(Exception):
    """No device has these ids."""

    def __init__(self, device_ids: list[str]) -> None:
        super().__init__(device_ids)
        self.device_ids = device_ids


class AlreadyDisabled(Exception):
    """These devices are disabled already, so nothing was done to any."""

    def __init__(self, device_ids: list[str]) -> None:
        super().__init__(device_ids)
        self.device_ids = device_ids


class KeyReused(Exception):
    """The idempotency key belongs to another request of the same principal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Who asks for a change, under which idempotency key, in which HTTP request."""

    principal: str
    idempotency_key: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a change as JSON text, and whether an earlier request had done the work."""

    body: str
    replayed: bool


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def prepare_database(folder: Path, source: Path = FLEET_DATA) -> Path:
    """Return the database in `folder`, made from the rows of `source` when there is none yet.

    It appears complete or not at all; one that is there, with all its changes, is left alone. A row that is no device
    is a `ValueError`.
    """
    database = folder / DATABASE_NAME
    if database.exists():
        return database
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        draft = Path(scratch) / DATABASE_NAME
        with closing(sqlite3.connect(draft)) as db, db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_SCHEMA)
            db.executemany(
                f"INSERT INTO devices VALUES ({_places(_DEVICE_COLUMNS)})", map(_row_of, _read_devices(source))
            )
        try:
            os.link(draft, database)  # unlike a rename it never replaces a database that another process made meanwhile
        except FileExistsError:
            pass
    return database


class DeviceStore:
    """The devices and the log of effects in one database file; may be used from any thread.

    A database that stays locked longer than `busy_timeout` seconds is a `sqlite3.OperationalError`.
    """

    def __init__(self, database: Path, *, busy_timeout: float = 5.0, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._busy_timeout = busy_timeout
        self._now = now

    def find(self, query: DeviceQuery) -> DevicePage:
        """Return one page of the devices that match."""
        conditions = ["instr(folded(id || char(10) || name || char(10) || city || char(10) || owner), ?) > 0"]
        values: list[str | int] = [query.q.casefold()]
        for column, wanted in (("city", query.city), ("status", query.status), ("kind", query.kind)):
            if wanted is not None:
                conditions.append(f"{column} = ?")
                values.append(wanted)
        where = " AND ".join(conditions)
        direction = "DESC" if query.sort.startswith("-") else "ASC"
        order = f"{_SORT_EXPRESSIONS[query.sort.removeprefix('-')]} {direction}, id"
        page = f"SELECT * FROM devices WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        with self._connection() as db:
            db.execute("BEGIN")  # one snapshot for the total and the page
            total: int = db.execute(f"SELECT count(*) FROM devices WHERE {where}", values).fetchone()[0]
            rows = db.execute(page, [*values, query.limit, query.offset]).fetchall()
        return DevicePage(total=total, offset=query.offset, items=[_device_of(row) for row in rows])

    def rename(self, change: Change, device_id: str, name: str) -> Answer:
        """Give the device another name and log it; raises `UnknownDevices` or `KeyReused`."""

        def act(db: sqlite3.Connection) -> str:
            db.execute("UPDATE devices SET name = ? WHERE id = ?", (name, device_id))
            (device,) = _require(db, [device_id])
            return device.model_dump_json()

        return self._once(change, "devices.rename", [device_id], {"name": name}, act)

    def disable(self, change: Change, device_ids: list[str]) -> Answer:
        """Disable all these devices or none and log it; raises `UnknownDevices`, `AlreadyDisabled` or `KeyReused`."""

        def act(db: sqlite3.Connection) -> str:
            disabled = [device.id for device in _require(db, device_ids) if not device.enabled]
            if disabled:
                raise AlreadyDisabled(disabled)
            db.executemany("UPDATE devices SET enabled = 0 WHERE id = ?", [(device_id,) for device_id in device_ids])
            return DisableResult(disabled=device_ids).model_dump_json()

        return self._once(change, "devices.disable", device_ids, {}, act)

    def effects(self, *, after: int = 0) -> list[Effect]:
        """Return the effects with a number above `after`, oldest first."""
        columns = ", ".join(_EFFECT_COLUMNS)
        with self._connection() as db:
            rows = db.execute(f"SELECT {columns} FROM effects WHERE seq > ? ORDER BY seq", (after,)).fetchall()
        return [Effect.model_validate({**dict(row), "device_ids": json.loads(row["device_ids"])}) for row in rows]

    def _once(
        self,
        change: Change,
        operation: str,
        device_ids: list[str],
        settings: Mapping[str, str],
        act: Callable[[sqlite3.Connection], str],
    ) -> Answer:
        """Act and log it, or return what the same request got before. An `act` that raises leaves no trace at all."""
        request = json.dumps([operation, device_ids, dict(settings)])
        with self._connection() as db, db:
            db.execute("BEGIN IMMEDIATE")  # the look-up and the write below must not be parted by another writer
            known = db.execute(
                "SELECT request, answer FROM effects WHERE principal = ? AND idempotency_key = ?",
                (change.principal, change.idempotency_key),
            ).fetchone()
            if known is not None:
                if known["request"] != request:
                    raise KeyReused
                return Answer(body=known["answer"], replayed=True)
            answer = act(db)
            db.execute(
                f"INSERT INTO effects ({', '.join(_LOGGED_COLUMNS)}) VALUES ({_places(_LOGGED_COLUMNS)})",
                (
                    f"{self._now():%Y-%m-%dT%H:%M:%SZ}",
                    change.principal,
                    operation,
                    json.dumps(device_ids),
                    change.idempotency_key,
                    change.request_id,
                    request,
                    answer,
                ),
            )
        return Answer(body=answer, replayed=False)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Opening costs a fraction of a millisecond and spares a pool: the connections of two threads never meet.
        # A database that is missing is an error (`rw`), not a new empty one.
        uri = f"{self._database.resolve().as_uri()}?mode=rw"
        db = sqlite3.connect(uri, uri=True, timeout=self._busy_timeout, isolation_level=None)
        with closing(db):
            db.row_factory = sqlite3.Row
            db.create_function("folded", 1, str.casefold, deterministic=True)
            yield db


def _places(columns: tuple[str, ...]) -> str:
    return ", ".join("?" for _ in columns)


def _require(db: sqlite3.Connection, device_ids: list[str]) -> list[Device]:
    rows = [db.execute("SELECT * FROM devices WHERE id = ?", (device_id,)).fetchone() for device_id in device_ids]
    missing = [device_id for device_id, row in zip(device_ids, rows, strict=True) if row is None]
    if missing:
        raise UnknownDevices(missing)
    return [_device_of(row) for row in rows]


def _device_of(row: sqlite3.Row) -> Device:
    return Device.model_validate(dict(row))


def _row_of(device: Device) -> tuple[str | int, ...]:
    return tuple(device.model_dump().values())


def _read_devices(source: Path) -> Iterator[Device]:
    with source.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            yield Device.model_validate(row)
