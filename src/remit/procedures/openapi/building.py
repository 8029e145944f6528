"""From a document and what is opted in to operations, each listed or refused with its reason (SPEC 10.2, 10.6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from remit._base.boundary import Json
from remit._base.text import first_paragraph
from remit._model.effects import DEFAULTS
from remit._model.ids import check_domain_id
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.http.way import Way
from remit.procedures.listing import (
    checked_confirmation,
    checked_description,
    checked_effect,
    checked_tags,
    wrong,
)
from remit.procedures.openapi.answers import read_answers
from remit.procedures.openapi.document import Document, Node
from remit.procedures.openapi.operation import OpenAPIOperation, Operation
from remit.procedures.openapi.refusal import OperationRefused
from remit.procedures.openapi.request import request_form
from remit.procedures.openapi.servers import server_path

METHODS: Final = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
TRIED: Final = "tried"
"""The name and the text of an operation that nobody opted in, while it is built to see whether it could be."""

_DESCRIPTION: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What one build needs beside the document: the place errors name, and the way."""

    place: str
    way: Way


def build(document: Document, name: str, said: Operation, with_: Build) -> OpenAPIOperation:
    """Build one operation; OperationRefused when it cannot be sent, DefinitionError when the opting in is wrong."""
    subject = check_domain_id(f"domain:{name}", place=with_.place)
    if not isinstance(said, Operation):
        raise wrong(subject, "is opted in by something else than an Operation", with_.place, "write Operation(…)")
    effect = checked_effect(subject, with_.place, said.effect)
    confirmation = checked_confirmation(subject, with_.place, effect, said.confirmation)
    tags = checked_tags(subject, with_.place, said.tags)
    method, path = _named(document, said.request)
    cookies = "cookie" not in with_.way.allowed
    form = request_form(document, method, path, filled=with_.way.filled, cookies=cookies, subject=subject)
    item = document.followed(cast("dict[str, Json]", document.root["paths"])[path])
    operation = document.followed(item[method.lower()])
    servers = operation.get("servers") or item.get("servers") or document.root.get("servers")
    return OpenAPIOperation(
        name=name,
        effect=effect,
        confirmation=confirmation,
        idempotent=DEFAULTS[effect].idempotent if said.idempotent is None else bool(said.idempotent),
        description=description_of(subject, with_.place, said.description, operation),
        tags=tags,
        request=f"{method} {path}" + ("" if form.body is None else f" {form.body.media}"),
        form=form,
        answers=read_answers(document, operation, form.names, checked=said.check_output, subject=subject),
        prefix=server_path(servers, with_.way.fixed),
        way=with_.way,
    )


def cannot_list(request: str, refused: OperationRefused, place: str) -> DefinitionError:
    """The refusal of an operation that was only tried, as an error."""
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, request, str(refused), place=place)


def operations_of(document: Document) -> Iterator[tuple[str, Node]]:
    """Every operation of the document, as `METHOD /path`, in the document's order."""
    for path, item in cast("Mapping[str, Json]", document.root.get("paths", {})).items():
        try:
            methods = document.followed(item)
            for method in METHODS:
                if method in methods:
                    yield f"{method.upper()} {path}", document.followed(methods[method])
        except OperationRefused:
            continue


def summary_of(operation: Node) -> str:
    """What an agent would read of an operation, in one line; empty where the document says nothing that fits."""
    fitting, found = _said(operation)
    return (fitting or found or [""])[0]


def _said(operation: Node) -> tuple[list[str], list[str]]:
    """What the document says, its description before its summary: what is short enough, and all of it."""
    texts = [operation.get("description"), operation.get("summary")]
    found = [" ".join(first_paragraph(text).split()) for text in texts if isinstance(text, str)]
    return [text for text in found if 0 < len(text) <= _DESCRIPTION], found


def _named(document: Document, request: str) -> tuple[str, str]:
    method, space, path = request.partition(" ")
    if space:
        return method.upper(), path.strip()
    found = [name for name, node in operations_of(document) if node.get("operationId") == request]
    if len(found) != 1:
        raise OperationRefused(f"{len(found)} operations of the document have the operationId {request[:80]!r}")
    method, _, path = found[0].partition(" ")
    return method, path


def description_of(subject: str, place: str, written: str | None, operation: Node) -> str:
    """What an agent reads: what was written, else the first text of the document that is short enough."""
    if written is not None:
        return checked_description(subject, place, written, None)
    fitting, found = _said(operation)
    try:
        return checked_description(subject, place, (fitting or found or [""])[0], None)
    except DefinitionError as problem:
        raise OperationRefused(f"{problem.rule}; give Operation(…, description=…)") from None
