"""An agent at a door over a restart of the application: its token is good, and it is told what became of its call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from remit import Component, Decider, Handoff, HandoffStatus, Principal, Surface, action
from remit.gateway import Gateway, Keys
from remit.store.sqlite import SQLiteStore
from tests.adapters import site
from tests.adapters.page_client import PageClient, error_of, output_of
from tests.adapters.site import DISABLE, Site, serving
from tests.behaviour.conftest import authority_of

SECRET = {"k1": "s" * 32}
ADA, PERSON = Principal("ada"), Decider("ada")
REFUND, SELL, COUNT = (f"view:page.till.{name}" for name in ("refund", "sell", "count"))


class Till(Component, type="page.till", doors=["page"]):
    """A till."""

    def __init__(self) -> None:
        self.sold: list[int] = []

    @action(reversible=False, confirmation="required")
    def refund(self, amount: int) -> int:
        """Pay money back."""
        self.sold.append(amount)
        return amount

    @action(reversible=False)
    def sell(self, amount: int) -> int:
        """Sell."""
        self.sold.append(amount)
        return sum(self.sold)

    @action(handoff=Handoff("Only you may count it", to="/till/count"))
    def count(self) -> int:
        """Count the till."""
        return 0


AUTHORITY = authority_of(Till)


class Life:
    """One process with a view of one person, and an agent with the token that it was given in the first one."""

    def __init__(self, folder: Path) -> None:
        self.store = SQLiteStore(folder / "state.db")
        self.gateway = Gateway(AUTHORITY, store=self.store, keys=Keys("k1", SECRET))
        view = self.gateway.open_view(
            principal=lambda: ADA, host=lambda: None, within=nullcontext, title="Till", route="/till", key="cookie"
        )
        view.surface.confirmations.attach_page()
        self.gateway.connected(view.id)
        self.view, self.surface, self.till = view.id, view.surface, Till()
        self.surface.mount(self.till)

    def token(self) -> str:
        return self.gateway.delegate(ADA, actor="agent", scope=["view:page.**"], kind="page", session=self.view)

    @asynccontextmanager
    async def calling(self, token: str) -> AsyncIterator[PageClient]:
        await self.gateway.start()
        transport = httpx2.ASGITransport(app=Starlette(routes=self.gateway.door_routes()))
        named = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost/remit/page", headers=named
        ) as http:
            yield PageClient(http)
        self.store.close()  # as a crash does: what was open stays so
        await self.gateway.stop()


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told", "15.1-no-call-runs-twice-over-a-restart")
async def test_a_caller_of_the_page_protocol_comes_back_after_a_restart(tmp_path: Path) -> None:
    first = Life(tmp_path)
    token = first.token()
    async with first.calling(token) as agent:
        assert output_of(await agent.act(SELL, {"amount": 5}, invocation="s1")) == 5
        asked = error_of(await agent.act(REFUND, {"amount": 5}))
        paid = error_of(await agent.act(REFUND, {"amount": 6}))["details"]["confirmation_id"]
        await first.surface.confirmations.approve(paid, PERSON)
        assert output_of(await agent.act(REFUND, {"amount": 6}, confirmation=paid)) == 6
        handed = error_of(await agent.act(COUNT))["details"]
    second = Life(tmp_path)
    assert second.view == first.view
    async with second.calling(token) as agent:
        pending = asked["details"]["confirmation_id"]
        lost = error_of(await agent.act(REFUND, {"amount": 5}, confirmation=pending))
        assert (lost["code"], lost["details"]) == (
            "CONFIRMATION_INVALID",
            {"reason": "cancelled", "cause": "stopping"},
        )
        spent = error_of(await agent.act(REFUND, {"amount": 6}, confirmation=paid))
        assert spent["details"] == {"reason": "spent", "outcome": "done"}
        assert output_of(await agent.act(SELL, {"amount": 5}, invocation="s1")) == 5
        assert second.till.sold == []
        question = {"handoff": handed["handoff_id"]}
        assert (await agent.ask("handoff", question))["status"] == "pending"
        await second.surface.handoffs.complete(handed["handoff_id"], PERSON, 3)
        state = await agent.ask("handoff", question)
        assert (state["status"], state["data"]) == (HandoffStatus.COMPLETED.value, 3)


def opened(at: Site) -> Surface:
    surface, table = at.open_table()
    surface.confirmations.attach_page()
    table.selected = ["d1"]
    return surface


@pytest.mark.requirement("15.1-an-agent-that-comes-back-is-told")
async def test_an_mcp_client_continues_a_request_of_an_earlier_process_and_is_told(tmp_path: Path) -> None:
    keys = Keys("k1", SECRET)
    store = SQLiteStore(tmp_path / "state.db")
    async with serving(store=store, keys=keys) as at:
        surface, token = opened(at), at.token()
        surface.confirmations.subscribe(lambda _: None)
        async with at.client("legacy", token=token) as client:
            await client.list_tools()
            error = site.error_of(await client.call_tool(DISABLE))
        request = error["details"]["confirmation_id"]
        store.close()
    store = SQLiteStore(tmp_path / "state.db")
    async with serving(store=store, keys=keys) as at:
        opened(at)
        async with at.client("legacy", token=token) as client:
            told = site.error_of(await client.call_tool("surface_continue", {"confirmation_id": request}))
            assert (told["code"], told["details"]["reason"]) == ("CONFIRMATION_INVALID", "cancelled")
            unknown = site.error_of(await client.call_tool("surface_continue", {"confirmation_id": "cnf_x"}))
            assert unknown["details"] == {"reason": "mismatch"}
        assert at.backend.disabled == []
    store.close()
