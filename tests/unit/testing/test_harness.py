"""What a harness does with the agent, the view and the time (SPEC 16.1)."""

import pytest

from remit import Authority, CancelCause, Consumer, EventType, Failed, ManualClock, Ok, Principal, Surface
from remit._journal.audit import AuditType
from remit.policies import require_grant
from remit.testing import Harness, Overrides, assert_available, assert_failed, assert_hidden, assert_ok
from tests.unit.testing.fleet import DevicesTable, backend


@pytest.mark.requirement("16.1-invoke-and-observe")
async def test_a_call_is_the_agents_call(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    with harness.mount(table) as mounted:
        outcome = await harness.call(DevicesTable.select_rows, {"ids": ["d1"]})
    assert isinstance(outcome, Ok)
    assert table.selected == ["d1"]
    entry = next(each for each in harness.audit if each.type is AuditType.INVOCATION)
    assert (entry.consumer, entry.registration) == (("test", None, ("test",), None), mounted.registration_id)


@pytest.mark.requirement("16.1-invoke-and-observe")
async def test_each_call_is_a_new_invocation_and_an_id_repeats_one(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        first = await harness.call("view:devices.table.selectRows", {"ids": []})
        second = await harness.call("view:devices.table.selectRows", {"ids": []})
        named = await harness.call("view:devices.table.selectRows", {"ids": []}, id="mine")
        again = await harness.call("view:devices.table.selectRows", {"ids": []}, id="mine")
        other = await harness.call("view:devices.table.selectRows", {"ids": ["d1"]}, id="mine")
    assert first.invocation_id != second.invocation_id
    assert again == named
    assert_failed(other, "INVOCATION_CONFLICT")


@pytest.mark.requirement("16.1-events-and-audit")
async def test_what_happened_is_kept_in_order(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        assert_ok(await harness.call(DevicesTable.select_rows, {"ids": ["d1"]}))
    types = [event.type for event in harness.events if event.type is not EventType.SURFACE_CHANGED]
    assert types == [
        EventType.REGISTERED,
        EventType.INVOCATION_STARTED,
        EventType.INVOCATION_SETTLED,
        EventType.UNREGISTERED,
    ]


@pytest.mark.requirement("16.1-invoke-and-observe")
async def test_an_observation_gives_its_output(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        assert await harness.observe(DevicesTable.read_rows) == ["d1"]


@pytest.mark.requirement("3.11-the-harness-sees-what-reading-changed")
async def test_an_observation_that_takes_what_it_reads_fails_the_test(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])), pytest.raises(AssertionError) as raised:
        await harness.observe(DevicesTable.drain_rows)
    assert str(raised.value) == (
        "view:devices.table.drainRows changed something while it was read\n"
        "  view:devices.table.selectRows of default  available → unavailable"
    )


@pytest.mark.requirement("3.11-the-harness-sees-what-reading-changed")
async def test_an_observation_during_which_something_is_mounted_fails_the_test(harness: Harness) -> None:
    table = DevicesTable(["d1"])

    async def mount() -> None:
        harness.mount(DevicesTable([]), "second")

    table.peeking = mount
    with harness.mount(table):
        with pytest.raises(AssertionError, match="changed something while it was read\n  version  0 → 1"):
            await harness.observe(DevicesTable.peek_rows)
        table.peeking = None
        assert await harness.observe(DevicesTable.peek_rows, instance="default") == ["d1"]


@pytest.mark.requirement("3.11-the-harness-sees-what-reading-changed")
async def test_an_observation_during_which_something_is_called_fails_the_test(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    table.peeking = lambda: harness.call(DevicesTable.select_rows, {"ids": []})
    with (
        harness.mount(table),
        pytest.raises(AssertionError, match=r"\n  journal  invocation view:devices\.table\.selectRows"),
    ):
        await harness.observe(DevicesTable.peek_rows)


@pytest.mark.requirement("3.11-the-harness-sees-what-reading-changed")
async def test_an_observation_during_which_somebody_is_asked_fails_the_test(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    table.peeking = lambda: harness.call(DevicesTable.clear)
    with (
        harness.mount(table),
        pytest.raises(AssertionError, match=r"\n  journal  confirmation view:devices\.table\.clear"),
    ):
        await harness.observe(DevicesTable.peek_rows)


async def test_an_observation_that_is_refused_fails_the_test(harness: Harness) -> None:
    with pytest.raises(AssertionError, match="CAPABILITY_NOT_FOUND"):
        await harness.observe("view:devices.table.readRows")


async def test_observing_an_action_is_refused_before_it_runs(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    with harness.mount(table), pytest.raises(AssertionError, match="is no observation"):
        await harness.observe(DevicesTable.select_rows, {"ids": ["d1"]})
    assert table.selected == []


@pytest.mark.requirement("16.1-capture-a-token")
async def test_a_token_of_a_view_that_was_replaced_is_stale(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        token = harness.token(DevicesTable.select_rows)
        assert_ok(await harness.call(token, {"ids": []}))
    with harness.mount(DevicesTable(["d2"])):
        assert_failed(await harness.call(token, {"ids": []}), "STALE_CAPABILITY", reason="registration-replaced")
        assert_ok(await harness.call(harness.token(DevicesTable.select_rows), {"ids": []}))


@pytest.mark.requirement("16.1-capture-a-token")
async def test_a_token_of_a_grave_capability_is_stale_once_anything_moved(harness: Harness) -> None:
    harness.override(DevicesTable.disable, lambda device_ids: 0)
    with harness.mount(DevicesTable(["d1"])):
        token = harness.token(DevicesTable.disable)
        assert_failed(await harness.call(token), "CONFIRMATION_REQUIRED")
        harness.mount(DevicesTable([]), "second")
        assert_failed(await harness.call(token), "STALE_CAPABILITY", reason="surface-version-mismatch")


async def test_a_token_of_another_persons_surface_is_stale(harness: Harness) -> None:
    auditor = harness.as_("auditor")
    with harness.mount(DevicesTable([])), auditor.mount(DevicesTable([])):
        token = harness.token(DevicesTable.read_rows)
        assert_failed(await auditor.call(token), "STALE_CAPABILITY", reason="surface-reloaded")


async def test_a_token_needs_exactly_one_listed_capability(harness: Harness) -> None:
    with pytest.raises(AssertionError, match="readRows is not listed\n  listed  nothing"):
        harness.token(DevicesTable.read_rows)
    with harness.mount(DevicesTable([])), harness.mount(DevicesTable([]), "second"):
        with pytest.raises(AssertionError, match="listed 2 times\n  do  name one: default, second"):
            harness.token(DevicesTable.read_rows)
        assert harness.token(DevicesTable.read_rows, "second").instance == "second"
        assert harness.token(DevicesTable.rename, "devices.table/second").instance == "devices.table/second"
        with pytest.raises(AssertionError, match="of third is not listed"):
            harness.token(DevicesTable.read_rows, "third")


@pytest.mark.requirement("16.1-act-as-another-principal")
async def test_another_person_has_a_view_of_their_own_at_the_same_time(authority: Authority) -> None:
    grants = {"fleet"}
    with Harness(
        authority, principal=Principal("operator", grants=grants), policies=[require_grant("fleet")]
    ) as harness:
        auditor = harness.as_("auditor")
        with harness.mount(DevicesTable(["d1"])), auditor.mount(DevicesTable(["d1"])):
            assert_ok(await harness.call(DevicesTable.read_rows))
            assert_failed(await auditor.call(DevicesTable.read_rows), "CAPABILITY_NOT_FOUND")
            assert_hidden(auditor, DevicesTable.read_rows)
        assert auditor.surface is not harness.surface
        assert auditor.clock is harness.clock
        assert harness.as_("auditor") is auditor
        assert auditor.as_(Principal("operator", grants=grants)) is harness
        assert harness.as_(Principal("auditor", grants=grants)) is not auditor


@pytest.mark.requirement("16.1-travel-in-time")
async def test_time_passes_when_told_to(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.later(minutes=1, seconds=59)
        assert [request.id for request in harness.pending] == [asked.error.details["confirmation_id"]]
        harness.later(seconds=1)
        assert harness.pending == ()
    assert harness.clock.monotonic() == 120.0


async def test_the_end_of_the_harness_ends_every_surface(authority: Authority) -> None:
    with Harness(authority, principal="operator") as harness:
        auditor = harness.as_("auditor")
        mounts = [harness.mount(DevicesTable([])), auditor.mount(DevicesTable([]))]
    assert [mount.status for mount in mounts] == ["unmounted", "unmounted"]
    assert_failed(await harness.call(DevicesTable.read_rows), "CANCELLED")


async def test_another_kind_of_agent_sees_what_its_door_opens(authority: Authority) -> None:
    client = Consumer("client", kind="mcp", scope=["view:**"])
    with Harness(authority, principal="operator", consumer=client) as harness, harness.mount(DevicesTable([])):
        assert harness.capabilities() == ()


@pytest.mark.requirement("16.1-over-a-surface-of-the-application")
async def test_a_surface_of_the_application_is_taken_over_as_it_is(authority: Authority) -> None:
    clock, overrides = ManualClock(), Overrides(authority, backend)
    surface = Surface(authority, principal="operator", procedures=overrides, clock=clock)
    with Harness.of(surface, principal="operator", clock=clock, overrides=overrides) as harness:
        renamed = harness.override("domain:devices.rename", lambda device_id, name: name)
        with surface.mount(DevicesTable(["d1"])):
            assert assert_ok(await harness.call(DevicesTable.rename, {"device_id": "d1", "name": "one"})) == "one"
            asked = await harness.call(DevicesTable.clear)
            harness.expire(asked if isinstance(asked, Failed) else None)
        assert renamed.calls == [{"device_id": "d1", "name": "one"}]
        assert len(harness.audit) > 0
        with pytest.raises(RuntimeError, match="the application built this surface"):
            harness.as_("auditor")


@pytest.mark.requirement("16.1-over-a-surface-of-the-application")
async def test_over_a_surface_of_the_application_what_was_not_given_is_not_there(authority: Authority) -> None:
    harness = Harness.of(Surface(authority, principal="operator"), principal="operator")
    for use in (
        lambda: harness.later(seconds=1),
        lambda: harness.expire("cnf_1"),
        lambda: harness.clock,
        lambda: harness.override(DevicesTable.disable, lambda device_ids: 0),
    ):
        with pytest.raises(RuntimeError, match="\n  do  "):
            use()


async def test_a_listed_capability_that_nothing_answers_fails_the_test_when_it_is_called(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        assert_available(harness, DevicesTable.rename)
        with pytest.raises(AssertionError, match=r"domain:devices\.rename was called, and nothing answers it\n  do  "):
            await harness.call(DevicesTable.rename, {"device_id": "d1", "name": "one"})


async def test_unmounting_with_another_cause_is_told_as_in_production(harness: Harness) -> None:
    mount = harness.mount(DevicesTable(["d1"]))
    asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
    mount.unmount(CancelCause.VIEW_RELOADED)
    with harness.mount(DevicesTable(["d1"])):
        assert_failed(
            await harness.call(DevicesTable.clear, confirmation=asked),
            "CONFIRMATION_INVALID",
            reason="cancelled",
            cause="view-reloaded",
        )
