"""Reference stubs: declarations for what a backend offers and no component references, for review (SPEC 10.2)."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from remit._base.text import clean_line
from remit._contract.options import LIMITS
from remit._model.effects import Effect
from remit.cli.naming import HIDING, free, operation_name, text
from remit.cli.naming import attribute as attribute_of
from remit.cli.offers import OfferLine
from remit.compiler import Backend

_SHOWN: Final = 80
_TYPE: Final = 80
_REASON: Final = 300
_IMPORTED: Final = "imported"
OPERATIONS: Final = "OPERATIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """One reference to write.

    `effect` is what its catalogue says; `reviewed` is False where nobody has said any, which counts as destructive: a
    method promises nothing, a GET included. `operation` is the name that its opting in would have, None where it is
    opted in already, and `description` what it is given where its backend has no text that an agent may read.
    """

    id: str
    attribute: str
    request: str
    summary: str
    effect: str
    reviewed: bool
    operation: str | None
    description: str | None = None


def stubs_of(lines: Sequence[OfferLine], taken: Iterable[str]) -> list[Stub]:
    """A stub for each line; `taken` are the names of operations that are listed anywhere."""
    names, attributes = set(taken), set(HIDING)
    found: list[Stub] = []
    for line in lines:
        listed = line.id is not None
        name = line.id.removeprefix("domain:") if line.id is not None else free(_name(line), names, "-")
        names.add(name)
        attribute = free(attribute_of(name), attributes, "_")
        attributes.add(attribute)
        found.append(
            Stub(
                id=f"domain:{name}",
                attribute=attribute,
                request=line.request,
                summary=line.summary,
                effect=line.effect if listed and line.effect is not None else Effect.DESTRUCTIVE.value,
                reviewed=listed,
                operation=None if listed else name,
                description=None if listed or line.described else _description(line),
            )
        )
    return found


def written(
    backend: Backend, stubs: Sequence[Stub], types: Collection[str], unfit: Sequence[tuple[OfferLine, str]]
) -> str:
    """The source of a module that declares them; `types` are component types that exist.

    `unfit` are those to which a reference would not compile: they stand in comments, each with the reason.
    """
    parts = (_head(backend, stubs), _opted_in(backend, stubs), _component(backend, stubs, types), _not_written(unfit))
    return "\n".join([*(line for part in parts for line in part), ""])


def _head(backend: Backend, stubs: Sequence[Stub]) -> Iterator[str]:
    yield f'"""Operations of `{backend.name}` in {backend.path}, as its backend describes them: to be reviewed."""'
    yield ""
    yield "from remit import Component, reference"
    if any(stub.operation for stub in stubs):
        module, _, name = (backend.opted_in_by or "").rpartition(".")
        yield f"from {module} import {name}"


def _opted_in(backend: Backend, stubs: Sequence[Stub]) -> Iterator[str]:
    new = [stub for stub in stubs if stub.operation is not None]
    if not new:
        return
    yield ""
    yield f"# For `{backend.name}`: expose={{…, **{OPERATIONS}}}. Nobody has said yet what a call of these"
    yield "# does, so each counts as destructive and asks a person. Say what it does; GET promises nothing."
    yield f"{OPERATIONS} = {{"
    kind = (backend.opted_in_by or "").rpartition(".")[2]
    for stub in new:
        yield f"    # {_short(stub.summary) if stub.summary else 'not described: say what it does'}"
        more = "" if stub.description is None else f", description={text(stub.description)}"
        yield f'    {text(stub.operation)}: {kind}({text(stub.request)}, effect="{stub.effect}"{more}),'
    yield "}"


def _component(backend: Backend, stubs: Sequence[Stub], types: Collection[str]) -> Iterator[str]:
    words = re.findall("[a-z0-9]+", backend.name.lower()) or ["backend"]
    if not words[0][0].isalpha():
        words.insert(0, "backend")
    kind = free(f"{'-'.join(words)[:_TYPE].rstrip('-')}.{_IMPORTED}", types, "-")
    yield ""
    yield ""
    name = "".join(word.capitalize() for word in words) + _IMPORTED.capitalize()
    yield f'class {name}(Component, type="{kind}", headless=True):'
    yield f'    """Operations of {backend.name}."""'
    for stub in stubs:
        yield ""
        yield f"    # {stub.request}{': ' if stub.summary else ''}{_short(stub.summary)}"
        yield f"    {stub.attribute} = reference({text(stub.id)})"


def _not_written(unfit: Sequence[tuple[OfferLine, str]]) -> Iterator[str]:
    if unfit:
        yield ""
        yield ""
        yield "# Not written, for a reference to it would not compile:"
    for line, reason in unfit:
        yield f"# * {line.request or line.id}: {clean_line(reason, _REASON)}"


def _name(line: OfferLine) -> str:
    """The backend's own name in the characters that every door takes as they are."""
    return operation_name(line.operation_id or line.request)


def _description(line: OfferLine) -> str:
    return line.summary or clean_line(f"Not described by its backend: {line.request}", LIMITS.capability_description)


def _short(summary: str) -> str:
    return summary if len(summary) <= _SHOWN else summary[: _SHOWN - 1].rstrip() + "…"
