"""The fleet's data file and database, without HTTP."""

import csv
import json
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from backend.store import FLEET_DATA, AlreadyDisabled, Change, DeviceStore, KeyReused, UnknownDevices, prepare_database
from backend.wire import MAX_PAGE, Device, DeviceQuery, SortOrder

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def change(key: str, *, principal: str = "operator") -> Change:
    return Change(principal=principal, idempotency_key=key, request_id=f"request of {key}")


def source_rows() -> list[dict[str, str]]:
    with FLEET_DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return prepare_database(tmp_path)


@pytest.fixture
def devices(database: Path) -> Iterator[DeviceStore]:
    yield DeviceStore(database, now=lambda: NOON)


def by_id(devices: DeviceStore) -> dict[str, Device]:
    return {device.id: device for device in devices.find(DeviceQuery(limit=MAX_PAGE)).items}


def test_the_data_file_holds_a_fleet_with_the_rows_that_break_careless_code() -> None:
    rows = source_rows()
    names = [row["name"] for row in rows]
    assert len(rows) >= 500
    assert [row["id"] for row in rows] == [f"d-{number:04d}" for number in range(1, len(rows) + 1)]
    assert any(not name.isascii() for name in names)
    assert len(set(names)) < len(names)
    assert any('"' in name for name in names) and any("'" in name for name in names)
    assert max(map(len, names)) == 200
    assert any(row["city"] == "" for row in rows)
    assert sum(row["city"] == "Milan" and row["status"] == "offline" and row["enabled"] == "true" for row in rows) >= 3


def test_every_row_of_the_data_file_is_in_the_database_unchanged(devices: DeviceStore) -> None:
    stored = [
        {**device.model_dump(), "enabled": str(device.enabled).lower()}
        for device in devices.find(DeviceQuery(limit=MAX_PAGE)).items
    ]
    assert stored == source_rows()


def test_a_database_that_exists_keeps_its_changes(tmp_path: Path, devices: DeviceStore) -> None:
    devices.rename(change("k"), "d-0001", "Renamed")
    again = DeviceStore(prepare_database(tmp_path))
    assert by_id(again)["d-0001"].name == "Renamed"
    assert len(again.effects()) == 1


def test_a_row_that_is_no_device_leaves_no_database(tmp_path: Path) -> None:
    source = tmp_path / "broken.csv"
    good, bad = source_rows()[:2]
    with source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, good)
        writer.writeheader()
        writer.writerows([good, {**bad, "status": "melted"}])
    folder = tmp_path / "fleet"
    with pytest.raises(ValueError, match="status"):
        prepare_database(folder, source)
    assert os.listdir(folder) == []


def test_the_database_is_in_write_ahead_mode(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_missing_database_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        DeviceStore(tmp_path / "none.sqlite3").effects()
    assert list(tmp_path.iterdir()) == []


def test_a_change_and_its_effect_are_written_together(devices: DeviceStore) -> None:
    devices.disable(change("k1"), ["d-0002", "d-0001"])
    (effect,) = devices.effects()
    assert effect.model_dump() == {
        "seq": 1,
        "time": "2026-11-30T12:00:00Z",
        "principal": "operator",
        "operation": "devices.disable",
        "device_ids": ["d-0002", "d-0001"],
        "idempotency_key": "k1",
        "request_id": "request of k1",
    }
    assert not by_id(devices)["d-0001"].enabled and not by_id(devices)["d-0002"].enabled


def test_a_repeated_key_returns_the_first_answer_and_changes_nothing(devices: DeviceStore) -> None:
    first = devices.rename(change("k"), "d-0001", "One")
    devices.rename(change("between"), "d-0001", "Two")
    again = devices.rename(change("k"), "d-0001", "One")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.body == first.body
    assert by_id(devices)["d-0001"].name == "Two"
    assert [effect.idempotency_key for effect in devices.effects()] == ["k", "between"]


def test_a_key_for_another_request_is_refused(devices: DeviceStore) -> None:
    devices.rename(change("k"), "d-0001", "One")
    with pytest.raises(KeyReused):
        devices.rename(change("k"), "d-0001", "Two")
    with pytest.raises(KeyReused):
        devices.disable(change("k"), ["d-0001"])
    assert len(devices.effects()) == 1


def test_two_principals_may_use_the_same_key(devices: DeviceStore) -> None:
    devices.rename(change("k", principal="ana"), "d-0001", "One")
    assert not devices.rename(change("k", principal="bo"), "d-0001", "Two").replayed
    assert [effect.principal for effect in devices.effects()] == ["ana", "bo"]


def test_of_many_threads_with_one_key_one_acts_and_all_get_its_answer(database: Path) -> None:
    def disable(_: int) -> tuple[str, bool]:
        answer = DeviceStore(database, busy_timeout=30).disable(change("k"), ["d-0001", "d-0002"])
        return answer.body, answer.replayed

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(disable, range(32)))
    assert {body for body, _ in answers} == {'{"disabled":["d-0001","d-0002"]}'}
    assert sum(not replayed for _, replayed in answers) == 1
    assert len(DeviceStore(database).effects()) == 1


def test_a_refused_change_leaves_neither_a_device_changed_nor_its_key_used(devices: DeviceStore) -> None:
    devices.disable(change("k1"), ["d-0002"])
    with pytest.raises(AlreadyDisabled) as refused:
        devices.disable(change("k2"), ["d-0001", "d-0002"])
    with pytest.raises(UnknownDevices) as unknown:
        devices.disable(change("k2"), ["d-0001", "d-9999"])
    assert refused.value.device_ids == ["d-0002"]
    assert unknown.value.device_ids == ["d-9999"]
    assert by_id(devices)["d-0001"].enabled
    assert not devices.disable(change("k2"), ["d-0001"]).replayed


@pytest.mark.parametrize("statement", ["DELETE FROM effects", "UPDATE effects SET principal = 'nobody'"])
def test_the_log_of_effects_cannot_be_rewritten(database: Path, devices: DeviceStore, statement: str) -> None:
    devices.disable(change("k"), ["d-0001"])
    with closing(sqlite3.connect(database)) as db, pytest.raises(sqlite3.IntegrityError, match="append only"):
        db.execute(statement)
    with closing(sqlite3.connect(database)) as db:
        assert json.loads(db.execute("SELECT device_ids FROM effects").fetchone()[0]) == ["d-0001"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("STRASSE", "Zähler Straße ß/ẞ"),
        ("котельня", "Датчик тепла, котельня №2"),
        ("冷蔵庫", "冷蔵庫 温度センサー 三階"),
        ("100%", "100% load_test meter"),
        ('"leonardo"', 'Meeting-room panel 12" "Leonardo"'),
        ("<B>lobby", "<b>Lobby</b> & bar"),
        ("d-0350", "0012"),
    ],
)
def test_text_is_found_in_any_script_and_case_and_has_no_wildcards(devices: DeviceStore, text: str, found: str) -> None:
    assert [device.name for device in devices.find(DeviceQuery(q=text)).items] == [found]


@pytest.mark.parametrize("sort", ["name", "-name", "city", "-city", "status", "kind", "-last_seen"])
def test_pages_in_any_order_hold_every_device_once(devices: DeviceStore, sort: SortOrder) -> None:
    pages = [devices.find(DeviceQuery(sort=sort, offset=offset, limit=37)) for offset in range(0, 600, 37)]
    items = [device for page in pages for device in page.items]
    assert {page.total for page in pages} == {len(source_rows())}
    assert sorted(device.id for device in items) == [row["id"] for row in source_rows()]
    column = sort.removeprefix("-")
    keys = [str(getattr(device, column)).casefold() for device in items]
    assert keys == sorted(keys, reverse=sort.startswith("-"))
