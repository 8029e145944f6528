"""Listings and events, comparable between runs (SPEC 16.1)."""

import json

import pytest

from remit import Authority, EventType
from remit.testing import Harness, assert_failed, semantic
from tests.unit.testing.fleet import DevicesTable


@pytest.mark.requirement("16.1-semantic-snapshots")
def test_equal_surfaces_have_equal_meanings(harness: Harness) -> None:
    other = harness.as_("auditor")
    harness.surface.set_route("/devices")
    other.surface.set_route("/devices")
    with harness.mount(DevicesTable(["d1"])), other.mount(DevicesTable([]), "gone"), other.mount(DevicesTable(["d1"])):
        other.later(hours=1)
        with harness.mount(DevicesTable([]), "gone"):
            assert semantic(harness.snapshot()) == semantic(other.snapshot())
    assert harness.snapshot().to_json() != other.snapshot().to_json()


@pytest.mark.requirement("16.1-semantic-snapshots")
def test_a_difference_that_means_something_is_there(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    with harness.mount(table):
        before = semantic(harness.snapshot())
        table.rows = []
        assert semantic(harness.snapshot()) != before


@pytest.mark.requirement("16.1-semantic-snapshots")
def test_a_semantic_snapshot_is_json_without_opaque_ids(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])) as first, harness.mount(DevicesTable([]), "second") as second:
        text = json.dumps(semantic(harness.snapshot()))
    for volatile in (first.registration_id, second.registration_id, harness.surface.surface_id, "2026-01-01"):
        assert volatile is not None
        assert volatile not in text
    form = json.loads(text)
    assert [each["registration"] for each in form["components"]] == ["devices.table/default", "devices.table/second"]
    assert form["references"][0]["registration"] == "devices.table/default"


async def story(harness: Harness) -> object:
    """Ask, answer and run."""
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.clear, id="mine"), "CONFIRMATION_REQUIRED")
        harness.approve(asked)
        await harness.call(DevicesTable.clear, confirmation=asked, id="mine")
    return semantic(harness.events)


@pytest.mark.requirement("16.1-semantic-snapshots")
async def test_the_same_story_is_the_same_course_of_events(authority: Authority) -> None:
    told = []
    for _ in range(100):
        with Harness(authority, principal="operator") as harness:
            told.append(await story(harness))
    assert told.count(told[0]) == 100


async def test_opaque_ids_are_numbered_as_they_appear_and_chosen_ones_stay(harness: Harness) -> None:
    await story(harness)
    events = [event for event in harness.events if event.type is EventType.CONFIRMATION_REQUESTED]
    form = semantic(events)
    assert form == [
        {
            "type": "confirmation-requested",
            "data": {
                "confirmation": "confirmation-1",
                "capability": "view:devices.table.clear",
                "registration": "registration-1",
                "status": "pending",
            },
            "consumer": ["test", None, ["test"], None],
        }
    ]
    assert '"mine"' in json.dumps(semantic(harness.events))
