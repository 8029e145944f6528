"""One name on both planes in a contract: refused, or told of where its head says so (SPEC 2.7)."""

import pytest

from remit import Component, DefinitionError, Procedures, observation, reference
from remit._contract.manifest import Manifest, assemble, parse
from remit._contract.operation import record_of
from remit._contract.row import rows_of

backend = Procedures()


@backend.operation("table.read", effect="server-query")
async def query() -> int:
    """Query."""
    return 1


class Table(Component, type="table"):
    """A table."""

    ask = reference("domain:table.read")

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @observation
    def count(self) -> int:
        """Count."""
        return 1


def contract(*, warns: bool) -> Manifest:
    operation = backend.get("table.read")
    assert operation is not None
    operations = {"table.read": record_of(operation)}
    rows = rows_of(Table, operations)
    blocks = [row.block for row in rows.capabilities]
    return assemble([rows.block], blocks, operations, exposure={}, policies=(), warns_of_planes=warns)


@pytest.mark.requirement("2.7-in-the-contract")
def test_a_contract_that_warns_knows_which_names_are_on_both_planes_and_is_read_again() -> None:
    manifest = contract(warns=True)
    assert manifest.on_both_planes == ("table.read",)
    again = parse(manifest.to_bytes())
    assert again.warns_of_planes and again.on_both_planes == ("table.read",) and again.hash == manifest.hash


@pytest.mark.requirement("2.7-planes-do-not-share-a-name")
def test_one_that_does_not_is_not_made() -> None:
    with pytest.raises(DefinitionError, match="the backend has an operation of the same name") as refused:
        contract(warns=False)
    assert refused.value.subject == "view:table.read"
