"""One view of what backends offer: what became of each operation, in words (SPEC 10.2, 13.1)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import click

from remit.cli.report import NOBODY, counted, table
from remit.compiler import Backend, Compiled, Offered
from remit.compiler.offering import Offering, Referenced
from remit.errors import Finding

_SUMMARY: Final = 60
_UNLISTED: Final = 20


class State(StrEnum):
    """What became of an operation."""

    REFERENCED = "referenced"
    LISTED = "listed"
    REFUSED = "refused"
    OFFERED = "offered"


_TRIED: Final = MappingProxyType({State.OFFERED: "listed", State.LISTED: "referenced as it is"})
_COLOURS: Final = MappingProxyType({State.REFERENCED: "green", State.REFUSED: "red"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferLine:
    """One operation as a reviewer reads it.

    `id` is its capability id, None where nobody opted in; `references` say where an agent could meet it, `reason` why
    it cannot be listed, `unfit` why a bare reference to it would not compile. `effect` and `confirmation` are what its
    catalogue says; `described` is False where the backend's own text is none that an agent may read.
    """

    state: State
    request: str
    operation_id: str | None
    id: str | None
    effect: str | None
    confirmation: str | None
    summary: str
    reason: str | None
    references: tuple[Referenced, ...]
    unfit: str | None = None
    described: bool = True

    def is_called(self, text: str) -> bool:
        """True for its id, how the backend writes it, and the backend's own name for it."""
        return text in {self.id, self.request, self.operation_id}


def lines_of(backend: Backend, references: Mapping[str, tuple[Referenced, ...]]) -> list[OfferLine]:
    """Every operation of a backend, in the order in which it has them."""
    return [_line(each, references.get(each.offer.name or "", ())) for each in backend.operations]


def _line(each: Offered, references: tuple[Referenced, ...]) -> OfferLine:
    offer = each.offer
    if offer.name is None:
        state = State.OFFERED
    elif offer.refused is not None:
        state = State.REFUSED
    else:
        state = State.REFERENCED if references else State.LISTED
    return OfferLine(
        state=state,
        request=offer.request,
        operation_id=offer.operation_id,
        id=None if offer.name is None else f"domain:{offer.name}",
        effect=each.effect,
        confirmation=each.confirmation,
        summary=offer.summary,
        reason=offer.refused,
        references=references,
        unfit=each.unfit,
        described=each.described,
    )


def as_text(backends: Sequence[Backend], found: Offering) -> str:
    """Each backend with a line an operation; the first word says what became of it."""
    return "\n\n".join(_backend(each, lines_of(each, found.references)) for each in backends)


def _backend(backend: Backend, lines: Sequence[OfferLine]) -> str:
    count = {state: sum(line.state is state for line in lines) for state in State}
    told = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    head = f"{backend.name}  {backend.place}  {counted(len(lines), 'operation', 'operations')}"
    if not lines:
        return head
    rows = [(line.state.value, line.request, line.id or NOBODY, line.effect or NOBODY, _where(line)) for line in lines]
    title, *body = table(("", "operation", "id", "effect", ""), rows).split("\n")
    shown = [_coloured(line.state, text) for line, text in zip(lines, body, strict=True)]
    return "\n".join([f"{head}: {told}", "", title, *shown])


def _coloured(state: State, line: str) -> str:
    """The word stands first; colour only repeats it."""
    return click.style(state.value, fg=_COLOURS.get(state)) + line.removeprefix(state.value)


def _where(line: OfferLine) -> str:
    if line.reason is not None:
        return line.reason
    if line.references:
        return "; ".join(f"{each.component} ({', '.join(each.doors) or 'no door'})" for each in line.references)
    return line.summary if line.unfit is None else f"cannot be {_TRIED[line.state]}: {line.unfit}"


def as_json(backends: Iterable[Backend], found: Offering, findings: Iterable[Finding]) -> str:
    """The same, for programs."""
    form = {
        "backends": [
            {
                "name": each.name,
                "place": each.place,
                "operations": [asdict(line) for line in lines_of(each, found.references)],
            }
            for each in backends
        ],
        "findings": [str(finding) for finding in findings],
    }
    return json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False)


def unexposed(compiled: Compiled) -> list[OfferLine]:
    """What the backends of a project that compiles offer and no component references."""
    referenced = {name: (Referenced(component="", doors=()),) for name in compiled.manifest.operations}
    lines = [line for backend in compiled.backends for line in lines_of(backend, referenced)]
    return [line for line in lines if line.state is not State.REFERENCED]


def unexposed_text(lines: Sequence[OfferLine]) -> str:
    """As a part of `remit inspect`: everything that is listed, and the beginning of what nobody opted in."""
    listed = [line for line in lines if line.state is not State.OFFERED]
    rest = [line for line in lines if line.state is State.OFFERED]
    rows = [
        (line.id or line.request, line.state.value, line.effect or NOBODY, _short(line.summary))
        for line in [*listed, *rest[:_UNLISTED]]
    ]
    if not rows:
        return ""
    text = table(("offered, not exposed", "state", "effect", "description"), rows)
    more = len(rest) - _UNLISTED
    return text if more <= 0 else f"{text}\n… and {more} more that nobody opted in: remit catalogue show"


def _short(summary: str) -> str:
    return summary if len(summary) <= _SUMMARY else summary[: _SUMMARY - 1].rstrip() + "…"
