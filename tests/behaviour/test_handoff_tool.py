"""How a handoff stands, asked by tool: for agents that can do nothing but call tools (SPEC 11.7, 12.4)."""

import json
from typing import Any

import pytest

from remit import Component, Consumer, Decider, Handoff, Ok, Surface, action, observation
from tests.behaviour.conftest import OPERATOR, authority_of, failed

SIGN = "view:desk.sign"


class Desk(Component, type="desk"):
    """A desk."""

    @observation
    def count(self) -> int:
        """How many letters there are."""
        return 0

    @action(handoff=Handoff("Only you may sign", to="/sign"), untrusted=True)
    def sign(self) -> str:
        """Sign a letter."""
        raise NotImplementedError


class Plain(Component, type="plain"):
    """Nothing for a person."""

    @observation
    def count(self) -> int:
        """How many there are."""
        return 0


DESK = authority_of(Desk, Plain)
COPILOT = Consumer("copilot", kind="embedded")


def opened(component: type[Component] = Desk) -> Surface:
    surface = Surface(DESK, principal="operator")
    surface.mount(component())
    return surface


@pytest.mark.requirement("11.7-a-tool-says-how-it-stands")
async def test_a_direct_toolset_has_the_tool_where_a_handoff_is_listed() -> None:
    surface = opened()
    tools = surface.connect(COPILOT).toolset()
    names = [str(tool["name"]) for tool in tools.definitions()]
    assert names == ["view_desk__count", "view_desk__sign", "surface_handoff"]
    assert tools.definitions() == tools.definitions()
    other = opened(Plain).connect(COPILOT).toolset()
    assert [tool["name"] for tool in other.definitions()] == ["view_plain__count"]
    asked = await tools.call("view_desk__sign", {}, call_id="1")
    id = str(failed(asked.outcome, "HANDOFF_REQUIRED").details["handoff_id"])
    told = await tools.call("surface_handoff", {"handoff_id": id}, call_id="2")
    assert isinstance(told.outcome, Ok)
    assert (told.call_id, told.registration) == ("2", None)
    form = json.loads(told.text)
    assert (form["source"], form["data"]["status"], form["data"]["handoff"]) == ("surface_handoff", "pending", id)
    assert told.structured == form["data"]
    assert "untrusted" not in form
    await surface.handoffs.complete(id, OPERATOR, "Ada")
    form = json.loads((await tools.call("surface_handoff", {"handoff_id": id})).text)
    assert (form["data"]["status"], form["data"]["data"], form["untrusted"]) == ("completed", "Ada", True)


@pytest.mark.requirement("11.7-a-tool-says-how-it-stands")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (None, "INVALID_INPUT"),
        ({}, "INVALID_INPUT"),
        ({"handoff_id": None}, "INVALID_INPUT"),
        ({"handoff_id": "hnd_x", "data": 1}, "INVALID_INPUT"),
        ({"handoff_id": "hnd_invented"}, "CAPABILITY_NOT_FOUND"),
        ({"handoff_id": ""}, "CAPABILITY_NOT_FOUND"),
    ],
)
async def test_every_id_that_is_no_handoff_of_the_consumer_gets_one_answer(arguments: Any, code: str) -> None:
    surface = opened()
    tools = surface.connect(COPILOT).toolset()
    failed((await tools.call("surface_handoff", arguments)).outcome, code)


@pytest.mark.requirement("11.7-a-tool-says-how-it-stands")
@pytest.mark.parametrize("mode", ["direct", "meta"])
async def test_another_consumers_handoff_is_an_unknown_one_and_so_is_one_out_of_reach(mode: Any) -> None:
    surface = opened()
    error = failed(await surface.connect(COPILOT).call(SIGN), "HANDOFF_REQUIRED")
    id = str(error.details["handoff_id"])

    async def asked(consumer: Consumer, handoff: str) -> object:
        tools = surface.connect(consumer).toolset(mode=mode)
        tools.definitions()
        name, given = ("surface_handoff", "handoff_id") if mode == "direct" else ("surface_read", "id")
        return (await tools.call(name, {given: handoff})).outcome

    assert isinstance(await asked(COPILOT, id), Ok)
    other = Consumer("other", kind="embedded")
    for consumer, handoff in ((other, id), (COPILOT, "hnd_invented")):
        outcome: Any = await asked(consumer, handoff)
        failed(outcome, "CAPABILITY_NOT_FOUND")
    surface.suspend(capability=SIGN)
    gone: Any = await asked(COPILOT, id)
    failed(gone, "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.7-a-tool-says-how-it-stands")
async def test_meta_mode_keeps_its_three_tools_and_reads_a_handoff_by_its_id() -> None:
    surface = opened()
    tools = surface.connect(COPILOT).toolset(mode="meta")
    assert [tool["name"] for tool in tools.definitions()] == ["surface_discover", "surface_read", "surface_act"]
    shown = json.loads((await tools.call("surface_discover", {"ids": [SIGN]})).text)["data"]
    registration = shown["capabilities"][0]["registration"]
    asked = await tools.call("surface_act", {"id": SIGN, "registration": registration})
    id = str(failed(asked.outcome, "HANDOFF_REQUIRED").details["handoff_id"])
    form = json.loads((await tools.call("surface_read", {"id": id})).text)
    assert (form["source"], form["data"]["status"]) == ("surface_handoff", "pending")
    await surface.handoffs.decline(id, Decider("operator"))
    form = json.loads((await tools.call("surface_read", {"id": id})).text)
    assert form["data"]["status"] == "declined"
    failed((await tools.call("surface_act", {"id": id})).outcome)
