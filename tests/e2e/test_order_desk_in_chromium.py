"""The order desk in a real browser: a page's own script keeps its view, for exactly as long as the page is there."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebSocket, expect
from shop import headers
from shop.agent import NOTE, Agent

from remit import Failed, Ok
from tests.e2e.order_desk import PATIENCE_S, OrderDesk, serving

SHOWN, OFF_SCREEN = "o-1001", "o-1059"


@pytest.fixture(scope="module")
def desk() -> Iterator[OrderDesk]:
    with serving() as served:
        yield served


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console complains of: scripts, policies, requests that failed."""
    return []


@pytest.fixture
def mara(browser: Browser, desk: OrderDesk, complaints: list[str]) -> Iterator[BrowserContext]:
    """Mara's browser, signed in by the form."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_S * 1000)

    def noted(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    page = context.new_page()
    page.goto(f"{desk.base}/sign-in")
    page.get_by_label("Name").fill("mara")
    page.get_by_label("Password").fill(desk.handles.person("mara").password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/orders")
    page.close()  # perhaps before its script had connected, which the console would say
    context.on("console", noted)
    yield context
    context.close()


def opened(desk: OrderDesk, context: BrowserContext) -> Page:
    """A page of orders whose view is open."""
    page = context.new_page()
    with page.expect_websocket():
        page.goto(f"{desk.base}/orders")
    return page


@contextmanager
def seeing(desk: OrderDesk, *views: int) -> Iterator[list[int]]:
    """Do in the block what leads to so many open views of mara's, one number after the other; then wait for that."""
    counts: list[int] = []
    changed = asyncio.Event()
    mara = desk.handles.person("mara").principal()

    def heard() -> None:
        counts.append(len(desk.handles.agents.views(mara)))
        changed.set()

    async def wait() -> None:
        async with asyncio.timeout(PATIENCE_S):
            while counts[-len(views) :] != [*views]:
                changed.clear()
                await changed.wait()
        end()

    end = desk.run(lambda: desk.handles.gateway._views.on_change(mara.key, heard))
    yield counts
    desk.run(wait())


def until(desk: OrderDesk, views: int) -> None:
    """Wait until so many views of mara's are open."""
    with seeing(desk, views) as counts:
        desk.run(lambda: counts.append(len(desk.handles.agents.views(desk.handles.person("mara").principal()))))


@pytest.mark.requirement("14.1-the-order-desk", "14.1-a-rendered-page-opens-at-its-first-connect")
def test_an_agent_works_an_open_page_with_its_person_until_the_tab_is_closed(
    desk: OrderDesk, mara: BrowserContext, complaints: list[str]
) -> None:
    page = opened(desk, mara)
    until(desk, 1)
    assert page.locator("#rows tr").count() == 36

    token = desk.token()

    async def first() -> tuple[str, str]:
        async with desk.client(token=token) as client:
            agent = Agent(client, print)
            order = await agent.note_off_screen("Ferri", "Customer called")
            seen = await agent.look()
            assert isinstance(await client.call(seen[NOTE].id, {"record": SHOWN, "note": "<b>rush</b>"}), Ok)
            return order, (await agent.ask_to_pay(order))[1]

    order, handoff = desk.run(first())
    assert order == OFF_SCREEN and desk.handles.shop.orders[order].note == "Customer called"
    expect(page.get_by_label(f"Note on {SHOWN}")).to_have_value("<b>rush</b>")
    with mara.expect_page() as beside:
        page.get_by_role("link", name="Card details are entered by a person").click()
    beside.value.get_by_label("Card number").fill("4111 1111 1111 1111")
    beside.value.get_by_role("button", name="Pay").click()
    expect(beside.value.get_by_role("status")).to_contain_text("This order is paid")

    async def then() -> str:
        async with desk.client(token=token) as client:
            return await Agent(client, print).follow(handoff, seconds=PATIENCE_S)

    assert desk.run(then()) == f"completed {desk.handles.shop.orders[order].receipt}"
    expect(page.locator("#steps p")).to_have_count(0)
    page.close()
    until(desk, 0)

    async def after() -> bool:
        async with desk.client() as client:
            return isinstance(await client.describe(), Failed)

    assert desk.run(after())
    assert complaints == []


@pytest.mark.requirement("7.12-a-rendered-page-loaded-again", "7.3-every-open-rendered-page-is-told-how-many-wait")
def test_loading_again_is_a_new_view_and_the_badge_leads_to_the_decision(
    desk: OrderDesk, mara: BrowserContext, complaints: list[str]
) -> None:
    page = opened(desk, mara)
    until(desk, 1)
    (before,) = desk.opened()
    with seeing(desk, 0, 1):
        page.reload()
    (after,) = desk.opened()
    assert after.surface.surface_id != before.surface.surface_id

    async def ask() -> str:
        async with desk.client() as client:
            return await Agent(client, print).ask_to_cancel(SHOWN)

    request = desk.run(ask())
    with mara.expect_page() as beside:
        page.get_by_role("link", name="1 request waits for your decision").click()
    beside.value.get_by_role("link", name="orders.cancel").click()
    beside.value.wait_for_url(f"**/remit/confirmations/{request}")
    beside.value.get_by_role("button", name="Deny").click()
    expect(page.locator("[data-remit-waiting] a")).to_have_count(0)
    page.close()
    until(desk, 0)
    assert complaints == []


@pytest.mark.requirement("7.12-a-rendered-page-comes-back")
def test_a_page_whose_connection_was_lost_comes_back_as_the_same_view(desk: OrderDesk, mara: BrowserContext) -> None:
    page = opened(desk, mara)
    until(desk, 1)
    (before,) = desk.opened()

    def cut() -> None:
        for connection in list(desk.server.server_state.connections):
            transport = getattr(connection, "transport", None)
            assert transport is not None
            transport.abort()

    with seeing(desk, 0, 1):
        desk.run(cut)
    (after,) = desk.opened()
    assert after.surface.surface_id == before.surface.surface_id
    page.close()
    until(desk, 0)


@pytest.mark.requirement("7.12-a-rendered-page-loaded-again")
def test_a_page_that_the_browser_kept_is_loaded_again_when_its_view_has_gone(
    desk: OrderDesk, mara: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(headers._USUAL, "Cache-Control", "max-age=600")
    page = opened(desk, mara)
    until(desk, 1)
    page.goto(f"{desk.base}/static/shop.css")
    until(desk, 0)

    def end() -> None:
        pages = desk.handles.agents._pages
        for each in pages.of(desk.handles.person("mara").principal().key):
            pages.close(each)

    desk.run(end)
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))  # noqa: PLW0108 - Playwright marks what it is given
    with seeing(desk, 1):
        page.go_back()
    assert page.locator("#rows tr").count() == 36
    assert len(sockets) == 2, "the one that was kept, and the one that was loaded again"
    page.close()
    until(desk, 0)


@pytest.mark.requirement("14.1-a-rendered-page-opens-at-its-first-connect")
def test_more_tabs_are_open_than_a_browser_has_connections_for_requests(desk: OrderDesk, mara: BrowserContext) -> None:
    tabs = [opened(desk, mara) for _ in range(8)]
    until(desk, 8)
    tabs[0].get_by_label(f"Note on {SHOWN}").fill("by hand")
    tabs[0].get_by_role("button", name="Save").first.click()
    tabs[0].wait_for_url("**/orders")
    assert desk.handles.shop.orders[SHOWN].note == "by hand"
    for tab in tabs:
        tab.close()
    until(desk, 0)
