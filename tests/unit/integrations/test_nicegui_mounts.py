"""Where a component lives in a NiceGUI page, with real elements and a real gateway but no server."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import Request
from nicegui import Client, app, binding, core, ui

from remit import Authority, Component, Connection, Consumer, Failed, Ok, Principal, action, observation
from remit._contract.manifest import assemble, parse
from remit._contract.row import rows_of
from remit.gateway import Gateway
from remit.integrations.nicegui import Agents, Mounted

READ = "view:note.read"


class Note(Component, type="note"):
    """A note on the page."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @observation
    def read(self) -> str:
        """What is written."""
        return f"{app.storage.browser['name']} sees {ui.context.client.title}"

    @action
    def write(self, text: str) -> None:
        """Write."""
        ui.label(text)


@dataclass(slots=True, kw_only=True)
class Home:
    """One page of one person, and the integration it belongs to."""

    agents: Agents
    client: Client
    people: dict[str, Principal]

    @property
    def agent(self) -> Connection:
        (view,) = self.agents._views.values()
        return view.surface.connect(Consumer("copilot", kind="embedded"))

    def reason(self) -> str | None:
        (listed,) = (each for each in self.agent.capabilities() if each.descriptor.id == READ)
        return listed.reason

    def mounted(self) -> list[str]:
        return [each.descriptor.id for each in self.agent.capabilities()]

    def connect(self) -> None:
        self.client.tab_id = self.client._pinned_tab_id = "tab"
        self.agents._connected(self.client)

    def disconnect(self) -> None:
        self.client.tab_id = None
        self.agents._disconnected(self.client)


def authority() -> Authority:
    rows = rows_of(Note, {})
    blocks = [row.block for row in rows.capabilities]
    return Authority(parse(assemble([rows.block], blocks, {}, exposure={}, policies=()).to_bytes()))


def request(session: dict[str, Any] | None) -> Request:
    where = {"path": "/notes", "query_string": b"q=secret", "server": ("127.0.0.1", 80), "scheme": "http"}
    given = {} if session is None else {"session": session}
    return Request({"type": "http", "method": "GET", "headers": [], "state": {}} | where | given)


def new_client(session: dict[str, Any] | None) -> Client:
    client = Client(ui.page("/notes"), request=request(session))
    client.title = "Notes"
    client.request.state.responded = True
    return client


@pytest.fixture
async def home(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Home]:
    monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
    people = {"ada": Principal("ada")}
    agents = Agents(Gateway(authority()), lambda: people.get(app.storage.browser.get("name", "")), None)
    client = new_client({"id": "session", "name": "ada"})
    yield Home(agents=agents, client=client, people=people)
    agents._deleted(client)
    client.delete()


async def test_a_component_is_unavailable_while_no_browser_is_there(home: Home) -> None:
    with home.client:
        home.agents.mount(Note())
    assert home.reason() == "client-disconnected"

    home.connect()
    assert home.reason() is None

    home.disconnect()
    assert home.reason() == "client-disconnected"


async def test_a_component_ends_with_what_a_refreshable_drew(home: Home) -> None:
    mounts: list[Mounted] = []

    @ui.refreshable
    def notes() -> None:
        mounts.append(home.agents.mount(Note()))

    with home.client:
        notes()
    home.connect()
    with home.client:
        await notes.refresh()

    assert [each.status for each in mounts] == ["unmounted", "mounted"]
    assert home.reason() is None


async def test_a_component_ends_when_its_container_is_emptied(home: Home) -> None:
    with home.client, ui.column() as column, ui.row():
        mounted = home.agents.mount(Note())
    home.connect()
    assert READ in home.mounted()

    column.clear()

    assert mounted.status == "unmounted" and home.mounted() == []


async def test_a_component_in_a_dialog_works_while_it_is_open(home: Home) -> None:
    with home.client, ui.dialog() as dialog, ui.card():
        home.agents.mount(Note())
    home.connect()
    assert home.reason() == "Its dialog is closed"

    dialog.open()
    assert home.reason() is None

    dialog.close()
    assert home.reason() == "Its dialog is closed"


async def test_a_dialog_that_is_collected_in_another_thread_ends_its_component_in_its_own(home: Home) -> None:
    with home.client, ui.dialog() as dialog, ui.card():
        mounted = home.agents.mount(Note())
    home.connect()
    dialog.open()

    await asyncio.to_thread(dialog.delete)  # as NiceGUI does where the collector finds that the dialog's place is gone

    assert dialog.is_deleted and mounted.status == "unmounted" and home.mounted() == []


def test_a_dialog_that_is_collected_after_the_loop_has_ended_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def page() -> tuple[Agents, Client, ui.dialog, Mounted]:
        monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
        agents, client = Agents(Gateway(authority()), lambda: Principal("ada"), None), new_client({"id": "session"})
        with client, ui.dialog() as dialog:
            return agents, client, dialog, agents.mount(Note())

    with ThreadPoolExecutor(1) as served:
        agents, client, dialog, mounted = served.submit(asyncio.run, page()).result()
        dialog.delete()
        assert dialog.is_deleted
        served.submit(agents._deleted, client).result()
        assert mounted.status == "unmounted"


async def test_a_component_in_a_closed_section_or_step_is_unavailable(home: Home) -> None:
    with home.client, ui.stepper() as stepper, ui.step("first"), ui.expansion("More") as section:
        home.agents.mount(Note())
    home.connect()
    assert home.reason() == "Its section is closed"

    section.open()
    assert home.reason() is None

    stepper.set_value("second")
    assert home.reason() == "The step “first” is not open"


@pytest.mark.requirement("4.12-a-hidden-tab")
async def test_a_component_on_a_tab_works_while_the_tab_is_open_and_calls_hear_why_not(home: Home) -> None:
    with home.client, ui.tabs() as tabs:
        ui.tab("list")
        ui.tab("notes")
    with home.client, ui.tab_panels(tabs, value="list"), ui.tab_panel("notes"):
        home.agents.mount(Note())
    home.connect()
    assert home.reason() == "The tab “notes” is not open"
    refused = await home.agent.call(READ)
    assert isinstance(refused, Failed) and refused.error.details == {"reason": "The tab “notes” is not open"}

    tabs.set_value("notes")
    assert home.reason() is None
    assert isinstance(await home.agent.call(READ), Ok)

    tabs.set_value("list")
    assert home.reason() == "The tab “notes” is not open"


async def test_what_outlives_a_component_keeps_nothing_of_it(home: Home) -> None:
    with home.client, ui.expansion("More") as section, ui.row() as row:
        pass
    handlers, links = len(section._change_handlers), len(binding.bindings)
    for _ in range(3):
        with row:
            home.agents.mount(Note())
        row.clear()

    assert (len(section._change_handlers), len(binding.bindings)) == (handlers, links)


async def test_a_hidden_element_around_a_component_makes_it_unavailable(home: Home) -> None:
    with home.client, ui.column() as column, ui.row():
        home.agents.mount(Note())
    home.connect()

    column.set_visibility(False)
    assert home.reason() == "It is hidden"

    column.set_visibility(True)
    assert home.reason() is None


async def test_what_cannot_be_seen_stays_disabled_whatever_the_application_says(home: Home) -> None:
    with home.client, ui.column() as column:
        mounted = home.agents.mount(Note(), enabled=False)
    home.connect()
    assert home.reason() == "This part of the view is disabled"

    mounted.update(enabled=False, reason="Closed for lunch")
    assert home.reason() == "Closed for lunch"

    column.set_visibility(False)
    mounted.update(enabled=True)
    assert home.reason() == "It is hidden"

    column.set_visibility(True)
    assert home.reason() is None

    mounted.update(available={"read": "Not now"})
    assert home.reason() == "Not now"


async def test_code_of_the_application_runs_in_the_client_with_its_request(home: Home) -> None:
    with home.client:
        home.agents.mount(Note())
    home.connect()

    read = await home.agent.call(READ)
    written = await home.agent.call("view:note.write", {"text": "from an agent"})

    assert isinstance(read, Ok) and read.output == "ada sees Notes"
    assert isinstance(written, Ok)
    (label,) = (each for each in home.client.elements.values() if isinstance(each, ui.label) and each.text)
    assert label.text == "from an agent"


async def test_with_nobody_signed_in_nothing_is_mounted(home: Home) -> None:
    home.people.clear()
    with home.client:
        mounted = home.agents.mount(Note())
        with pytest.raises(PermissionError, match="nobody is signed in"):
            home.agents.surface()

    assert (mounted.status, mounted.registration_id) == ("rejected", None)
    mounted.update(enabled=True)
    mounted.unmount()


async def test_the_second_component_of_one_name_is_rejected_and_harms_nothing(home: Home) -> None:
    with home.client:
        first = home.agents.mount(Note())
        with ui.row() as row:
            second = home.agents.mount(Note())
    home.connect()

    row.delete()

    assert (first.status, second.status) == ("mounted", "rejected")
    assert home.reason() is None


async def test_a_page_without_a_session_is_no_home(home: Home) -> None:
    client = new_client(None)
    open_to_all = Agents(Gateway(authority()), lambda: Principal("ada"), None)
    with client, pytest.raises(RuntimeError, match="storage_secret"):
        open_to_all.mount(Note())
    client.delete()


async def test_the_route_of_a_view_is_the_path_alone(home: Home) -> None:
    with home.client:
        surface = home.agents.surface()

    assert surface.snapshot(Consumer("copilot", kind="embedded")).route == "/notes"


@pytest.mark.parametrize("path", ["reports", "https://evil.example", "//evil.example", "/\\evil.example", ""])
async def test_navigation_stays_in_the_application(home: Home, path: str) -> None:
    with home.client, pytest.raises(ValueError, match="a path of this application"):
        await home.agents.navigate(path)


async def test_navigation_answers_after_the_next_part_has_mounted(home: Home) -> None:
    order: list[str] = []

    async def reports() -> None:
        home.agents.mount(Note())
        order.append("mounted")

    with home.client:
        ui.sub_pages({"/notes": lambda: ui.label("notes"), "/reports": reports})
        home.agents.surface()
        await home.agents.navigate("/reports")
        order.append("answered")

    assert order == ["mounted", "answered"]
