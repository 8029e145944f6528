"""The module that declares the operations of a document, and the document that stands beside it (SPEC 11.9, 10.6).

Needs `remit[openapi]`, which the other commands do without: `remit derive` knows it by name.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from remit._contract.denied import denied_in
from remit.cli.deriving.derived import Derived, Written, component, heading, variable_of
from remit.cli.deriving.skipping import Skipped
from remit.cli.deriving.trimming import Trimmed, document_of, trimmed
from remit.cli.naming import attribute, free, operation_name, text
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.openapi import OpenAPI, Operation
from remit.procedures.openapi.document import Document, Node, read_bytes, read_document

_USED: Final = ("Component", "OPERATIONS", "OpenAPI", "Operation", "reference")


def fetched(address: str) -> bytes:
    """What is at an address, a page or a document; DefinitionError where it cannot be had."""
    return read_bytes(address, folder=Path.cwd())


def derive_document(source: str, folder: Path, *, base_url: str | None, place: str, stem: str) -> Derived:
    """Read a document, a file or an address; DefinitionError for what is none, and where nobody says where it is sent.

    `place` names it for readers, `stem` is the name of the module that is written.
    """
    document = read_document(source, folder=folder)
    base = base_url or _base_of(document, source)
    left_out: list[Skipped] = []
    kept: list[Trimmed] = []
    for each in trimmed(document):
        if each.refused is None:
            kept.append(each)
        else:
            left_out.append(Skipped(each.request, each.refused))
    names = _names(kept)
    listed = _listed(document_of(document, kept), names, kept, base)
    good: list[tuple[str, Trimmed]] = []
    for name, each in zip(names, kept, strict=True):
        why = _why_not(listed, name)
        if why is None:
            good.append((name, each))
        else:
            left_out.append(Skipped(each.request, why))
    variable = variable_of(stem)
    whole = document_of(document, [each for _, each in good])
    return Derived(
        operations=tuple(Written(id=f"domain:{name}", request=each.request) for name, each in good),
        skipped=tuple((each.request, skipped) for _, each in good for skipped in each.skipped),
        left_out=tuple(left_out),
        source="\n".join(_module(good, variable, place, base, f"{stem}.openapi.json")) + "\n" if good else "",
        document=json.dumps(whole, indent=2, ensure_ascii=False) + "\n" if good else None,
    )


def _base_of(document: Document, source: str) -> str:
    servers = document.root.get("servers")
    urls = [str(each.get("url", "")) for each in servers if isinstance(each, dict)] if isinstance(servers, list) else []
    for url in (*urls, source):
        if url.startswith(("http://", "https://")) and "{" not in url:
            parts = urlsplit(url)
            return f"{parts.scheme}://{parts.netloc}"
    rule, do = "the document names no origin to which requests go", "say it: --base-url https://…"
    raise DefinitionError(DefinitionCode.INVALID_DEFINITION, "OpenAPI", rule, do=do)


def _names(kept: Sequence[Trimmed]) -> list[str]:
    names: list[str] = []
    for each in kept:
        own = each.node.get("operationId")
        wanted = operation_name(own if isinstance(own, str) else each.request)
        names.append(free(wanted, names, "-"))
    return names


def _listed(whole: Node, names: Sequence[str], kept: Sequence[Trimmed], base: str) -> OpenAPI:
    """The catalogue that the module will have, to see what it refuses."""
    expose = {name: _opted(each) for name, each in zip(names, kept, strict=True)}
    return OpenAPI(whole, base_url=base, expose=expose)


def _opted(each: Trimmed) -> Operation:
    return Operation(each.request, effect="destructive", description=_description(each))


def _description(each: Trimmed) -> str | None:
    """One of its own where the document has none."""
    said = (each.node.get("description"), each.node.get("summary"))
    return None if any(isinstance(text, str) and text.strip() for text in said) else f"Send {each.request}."


def _why_not(listed: OpenAPI, name: str) -> str | None:
    if name in listed.refused():
        return listed.refused()[name]
    operation = listed.get(name)
    if operation is None:
        return "it cannot be listed"
    for told, schema in (("takes", operation.input_schema), ("answers with", operation.output_schema)):
        if denied := sorted(denied_in(None if schema is None else dict(schema))):
            return f"it {told} {', '.join(denied)}, which never reaches an agent"
    return None


def _module(good: Sequence[tuple[str, Trimmed]], variable: str, place: str, base: str, document: str) -> Iterator[str]:
    yield heading(f"Operations of {place}, as the document has them")
    yield ""
    yield "from remit import Component, reference"
    yield "from remit.procedures.openapi import OpenAPI, Operation"
    yield ""
    yield "# Nobody has said yet what a call of these does, so each counts as destructive. Say what it does; GET"
    yield "# promises nothing."
    yield "OPERATIONS = {"
    for name, each in good:
        for skipped in each.skipped:
            yield f"    # Left out: {skipped}."
        said = _description(each)
        more = "" if said is None else f", description={text(said)}"
        yield f'    {text(name)}: Operation({text(each.request)}, effect="destructive"{more}),'
    yield "}"
    yield ""
    yield f"{variable} = OpenAPI({text(document)}, base_url={text(base)}, expose=OPERATIONS)"
    taken = {*_USED, variable}
    references: list[tuple[str, str, str]] = []
    for name, each in good:
        at = free(attribute(name), taken, "_")
        taken.add(at)
        references.append((at, f"domain:{name}", each.request))
    yield from component(variable, references)
