"""Whether a person can see an element now: open tabs, dialogs and drawers, and what is hidden (SPEC 4.12)."""

from collections.abc import Callable
from typing import Any, Final

from nicegui import binding, ui
from nicegui.element import Element
from nicegui.elements.drawer import Drawer
from nicegui.elements.mixins.openable_element import OpenableElement
from nicegui.elements.mixins.value_element import ValueElement

from remit._base.text import q

_PANELS: Final = {"q-tab-panel": "tab", "q-step": "step", "q-carousel-slide": "slide"}


class Presence:
    """Watches an element and all it stands in.

    `changed` is called after something opened, closed, appeared or was hidden. Only what the server knows counts: the
    values of elements, never what a browser says of its window.
    """

    def __init__(self, element: Element, changed: Callable[[], None]) -> None:
        self._around = tuple(element.ancestors(include_self=True))
        self._watch = _Watch(changed)
        self._gates = tuple(gate for each in self._around if (gate := _gate(each)) is not None)
        for each in self._around:
            each.bind_visibility_to(self._watch, "visible")
        for gate in self._gates:
            gate.on_value_change(self._watch.heard)
        self._watch.armed = True

    def close(self) -> None:
        """Stop watching: what stands around may outlive the element by many parts of the page."""
        self._watch.armed = False
        binding.remove([self._watch])
        for gate in self._gates:
            if self._watch.heard in gate._change_handlers:
                gate._change_handlers.remove(self._watch.heard)

    def reason(self) -> str | None:
        """Why nobody can see the element, said for an agent; None when it is presented."""
        for each in self._around:
            why = _why_closed(each)
            if why is not None:
                return why
        return None


class _Watch:
    """Stands where NiceGUI's bindings put a value, and calls instead of keeping it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.armed = False

    def heard(self) -> None:
        """A value changed."""
        if self.armed:
            self._changed()

    @property
    def visible(self) -> object:
        # Equal to nothing, so that every change arrives.
        return self

    @visible.setter
    def visible(self, _: object) -> None:
        self.heard()


def _why_closed(element: Element) -> str | None:
    if not element.visible:
        return "It is hidden"
    if isinstance(element, ui.expansion) and not element.value:
        return "Its section is closed"
    if isinstance(element, Drawer) and element.value is False:
        return "Its drawer is closed"
    if isinstance(element, OpenableElement) and not element.value:
        return "Its dialog is closed" if isinstance(element, ui.dialog) else "Its popup is closed"
    panels = _panels(element)
    if panels is not None and panels.props.get(panels.VALUE_PROP) != element.props.get("name"):
        return f"The {_PANELS[element.tag]} {q(element.props.get('name'))} is not open"
    return None


def _gate(element: Element) -> ValueElement[Any] | None:
    """The element whose value opens and closes this one."""
    if isinstance(element, ui.expansion | Drawer | OpenableElement):
        return element
    return _panels(element)


def _panels(element: Element) -> ValueElement[Any] | None:
    slot = element.parent_slot if element.tag in _PANELS else None
    return slot.parent if slot is not None and isinstance(slot.parent, ValueElement) else None
