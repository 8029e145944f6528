"""The devices part: filters, the table, the details of one device, and firmware versions in a second tab."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from backend.client import FleetClient, FleetError, FleetUnreachable
from backend.wire import Device
from nicegui import events, ui

from console.components import DeviceDrawer, DevicesFilters, DevicesTable, DevicesTabs, FirmwareSummary
from console.fleet_view import Filters, FleetView, column_of
from console.people import Person
from remit.integrations.nicegui import Agents

_STATUSES: Final = {"online": "Online", "offline": "Offline", "maintenance": "Maintenance"}
_KINDS: Final = {kind: kind.capitalize() for kind in ("gateway", "sensor", "camera", "meter", "controller", "kiosk")}
_COLUMNS: Final = (
    ("id", "Id", True),
    ("name", "Name", True),
    ("kind", "Kind", True),
    ("city", "City", True),
    ("status", "Status", True),
    ("state", "State", False),
    ("firmware", "Firmware", False),
    ("last_seen", "Last seen (UTC)", True),
)
_NAME_CELL: Final = r"""
<q-td :props="props"><button type="button" class="name-link" @click.stop="() => $parent.$emit('look', props.row.id)">{{
  props.value }}</button></q-td>"""
_STATUS_CELL: Final = r"""
<q-td :props="props"><span :class="'status status-' + props.value">{{ props.value }}</span></q-td>"""
_STATE_CELL: Final = r"""
<q-td :props="props"><span :class="'state state-' + props.value">{{ props.value }}</span></q-td>"""


class DevicesPart:
    """Draws one `FleetView` and follows it; mounts its components where they can be seen."""

    def __init__(
        self, agents: Agents, view: FleetView, person: Person, fleet: Callable[[], FleetClient | None]
    ) -> None:
        self._agents = agents
        self._view = view
        self._person = person
        self._fleet = fleet
        self._drawn: tuple[object, ...] = ()

    def draw(self) -> None:
        """Draw everything into the current element."""
        with ui.element("h1"):
            ui.label("Devices")
        with ui.element("section").classes("filters").props("aria-label=Filters"):
            self._draw_filters()
            self._agents.mount(DevicesFilters(self._view))
        with ui.element("div").classes("tabs"):
            self._tabs = ui.tabs(
                on_change=lambda e: self._view.open_tab("firmware" if e.value == "firmware" else "list")
            ).props("dense no-caps align=left inline-label")
            with self._tabs:
                ui.tab("list", "List")
                ui.tab("firmware", "Firmware")
            self._agents.mount(DevicesTabs(self._view))
        with ui.tab_panels(self._tabs, animated=False).classes("panels"):
            with ui.tab_panel("list"):
                self._draw_table()
                self._agents.mount(DevicesTable(self._view))
            with ui.tab_panel("firmware"):
                self._draw_firmware()
                self._agents.mount(FirmwareSummary(self._view))
        self._draw_drawer()
        self._view.on_change(self._follow)
        self._follow()

    def _draw_filters(self) -> None:
        filtered = lambda _: self._filter()  # noqa: E731 - one short handler for four fields
        self._text = ui.input("Search", on_change=filtered).props("outlined dense clearable debounce=300 type=search")
        cities = {"*": "All cities", "": "No city"} | {city: city for city in self._view.cities}
        self._city = ui.select(cities, value="*", label="City", on_change=filtered, with_input=True)
        self._status = ui.select({"*": "Any status"} | _STATUSES, value="*", label="Status", on_change=filtered)
        self._kind = ui.select({"*": "Any kind"} | _KINDS, value="*", label="Kind", on_change=filtered)
        for field in (self._city, self._status, self._kind):
            field.props("outlined dense options-dense")
        ui.button("Clear", on_click=self._clear).props("flat dense no-caps")
        self._count = ui.label().classes("count").props("role=status")

    def _draw_table(self) -> None:
        with ui.element("div").classes("row-actions"):
            self._chosen = ui.label().classes("quiet")
            self._disable = ui.button("Disable…", on_click=self._ask_disable).props(
                "outline dense no-caps color=negative"
            )
        columns = [
            {
                "name": name,
                "label": label,
                "field": name,
                "align": "left",
                "sortable": sortable,
                "classes": f"device-{name}",
            }
            for name, label, sortable in _COLUMNS
        ]
        self._table = ui.table(
            rows=[],
            columns=columns,
            column_defaults={"align": "left"},
            row_key="id",
            selection="multiple",
            pagination={"rowsPerPage": 25, "sortBy": "id", "descending": False},
            on_select=lambda e: self._view.select([row["id"] for row in e.selection]),
            on_pagination_change=self._sorted,
        )
        self._table.props("flat dense bordered binary-state-sort :rows-per-page-options=[25,50,100,0]")
        # The backend has sorted; the browser must not do it again by rules of its own.
        self._table.props[":sort-method"] = "rows => rows"
        self._table.props["no-data-label"] = "No device matches these filters."
        self._table.classes("devices")
        self._table.add_slot("body-cell-name", _NAME_CELL)
        self._table.add_slot("body-cell-status", _STATUS_CELL)
        self._table.add_slot("body-cell-state", _STATE_CELL)
        self._table.on("look", lambda e: self._view.look_at(str(e.args)))

    def _draw_firmware(self) -> None:
        self._versions = (
            ui.table(
                rows=[],
                columns=[
                    {"name": "kind", "label": "Kind", "field": "kind", "align": "left"},
                    {"name": "firmware", "label": "Version", "field": "firmware", "align": "left"},
                    {"name": "devices", "label": "Devices", "field": "devices", "align": "right"},
                ],
                row_key="key",
            )
            .props("flat dense bordered")
            .classes("firmware")
        )

    def _draw_drawer(self) -> None:
        # At the right and beside the table: it takes no focus away from what stays usable.
        self._drawer = ui.dialog()
        self._drawer.props("position=right seamless no-focus full-height")
        self._drawer.on_value_change(lambda e: None if e.value else self._closed())
        with self._drawer, ui.element("section").classes("drawer").props("aria-label=Details"):
            with ui.element("div").classes("drawer-head"):
                with ui.element("h2"):
                    self._drawer_title = ui.label()
                ui.button("Close", on_click=self._drawer.close).props("flat dense no-caps")
            self._facts = ui.element("dl").classes("facts")
            with ui.element("div").classes("rename"):
                self._new_name = ui.input("New name").props("outlined dense maxlength=200")
                self._rename = ui.button("Rename", on_click=self._do_rename).props("outline dense no-caps")
            self._agents.mount(DeviceDrawer(self._view))

    def _follow(self) -> None:
        """Bring what is drawn in line with the view."""
        if self._table.is_deleted:
            return
        view = self._view
        rows = (tuple(view.rows), view.sort)
        if rows != self._drawn:
            self._drawn = rows
            column, descending = column_of(view.sort)
            self._table.rows = [_row(device) for device in view.rows]
            self._table.pagination = {**self._table.pagination, "sortBy": column, "descending": descending, "page": 1}
            self._versions.rows = [
                {"key": f"{kind} {version}", "kind": kind, "firmware": version, "devices": count}
                for kind, versions in sorted(view.firmware().items())
                for version, count in versions.most_common()
            ]
        if {row["id"] for row in self._table.selected} != view.selected:
            self._table.selected = [row for row in self._table.rows if row["id"] in view.selected]
        self._follow_filters()
        self._tabs.set_value(view.tab)
        self._follow_drawer()
        count = len(view.selected)
        self._chosen.set_text(f"{count} selected" if count else "Nothing selected")
        self._disable.set_enabled(bool(count) and self._person.may_write)

    def _follow_filters(self) -> None:
        filters = self._view.filters
        self._text.set_value(filters.text)
        self._city.set_value("*" if filters.city is None else filters.city)
        self._status.set_value(filters.status or "*")
        self._kind.set_value(filters.kind or "*")
        number = len(self._view.rows)
        self._count.set_text("1 device" if number == 1 else f"{number} devices")

    def _follow_drawer(self) -> None:
        device = self._view.device
        if device is not None:
            self._drawer_title.set_text(device.name)
            self._facts.clear()
            with self._facts:
                for field, value in device.model_dump().items():
                    with ui.element("dt"):
                        ui.label(field.replace("_", " ").capitalize())
                    with ui.element("dd"):
                        ui.label(str(value) if value != "" else "not known")
            self._rename.set_enabled(self._person.may_write)
        self._drawer.set_value(device is not None)

    def _closed(self) -> None:
        if self._view.opened is not None:
            self._view.look_at(None)

    async def _filter(self) -> None:
        wanted = Filters(
            text=self._text.value or "",
            city=None if self._city.value in {"*", None} else self._city.value,
            status=None if self._status.value in {"*", None} else self._status.value,
            kind=None if self._kind.value in {"*", None} else self._kind.value,
        )
        if wanted != self._view.filters:
            await self._view.show(wanted)

    async def _clear(self) -> None:
        await self._view.show(Filters())

    async def _sorted(self, event: events.ValueChangeEventArguments[dict[str, Any]]) -> None:
        column, descending = event.value.get("sortBy"), bool(event.value.get("descending"))
        if column is not None and (column, descending) != column_of(self._view.sort):
            await self._view.order(column, descending=descending)

    async def _ask_disable(self) -> None:
        ids = sorted(self._view.selected)
        with ui.dialog() as asked, ui.element("section").classes("ask"):
            with ui.element("h2"):
                ui.label(f"Disable {len(ids)} devices?" if len(ids) != 1 else f"Disable {ids[0]}?")
            ui.label(", ".join(ids)).classes("quiet")
            with ui.element("div").classes("ask-answers"):
                ui.button("Cancel", on_click=lambda: asked.submit(False)).props("flat no-caps")
                ui.button("Disable", on_click=lambda: asked.submit(True)).props("unelevated no-caps color=negative")
        if await asked:
            await self._change(
                lambda fleet, key: fleet.disable(ids, credential=self._person.credential, idempotency_key=key)
            )
        asked.delete()

    async def _do_rename(self) -> None:
        device, name = self._view.device, self._new_name.value
        if device is not None and name:
            await self._change(
                lambda fleet, key: fleet.rename(
                    device.id, name, credential=self._person.credential, idempotency_key=key
                )
            )

    async def _change(self, send: Callable[[FleetClient, str], Any]) -> None:
        fleet = self._fleet()
        try:
            if fleet is not None:
                await send(fleet, uuid.uuid4().hex)
        except FleetError as error:
            ui.notify(error.body.message, type="negative")
        except FleetUnreachable:
            ui.notify("The backend did not answer; look again before you repeat this.", type="negative")
        self._view.outdated()
        await self._view.refresh()


def _row(device: Device) -> dict[str, object]:
    return {
        **device.model_dump(include={"id", "name", "kind", "city", "status", "firmware"}),
        "city": device.city or "–",
        "state": "enabled" if device.enabled else "disabled",
        "last_seen": device.last_seen.replace("T", " ").removesuffix("Z"),
    }
