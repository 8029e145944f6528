"""A token that is narrowed, taken back or ends between listing and call, or while a call is queued (SPEC 11.11)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import pytest

from remit import Component, ManualClock, action
from remit.policies import Policy, ReviewContext
from tests.adapters.page_client import calling
from tests.adapters.page_client import error_of as page_error_of
from tests.adapters.site import ERAS, OPERATOR, PATIENCE_S, SCOPE, Site, serving
from tests.adapters.site import error_of as tool_error_of

WHY = {"by": "admin", "why": "the laptop is lost"}
HOLD, TOOL = "view:more.gate.hold", "view_more__gate__hold"
ENDS = ("expired", "revoked", "parent revoked")
DOORS = ("page", *ERAS)


class Gate(Component, type="more.gate"):
    """One call at a time stands at it."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.held = 0

    @action
    async def hold(self) -> int:
        """Wait at the gate."""
        self.held += 1
        await self.open.wait()
        return self.held


class Arrivals:
    """How many calls have come so far."""

    def __init__(self) -> None:
        self.come = 0
        self._one_more = asyncio.Condition()

    async def add(self) -> None:
        """One more."""
        async with self._one_more:
            self.come += 1
            self._one_more.notify_all()

    async def until(self, calls: int) -> None:
        """Wait for so many."""
        async with self._one_more, asyncio.timeout(PATIENCE_S):
            await self._one_more.wait_for(lambda: self.come >= calls)


@dataclass
class Watching(Policy, name="watching"):
    """Lets everything through, and counts what is on its way to the gate."""

    arrivals: Arrivals

    async def review(self, ctx: ReviewContext) -> None:
        """Note a call."""
        await self.arrivals.add()


@dataclass
class Scene:
    """A site with one gate in its view, and a clock that stands still."""

    site: Site
    gate: Gate
    clock: ManualClock
    arrivals: Arrivals

    def tokens(self, door: str) -> tuple[str, str]:
        """A token of three seconds, and one narrowed from it."""
        kind = "page" if door == "page" else "mcp"
        token = self.site.gateway.delegate(OPERATOR, actor="agent", scope=SCOPE, kind=kind, ttl=3)
        return token, self.site.gateway.attenuate(token, actor="helper", scope=["view:more.**"])

    def end(self, how: str, token: str, parent: str) -> None:
        """End this token."""
        if how == "expired":
            self.clock.advance(3)
        else:
            assert self.site.gateway.revoke(parent if how == "parent revoked" else token, **WHY)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    clock, arrivals = ManualClock(), Arrivals()
    async with serving(clock=clock, more=(Gate,), policies=[Watching(arrivals)]) as site:
        gate = Gate()
        site.open().surface.mount(gate)
        yield Scene(site, gate, clock, arrivals)


@asynccontextmanager
async def agent(site: Site, door: str, token: str) -> AsyncIterator[Callable[[], Coroutine[Any, Any, dict[str, Any]]]]:
    """An agent that has listed what there is; gives its call of the gate, answered with an error."""
    if door == "page":
        async with calling(site, token) as client:
            registration = (await client.listed())[HOLD]["registration"]

            async def call() -> dict[str, Any]:
                return page_error_of(await client.invoke(HOLD, registration=registration))

            yield call
    else:
        async with site.client(door, token=token) as mcp:
            assert TOOL in {tool.name for tool in (await mcp.list_tools()).tools}

            async def call_tool() -> dict[str, Any]:
                answer = await mcp.call_tool(TOOL, {})
                assert isinstance(answer, types.CallToolResult)
                return tool_error_of(answer)

            yield call_tool


@pytest.mark.requirement("11.11-ended-between-listing-and-call")
@pytest.mark.parametrize("how", ENDS)
async def test_a_token_that_ends_after_the_listing_calls_nothing_at_the_page_protocol(scene: Scene, how: str) -> None:
    parent, token = scene.tokens("page")
    async with calling(scene.site, token) as client:
        registration = (await client.listed())[HOLD]["registration"]
        scene.end(how, token, parent)
        answer = await client.http.post("/invoke", json={"capability": HOLD, "registration": registration})
    assert (answer.status_code, scene.gate.held) == (401, 0)


@pytest.mark.requirement("11.11-ended-between-listing-and-call")
@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_token_that_ends_after_the_listing_calls_nothing_over_mcp(scene: Scene, era: str, how: str) -> None:
    parent, token = scene.tokens(era)
    async with scene.site.client(era, token=token) as client:
        assert TOOL in {tool.name for tool in (await client.list_tools()).tools}
        scene.end(how, token, parent)
        answer = await scene.site.post(Authorization=f"Bearer {token}")
    assert (answer.status_code, scene.gate.held) == (401, 0)


@pytest.mark.requirement("11.11-ended-between-listing-and-call")
async def test_what_the_wider_token_listed_is_not_called_with_the_narrower_one(scene: Scene) -> None:
    gateway = scene.site.gateway
    wide = gateway.delegate(OPERATOR, actor="agent", scope=SCOPE, kind="page")
    narrow = gateway.attenuate(wide, actor="agent", scope=["view:devices.**"])
    async with calling(scene.site, wide) as client, calling(scene.site, narrow) as narrowed:
        registration = (await client.listed())[HOLD]["registration"]
        error = page_error_of(await narrowed.invoke(HOLD, registration=registration))
        assert error == page_error_of(await narrowed.invoke("view:more.gate.invented", registration=registration))
    assert (error["code"], scene.gate.held) == ("CAPABILITY_NOT_FOUND", 0)


@pytest.mark.requirement("11.11-ended-between-listing-and-call")
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_the_wider_token_listed_is_not_called_with_the_narrower_one(scene: Scene, era: str) -> None:
    gateway = scene.site.gateway
    wide = gateway.delegate(OPERATOR, actor="agent", scope=SCOPE)
    narrow = gateway.attenuate(wide, actor="agent", scope=["view:devices.**"])
    async with scene.site.client(era, token=wide) as client, scene.site.client(era, token=narrow) as narrowed:
        assert TOOL in {tool.name for tool in (await client.list_tools()).tools}
        assert TOOL not in {tool.name for tool in (await narrowed.list_tools()).tools}
        answer = await narrowed.call_tool(TOOL, {})
        assert isinstance(answer, types.CallToolResult)
        assert tool_error_of(answer)["code"] == "CAPABILITY_NOT_FOUND"
    assert scene.gate.held == 0


@pytest.mark.requirement("11.11-ended-while-queued")
@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("door", DOORS)
async def test_a_call_that_is_queued_when_its_token_ends_never_runs(scene: Scene, door: str, how: str) -> None:
    parent, token = scene.tokens(door)
    async with calling(scene.site) as first, agent(scene.site, door, token) as call:
        running = asyncio.create_task(first.act(HOLD))
        await scene.arrivals.until(1)
        queued = asyncio.create_task(call())
        await scene.arrivals.until(2)
        scene.end(how, token, parent)
        scene.gate.open.set()
        assert (await running)["ok"] is True
        error = await queued
    assert (error["code"], scene.gate.held) == ("NOT_AUTHENTICATED", 1)
