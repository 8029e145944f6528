"""What `remit doctor` found: one value, two renderings (SPEC 13.7, FEEL 11)."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import click

from remit.cli.report import counted

_LABEL: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that was looked at.

    `check` is its stable name, `ok` whether all is well, `what` was found, `where`, `why` that matters and what to
    `do`. Paths are relative to the project.
    """

    check: str
    ok: bool
    what: str
    where: str | None = None
    why: str | None = None
    do: str | None = None


def well(check: str, what: str) -> Diagnosis:
    """All is well."""
    return Diagnosis(check=check, ok=True, what=what)


def as_text(found: Sequence[Diagnosis]) -> str:
    """A line each, why and what to do below it, and the count."""
    lines = [_text(each) for each in found]
    bad = sum(not each.ok for each in found)
    total = f"{counted(bad, 'finding', 'findings')}, {len(found) - bad} of {len(found)} checks are well"
    return "\n".join([*lines, total])


def _text(each: Diagnosis) -> str:
    label = f"{'ok' if each.ok else 'finding':<{_LABEL}}"
    head = click.style(label, fg="green" if each.ok else "red")
    first = f"{head}{each.check:<{_LABEL}}" + (f"{each.where}  " if each.where else "") + each.what
    rest = [f"{name}  {text}" for name, text in (("why", each.why), ("do", each.do)) if text]
    return "\n".join([first, *([" " * _LABEL + "        ".join(rest)] if rest else [])])


def as_json(found: Sequence[Diagnosis]) -> str:
    """The same, for programs."""
    form = {"findings": sum(not each.ok for each in found), "checks": [asdict(each) for each in found]}
    return json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False)
