"""The example of docs/guides/nicegui.md: a NiceGUI page and its first capabilities."""

import secrets
from dataclasses import dataclass

from nicegui import app, ui
from pydantic import BaseModel

from remit import Authority, Component, Principal, action, observation
from remit.gateway import Gateway
from remit.integrations.nicegui import attach
from remit.policies import authenticated

DEVICES = [{"id": "d1", "city": "Milan"}, {"id": "d2", "city": "Turin"}]


class TableState(BaseModel):
    ids: list[str]
    selected: list[str]


@dataclass
class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    table: ui.table

    @observation
    def read_state(self) -> TableState:
        """Visible devices and the current selection."""
        return TableState(ids=[r["id"] for r in self.table.rows], selected=self.selected_ids())

    @action
    def select_rows(self, ids: list[str]) -> None:
        """Replace the row selection."""
        self.table.selected = [r for r in self.table.rows if r["id"] in ids]

    def selected_ids(self) -> list[str]:  # an ordinary method: nothing undecorated is ever exposed
        return sorted(r["id"] for r in self.table.selected)


def current_user() -> Principal | None:  # None: no session, nothing to see
    user = app.storage.user
    return Principal(user["name"], grants=user["grants"]) if "name" in user else None


gateway = Gateway(Authority.load(beside=__file__), policies=[authenticated()])
agents = attach(gateway, login=current_user)  # serves /remit/* with the app; owns its lifespan


@ui.page("/devices")
def devices() -> None:
    table = ui.table(rows=DEVICES, row_key="id", selection="multiple")  # as before
    agents.mount(DevicesTable(table))  # new


if __name__ in {"__main__", "__mp_main__"}:  # so that `remit compile` can import this file
    ui.run(reconnect_timeout=10, storage_secret=secrets.token_urlsafe())
