"""The decision page in a real browser, without a script and by keyboard alone."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Page

from tests.adapters.site import DISABLE, Site, data_of, error_of, serving

T = TypeVar("T")


class Elsewhere:
    """The application in a thread of its own; the browser's driver keeps the test's thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._serving = serving()
        self._thread.start()
        self.site: Site = self.run(self._serving.__aenter__())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run in the application's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(40)

    def end(self) -> None:
        """Stop the application and its thread."""
        self.run(self._serving.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Agent:
    """One agent whose client cannot show links."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._token = site.token()

    async def ask(self) -> str:
        """Select two devices, ask to disable them, and return the link."""
        _, table = self._site.open_table()
        table.selected = ["d1", "<b>d2</b>"]
        async with self._site.client("auto", token=self._token) as client:
            await client.list_tools()
            return str(error_of(await client.call_tool(DISABLE))["details"]["url"])

    async def go_on(self, url: str) -> Any:
        """Continue the request behind a link."""
        async with self._site.client("auto", token=self._token) as client:
            return data_of(await client.call_tool("surface_continue", {"confirmation_id": url.rpartition("/")[2]}))


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    running = Elsewhere()
    yield running
    running.end()


@pytest.fixture
def page(browser: Browser, elsewhere: Elsewhere) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies([{"name": "account", "value": "operator", "url": elsewhere.site.address}])
    yield context.new_page()
    context.close()


@pytest.mark.requirement("7.2-shown-whole-field-by-field", "14.3-by-keyboard")
def test_a_person_reads_the_exact_input_and_approves_by_keyboard(elsewhere: Elsewhere, page: Page) -> None:
    agent = Agent(elsewhere.site)
    url = elsewhere.run(agent.ask())
    page.goto(f"{elsewhere.site.address}/remit/confirmations")
    page.get_by_role("link", name="Disable devices").press("Enter")
    page.wait_for_url(url)
    assert page.get_by_role("table").inner_text().split("\n")[2:] == [
        'device_ids[0]\t"d1"\tthis view, fixed',
        'device_ids[1]\t"<b>d2</b>"\tthis view, fixed',
    ]
    approve = page.get_by_role("button", name="Approve exactly this")
    approve.wait_for()  # it appears after half a second
    page.get_by_role("button", name="Deny").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("Approved.").wait_for()
    assert elsewhere.run(agent.go_on(url)) == 2
    assert elsewhere.site.backend.disabled == [["d1", "<b>d2</b>"]]


@pytest.mark.requirement("7.4-the-pages-own-form-decides")
def test_a_person_denies(elsewhere: Elsewhere, page: Page) -> None:
    page.goto(elsewhere.run(Agent(elsewhere.site).ask()))
    page.get_by_role("button", name="Deny").click()
    page.get_by_role("status").get_by_text("Denied.").wait_for()
    assert page.get_by_role("button").count() == 0
