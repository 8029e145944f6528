"""Bound fields that an agent may fill all the same (SPEC 10.3)."""

from typing import Any

import pytest

from remit import Component, Consumer, DefinitionError, Procedures, Surface, reference
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output

backend = Procedures()


@backend.operation("disable", effect="server-mutation")
async def disable(ids: list[str], reason: str = "none", level: int = 1) -> list[object]:
    """Disable devices."""
    return [*ids, reason, level]


class Devices(Component, type="devices"):
    """Devices."""

    def __init__(self) -> None:
        self.asked = 0

    disable = reference("domain:disable", overridable=("reason",))

    @disable.bind("ids")
    def selection(self) -> list[str]:
        return ["d1"]

    @disable.bind("reason")
    def why(self) -> str:
        self.asked += 1
        return "from-ui"


def opened() -> tuple[Surface, Devices]:
    """A surface with the devices."""
    surface = Surface(authority_of(Devices, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    devices = Devices()
    surface.mount(devices)
    return surface, devices


@pytest.mark.requirement("10.3-overridable")
async def test_the_agents_value_wins_where_it_is_given_and_the_views_applies_else() -> None:
    surface, devices = opened()
    agent = surface.connect(AGENT)
    assert output(await agent.call(Devices.disable)) == ["d1", "from-ui", 1]
    assert output(await agent.call(Devices.disable, {"reason": "agent-reason"})) == ["d1", "agent-reason", 1]
    assert devices.asked == 1
    error = failed(await agent.call(Devices.disable, {"ids": ["d2"], "reason": "x"}), "INVALID_INPUT")
    assert error.details["locked_fields"] == ["ids"]
    failed(await agent.call(Devices.disable, {"reason": 5}), "INVALID_INPUT")


@pytest.mark.requirement("10.3-overridable")
def test_an_overridable_field_stays_optional_in_the_agents_schema_and_is_listed_as_not_locked() -> None:
    surface, _ = opened()
    (listed,) = surface.connect(AGENT).capabilities()
    assert listed.descriptor.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"level": {"type": "integer", "default": 1}, "reason": {"type": "string"}},
    }
    assert listed.to_json()["bound"] == [{"path": "ids", "locked": True}, {"path": "reason", "locked": False}]


@pytest.mark.requirement("10.3-overridable-is-shown")
@pytest.mark.parametrize(("input", "bound"), [({}, ("ids", "reason")), ({"reason": "mine"}, ("ids",))])
async def test_a_person_is_shown_who_filled_the_field(input: dict[str, Any], bound: tuple[str, ...]) -> None:
    surface, _ = opened()
    careful = Consumer("careful", kind="embedded", confirm=("server-mutation",))
    request = failed(await surface.connect(careful).call(Devices.disable, input), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    assert (view.bound, view.input["reason"]) == (bound, input.get("reason", "from-ui"))
    id = str(request.details["confirmation_id"])
    await surface.confirmations.approve(id, OPERATOR)
    other = {"reason": "another"}
    refused = failed(await surface.connect(careful).call(Devices.disable, other, confirmation=id))
    assert refused.details["reason"] == "mismatch"
    done = output(await surface.connect(careful).call(Devices.disable, input, confirmation=id))
    assert done == ["d1", input.get("reason", "from-ui"), 1]


@pytest.mark.requirement("10.3-overridable")
def test_what_no_binding_fills_cannot_be_overridden() -> None:
    with pytest.raises(DefinitionError, match="overridable= names 'level', which no binding fills"):

        class Wrong(Component, type="wrong"):
            """Wrong."""

            disable = reference("domain:disable", overridable=("level",))


@pytest.mark.requirement("10.3-overridable-is-in-the-row")
def test_what_may_be_overridden_is_part_of_the_contract() -> None:
    class Other(Component, type="devices"):
        """Devices."""

        disable = reference("domain:disable")

        @disable.bind("ids")
        def selection(self) -> list[str]:
            return ["d1"]

        @disable.bind("reason")
        def why(self) -> str:
            return "from-ui"

    surface = Surface(authority_of(Devices, procedures=backend), principal="operator", procedures=backend)
    with pytest.raises(DefinitionError, match="CONTRACT_MISMATCH"):
        surface.mount(Other())
