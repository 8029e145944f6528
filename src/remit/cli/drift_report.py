"""One drift, four renderings: for people, for programs, for a pull request, for a check that annotates (SPEC 13.6)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

import click

from remit._base.text import first_bad_inside, shown
from remit._contract.manifest import FILE_NAME
from remit.cli.report import table
from remit.compiler import Change, Drift, Drifted

Format = Literal["human", "json", "md", "github"]
Verbosity = Literal["min", "normal", "detail"]

COLOURS: Final = MappingProxyType(
    {Drift.WIDENING: "red", Drift.BREAKING: "yellow", Drift.NARROWING: "green", Drift.NEUTRAL: None}
)
_LOUD: Final = (Drift.WIDENING, Drift.BREAKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a command found: the drift against `base`, and whether the recorded contract equals the source.

    `fails` are the classes that fail the gate. `equals` is None where no source was compiled. `adopted` says that the
    base had no contract, so that everything counts as added. `unreadable` says why the recorded one cannot be read.
    """

    drifted: Drifted
    base: str
    fails: frozenset[Drift]
    equals: bool | None
    adopted: bool
    unreadable: str | None = None

    @property
    def failing(self) -> tuple[Change, ...]:
        """The changes that fail the gate."""
        return self.drifted.failing(self.fails)

    @property
    def failed(self) -> bool:
        """True when the gate fails: by the class of a change, or because the contract is not that of the source."""
        return self.equals is False or bool(self.failing)


def rendered(report: Report, form: Format, verbosity: Verbosity) -> str:
    """The report in one of the four forms; `verbosity` widens the one for people.

    Whatever a contract holds, a change is one line, and what a terminal would obey or nobody sees is an escape;
    programs read the texts as they are, from JSON that is plain ASCII then.
    """
    return _FORMS[form](report if form == "json" else _plain(report), verbosity)


def _plain(report: Report) -> Report:
    changes = tuple(
        replace(
            change,
            subject=shown(change.subject),
            component=None if change.component is None else shown(change.component),
            field=shown(change.field),
            before=shown(change.before),
            after=shown(change.after),
            place=None if change.place is None else shown(change.place),
        )
        for change in report.drifted.changes
    )
    unreadable = None if report.unreadable is None else shown(report.unreadable)
    return replace(report, drifted=Drifted(changes=changes), base=shown(report.base), unreadable=unreadable)


def headline(report: Report) -> str:
    """`1 breaking, 2 widening; remit.contract.json equals the source`."""
    counts = [f"{report.drifted.count(each)} {each}" for each in Drift if report.drifted.count(each)]
    parts = [", ".join(counts) or f"no change since {report.base}"]
    if report.adopted:
        parts.append(f"{report.base} has no contract, everything counts as added")
    if report.unreadable is not None:
        return "; ".join([report.unreadable, *([] if report.base == FILE_NAME else parts)])
    if report.equals is not None:
        whole = f"{FILE_NAME} {'equals' if report.equals else 'does not equal'} the source"
        parts.insert(len(parts) if report.equals or counts else 0, whole)  # what fails never stands behind "no change"
    return "; ".join(parts)


def _human(report: Report, verbosity: Verbosity) -> str:
    if verbosity == "min" or not report.drifted.changes:
        return headline(report)
    body = _detailed(report) if verbosity == "detail" else _rows(report)
    first = "" if report.unreadable is None else f"{report.unreadable}\n"
    return f"{first}{body}\n{headline(report)}"


def _rows(report: Report) -> str:
    names = names_of(report.drifted)
    rows = [
        (_word(change), names[change], change.field, f"{change.before} → {change.after}", change.place or "")
        for change in report.drifted.changes
    ]
    head, *lines = table(("", "", "", "", ""), rows).split("\n")
    assert not head
    return "\n".join(_coloured(change, line) for change, line in zip(report.drifted.changes, lines, strict=True))


def _detailed(report: Report) -> str:
    """Grouped by what changed, from and to on lines of their own."""
    groups: dict[str, list[Change]] = {}
    names = names_of(report.drifted)
    for change in report.drifted.changes:
        groups.setdefault(names[change], []).append(change)
    lines = []
    for name, changes in sorted(groups.items()):
        lines.append(name)
        for change in changes:
            where = f"    {change.place}" if change.place else ""
            lines.append(_coloured(change, f"  {_word(change)}  {change.field}{where}"))
            lines += [f"    before  {change.before}", f"    after   {change.after}"]
        lines.append("")
    return "\n".join(lines)


def _word(change: Change) -> str:
    """Every class of a change, the grave ones in capitals; colour only repeats it."""
    return "+".join(each.upper() if each in _LOUD else each for each in Drift if each in change.classes)


def _coloured(change: Change, line: str) -> str:
    word = _word(change)
    return line.replace(word, click.style(word, fg=COLOURS[change.worst]), 1)


def names_of(drifted: Drifted) -> Mapping[Change, str]:
    """What each change is told of; the component stands beside an id that several components have."""
    components: dict[str, set[str | None]] = {}
    for change in drifted.changes:
        components.setdefault(change.subject, set()).add(change.component)
    return {
        change: f"{change.subject} in {change.component}" if len(components[change.subject]) > 1 else change.subject
        for change in drifted.changes
    }


def _json(report: Report, _verbosity: Verbosity) -> str:
    form = {
        "base": report.base,
        "base_has_contract": not report.adopted,
        "equals_source": report.equals,
        "unreadable": report.unreadable,
        "failed": report.failed,
        "fails_on": sorted(report.fails),
        "counts": {each.value: report.drifted.count(each) for each in Drift},
        "changes": [
            {
                "classes": [each.value for each in Drift if each in change.classes],
                "subject": change.subject,
                "component": change.component,
                "field": change.field,
                "before": change.before,
                "after": change.after,
                "place": change.place,
            }
            for change in report.drifted.changes
        ],
    }
    return json.dumps(form, indent=2, sort_keys=True, ensure_ascii=first_bad_inside(form) is not None)


def _md(report: Report, _verbosity: Verbosity) -> str:
    lines = [f"**{headline(report)}**"]
    names = names_of(report.drifted)
    if report.drifted.changes:
        lines += ["", "| class | what | part | before | after | where |", "|---|---|---|---|---|---|"]
    for change in report.drifted.changes:
        cells = (names[change], change.field, change.before, change.after, change.place or "")
        lines.append(f"| {_word(change)} | " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Data in a table cell: shown as it is, never read as markup."""
    shown = text.replace("`", "'").replace("|", "\\|")
    return f"`{shown}`" if shown else ""


def _github(report: Report, _verbosity: Verbosity) -> str:
    """One annotation a change, an error where the gate fails, and one for the whole."""
    failing = frozenset(report.failing)
    names = names_of(report.drifted)
    lines = []
    for change in report.drifted.changes:
        level = "error" if change in failing else "notice"
        file, _, line = (change.place or "").rpartition(":")
        place = f"file={_property(file)},line={line}," if file and line.isdigit() else ""
        title = _property(f"{_word(change)} {names[change]}")
        lines.append(f"::{level} {place}title={title}::{_message(f'{change.field}: {change.before} → {change.after}')}")
    level = "error" if report.failed else "notice"
    lines.append(f"::{level} title={FILE_NAME}::{_message(headline(report))}")
    return "\n".join(lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


_FORMS: Final[Mapping[str, Callable[[Report, Verbosity], str]]] = MappingProxyType(
    {"human": _human, "json": _json, "md": _md, "github": _github}
)
