"""Repair on random schemas and values: valid, without loss, and never where text may stand (SPEC 6.12)."""

import copy
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit._base.boundary import Json, canonical, take
from tests.properties.test_schema import SCHEMAS, VALUES, validator

TEXTS = st.sampled_from(["1", "-2", "0.5", "true", "false", "[]", "[1]", '["1"]', "{}", '{"a":1}', '{"a":"2"}', "zz"])
Steps = tuple[str | int, ...]


def sloppy(value: Any) -> st.SearchStrategy[Any]:
    """The value with some of what it holds written as text."""
    if isinstance(value, str):
        return st.just(value)
    as_text = st.just(canonical(value).decode())
    if isinstance(value, dict):
        inner = st.fixed_dictionaries({key: sloppy(child) for key, child in value.items()})
        return inner | as_text | inner.map(lambda made: canonical(made).decode())
    if isinstance(value, list):
        items = st.tuples(*[sloppy(child) for child in value]).map(list)
        return items | as_text | items.map(lambda made: canonical(made).decode())
    return st.just(value) | as_text


def differences(sent: Json, made: Json, steps: Steps = ()) -> Iterator[Steps]:
    """Where text became something else."""
    if isinstance(sent, dict) and isinstance(made, dict):
        assert set(sent) == set(made)
        for key in sent:
            yield from differences(sent[key], made[key], (*steps, key))
    elif isinstance(sent, list) and isinstance(made, list):
        assert len(sent) == len(made)
        for place, (one, other) in enumerate(zip(sent, made, strict=True)):
            yield from differences(one, other, (*steps, place))
    elif canonical(sent) != canonical(made):
        assert isinstance(sent, str), "only text is ever read as something else"
        yield steps


def replaced(value: Any, steps: Steps, text: str) -> Any:
    """The value with this text at that place."""
    if not steps:
        return text
    copied = copy.deepcopy(value)
    node = copied
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = text
    return copied


# Leaves that mean a number, a boolean, or text that not every text is.
MIXED_LEAVES: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": ["integer", "null"]},
    {"type": "string", "format": "date"},
    {"anyOf": [{"type": "string", "minLength": 9}, {"type": "integer"}]},
    {"anyOf": [{"type": "string", "format": "date"}, {"type": "object"}, {"type": "array"}, {"type": "boolean"}]},
    {"enum": ["2026-01-31", 1, True]},
    {},
]
STRINGS = ["2026-01-31", "zzzzzzzzzz", "1", "true", "[1]", '{"a":1}']
MIXED = st.recursive(
    st.sampled_from(MIXED_LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.builds(
            lambda properties, open: {"type": "object", "properties": properties, "additionalProperties": open},
            st.dictionaries(st.sampled_from(["a", "b"]), inner, min_size=1, max_size=2),
            st.booleans(),
        ),
        st.tuples(inner, inner).map(lambda two: {"anyOf": [*two]}),
    ),
    max_leaves=5,
)


def _objects(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields)


def shaped(schema: Any) -> st.SearchStrategy[Any]:
    """Values that look like the schema, most of them with text at their ends."""
    if "properties" in schema:
        fields = {name: shaped(child) for name, child in schema["properties"].items()}
        made = _objects({"a": TEXTS, "b": TEXTS, **fields})
        return made | made.map(lambda value: canonical(cast(Json, value)).decode())
    if "items" in schema:
        made_list = st.lists(shaped(schema["items"]), max_size=2)
        return made_list | made_list.map(lambda value: canonical(value).decode())
    if "anyOf" in schema:
        return st.one_of(*[shaped(branch) for branch in schema["anyOf"]])
    return TEXTS | st.integers(-2, 2) | st.booleans()


@pytest.mark.requirement("6.12-repaired-is-valid")
@settings(max_examples=400, deadline=None)
@given(MIXED.flatmap(lambda schema: st.tuples(st.just(schema), shaped(schema))))
def test_what_is_repaired_is_valid_and_stood_where_no_text_may_and_all_else_is_untouched(
    drawn: tuple[dict[str, Json], Any],
) -> None:
    inner, value = drawn
    judge = validator({"type": "object", "properties": {"x": inner}, "additionalProperties": False})
    sent, printed = take({"x": value})
    made, repairs = judge.repair(sent, 100)
    assert canonical(sent) == printed, "what was sent is never changed"
    if not repairs:
        assert made is sent
        return
    assert not judge.is_valid(sent) and judge.is_valid(made)
    for steps in differences(sent, made):
        for text in STRINGS:
            assert not judge.is_valid(replaced(made, steps, text))
    assert judge.repair(made, 100) == (made, ())


@pytest.mark.requirement("6.12-valid-is-untouched")
@settings(max_examples=150, deadline=None)
@given(SCHEMAS, VALUES | TEXTS | st.dictionaries(st.sampled_from(["a", "b"]), TEXTS))
def test_a_valid_value_is_untouched(schema: dict[str, Json], value: Any) -> None:
    judge = validator(schema)
    sent, _ = take(value)
    if judge.is_valid(sent):
        assert judge.repair(sent, 100) == (sent, ()) and judge.repair(sent, 100)[0] is sent


@pytest.mark.requirement("6.12-valid-is-untouched")
def test_a_valid_value_gets_no_defaults_by_repair() -> None:
    field: dict[str, Json] = {"type": "integer", "default": 1}
    judge = validator({"type": "object", "properties": {"a": field}, "additionalProperties": False})
    sent: dict[str, Json] = {}
    assert judge.repair(sent, 100)[0] is sent and sent == {}


PLAIN = st.recursive(
    st.sampled_from([{"type": "integer"}, {"type": "number"}, {"type": "boolean"}]),
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, min_size=1, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties, "additionalProperties": False}
        ),
    ),
    max_leaves=6,
)


def fitting(schema: Any) -> st.SearchStrategy[Any]:
    """Values of a schema that means no text anywhere."""
    match schema["type"]:
        case "integer":
            return st.integers(-(2**53) + 1, 2**53 - 1)
        case "number":
            return st.integers(-9, 9) | st.floats(-1e6, 1e6).filter(lambda number: abs(number) > 1e-4)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting(schema["items"]), max_size=3)
        case _:
            fields = {name: fitting(child) for name, child in schema["properties"].items()}
            return st.fixed_dictionaries({}, optional=fields)


@st.composite
def written_sloppily(draw: st.DrawFn) -> tuple[dict[str, Json], Json, Json]:
    """A schema, a value of it, and the same value with parts of it as text."""
    inner: Any = draw(PLAIN)
    schema: dict[str, Json] = {"type": "object", "properties": {"x": inner}, "additionalProperties": False}
    value, _ = take(draw(fitting(inner)))
    return schema, {"x": value}, {"x": draw(sloppy(value))}


@pytest.mark.requirement("6.12-round-trip")
@settings(max_examples=200, deadline=None)
@given(written_sloppily())
def test_what_was_written_as_text_comes_back_exactly(drawn: tuple[dict[str, Json], Json, Json]) -> None:
    schema, value, sent = drawn
    made, _ = validator(schema).repair(sent, 1_000)
    assert canonical(made) == canonical(value)
