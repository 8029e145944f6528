"""A listing can be asked for in part, and cut to a budget (SPEC 4.9)."""

import json

import pytest

from remit import Component, Consumer, Procedures, Snapshot, Surface, action, observation, reference
from tests.behaviour.conftest import authority_of

AGENT = Consumer("copilot", kind="embedded")
backend = Procedures()


@backend.operation("fleet.list", effect="server-query")
async def list_fleet() -> int:
    """List the fleet."""
    return 1


class Table(Component, type="devices.table"):
    """A table."""

    @observation(tags=["reading"])
    def read(self) -> int:
        """Read."""
        return 1

    @action(tags=["writing"])
    def put(self) -> None:
        """Put."""

    @action(effect="navigation")
    def leave(self) -> None:
        """Leave."""

    fleet = reference("domain:fleet.list")


class Tables(Component, type="devices.tables"):
    """Tables; its type begins with the letters of another's, but is no part of it."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1


def surface() -> Surface:
    made = Surface(authority_of(Table, Tables, procedures=backend), principal="operator", procedures=backend)
    made.mount(Table(), priority=1).update(available={"put": "Not now"})
    made.mount(Tables())
    return made


def ids(snapshot: Snapshot) -> list[str]:
    return sorted(listed.id for listed in snapshot.capabilities())


@pytest.mark.requirement("4.9-filters")
def test_prefixes_match_whole_segments_of_ids_or_component_types() -> None:
    shown = surface()
    table = ["view:devices.table.leave", "view:devices.table.put", "view:devices.table.read"]
    assert ids(shown.snapshot(AGENT, prefixes=["view:devices.table"])) == table
    assert ids(shown.snapshot(AGENT, prefixes=["devices.table"])) == ["domain:fleet.list", *table]
    assert ids(shown.snapshot(AGENT, prefixes=["view:devices.tab"])) == []
    assert ids(shown.snapshot(AGENT, prefixes=["view:devices.table.read"])) == ["view:devices.table.read"]
    assert ids(shown.snapshot(AGENT, prefixes=["domain:fleet", "devices.tables"])) == [
        "domain:fleet.list",
        "view:devices.tables.read",
    ]
    with pytest.raises(TypeError, match="not one text"):
        shown.snapshot(AGENT, prefixes="devices")


@pytest.mark.requirement("4.9-filters")
def test_tags_effects_and_availability_filter_and_the_version_stays_that_of_the_whole() -> None:
    shown = surface()
    whole = shown.snapshot(AGENT)
    assert ids(shown.snapshot(AGENT, tags=["reading", "writing"])) == [
        "view:devices.table.put",
        "view:devices.table.read",
    ]
    assert ids(shown.snapshot(AGENT, effects=["navigation", "server-query"])) == [
        "domain:fleet.list",
        "view:devices.table.leave",
    ]
    available = shown.snapshot(AGENT, include_unavailable=False)
    assert "view:devices.table.put" in ids(whole) and "view:devices.table.put" not in ids(available)
    assert available.surface_version == whole.surface_version
    with pytest.raises(ValueError, match="'anything' is none of read, local-state"):
        shown.snapshot(AGENT, effects=["anything"])


@pytest.mark.requirement("4.9-filters")
def test_a_budget_leaves_out_whole_components_lowest_priority_first_and_says_how_many() -> None:
    shown = surface()
    whole = shown.snapshot(AGENT)
    size = len(json.dumps(whole.to_json(), default=dict).encode())
    assert shown.snapshot(AGENT, budget=size).dropped == 0
    first = shown.snapshot(AGENT, budget=size - 500)
    assert ids(first) == [name for name in ids(whole) if "tables" not in name]
    assert first.dropped == 1
    assert first.to_json()["dropped"] == 1
    assert shown.snapshot(AGENT, budget=10).dropped == len(ids(whole))
