"""What a listing or a course of events means, without what is another one on every run (SPEC 16.1)."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from remit._model.event import Event
from remit._model.listing import Snapshot

_OPAQUE: Final = re.compile(r"(srf|reg|inv|cnf|err)_[A-Za-z0-9_-]{22}")
_NAMES: Final = {"srf": "surface", "reg": "registration", "inv": "invocation", "cnf": "confirmation", "err": "error"}


def semantic(what: Snapshot | Iterable[Event]) -> object:
    """A JSON-able form that is equal for equal meanings: to keep in a file, or to compare two runs.

    Of a snapshot: a mapping of route, components and references, where `type/instance` stands for a registration;
    surface id, version and time are left out. Of events: a list in their order, where `registration-1`,
    `invocation-2` and so on stand for opaque ids, numbered as they first appear; ids a caller chose stay.
    """
    if isinstance(what, Snapshot):
        return _snapshot(what)
    given: object = what
    events = tuple(what) if isinstance(given, Iterable) else ()
    if not isinstance(given, Iterable) or not all(isinstance(event, Event) for event in events):
        raise TypeError(
            f"semantic takes a snapshot or several events, not {type(what).__name__}"
            "\n  do  semantic(harness.surface.snapshot(consumer))"
        )
    return _events(events)


def _snapshot(snapshot: Snapshot) -> dict[str, object]:
    named: dict[str, str] = {each.registration: f"{each.type}/{each.instance}" for each in snapshot.components}
    for listed in snapshot.references:
        named[listed.registration] = f"{listed.descriptor.component}/{listed.instance}"
    form = snapshot.to_json()
    kept = {name: form[name] for name in ("route", "components", "references")}
    return {name: _renamed(value, named) for name, value in kept.items()}


def _renamed(value: object, named: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return named.get(value, value)
    if isinstance(value, Mapping):
        return {str(key): _renamed(each, named) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(each, named) for each in value]
    return value


def _events(events: Iterable[Event]) -> list[object]:
    numbers = _Numbers()
    return [
        {
            "type": event.type.value,
            "data": numbers.of(event.data),
            "consumer": None if event.consumer is None else numbers.of(event.consumer),
        }
        for event in events
    ]


class _Numbers:
    """Names for opaque ids, in the order in which they turn up."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def of(self, value: object) -> object:
        if isinstance(value, str):
            return self._name(value)
        if isinstance(value, Mapping):
            return {str(key): self.of(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(each) for each in value]
        return value

    def _name(self, text: str) -> str:
        found = _OPAQUE.fullmatch(text)
        if found is None:
            return text
        if text not in self._names:
            kind = _NAMES[found.group(1)]
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[text] = f"{kind}-{self._counts[kind]}"
        return self._names[text]
