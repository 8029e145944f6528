"""The reports part: the fleet in numbers."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from console.components import ReportsSummary
from console.fleet_view import FleetView
from remit.integrations.nicegui import Agents


class ReportsPart:
    """Draws the summary and follows it."""

    def __init__(self, agents: Agents, view: FleetView) -> None:
        self._agents = agents
        self._view = view
        self._summary = ReportsSummary(view, changed=self._follow)

    def draw(self) -> None:
        """Draw everything into the current element."""
        with ui.element("h1"):
            ui.label("Reports")
        with ui.element("div").classes("filters"):
            self._group = ui.toggle(
                {"city": "By city", "kind": "By kind"},
                value="city",
                on_change=lambda e: self._summary.group_by(e.value),
            ).props("no-caps dense unelevated")
            self._total = ui.label().classes("count").props("role=status")
        names = (("name", "Group"), ("online", "Online"), ("offline", "Offline"), ("maintenance", "Maintenance"))
        self._table = (
            ui.table(
                rows=[],
                columns=[
                    {"name": name, "label": label, "field": name, "align": "left" if name == "name" else "right"}
                    for name, label in (*names, ("disabled", "Disabled"))
                ],
                row_key="name",
            )
            .props("flat dense bordered")
            .classes("report")
        )
        self._agents.mount(self._summary)
        self._view.on_change(self._follow)
        self._follow()

    def _grouped(self, event: events.ValueChangeEventArguments[Any]) -> None:
        if event.value != self._summary.group:
            self._summary.group_by(event.value)

    def _follow(self) -> None:
        if self._table.is_deleted:
            return
        self._group.set_value(self._summary.group)
        self._table.rows = [group.model_dump() for group in self._summary.groups()]
        self._total.set_text(f"{len(self._view.rows)} devices")
