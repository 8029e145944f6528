"""What a failed assertion tells whoever reads it (SPEC 16.1)."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from remit import Authority, ErrorCode, Failed, Ok
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext
from remit.testing import Harness, assert_available, assert_failed, assert_hidden, assert_ok, assert_unavailable
from tests.unit.testing.fleet import DevicesTable


class HideClear(Policy, name="hide-clear"):
    def discover(self, ctx: PolicyContext) -> Decision:
        hidden = ctx.capability is not None and ctx.capability.id == DevicesTable.clear.id
        return Hide() if hidden else Expose()


async def refused(harness: Harness) -> Failed:
    """A refusal with a reason."""
    with harness.mount(DevicesTable([])):
        outcome = await harness.call(DevicesTable.select_rows, {"ids": []})
    assert isinstance(outcome, Failed)
    return outcome


async def test_a_success_gives_its_output(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        assert assert_ok(await harness.call(DevicesTable.read_rows)) == ["d1"]


@pytest.mark.requirement("16.1-matchers-with-readable-diffs")
async def test_a_refusal_instead_of_success_is_shown_whole(harness: Harness) -> None:
    with pytest.raises(AssertionError) as raised:
        assert_ok(await refused(harness))
    assert str(raised.value) == (
        "view:devices.table.selectRows was expected to succeed\n"
        "  expected  Ok\n"
        "  got       CAPABILITY_NOT_AVAILABLE: This capability is not available at the moment.\n"
        "            reason='There are no rows'\n"
        "            retry=after-refresh"
    )


async def test_an_expected_refusal_is_given_back(harness: Harness) -> None:
    outcome = await refused(harness)
    assert assert_failed(outcome, "CAPABILITY_NOT_AVAILABLE", reason="There are no rows") is outcome
    assert assert_failed(outcome, ErrorCode.CAPABILITY_NOT_AVAILABLE) is outcome


async def test_another_code_is_shown_with_what_came(harness: Harness) -> None:
    with pytest.raises(AssertionError) as raised:
        assert_failed(await refused(harness), "NOT_AUTHORIZED", origin="client")
    assert str(raised.value).splitlines()[:3] == [
        "view:devices.table.selectRows was expected to fail",
        "  expected  NOT_AUTHORIZED  origin='client'",
        "  got       CAPABILITY_NOT_AVAILABLE: This capability is not available at the moment.",
    ]


@pytest.mark.requirement("16.1-matchers-with-readable-diffs")
async def test_details_that_differ_are_shown_one_by_one(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        outcome = await harness.call(DevicesTable.clear, confirmation="cnf_made-up")
    with pytest.raises(AssertionError) as raised:
        assert_failed(outcome, "CONFIRMATION_INVALID", reason="spent", outcome="done")
    assert str(raised.value) == (
        "view:devices.table.clear was expected to fail with CONFIRMATION_INVALID and other details\n"
        "- reason='spent'\n"
        "+ reason='mismatch'\n"
        "- outcome='done'\n"
        "+ outcome  (absent)"
    )


async def test_a_detail_expected_to_be_none_is_not_an_absent_one(harness: Harness) -> None:
    with pytest.raises(AssertionError, match=re.escape("+ cause  (absent)\n  reason='There are no rows'")):
        assert_failed(await refused(harness), "CAPABILITY_NOT_AVAILABLE", cause=None)


async def test_success_instead_of_a_refusal_is_shown_with_its_output(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])):
        outcome = await harness.call(DevicesTable.read_rows)
    assert isinstance(outcome, Ok)
    with pytest.raises(AssertionError, match=r"expected  NOT_AUTHORIZED\n  got       Ok  output=\['d1'\]"):
        assert_failed(outcome, "NOT_AUTHORIZED")


async def test_a_text_that_is_no_code_is_an_error_of_the_test(harness: Harness) -> None:
    with pytest.raises(ValueError, match="CONFIRMATION_NEEDED"):
        assert_failed(await refused(harness), "CONFIRMATION_NEEDED")


@pytest.mark.requirement("16.1-matchers-take-outcomes")
async def test_a_call_that_was_not_awaited_is_an_error_and_no_success(harness: Harness) -> None:
    checks: dict[str, Callable[[Any], object]] = {
        "assert_ok": assert_ok,
        "assert_failed": lambda one: assert_failed(one, "TIMEOUT"),
    }
    for name, check in checks.items():
        never_awaited: Any = harness.call("view:devices.table.readState")
        with pytest.raises(TypeError, match=rf"{name} takes how a call ended, not coroutine\n  do  await"):
            check(never_awaited)
        nothing: Any = None
        with pytest.raises(TypeError, match="not NoneType"):
            check(nothing)


@pytest.mark.requirement("16.1-matchers-take-outcomes")
async def test_what_names_nothing_is_an_error_of_the_test(harness: Harness) -> None:
    wrong: Any = 7
    for ask in (assert_hidden, assert_available, assert_unavailable):
        with pytest.raises(TypeError, match="7 names no capability"):
            ask(harness, wrong)
    with pytest.raises(TypeError, match="7 names no capability"):
        await harness.call(wrong)
    with pytest.raises(TypeError, match="7 is no request"):
        harness.approve(wrong)
    with pytest.raises(TypeError, match=r"Harness\(authority, …\) needs an Authority"):
        Harness(wrong, principal="operator")
    with pytest.raises(TypeError, match="takes the Surface of the application, not int"):
        Harness.of(wrong, principal="operator")
    with pytest.raises(TypeError, match="7 is no Consumer"):
        Harness.of(harness.surface, principal="operator", consumer=wrong)


@pytest.mark.requirement("16.1-matchers-with-readable-diffs")
async def test_matchers_tell_hidden_from_unavailable_and_from_available(harness: Harness) -> None:
    with Harness.of(harness.surface, principal="operator") as same, harness.mount(DevicesTable([])):
        assert assert_available(harness, DevicesTable.read_rows).available
        assert assert_unavailable(same, DevicesTable.select_rows, "There are no rows").reason == "There are no rows"
        assert_unavailable(harness.snapshot(), DevicesTable.select_rows)
        with pytest.raises(
            AssertionError, match="expected  available\n  got       unavailable  reason='There are no rows'"
        ):
            assert_available(harness, DevicesTable.select_rows)
        with pytest.raises(AssertionError, match="expected  unavailable\n  got       available"):
            assert_unavailable(harness, DevicesTable.read_rows)
        with pytest.raises(AssertionError, match="reason='Why'\n  got       unavailable  reason='There are no rows'"):
            assert_unavailable(harness, DevicesTable.select_rows, "Why")
        with pytest.raises(
            AssertionError, match="expected  hidden\n  got       unavailable  reason='There are no rows'"
        ):
            assert_hidden(harness, DevicesTable.select_rows)
        with pytest.raises(AssertionError, match="expected  hidden\n  got       available"):
            assert_hidden(harness, DevicesTable.read_rows)


@pytest.mark.requirement("16.1-what-no-contract-holds-is-not-hidden")
async def test_an_id_that_no_contract_holds_is_misspelt_and_not_hidden(harness: Harness) -> None:
    connection, snapshot = harness.surface.connect(harness.consumer), harness.snapshot()
    for where in (harness, connection):
        with pytest.raises(
            ValueError, match=r"'view:devices\.table\.readRow' is no .*\n  do .*devices\.table\.readRows"
        ):
            assert_hidden(where, "view:devices.table.readRow")
        with pytest.raises(ValueError, match=r"'zzz' is no capability of this contract\n  do  name one: domain:"):
            assert_hidden(where, "zzz")
        assert_hidden(where, "view:devices.table.readRows")
        assert_hidden(where, DevicesTable.read_rows)
    with pytest.raises(
        TypeError, match=r"Snapshot knows no contract, so 'view:devices\.table\.readRows' may be misspelt"
    ):
        assert_hidden(snapshot, "view:devices.table.readRows")
    assert_hidden(snapshot, DevicesTable.read_rows)


async def test_what_a_policy_hides_is_neither_available_nor_unavailable(authority: Authority) -> None:
    with Harness(authority, principal="operator", policies=[HideClear()]) as harness, harness.mount(DevicesTable([])):
        assert_hidden(harness, DevicesTable.clear)
        with pytest.raises(
            AssertionError, match="expected  unavailable\n  got       hidden: not listed\n  listed    domain:"
        ):
            assert_unavailable(harness, DevicesTable.clear)


async def test_one_of_several_is_not_guessed(harness: Harness) -> None:
    with harness.mount(DevicesTable(["d1"])), harness.mount(DevicesTable(["d1"]), "second"):
        with pytest.raises(AssertionError, match="is listed 2 times: default, second"):
            assert_available(harness, DevicesTable.read_rows)
