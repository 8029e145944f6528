"""Flows, and handoffs asked about by tool, at the doors agents come through (SPEC 11.7, 11.8, 12.5)."""

import json
from contextlib import nullcontext
from typing import Any

import httpx2
import mcp_types as types
import pytest
from starlette.applications import Starlette

from remit import Component, Decider, Failed, Handoff, Principal, Steps, StepsDone, Surface, action, flow
from remit.client import AsyncClient
from remit.gateway import Gateway
from tests.adapters.page_client import PageClient, error_of, output_of
from tests.adapters.site import ERAS, OPERATOR, Asked, Site, data_of, serving
from tests.adapters.site import error_of as mcp_error_of
from tests.adapters.test_confirmation import PERSON, Person
from tests.behaviour.conftest import authority_of, turns

SHIP, CHECK = "view:more.orders.ship", "view:more.orders.check"


class Orders(Component, type="more.orders", doors=["page", "mcp", "embedded", "test"]):
    """The orders on this page."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    @action
    def pick(self, order: str) -> None:
        """Pick an order."""
        self.ran.append(f"pick {order}")

    @action(confirmation="required")
    def lock(self, order: str) -> None:
        """Lock an order."""
        self.ran.append(f"lock {order}")

    @action(handoff=Handoff("Customers sign by themselves", to="/sign"))
    def sign(self, order: str) -> str:
        """Sign for an order."""
        raise AssertionError("a handoff never runs")

    @flow(steps=["view:more.orders.pick", "view:more.orders.sign", "view:more.orders.pick"])
    async def ship(self, order: str, steps: Steps) -> str:
        """Pick, sign, pick."""
        await steps.run({"order": order})
        name = await steps.run({"order": order})
        await steps.run({"order": f"{order} for {name}"})
        return str(name)

    @flow(steps=["view:more.orders.pick", "view:more.orders.lock", "view:more.orders.lock"])
    async def check(self, order: str, steps: Steps) -> str:
        """Pick, lock twice."""
        await steps.run({"order": order})
        await steps.run({"order": f"{order} once"})
        await steps.run({"order": f"{order} twice"})
        return "checked"


ORDERS = authority_of(Orders)


def opened(gateway: Gateway) -> tuple[Surface, Orders]:
    view = gateway.open_view(
        principal=lambda: Principal("ada"), host=lambda: None, within=nullcontext, title="Orders", route="/orders"
    )
    gateway.connected(view.id)
    orders = Orders()
    view.surface.mount(orders)
    view.surface.confirmations.attach_page()
    return view.surface, orders


def calling(gateway: Gateway, scope: str = "view:more.**") -> httpx2.AsyncClient:
    token = gateway.delegate(Principal("ada"), actor="assistant", scope=[scope], kind="page")
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=Starlette(routes=gateway.door_routes())),
        base_url="http://localhost/remit/page",
        headers={"Authorization": f"Bearer {token}"},
    )


@pytest.mark.requirement("11.8-at-the-page-protocol", "11.8-shown-at-every-door")
async def test_a_page_caller_sees_how_many_steps_there_are_and_carries_a_flow_to_its_end() -> None:
    gateway = Gateway(ORDERS)
    surface, orders = opened(gateway)
    await gateway.start()
    async with calling(gateway) as http:
        client = PageClient(http)
        listed = await client.listed()
        assert (listed[CHECK]["flowSteps"], listed[CHECK]["effect"], listed[CHECK]["approval"]) == (3, "write", "ask")
        assert (listed[SHIP]["flowSteps"], listed[SHIP].get("approval")) == (3, None)
        assert "flowSteps" not in listed["view:more.orders.pick"]
        asked: dict[str, Any] = {}
        for done in (None, 1, 2):
            answer = await client.act(CHECK, {"order": "a"}, invocation="c", **asked)
            error = error_of(answer)
            assert (error["code"], answer.get("steps")) == (
                "CONFIRMATION_REQUIRED",
                None if done is None else {"done": done, "of": 3},
            )
            asked = {"confirmation": error["details"]["confirmation_id"]}
            await surface.confirmations.approve(asked["confirmation"], Decider("ada"))
        answer = await client.act(CHECK, {"order": "a"}, invocation="c", **asked)
        assert (output_of(answer), answer["steps"]) == ("checked", {"done": 3, "of": 3})
        assert orders.ran == ["pick a", "lock a once", "lock a twice"]
        answer = await client.act(SHIP, {"order": "a"})
        assert (error_of(answer)["code"], answer["steps"]) == ("HANDOFF_REQUIRED", {"done": 1, "of": 3})
        await surface.handoffs.complete(error_of(answer)["details"]["handoff_id"], Decider("ada"), "Ada")
        answer = await client.act(SHIP, {"order": "a"})
        assert (output_of(answer), answer["steps"]) == ("Ada", {"done": 3, "of": 3})
    async with calling(gateway, CHECK) as http:
        assert await PageClient(http).listed() == {}  # a step is out of its scope
    await gateway.stop()


@pytest.mark.requirement("11.8-at-the-page-protocol")
async def test_the_caller_library_tells_how_many_steps_are_done() -> None:
    async with serving(more=(Orders,)) as site:
        surface = site.open(title="Orders").surface
        surface.mount(Orders())
        token = site.gateway.delegate(OPERATOR, actor="a", scope=["view:more.**"], kind="page")
        async with AsyncClient(f"{site.address}/remit/page", token) as client:
            described = await client.describe()
            assert not isinstance(described, Failed)
            assert {each.id: each.flow_steps for each in described.capabilities}[SHIP] == 3
            outcome = await client.call(SHIP, {"order": "a"})
            assert isinstance(outcome, Failed)
            assert outcome.steps == StepsDone(1, 3)
            await surface.handoffs.complete(str(outcome.error.details["handoff_id"]), PERSON, "Ada")
            await turns()
            assert (await client.call(SHIP, {"order": "a"})).steps == StepsDone(3, 3)


def mounted(site: Site) -> tuple[Surface, Orders]:
    surface, orders = site.open(title="Orders").surface, Orders()
    surface.mount(orders)
    return surface, orders


@pytest.mark.requirement("11.8-at-mcp")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_mcp_client_is_asked_to_show_a_link_for_each_step_and_gets_one_answer(mode: str) -> None:
    async with serving(more=(Orders,)) as site:
        surface, orders = mounted(site)
        person, asked = Person(surface, "approve"), Asked()
        async with site.client(mode, asked=asked) as client:
            await client.list_tools()
            result = await client.call_tool("view_more__orders__check", {"order": "a"})
        assert data_of(result) == "checked"
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        assert json.loads(content.text)["steps"] == {"done": 3, "of": 3}
        assert orders.ran == ["pick a", "lock a once", "lock a twice"]
        assert asked.urls == [f"{site.address}/remit/confirmations/{id}" for id in person.shown]
        assert len(set(asked.urls)) == 3


@pytest.mark.requirement("11.8-at-mcp")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cannot_be_asked_goes_on_by_the_fixed_tool_step_by_step(mode: str) -> None:
    async with serving(more=(Orders,)) as site:
        surface, orders = mounted(site)
        surface.confirmations.attach_page()
        async with site.client(mode) as client:
            await client.list_tools()
            result = await client.call_tool("view_more__orders__check", {"order": "a"})
            for _ in range(3):
                request = mcp_error_of(result)["details"]["confirmation_id"]
                await surface.confirmations.approve(request, PERSON)
                result = await client.call_tool("surface_continue", {"confirmation_id": request})
        assert data_of(result) == "checked"
        assert orders.ran == ["pick a", "lock a once", "lock a twice"]


@pytest.mark.requirement("11.7-a-tool-says-how-it-stands", "11.8-at-mcp")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_mcp_agent_asks_how_a_handoff_stands_and_then_reads_what_came_of_the_flow(mode: str) -> None:
    async with serving(more=(Orders,)) as site:
        surface, _ = mounted(site)
        stranger = site.token(actor="other")
        async with site.client(mode) as client, site.client(mode, token=stranger) as elsewhere:
            assert "surface_handoff" in {tool.name for tool in (await client.list_tools()).tools}
            error = mcp_error_of(await client.call_tool("view_more__orders__ship", {"order": "a"}))
            id = error["details"]["handoff_id"]
            assert data_of(await client.call_tool("surface_handoff", {"handoff_id": id}))["status"] == "pending"
            answers = [
                mcp_error_of(await each.call_tool("surface_handoff", {"handoff_id": given}))
                for each, given in ((elsewhere, id), (client, "hnd_invented"))
            ]
            assert answers[0] == answers[1]
            assert answers[0]["code"] == "CAPABILITY_NOT_FOUND"
            for wrong in ({}, {"handoff_id": 7}, {"handoff_id": id, "more": 1}):
                assert mcp_error_of(await client.call_tool("surface_handoff", wrong))["code"] == "INVALID_INPUT"
            await surface.handoffs.complete(id, PERSON, "Ada")
            told = data_of(await client.call_tool("surface_handoff", {"handoff_id": id}))
            assert (told["status"], told["data"]) == ("completed", "Ada")
            assert data_of(await client.call_tool("view_more__orders__ship", {"order": "a"})) == "Ada"
