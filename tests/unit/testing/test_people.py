"""Who decides, in the hands of a test (SPEC 7.4, 16.1)."""

import asyncio
from dataclasses import replace

import pytest
from typing_extensions import Unpack

from remit import Authority, Consumer, Decider, Principal, Surface
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationChanges
from remit.testing import Harness, assert_failed, assert_ok
from tests.unit.testing.fleet import DevicesTable

LEAD = Decider("lead", {"fleet-operator"})


async def test_disabling_asks_a_fleet_operator_and_runs_once(harness: Harness) -> None:
    disabled = harness.override("domain:devices.disable", lambda device_ids: 1)
    with harness.mount(DevicesTable(["d1", "d2"])):
        assert_ok(await harness.call(DevicesTable.select_rows, {"ids": ["d1"]}))
        asked = assert_failed(await harness.call(DevicesTable.disable), "CONFIRMATION_REQUIRED")
        harness.approve(asked, by=Decider("lead", grants={"fleet-operator"}))
        assert_ok(await harness.call(DevicesTable.disable, confirmation=asked))
        assert_failed(
            await harness.call(DevicesTable.disable, confirmation=asked), "CONFIRMATION_INVALID", reason="spent"
        )
    assert disabled.calls == [{"device_ids": ["d1"]}]


@pytest.mark.requirement("16.1-approve-deny-expire")
async def test_a_person_who_may_not_decide_fails_in_that_line_and_changes_nothing(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.disable), "CONFIRMATION_REQUIRED")
        with pytest.raises(PermissionError):
            harness.approve(asked)
        with pytest.raises(PermissionError):
            harness.deny(asked, by=Decider("intern"))
        assert len(harness.pending) == 1
        harness.approve(asked, by=LEAD)
        with pytest.raises(RuntimeError, match="approved, not pending"):
            harness.approve(asked, by=LEAD)
        with pytest.raises(LookupError):
            harness.approve("cnf_unknown")


async def test_the_principal_decides_where_no_grant_is_asked_for(harness: Harness) -> None:
    table = DevicesTable(["d1"])
    with harness.mount(table):
        asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.approve(harness.pending[0])
        assert_ok(await harness.call(DevicesTable.clear, confirmation=asked))
    assert table.rows == []


async def test_a_principal_that_is_asked_anew_decides_with_what_it_holds_now(authority: Authority) -> None:
    grants: set[str] = set()
    with Harness(authority, principal=lambda: Principal("operator", grants=grants)) as harness:
        harness.override(DevicesTable.disable, lambda device_ids: 0)
        with harness.mount(DevicesTable(["d1"])):
            asked = assert_failed(await harness.call(DevicesTable.disable), "CONFIRMATION_REQUIRED")
            with pytest.raises(PermissionError):
                harness.approve(asked)
            grants.add("fleet-operator")
            harness.approve(asked)
            grants.clear()
            assert_failed(
                await harness.call(DevicesTable.disable, confirmation=asked),
                "CONFIRMATION_INVALID",
                reason="no-decider",
            )


async def test_without_saying_which_the_only_pending_request_is_meant(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])), harness.mount(DevicesTable(["d1"]), "second"):
        for decide in (harness.approve, harness.deny, harness.expire):
            with pytest.raises(AssertionError, match="0 requests are pending"):
                decide()
        await harness.call(DevicesTable.clear, instance="default")
        await harness.call(DevicesTable.clear, instance="second")
        for decide in (harness.approve, harness.deny, harness.expire):
            with pytest.raises(AssertionError, match="2 requests are pending, so say which"):
                decide()
        harness.deny(harness.pending[0])
        harness.approve()
        assert_ok(await harness.call(DevicesTable.clear, instance="second"))


@pytest.mark.requirement("16.1-approve-deny-expire")
async def test_a_denial_is_final_and_its_reason_stays_in_the_journal(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.deny(asked, reason="not today")
        refused = assert_failed(
            await harness.call(DevicesTable.clear, confirmation=asked), "CONFIRMATION_INVALID", reason="denied"
        )
    assert "not today" not in repr(refused)
    assert "not today" in [entry.why for entry in harness.audit]


@pytest.mark.requirement("16.1-approve-deny-expire")
async def test_requests_expire_undecided_and_unspent(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.expire()
        assert_failed(
            await harness.call(DevicesTable.clear, confirmation=asked), "CONFIRMATION_INVALID", reason="expired"
        )
        again = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.approve(again)
        harness.expire(again)
        assert_failed(
            await harness.call(DevicesTable.clear, confirmation=again), "CONFIRMATION_INVALID", reason="expired"
        )
        with pytest.raises(AssertionError, match="cannot expire: it is unknown"):
            harness.expire("cnf_unknown")
        denied = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        harness.deny(denied)
        with pytest.raises(AssertionError, match="cannot expire: it is denied"):
            harness.expire(denied)


@pytest.mark.requirement("16.1-decider-modes")
async def test_with_an_approving_decider_a_call_is_answered_once(authority: Authority) -> None:
    with Harness(authority, principal="operator", decider="approve") as harness:
        harness.override(DevicesTable.disable, lambda device_ids: sum(1 for _ in device_ids))
        table = DevicesTable(["d1"])
        with harness.mount(table):
            assert assert_ok(await harness.call(DevicesTable.disable)) == 0
            assert_ok(await harness.call(DevicesTable.clear))
        assert table.rows == []
        assert [entry.decider for entry in harness.audit if entry.status == "approved"] == ["decider", "operator"]


@pytest.mark.requirement("16.1-decider-modes")
async def test_with_a_denying_decider_nothing_runs(authority: Authority) -> None:
    with Harness(authority, principal="operator", decider="deny") as harness:
        table = DevicesTable(["d1"])
        with harness.mount(table):
            assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_INVALID", reason="denied")
        assert table.rows == ["d1"]


async def test_an_approving_decider_answers_other_agents_of_the_surface_too(authority: Authority) -> None:
    with Harness(authority, principal="operator", decider="approve") as harness:
        table = DevicesTable(["d1"])
        with harness.mount(table):
            tools = harness.surface.connect(Consumer("copilot", kind="embedded")).toolset()
            name = next(each["name"] for each in tools.definitions() if "clear" in str(each["name"]))
            result = await tools.call(str(name))
        assert not result.is_error
        assert table.rows == []


@pytest.mark.requirement("16.1-decider-modes")
async def test_a_decider_that_is_no_mode_is_refused(authority: Authority) -> None:
    with pytest.raises(ValueError, match='"approve", "deny" or "manual", not \'maybe\''):
        Harness(authority, principal="operator", decider="maybe")  # type: ignore[arg-type]


async def test_evidence_is_taken_from_refusals_that_ask_and_from_nothing_else(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        other = assert_failed(await harness.call("view:devices.table.gone"), "CAPABILITY_NOT_FOUND")
        with pytest.raises(AssertionError, match="does not ask for anybody: it answered CAPABILITY_NOT_FOUND"):
            harness.approve(other)
        fine = await harness.call(DevicesTable.read_rows)
        with pytest.raises(AssertionError, match="it answered Ok"):
            await harness.call(DevicesTable.clear, confirmation=fine)  # type: ignore[arg-type]


class WaitingStore(MemoryStore):
    """A store somewhere else: every change takes a turn of the loop."""

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        await asyncio.sleep(0)
        return await super().transition(id, from_status, to_status, **changes)


async def test_a_store_that_has_to_be_waited_for_is_named_as_the_reason(authority: Authority) -> None:
    surface = Surface(authority, principal="operator", store=WaitingStore())
    harness = Harness.of(surface, principal="operator")
    with harness.mount(DevicesTable(["d1"])):
        asked = assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        with pytest.raises(RuntimeError, match=r"do  await harness\.surface\.confirmations\.approve"):
            harness.approve(asked)
        request = harness.pending[0]
        await surface.confirmations.approve(request.id, Decider("operator"))
        assert_ok(await harness.call(DevicesTable.clear, confirmation=asked))


async def test_what_was_shown_is_what_is_approved(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        shown = harness.pending[0]
        with pytest.raises(ValueError, match="digest"):
            harness.approve(replace(shown, digest="of something else"))
        assert len(harness.pending) == 1
        harness.approve(shown)
        assert not harness.pending


async def test_an_approving_decider_answers_a_call_with_an_id_of_its_own(authority: Authority) -> None:
    with Harness(authority, principal="operator", decider="approve") as harness:
        disabled = harness.override(DevicesTable.disable, lambda device_ids: 1)
        with harness.mount(DevicesTable(["d1"])):
            first = await harness.call(DevicesTable.disable, id="mine")
            assert_ok(first)
            assert first.invocation_id == "mine"
            assert await harness.call(DevicesTable.disable, id="mine") == first
        assert len(disabled.calls) == 1


async def test_where_nobody_is_signed_in_any_more_the_decider_has_to_be_named(authority: Authority) -> None:
    signed_in = [Principal("operator")]
    harness = Harness(authority, principal=lambda: signed_in[0] if signed_in else None)
    with harness.mount(DevicesTable(["d1"])):
        assert_failed(await harness.call(DevicesTable.clear), "CONFIRMATION_REQUIRED")
        signed_in.clear()
        with pytest.raises(RuntimeError, match=r"nobody is signed in.*\n  do  by=Decider"):
            harness.approve()
        harness.approve(by=Decider("operator"))
        assert not harness.pending
