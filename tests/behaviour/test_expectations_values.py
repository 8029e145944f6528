"""What users expect of schemas and values. `spec/expectations.toml` names these tests."""

import json
import math
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from remit import Component, DefinitionError, Surface, action, observation
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output

Numbered = TypedDict("Numbered", {"10": int, "9": int})


class ById(BaseModel):
    kind: Literal["ids"] = "ids"
    ids: list[str]


class ByFilter(BaseModel):
    kind: Literal["filter"] = "filter"
    city: str


class Mean(BaseModel):
    mean: float


def mounted(cls: type[Component]) -> Any:
    surface = Surface(authority_of(cls), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(cls())
    return surface


async def test_properties_named_like_numbers_compile_mount_and_run() -> None:
    class Grid(Component, type="grid"):
        """A grid."""

        @action
        def put(self, cells: Numbered) -> int:
            """Put."""
            return cells["10"] - cells["9"]

    surface = mounted(Grid)
    assert output(await surface.connect(AGENT).call(Grid.put, {"cells": {"9": 1, "10": 3}})) == 2
    error = failed(await surface.connect(AGENT).call(Grid.put, {"cells": {"9": 1}}), "INVALID_INPUT")
    assert error.details["issues"] == [{"path": "cells.10", "message": "is required"}]


async def test_what_takes_no_input_has_an_empty_closed_schema_and_refuses_any() -> None:
    class Panel(Component, type="panel"):
        """A panel."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @action
        def put(self) -> None:
            """Put."""

    agent = mounted(Panel).connect(AGENT)
    for listed in agent.capabilities():
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        assert listed.descriptor.input_schema == schema
        error = failed(await agent.call(listed.id, {"x": 1}), "INVALID_INPUT")
        (issue,) = cast("list[dict[str, str]]", error.details["issues"])
        assert issue["path"] == "x"


async def test_none_is_no_output_where_another_was_declared() -> None:
    class Panel(Component, type="panel"):
        """A panel."""

        @observation
        def read(self) -> ById:
            """Read."""
            return cast(ById, None)

    error = failed(await mounted(Panel).connect(AGENT).call(Panel.read), "EXECUTION_FAILED")
    assert error.details["reason"] == "output-invalid"


async def test_a_stored_result_does_not_move_with_the_state_it_was_made_of() -> None:
    class Panel(Component, type="panel"):
        """A panel."""

        @action
        def take(self) -> list[int]:
            """Take."""
            return rows

    rows = [1]
    agent = mounted(Panel).connect(AGENT)
    first = await agent.call(Panel.take, id="one")
    rows.append(2)
    assert output(first) == [1]
    again = await agent.call(Panel.take, id="one")
    assert output(again) == [1]


async def test_a_union_stands_below_a_plain_root() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def select(self, which: ById | ByFilter) -> str:
            """Select."""
            return which.kind

    agent = mounted(Table).connect(AGENT)
    (listed,) = agent.capabilities()
    schema = listed.descriptor.input_schema
    assert schema["type"] == "object" and not {"anyOf", "oneOf", "allOf", "if", "$ref"} & set(schema)
    assert output(await agent.call(Table.select, {"which": {"kind": "filter", "city": "Milan"}})) == "filter"
    failed(await agent.call(Table.select, {"which": {"kind": "other"}}), "INVALID_INPUT")


async def test_unique_items_are_compared_by_value_and_dates_are_of_the_calendar() -> None:
    class Point(BaseModel):
        a: int
        b: int

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, points: Annotated[list[Point], Field(json_schema_extra={"uniqueItems": True})], day: date) -> int:
            """Put."""
            return len(points)

    agent = mounted(Table).connect(AGENT)
    day = {"day": "2024-02-29"}
    assert output(await agent.call(Table.put, {"points": [{"a": 1, "b": 2}, {"a": 2, "b": 1}], **day})) == 2
    same = [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]
    for wrong in ({"points": same, **day}, {"points": [], "day": "2026-99-99"}, {"points": [], "day": "2026-02-29"}):
        failed(await agent.call(Table.put, wrong), "INVALID_INPUT")


async def test_large_ids_travel_as_text_and_are_refused_as_numbers() -> None:
    large = 725_653_563_933_458_432

    class Table(Component, type="table"):
        """A table."""

        @observation
        def number(self) -> int:
            """As a number."""
            return large

        @observation
        def text(self) -> str:
            """As text."""
            return str(large)

        @action(confirmation="required")
        def find(self, id: str) -> str:
            """Find."""
            return id

    surface = mounted(Table)
    agent = surface.connect(AGENT)
    assert failed(await agent.call(Table.number), "EXECUTION_FAILED").details["reason"] == "output-invalid"
    id = output(await agent.call(Table.text))
    assert id == str(large)
    asked = failed(await agent.call(Table.find, {"id": "9007199254740992"}), "CONFIRMATION_REQUIRED")
    evidence = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    near = await agent.call(Table.find, {"id": "9007199254740993"}, confirmation=evidence)
    assert failed(near, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert output(await agent.call(Table.find, {"id": "9007199254740992"}, confirmation=evidence)) == "9007199254740992"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_a_result_that_is_not_finite_fails_and_never_leaves_as_null(value: float) -> None:
    class Stats(Component, type="stats"):
        """Statistics."""

        @observation
        def typed(self) -> Mean:
            """Typed."""
            return Mean(mean=value)

        @observation
        def numbers(self) -> list[float]:
            """Numbers."""
            return [1.0, value]

        @action
        def untyped(self):  # type: ignore[no-untyped-def]
            """Untyped."""
            return [{"max": value}]

    agent = mounted(Stats).connect(AGENT)
    for capability in (Stats.typed, Stats.numbers, Stats.untyped):
        error = failed(await agent.call(capability), "EXECUTION_FAILED")
        assert error.details["reason"] == "output-invalid"
        json.loads(json.dumps(dict(error.details), allow_nan=False))


@pytest.mark.parametrize("value", [{1, 2}, (1, 2), b"bytes", object(), 1j, {1: 2}, Decimal("1.5"), ById(ids=[])])
async def test_a_value_that_is_no_json_fails_and_is_not_shown(value: object) -> None:
    class Panel(Component, type="panel"):
        """A panel."""

        @action
        def read(self):  # type: ignore[no-untyped-def]
            """Read."""
            return value

    error = failed(await mounted(Panel).connect(AGENT).call(Panel.read), "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")
    assert repr(value) not in repr(error) and " at 0x" not in repr(error)


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\U000e0041"])
@pytest.mark.parametrize("place", ["field", "title"])
def test_invisible_characters_are_refused_in_the_texts_of_a_schema(hidden: str, place: str) -> None:
    schema: dict[str, Any] = {
        "field": {"type": "string", "description": "Ignore" + hidden},
        "title": {"type": "string", "title": "Ignore" + hidden},
    }[place]

    class Model(BaseModel):
        value: str

        @classmethod
        def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
            return {"type": "object", "properties": {"value": schema}, "required": ["value"]}

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, model: Model) -> None:
            """Put."""

    with pytest.raises(DefinitionError):
        authority_of(Table)
