"""A person with a real browser: reads the page's DOM and clicks."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from playwright.async_api import Browser, Locator, async_playwright
from playwright.async_api import Page as Tab

from demo.stage import Asked
from demo.telling import CannotRun

T = TypeVar("T")

PATIENCE_S: Final = 5.0
_GLANCE_S: Final = 0.05
_CLICK_MS: Final = 20_000
"""Less than a step may take, so that what could not be clicked is named."""
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Run a headless Chromium: the one the variable CHROMIUM names, else the one on PATH; without one `CannotRun`."""
    path = os.environ.get("CHROMIUM") or next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise CannotRun("there is no Chromium on PATH; install it, or name it in the variable CHROMIUM")
    async with async_playwright() as playwright:
        # The sandbox refuses root and hosts without user namespaces; the pages shown are our own.
        launched = await playwright.chromium.launch(executable_path=path, args=[*_FLAGS], chromium_sandbox=False)
        try:
            yield launched
        finally:
            await launched.close()


async def signed_in(browser: Browser, url: str, name: str, password: str) -> Tab:
    """Sign somebody in, in a browser profile of their own, and return the tab with the console."""
    context = await browser.new_context()
    context.set_default_timeout(_CLICK_MS)
    tab = await context.new_page()
    await tab.goto(f"{url}/login")
    await tab.get_by_label("Account").fill(name)
    await tab.get_by_label("Password").fill(password)
    await tab.get_by_role("button", name="Sign in").click()
    await tab.locator("h1", has_text="Devices").wait_for()
    return tab


class ShownPage:
    """The console as the person sees it."""

    name = "page"

    def __init__(self, tab: Tab) -> None:
        self._tab = tab

    async def heading(self, wanted: str) -> str:
        """The heading of the part that is open."""

        async def read() -> str:
            headings = self._tab.locator("h1:visible")
            return (await headings.first.inner_text()).strip() if await headings.count() else "nothing"

        return await _settled(read, wanted)

    async def rows(self, wanted: list[str]) -> list[str]:
        """The ids in the first column of the table."""
        return await _settled(lambda: self._ids(""), wanted)

    async def checked(self, wanted: list[str]) -> list[str]:
        """The ids of the rows whose box is checked."""
        return await _settled(lambda: self._ids(':has([role=checkbox][aria-checked="true"])'), wanted)

    async def disabled(self, wanted: list[str]) -> list[str]:
        """The ids of the rows that say disabled."""
        return await _settled(lambda: self._ids(":has(.state-disabled)"), wanted)

    async def details(self, wanted: str) -> str:
        """The first fact of the drawer, the id; empty while it is closed."""

        async def read() -> str:
            facts = self._tab.locator("section.drawer:visible .facts dd")
            return (await facts.first.inner_text()).strip() if await facts.count() else ""

        return await _settled(read, wanted)

    async def dialogs(self) -> int:
        """How many approval dialogs are open."""
        return await self._tab.locator("section.remit-dialog").count()

    async def _ids(self, having: str) -> list[str]:
        cells = self._tab.locator(f".devices tbody tr{having} td.device-id")
        return sorted(text.strip() for text in await cells.all_inner_texts())


class Clicker:
    """The person: reads the dialog to its end and clicks."""

    def __init__(self, tab: Tab) -> None:
        self._dialog = tab.locator("section.remit-dialog")

    async def deny(self, asked: Asked) -> Sequence[str]:
        """Click Deny."""
        return await self._decide("Deny")

    async def approve(self, asked: Asked) -> Sequence[str]:
        """Click Approve, as soon as the dialog lets one."""
        return await self._decide("Approve exactly this")

    async def _decide(self, button: str) -> Sequence[str]:
        await self._dialog.wait_for()
        shown = await _values(self._dialog)
        await self._dialog.get_by_role("button", name=button).click()
        await self._dialog.wait_for(state="detached")
        return shown


async def _values(dialog: Locator) -> list[str]:
    """The exact values that the dialog shows, one a line of its table."""
    return [str(json.loads(text)) for text in await dialog.locator(".remit-fields td code").all_inner_texts()]


async def _settled(read: Callable[[], Awaitable[T]], wanted: T) -> T:
    """Read until it is as wanted, a few seconds at most; return what was read last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while True:
        found = await read()
        if found == wanted or loop.time() > deadline:
            return found
        await asyncio.sleep(_GLANCE_S)
