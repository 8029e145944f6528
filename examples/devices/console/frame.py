"""The frame of the console: header, the part that is open, and beside it what agents do in this page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backend.client import FleetClient, FleetError, FleetUnreachable
from backend.wire import DevicePage, DeviceQuery
from fastapi.responses import RedirectResponse, Response
from nicegui import background_tasks, ui

from console.activity import Activity
from console.components import Navigation, Page
from console.devices_page import DevicesPart
from console.fleet_view import FleetView
from console.people import Person, SignIns
from console.reports_page import ReportsPart
from remit import Event, EventType
from remit.integrations.nicegui import Agents

_STYLE: Final = Path(__file__).parent / "style.css"
_SEE_OTHER: Final = 303
_TITLES: Final[dict[Page, str]] = {"devices": "Devices", "reports": "Reports"}


class SignedOut(PermissionError):
    """The sign-in under which the page was opened has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """What pages need: where components are mounted, who is signed in, and the way to the backend while it is there."""

    agents: Agents
    sign_ins: SignIns
    fleet: Callable[[], FleetClient | None]


def add_console(console: Console) -> None:
    """Add the pages to NiceGUI's application."""
    ui.add_css(_STYLE, shared=True)

    @ui.page("/")
    def start() -> Response:
        return RedirectResponse("/devices", _SEE_OTHER)

    @ui.page("/devices")
    @ui.page("/reports")
    def page() -> Response | None:
        login = console.sign_ins.login()
        person = console.sign_ins.person(login)
        if person is None:
            return RedirectResponse("/login", _SEE_OTHER)
        _Frame(console, login, person).draw()
        return None


class _Frame:
    """One open page."""

    def __init__(self, console: Console, login: str, person: Person) -> None:
        self._console = console
        self._login = login
        self._person = person
        self._client = ui.context.client
        self._views: list[FleetView] = []
        self._links: dict[Page, ui.link] = {}

    def draw(self) -> None:
        """Draw everything but what the sub pages hold."""
        path = self._client.sub_pages_router.current_path
        ui.colors(primary="#0550ae", negative="#a40e26")
        self._client.content.classes("console")
        self._title(path)
        self._draw_header()
        with ui.element("main").classes("part"):
            ui.sub_pages({"/devices": self._devices, "/reports": self._reports})
        with ui.element("aside").classes("activity").props('aria-label="What agents do in this page"'):
            surface = self._console.agents.surface()
            Activity(surface)
            # The backend has changed when this is heard, so the next look at a view asks it again.
            surface.subscribe(self._settled, types=[EventType.INVOCATION_SETTLED])
        self._mark(path)
        self._client.sub_pages_router.on_path_changed(self._mark)

    def _draw_header(self) -> None:
        with ui.element("header").classes("bar"):
            ui.label("Fleet console").classes("brand")
            with ui.element("nav").props('aria-label="Parts of the console"'):
                for page, title in _TITLES.items():
                    self._links[page] = ui.link(title, f"/{page}")
                self._console.agents.mount(Navigation(self._go))
            with ui.element("div").classes("who"):
                ui.label(f"{self._person.name} · {self._person.role}")
                with ui.element("form").props("method=post action=/logout"):
                    ui.button("Sign out").props("type=submit flat dense no-caps color=white")

    async def _go(self, page: Page) -> None:
        await self._console.agents.navigate(f"/{page}")

    async def _devices(self) -> None:
        view = self._view()
        await _load(view)
        DevicesPart(self._console.agents, view, self._person, self._console.fleet).draw()

    async def _reports(self) -> None:
        view = self._view()
        await _load(view)
        ReportsPart(self._console.agents, view).draw()

    def _view(self) -> FleetView:
        view = FleetView(self._fetch)
        self._views = [view]
        return view

    async def _fetch(self, query: DeviceQuery) -> DevicePage:
        person, fleet = self._console.sign_ins.person(self._login), self._console.fleet()
        if person is None or fleet is None:
            raise SignedOut
        return await fleet.list(query, credential=person.credential)

    def _settled(self, event: Event) -> None:
        capability = str(event.data["capability"])
        if capability.startswith("domain:") and capability != "domain:devices.list":
            for view in self._views:
                view.outdated()
                background_tasks.create(self._look_again(view), name="look at the backend again")

    async def _look_again(self, view: FleetView) -> None:
        with self._client:
            await _load(view)

    def _title(self, path: str) -> None:
        title = next((title for page, title in _TITLES.items() if path.startswith(f"/{page}")), "Not found")
        self._client.title = f"{title} · Fleet console"

    def _mark(self, path: str) -> None:
        for page, link in self._links.items():
            if path.startswith(f"/{page}"):
                link.props("aria-current=page")
            else:
                link.props(remove="aria-current")


async def _load(view: FleetView) -> None:
    try:
        await view.refresh()
    except (FleetError, FleetUnreachable, SignedOut):
        ui.notify("The backend did not answer. Load the page again.", type="negative", timeout=0, close_button="Close")
