"""The device console, served in this process: what end-to-end tests ask of it, of its pages and of an agent in one."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import uvicorn
from nicegui import core
from playwright.sync_api import BrowserContext, Locator, Page

from remit import ConfirmationView, Connection, Consumer, Failed, Ok, Outcome
from remit._model.listing import Listed
from remit.integrations.nicegui.view import View

DISABLE = "domain:devices.disable"
SELECT = "view:devices.table.selectRows"
READ = "view:devices.table.readState"
SCOPE = ("view:**", "domain:**")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The console, served in this process by a thread of its own."""

    port: int
    handles: Any
    loop: asyncio.AbstractEventLoop

    @property
    def base(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, work: Callable[[], T] | Coroutine[Any, Any, T]) -> T:
        """Run something where the application runs: surfaces belong to its loop."""

        async def there() -> T:
            return work() if callable(work) else await work

        return asyncio.run_coroutine_threadsafe(there(), self.loop).result(40)

    def opened(self) -> list[str]:
        """The ids of the views that agents reach."""
        return [view["view"] for view in self.run(self.handles.gateway.describe)["views"]]

    def views(self) -> list[View]:
        """All that the integration keeps, oldest first."""
        return self.run(lambda: list(self.handles.agents._views.values()))

    def forget(self, view: View) -> None:
        """Delete a page now, as NiceGUI does some seconds after its browser has gone."""

        def delete() -> None:
            for task in view.client._delete_tasks.values():
                task.cancel()
            if not view.client.is_deleted:
                view.client.delete()

        self.run(delete)

    def effects(self) -> list[tuple[str, list[str]]]:
        """What the backend did, out of its own log."""
        operator = self.handles.person("operator")
        log = self.run(self.handles.fleet.effects(credential=operator.credential))
        return [(effect.operation, effect.device_ids) for effect in log.items]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent in one open page."""

    served: Served
    view: View
    connection: Connection

    def call(self, capability: str, given: dict[str, object] | None = None, **beside: Any) -> Outcome:
        """Call, as over a door."""
        return self.served.run(self.connection.call(capability, given, **beside))

    def listed(self) -> dict[str, Listed]:
        """What it sees, by id."""
        return {each.descriptor.id: each for each in self.served.run(self.connection.capabilities)}

    def reason(self, capability: str) -> str | None:
        """Why a capability is not available now; None when it is."""
        return self.listed()[capability].reason

    def enabled(self, number: int) -> list[str]:
        """The ids of the first devices of the table that are enabled."""
        state = self.call(READ)
        assert isinstance(state, Ok) and isinstance(state.output, dict)
        return [row["id"] for row in state.output["rows"] if row["enabled"]][:number]

    def asks(self, ids: Sequence[str]) -> str:
        """Select, ask to disable, and return the id of the request."""
        assert isinstance(self.call(SELECT, {"ids": [*ids]}), Ok)
        return self.asks_with(DISABLE, None)

    def asks_with(self, capability: str, given: dict[str, object] | None) -> str:
        """Call what needs a person, and return the id of the request."""
        asked = self.call(capability, given)
        assert isinstance(asked, Failed)
        return str(asked.error.details["confirmation_id"])

    def request(self, confirmation: str) -> ConfirmationView:
        """A request as its deciders see it."""
        found = self.served.run(lambda: self.view.surface.confirmations.get(confirmation))
        assert found is not None
        return found


@contextmanager
def serving(outer: Any, handles: Any) -> Iterator[Served]:
    """Serve the application on a free port inside the block."""
    server = uvicorn.Server(uvicorn.Config(outer, log_level="warning", timeout_graceful_shutdown=2))
    ready = threading.Event()
    startup = server.startup

    async def announced(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = announced  # type: ignore[method-assign]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert ready.wait(50) and core.loop is not None
            yield Served(port=listener.getsockname()[1], handles=handles, loop=core.loop)
        finally:
            server.should_exit = True
            thread.join(20)


def open_page(served: Served, context: BrowserContext, path: str = "/devices") -> tuple[Page, Agent]:
    """A page of the console, drawn, with an agent in it."""
    before = {view.port.id for view in served.views()}
    page = context.new_page()
    page.goto(f"{served.base}{path}")
    page.wait_for_selector("td.device-id" if path == "/devices" else ".report td")
    (view,) = (view for view in served.views() if view.connected and view.port.id not in before)
    return page, agent_in(served, view)


def agent_in(served: Served, view: View, name: str = "agent", **more: Any) -> Agent:
    """An agent in a view, through the door of this kind (`mcp` if none is given)."""
    consumer = Consumer(name, **({"kind": "mcp", "scope": SCOPE} | more))
    return Agent(served=served, view=view, connection=served.run(lambda: view.surface.connect(consumer)))


def dialog(page: Page) -> Locator:
    """The question to the person."""
    return page.locator("section.remit-dialog")


def approve(page: Page) -> Locator:
    """The control that approves."""
    return dialog(page).get_by_role("button", name="Approve exactly this")
