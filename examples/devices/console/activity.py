"""The live panel: what agents do in this page, newest first, in words."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from nicegui import ui

from remit import Event, EventType, Surface

_KEPT: Final = 60
_DRAWN_EVERY_S: Final = 0.25
_TYPES: Final = (
    EventType.INVOCATION_SETTLED,
    EventType.CONFIRMATION_REQUESTED,
    EventType.CONFIRMATION_RESOLVED,
    EventType.ROUTE_CHANGED,
)


class Activity:
    """Listens to the page's surface for as long as the page lives."""

    def __init__(self, surface: Surface) -> None:
        with ui.element("h2"):
            ui.label("Agent activity")
        self._empty = ui.label("No agent has done anything in this page yet.").classes("quiet")
        self._list = ui.element("ol").props('role=log aria-label="Agent activity, newest first"')
        self._undrawn: deque[tuple[str, str, str, str]] = deque(maxlen=_KEPT)
        surface.subscribe(self._heard, types=_TYPES)
        # An agent may call hundreds of times a second. A browser that had to draw each one by itself falls behind, then
        # answers the pings of its socket too late, and the page counts as gone.
        ui.timer(_DRAWN_EVERY_S, self._draw)

    def _heard(self, event: Event) -> None:
        told = _told(event)
        if told is not None:
            self._undrawn.append((f"{datetime.now().astimezone():%H:%M:%S}", *told))

    def _draw(self) -> None:
        while self._undrawn:
            self._add(*self._undrawn.popleft())

    def _add(self, when: str, kind: str, what: str, how: str) -> None:
        self._empty.set_visibility(False)
        with self._list, ui.element("li").classes(f"did {kind}") as line:
            ui.label(when).classes("when")
            ui.label(what).classes("what")
            ui.label(how).classes("how")
        line.move(target_index=0)
        entries = self._list.default_slot.children
        if len(entries) > _KEPT:
            entries[-1].delete()


def _told(event: Event) -> tuple[str, str, str] | None:
    data = event.data
    match event.type:
        case EventType.INVOCATION_SETTLED:
            outcome = "done" if data["ok"] else str(data["code"]).replace("_", " ").lower()
            kind = "ok" if data["ok"] else "waiting" if data["code"] == "CONFIRMATION_REQUIRED" else "refused"
            return kind, _name(data), f"{_place(data)}{_agent(event)}: {outcome}"
        case EventType.CONFIRMATION_REQUESTED:
            return "waiting", _name(data), f"{_agent(event)} waits for a person"
        case EventType.CONFIRMATION_RESOLVED:
            return "decided", _name(data), f"the request is {data.get('status', 'ended')}"
        case EventType.ROUTE_CHANGED:
            return "moved", "Page opened", str(data["route"])
        case _:
            return None


def _name(data: Mapping[str, object]) -> str:
    """The last part of a capability id, as words: `view:devices.table.selectRows` is “Select rows”."""
    name = str(data.get("capability", "")).rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).capitalize()


def _place(data: Mapping[str, object]) -> str:
    plane, _, rest = str(data.get("capability", "")).partition(":")
    where = rest.rpartition(".")[0] if plane == "view" else "backend"
    return f"{where} · " if where else ""


def _agent(event: Event) -> str:
    """The agent's own name out of the consumer's key (kind, issuer, actors, grant)."""
    actors = event.consumer[2] if event.consumer is not None and len(event.consumer) > 2 else ()
    return ", ".join(map(str, actors)) if isinstance(actors, tuple) and actors else "an agent"
