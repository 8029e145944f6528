"""The examples of docs/guides/testing.md; runs as it is, without pytest's help."""

import asyncio
from typing import Literal

from remit import Component, Decider, Principal, Procedures, Surface, Unavailable, action, observation, reference
from remit.compiler import compile_app
from remit.policies import require_grant
from remit.testing import (
    Harness,
    ManualClock,
    Overrides,
    assert_failed,
    assert_hidden,
    assert_ok,
    assert_unavailable,
    semantic,
)
from remit.testing.pytest_plugin import remit_harness

harness = remit_harness(principal="operator")

backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str]) -> int:
    """Disable devices in the fleet."""
    return len(device_ids)


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows
        self.selected: list[str] = []

    @observation
    def read_rows(self) -> list[str]:
        """Visible devices."""
        return self.rows

    @action
    def select_rows(self, ids: list[str]) -> None:
        """Replace the row selection."""
        self.selected = ids

    @select_rows.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable("No rows match the filters")

    disable = reference("domain:devices.disable", confirmation="required", approver="fleet-operator")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return self.selected


async def test_disabling_asks_a_fleet_operator_and_runs_once(harness: Harness) -> None:
    disabled = harness.override("domain:devices.disable", lambda device_ids: 1)  # behind the same schemas
    with harness.mount(DevicesTable(["d1", "d2"])):
        assert_ok(await harness.call(DevicesTable.select_rows, {"ids": ["d1"]}))
        asked = assert_failed(await harness.call(DevicesTable.disable), "CONFIRMATION_REQUIRED")
        harness.approve(asked, by=Decider("lead", grants={"fleet-operator"}))
        assert_ok(await harness.call(DevicesTable.disable, confirmation=asked))
        assert_failed(
            await harness.call(DevicesTable.disable, confirmation=asked), "CONFIRMATION_INVALID", reason="spent"
        )
    assert disabled.calls == [{"device_ids": ["d1"]}]


async def test_a_question_that_nobody_answered_in_time(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.disable), "CONFIRMATION_REQUIRED")
        harness.later(minutes=3)  # or harness.expire(asked), however long it has
        assert_failed(
            await harness.call(DevicesTable.disable, confirmation=asked), "CONFIRMATION_INVALID", reason="expired"
        )


async def test_a_call_from_before_the_page_was_drawn_anew(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        token = harness.token(DevicesTable.select_rows)  # what the agent was told: registration, surface, version
    with harness.mount(DevicesTable(["d2"])):
        assert_failed(await harness.call(token, {"ids": ["d1"]}), "STALE_CAPABILITY", reason="registration-replaced")


async def test_reading_changes_nothing(harness: Harness) -> None:
    with harness.mount(DevicesTable([])):
        assert await harness.observe(DevicesTable.read_rows) == []
        assert_unavailable(harness, DevicesTable.select_rows, "No rows match the filters")


def test_the_same_page_means_the_same(harness: Harness) -> None:
    meanings = []
    for rows in (["d1"], ["d2"]):
        with harness.mount(DevicesTable(rows)):
            meanings.append(semantic(harness.snapshot()))  # JSON-able: compare it, or keep it in a file
    assert meanings[0] == meanings[1]


async def test_another_person_sees_another_page() -> None:
    lead = Principal("lead", grants={"fleet"})
    with Harness(compile_app(__file__), principal=lead, policies=[require_grant("fleet")]) as harness:
        auditor = harness.as_("auditor")  # a view of their own; the same policies, overrides and clock
        with harness.mount(DevicesTable(["d1"])), auditor.mount(DevicesTable(["d1"])):
            assert_ok(await harness.call(DevicesTable.read_rows))
            assert_hidden(auditor, DevicesTable.read_rows)


async def test_a_surface_the_application_builds() -> None:
    authority = compile_app(__file__)
    clock, overrides = ManualClock(), Overrides(authority, backend)
    surface = Surface(authority, principal="lead", procedures=overrides, clock=clock)
    with Harness.of(surface, principal="lead", clock=clock, overrides=overrides, decider="approve") as harness:
        with harness.mount(DevicesTable(["d1"])):
            assert (
                assert_ok(await harness.call(DevicesTable.disable)) == 0
            )  # answered by the application's own function


def fresh() -> Harness:
    return Harness(compile_app(__file__), principal="operator")


async def main() -> None:
    await test_disabling_asks_a_fleet_operator_and_runs_once(fresh())
    await test_a_question_that_nobody_answered_in_time(fresh())
    await test_a_call_from_before_the_page_was_drawn_anew(fresh())
    await test_reading_changes_nothing(fresh())
    test_the_same_page_means_the_same(fresh())
    await test_another_person_sees_another_page()
    await test_a_surface_the_application_builds()


if __name__ == "__main__":
    asyncio.run(main())
