"""Handoffs at the page protocol: described, answered with a link, followed by id and by events (SPEC 11.7)."""

from contextlib import nullcontext

import httpx2
import pytest
from starlette.applications import Starlette

from remit import Component, Decider, Event, Handoff, Principal, ReadContext, RecordSet, Surface, action
from remit.gateway import Gateway
from tests.adapters.page_client import PageClient, error_of, fits
from tests.behaviour.conftest import authority_of

PAY = "view:page.orders.pay"


class Orders(Component, type="page.orders", doors=["page"]):
    """The orders on this page."""

    @action(record="order", handoff=Handoff("Customers enter their card", to="/orders/{order}/pay"))
    def pay(self, order: str) -> int:
        """Pay an order."""
        raise AssertionError("a handoff never runs")

    @pay.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=["o-1"])


ORDERS = authority_of(Orders)


def opened(gateway: Gateway) -> Surface:
    view = gateway.open_view(
        principal=lambda: Principal("ada"), host=lambda: None, within=nullcontext, title="Orders", route="/orders"
    )
    gateway.connected(view.id)
    view.surface.mount(Orders())
    return view.surface


def calling(gateway: Gateway, actor: str) -> httpx2.AsyncClient:
    token = gateway.delegate(Principal("ada"), actor=actor, scope=["view:page.**"], kind="page")
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=Starlette(routes=gateway.door_routes())),
        base_url="http://localhost/remit/page",
        headers={"Authorization": f"Bearer {token}"},
    )


@pytest.mark.requirement("11.7-at-the-page-protocol", "11.7-shown-at-every-door")
async def test_a_caller_is_given_the_link_and_follows_the_handoff_to_its_end() -> None:
    gateway = Gateway(ORDERS)
    surface = opened(gateway)
    heard: list[Event] = []
    surface.subscribe(heard.append, types=["handoff-requested", "handoff-resolved"])  # type: ignore[list-item]
    await gateway.start()
    async with calling(gateway, "assistant") as http, calling(gateway, "other") as elsewhere:
        client, stranger = PageClient(http), PageClient(elsewhere)
        listed = (await client.listed())[f"{PAY}@order"]
        assert listed["handoff"] == {"reason": "Customers enter their card"}
        error = error_of(await client.act(f"{PAY}@order", {"record": "o-1"}))
        id = error["details"]["handoff_id"]
        assert (error["code"], error["retry"]) == ("HANDOFF_REQUIRED", "after-handoff")
        assert error["details"]["url"] == f"/orders/o-1/pay?handoff={id}"
        assert (await client.ask("handoff", {"handoff": id}))["status"] == "pending"
        refused = await stranger.ask("handoff", {"handoff": id})
        assert refused == await client.ask("handoff", {"handoff": "hnd_invented"})
        assert error_of(refused)["code"] == "CAPABILITY_NOT_FOUND"
        await surface.handoffs.complete(id, Decider("ada"), 17)
        state = await client.ask("handoff", {"handoff": id})
        assert (state["ok"], state["status"], state["data"]) == (True, "completed", 17)
    for event in heard:
        assert fits("event", {"protocol": "remit/1", "event": event.type.value, "data": dict(event.data)})
    assert [event.data.get("status") for event in heard] == [None, "completed"]
    await gateway.stop()
