"""The module that declares what a page sends, for review (SPEC 11.9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remit._base.text import clean_line
from remit._schema.literal import input_schema
from remit.cli.deriving.derived import Derived, Written, component, heading, variable_of
from remit.cli.deriving.forms import Sent, forms_of, names_of
from remit.cli.deriving.page import read_page
from remit.cli.deriving.skipping import Skipped
from remit.cli.naming import attribute, free, literal, text
from remit.errors import DefinitionError

_USED = ("Any", "BackendError", "Component", "Procedures", "reference", "sent")
_LINE = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """One operation with its names: of the operation, and of the function."""

    name: str
    function: str
    sent: Sent


def derive_page(html: str, address: str, place: str, stem: str) -> Derived:
    """Read the forms of a page; `place` names it for readers, `stem` the module that is written."""
    found = forms_of(read_page(html), address)
    left_out = list(found.left_out)
    kept: list[Sent] = []
    for each in found.sent:
        try:
            input_schema(each.schema, subject=each.request)
        except DefinitionError as problem:
            left_out.append(Skipped(each.request, problem.rule))
        else:
            kept.append(each)
    variable = variable_of(stem)
    operations = _named(kept, variable)
    return Derived(
        operations=tuple(Written(id=f"domain:{each.name}", request=each.sent.request) for each in operations),
        skipped=tuple((each.sent.request, skipped) for each in operations for skipped in each.sent.fields.skipped),
        left_out=tuple(left_out),
        source="\n".join(_module(operations, variable, place)) + "\n" if operations else "",
        document=None,
    )


def _named(sent: Sequence[Sent], variable: str) -> list[_Named]:
    taken = {*_USED, variable}
    named: list[_Named] = []
    for name, each in zip(names_of(sent), sent, strict=True):
        function = free(attribute(name), taken, "_")
        taken.add(function)
        named.append(_Named(name=name, function=function, sent=each))
    return named


def _module(operations: Sequence[_Named], variable: str, place: str) -> Iterator[str]:
    yield heading(f"Forms of {place}, as the page has them")
    yield ""
    yield "from typing import Any"
    yield ""
    yield "from remit import BackendError, Component, Procedures, reference"
    yield ""
    yield f"{variable} = Procedures()"
    for each in operations:
        yield from _function(each, variable)
    yield from component(variable, [(each.function, f"domain:{each.name}", each.sent.request) for each in operations])


def _function(each: _Named, variable: str) -> Iterator[str]:
    sent = each.sent
    yield ""
    yield ""
    rows = f", {sent.forms} times in the page" if sent.forms > 1 else ""
    yield from _comment(f"{sent.request}{rows}")
    yield "# Nobody has said yet what it does, so it counts as destructive."
    for known, name in sent.fields.sent_as.items():
        yield from _comment(f"The page sends {known} as {name}.")
    for skipped in sent.fields.skipped:
        yield from _comment(f"Left out: {skipped}.")
    yield f"@{variable}.operation("
    yield f"    {text(each.name)},"
    yield '    effect="destructive",'
    yield f"    description={text(sent.title or f'Send the form {sent.request}.')},"
    yield f"    input={literal(sent.schema, '    ')},"
    yield ")"
    yield f"async def {each.function}(sent: dict[str, Any]) -> None:"
    yield "    raise BackendError(405)  # until somebody calls here what the page's own handler calls"


def _comment(words: str) -> Iterator[str]:
    yield f"# {clean_line(words, _LINE)}"
