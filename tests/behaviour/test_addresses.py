"""One procedure that several components reference: one id, told apart by type and instance everywhere (SPEC 10.10)."""

from typing import Any

import pytest

from remit import Component, Principal, Procedures, Surface, reference
from remit.explain import explain
from remit.testing import Harness, assert_failed, assert_ok
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output

backend = Procedures()


@backend.operation("notes.add", effect="server-mutation", confirmation="optional")
async def add_note(text: str, where: str, caller: Principal) -> str:
    """Add a note."""
    return f"{where}: {text}"


@backend.operation("orders.close", effect="server-mutation", confirmation="required")
async def close_order(order: str) -> str:
    """Close an order."""
    return order


class Orders(Component, type="orders"):
    """Orders of the page."""

    add = reference("domain:notes.add")
    close = reference("domain:orders.close")

    @add.bind("where")
    def here(self) -> str:
        return "orders"


class Customers(Component, type="customers"):
    """Customers of the page."""

    add = reference("domain:notes.add")
    close = reference("domain:orders.close")

    @add.bind("where")
    def here(self) -> str:
        return "customers"


AUTHORITY = authority_of(Orders, Customers, procedures=backend, exposure={"mcp": ["domain:**"]})


def opened() -> Surface:
    surface = Surface(AUTHORITY, principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Orders(), "main")
    surface.mount(Customers(), "main")
    return surface


@pytest.mark.requirement("10.10-told-apart-everywhere")
async def test_a_toolset_has_a_tool_for_each_place_and_each_reaches_its_own() -> None:
    tools = opened().connect(AGENT).toolset()
    names = [str(each["name"]) for each in tools.definitions()]
    adding = [name for name in names if name.startswith("domain_notes__add_at_")]
    assert len(adding) == len(set(names)) - len([name for name in names if "close" in name]) == 2
    said = {output((await tools.call(name, {"text": "t"})).outcome) for name in adding}
    assert said == {"orders: t", "customers: t"}


@pytest.mark.requirement("10.10-told-apart-everywhere")
async def test_meta_mode_names_both_and_takes_the_address_it_gave() -> None:
    tools = opened().connect(AGENT).toolset(mode="meta")
    found: Any = output((await tools.call("surface_discover", {"ids": ["domain:notes.add"]})).outcome)
    assert {each["id"] for each in found["capabilities"]} == {"domain:notes.add"}
    act = {"id": "domain:notes.add", "input": {"text": "t"}}
    error = failed((await tools.call("surface_act", act)).outcome, "AMBIGUOUS_INSTANCE")
    assert error.details["instances"] == ["customers/main", "orders/main"]
    for address in ("customers/main", "orders/main"):
        told = output((await tools.call("surface_act", {**act, "instance": address})).outcome)
        assert told == f"{address.partition('/')[0]}: t"


@pytest.mark.requirement("10.10-told-apart-everywhere")
@pytest.mark.parametrize("door", ["test", "mcp"])
async def test_every_door_takes_the_address(door: Any) -> None:
    async with Harness(AUTHORITY, principal="operator", procedures=backend) as harness:
        there = harness.over(door)
        with harness.mount(Orders(), "main"), harness.mount(Customers(), "main"):
            for address in ("customers/main", "orders/main"):
                told = assert_ok(await there.call("domain:notes.add", {"text": "t"}, instance=address))
                assert told == f"{address.partition('/')[0]}: t"
        with harness.mount(Orders(), "main"):
            assert assert_ok(await there.call("domain:notes.add", {"text": "t"}, instance="orders/main")) == "orders: t"
            gone = await there.call("domain:notes.add", {"text": "t"}, instance="customers/main")
            assert_failed(gone, "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("10.10-told-apart-everywhere")
async def test_an_approval_for_the_session_holds_for_the_place_it_was_given_on() -> None:
    surface = opened()
    agent = surface.connect(AGENT)
    close = {"order": "o1"}
    error = failed(await agent.call("domain:orders.close", close, instance="orders/main"), "CONFIRMATION_REQUIRED")
    id = str(error.details["confirmation_id"])
    view = surface.confirmations.get(id)
    assert view is not None
    await surface.confirmations.approve(id, OPERATOR, digest=view.digest, standing=())
    assert output(await agent.call("domain:orders.close", close, instance="orders/main", confirmation=id)) == "o1"
    (standing,) = surface.confirmations.standing()
    assert (standing.component, standing.instance) == ("orders", "main")
    assert output(await agent.call("domain:orders.close", close, instance="orders/main")) == "o1"
    failed(await agent.call("domain:orders.close", close, instance="customers/main"), "CONFIRMATION_REQUIRED")
    failed(await agent.call("domain:orders.close", close), "AMBIGUOUS_INSTANCE")


@pytest.mark.requirement("10.10-told-apart-everywhere")
def test_explain_names_each_place() -> None:
    told = explain(opened(), AGENT).of("domain:notes.add")
    assert [each.address for each in told] == ["customers/main", "orders/main"]
    assert str(told[0]) == "domain:notes.add (customers/main)  available"
