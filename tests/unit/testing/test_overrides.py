"""Functions that stand in for operations, behind the schemas of the contract (SPEC 16.1)."""

import pytest

from remit import Authority, BackendError, Context, Principal, Procedures
from remit._contract.operation import record_of
from remit.testing import Harness, Overrides, assert_failed, assert_ok, assert_unavailable
from tests.unit.testing.fleet import DevicesTable, backend

RENAME = {"device_id": "d1", "name": "one"}


@pytest.mark.requirement("16.1-override-behind-the-schemas")
async def test_an_override_gets_the_effective_input_and_records_it(harness: Harness) -> None:
    def rename(device_id: str, name: str) -> str:
        return f"{device_id}:{name}"

    renamed = harness.override(DevicesTable.rename, rename)
    with harness.mount(DevicesTable(["d1"])):
        assert assert_ok(await harness.call(DevicesTable.rename, RENAME)) == "d1:one"
    assert renamed.id == "domain:devices.rename"
    assert renamed.calls == [RENAME]


@pytest.mark.requirement("16.1-override-behind-the-schemas")
async def test_schemas_stay_in_front_of_an_override_and_behind_it(harness: Harness) -> None:
    renamed = harness.override(DevicesTable.rename, lambda device_id, name: 7)
    with harness.mount(DevicesTable(["d1"])):
        assert_failed(await harness.call(DevicesTable.rename, {"device_id": 1}), "INVALID_INPUT")
        assert renamed.calls == []
        assert_failed(await harness.call(DevicesTable.rename, RENAME), "EXECUTION_FAILED", reason="output-invalid")


async def test_an_override_may_be_async_and_is_told_who_calls(harness: Harness) -> None:
    async def rename(device_id: str, name: str, caller: Principal, context: Context) -> str:
        return f"{caller.id} {context.capability}"

    renamed = harness.override(DevicesTable.rename, rename)
    with harness.mount(DevicesTable(["d1"])):
        assert assert_ok(await harness.call(DevicesTable.rename, RENAME)) == "operator domain:devices.rename"
    assert renamed.calls == [RENAME]


async def test_an_override_answers_as_a_backend_does(harness: Harness) -> None:
    def rename(device_id: str, name: str) -> str:
        raise BackendError(409, code="taken")

    harness.override(DevicesTable.rename, rename)
    with harness.mount(DevicesTable(["d1"])):
        assert_failed(
            await harness.call(DevicesTable.rename, RENAME),
            "PRECONDITION_FAILED",
            declared={"code": "taken", "data": None},
            outcome="none",
        )


async def test_what_an_override_does_to_its_input_is_not_recorded(harness: Harness) -> None:
    disabled = harness.override(DevicesTable.disable, lambda device_ids: len([device_ids.pop()]))
    with Harness.of(harness.surface, principal="operator", decider="approve") as approving:
        with harness.mount(DevicesTable(["d1"])):
            assert_ok(await harness.call(DevicesTable.select_rows, {"ids": ["d1"]}))
            assert assert_ok(await approving.call(DevicesTable.disable)) == 1
    assert disabled.calls == [{"device_ids": ["d1"]}]


async def test_parameters_that_do_not_fit_the_operation_fail_the_test(harness: Harness) -> None:
    renamed = harness.override(DevicesTable.rename, lambda id: "")
    with harness.mount(DevicesTable(["d1"])):
        with pytest.raises(AssertionError, match="does not take the input device_id, name"):
            await harness.call(DevicesTable.rename, RENAME)
        assert renamed.calls == []


async def test_an_operation_without_an_override_is_the_applications_own(authority: Authority) -> None:
    with Harness(authority, principal="operator", procedures=backend) as harness:
        with harness.mount(DevicesTable(["d1"])):
            assert assert_ok(await harness.call(DevicesTable.rename, RENAME)) == "d1 is one"
            harness.override(DevicesTable.rename, lambda device_id, name: "overridden")
            assert assert_ok(await harness.call(DevicesTable.rename, RENAME)) == "overridden"


async def test_an_operation_that_moved_since_the_contract_is_unavailable_even_if_overridden(
    authority: Authority,
) -> None:
    moved = Procedures()

    @moved.operation("devices.rename", effect="server-mutation")
    async def rename_device(device_id: str, name: str, why: str) -> str:
        """Rename a device."""
        return why

    with Harness(authority, principal="operator", procedures=moved) as harness:
        harness.override(DevicesTable.rename, lambda **input: "")
        with harness.mount(DevicesTable(["d1"])):
            assert_unavailable(harness, DevicesTable.rename, "contract-moved")
            assert_unavailable(harness, DevicesTable.disable, "contract-moved")


async def test_another_person_meets_the_same_overrides(harness: Harness) -> None:
    renamed = harness.override(DevicesTable.rename, lambda device_id, name: name)
    auditor = harness.as_("auditor")
    with auditor.mount(DevicesTable(["d1"])):
        assert_ok(await auditor.call(DevicesTable.rename, RENAME))
    assert renamed.calls == [RENAME]


@pytest.mark.parametrize("unknown", ["domain:devices.explode", "devices.rename", "view:devices.table.readRows"])
async def test_only_operations_of_the_contract_can_be_overridden(harness: Harness, unknown: str) -> None:
    with pytest.raises(LookupError, match=r"known  domain:devices\.disable, domain:devices\.rename"):
        harness.override(unknown, lambda: None)


def test_operations_are_described_as_the_contract_or_the_application_describes_them(authority: Authority) -> None:
    for overrides in (Overrides(authority), Overrides(authority, backend)):
        assert overrides.names() == ("devices.disable", "devices.rename")
        for name, recorded in authority.operations.items():
            operation = overrides.get(name)
            assert operation is not None
            assert record_of(operation).to_json() == recorded.to_json()
        assert overrides.get("devices.explode") is None


async def test_hints_that_cannot_be_resolved_are_no_hints(harness: Harness) -> None:
    def rename(device_id: object, name: str) -> str:
        return name

    rename.__annotations__["device_id"] = "OnlyForTypeCheckers"
    harness.override(DevicesTable.rename, rename)
    with harness.mount(DevicesTable(["d1"])):
        assert assert_ok(await harness.call(DevicesTable.rename, RENAME)) == "one"
