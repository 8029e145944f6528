"""The page of messages is the schemas, field by field (SPEC 11.1)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from remit.gateway.page_protocol.schemas import DEFINITIONS, VERBS, document

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "page-protocol.md"
SHOWN = [
    *(f"{verb}.request" for verb in VERBS),
    *(f"{verb}.success" for verb in ("describe", "invoke", "events", "handoff")),
    *("refusal", "error", "descriptor", "view", "event"),
    *("frame.request", "frame.answer", "frame.event"),
]


def rows(schema: dict[str, Any]) -> Iterator[str]:
    """One line for each field."""
    for name, field in schema["properties"].items():
        always = "yes" if name in schema.get("required", ()) else ""
        meaning = field.get("description", "")
        if "$ref" in field:
            meaning = f"A `{field['$ref'].rpartition('/')[2]}`."
        if "enum" in field and name != "code":
            meaning += f" One of {', '.join(f'`{each}`' for each in field['enum'])}."
        if isinstance(field.get("const"), str):
            meaning += f" Always `{field['const']}`."
        yield f"| `{name}` | {always} | {meaning} |"


def written() -> str:
    """The tables as they have to be."""
    parts = []
    for name in SHOWN:
        table = "\n".join(rows(cast("dict[str, Any]", DEFINITIONS[name])))
        parts.append(f"## `{name}`\n\n| field | always | meaning |\n|---|---|---|\n{table}\n")
    return "\n".join(parts)


@pytest.mark.requirement("11.1-message-schemas")
def test_the_page_tells_every_field_of_every_message() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page[page.index("## ") :] == written()


def fields(value: object) -> Iterator[dict[str, Any]]:
    """Every object of the schemas that has properties."""
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for inner in value.values():
            yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


@pytest.mark.requirement("11.1-unknown-fields-are-refused")
def test_every_object_of_every_message_is_closed() -> None:
    found = list(fields(document()))
    assert len(found) > len(SHOWN)
    assert all(each["additionalProperties"] is False for each in found)
