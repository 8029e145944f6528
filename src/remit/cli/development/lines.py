"""What `remit dev` says, one line a fact, on standard error: standard output is the program's (SPEC 13.7)."""

import os
import threading
from typing import Final

import click

from remit._contract.manifest import Manifest
from remit.cli.drift_report import COLOURS, names_of
from remit.cli.report import counted
from remit.compiler import Change, Drift, Drifted
from remit.errors import CompileError, Finding

_LABEL: Final = 10
_TYPES: Final = 3
_ABSENT: Final = "(none)"
_COMPONENT_WORDS: Final = frozenset({"capability", "component"})


class Lines:
    """Says things whole, one thread at a time; plain where nobody sees colour."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._colour = False if os.environ.get("NO_COLOR") else None
        self._failing = False

    def say(self, label: str, text: str) -> None:
        """`label     text`."""
        with self._one_at_a_time:
            click.echo(f"{label:<{_LABEL}}{text}", err=True, color=self._colour)

    def contract(self, manifest: Manifest) -> None:
        """What there is, and which contract it is."""
        self.say(
            "contract",
            f"{_told(manifest)}; development copy, refused in production. `remit compile` writes the one you commit",
        )

    def changes(self, drifted: Drifted) -> None:
        """One line a change, with its class."""
        if self._failing:
            self._failing = False
            self.say("compiles", "again")
        names = names_of(drifted)
        for change in drifted.changes:
            self.say("changed", _change(change, names[change]))

    def findings(self, problem: CompileError) -> None:
        """Why the source does not compile, and what is served meanwhile."""
        self._failing = True
        for finding in problem.findings:
            self.say("finding", _indented(finding))
        self.say("kept", "the last contract that compiled; nothing that differs from it is mounted")


def _told(manifest: Manifest) -> str:
    types = sorted(manifest.components)
    if not types:
        return "no component yet"
    shown = ", ".join(types[:_TYPES]) + (f" and {len(types) - _TYPES} more" if len(types) > _TYPES else "")
    return f"{shown}: {counted(len(manifest.capabilities), 'capability', 'capabilities')}"


def _change(change: Change, name: str) -> str:
    """`app.py:31  + view:devices.table.clear  (widening: new capability)`."""
    words = ", ".join(each.value for each in Drift if each in change.classes)
    classes = click.style(words, fg=COLOURS[change.worst])
    if change.field in _COMPONENT_WORDS and _ABSENT in (change.before, change.after):
        new = change.before == _ABSENT
        sign, rest = ("+", f"({classes}: new {change.field})") if new else ("-", f"({classes}: {change.field} gone)")
    else:
        sign, rest = "~", f"{change.field}: {change.before} → {change.after}  ({classes})"
    place = f"{change.place}  " if change.place else ""
    return f"{place}{sign} {name}  {rest}"


def _indented(finding: Finding) -> str:
    return str(finding).replace("\n", "\n" + " " * _LABEL)
