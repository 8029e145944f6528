"""Two random schemas and a random value: what only one of them admits is among the differences (SPEC 13.6)."""

from typing import cast

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit._base.boundary import Json
from remit._schema.compare import Containment, covers
from remit._schema.difference import At, differences

Schema = dict[str, Json]

SMALL = st.integers(0, 3)
WORD = st.text("abc1", max_size=4)
SCALAR: st.SearchStrategy[Json] = st.one_of(st.none(), st.booleans(), st.integers(-3, 5), WORD, st.just(1.5))


def keyworded(kind: str, **keywords: st.SearchStrategy[Json]) -> st.SearchStrategy[Schema]:
    """A schema of one type with some of these keywords."""
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=keywords)


LEAF: st.SearchStrategy[Schema] = st.one_of(
    keyworded("string", minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(["^a", "b$", "^[abc]*$"])),
    keyworded("integer", minimum=SMALL, exclusiveMaximum=SMALL, multipleOf=st.sampled_from([2, 3])),
    keyworded("number", maximum=SMALL, exclusiveMinimum=SMALL),
    st.sampled_from(cast("list[Schema]", [{"type": "null"}, {"type": "boolean"}, {}, {"type": ["string", "null"]}])),
    st.lists(SCALAR, min_size=1, max_size=3, unique_by=repr).map(lambda values: cast(Schema, {"enum": values})),
    SCALAR.map(lambda value: cast(Schema, {"const": value})),
)


def objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    """An object of a few properties, open or closed."""
    names = st.sampled_from(["a", "b", "c"])

    def build(properties: dict[str, Schema], required: list[str], further: bool | None) -> Schema:
        node: Schema = {"type": "object", "properties": cast(Json, properties)}
        if needed := [name for name in required if name in properties]:
            node["required"] = cast(Json, needed)
        if further is not None:
            node["additionalProperties"] = further
        return node

    required = st.lists(names, max_size=3, unique=True)
    further = st.sampled_from([None, True, False, False])
    return st.builds(build, st.dictionaries(names, inner, max_size=3), required, further)


def lists(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    """A list of one kind of thing."""
    return keyworded("array", items=inner, minItems=SMALL, maxItems=SMALL, uniqueItems=st.booleans())


def unions(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    """One of two."""
    return st.lists(inner, min_size=2, max_size=2).map(lambda branches: cast(Schema, {"anyOf": branches}))


SCHEMAS = st.recursive(LEAF, lambda inner: st.one_of(objects(inner), lists(inner), unions(inner)), max_leaves=4)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        cast("st.SearchStrategy[Json]", st.lists(inner, max_size=3)),
        cast("st.SearchStrategy[Json]", st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), inner, max_size=3)),
    ),
    max_leaves=4,
)


def admits(schema: Schema, value: Json) -> bool:
    """The runtime's own judge."""
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.requirement("13.6-containment-decides")
@given(
    before=st.one_of(SCHEMAS, objects(LEAF)),
    after=st.one_of(SCHEMAS, objects(LEAF)),
    values=st.lists(VALUES, max_size=6),
)
def test_a_value_that_only_one_schema_admits_is_a_difference(before: Schema, after: Schema, values: list[Json]) -> None:
    found = differences(before, after)
    for value in values:
        was, now = admits(before, value), admits(after, value)
        if now and not was:
            assert any(each.looser for each in found), (value, found)
            assert covers(before, after) is not Containment.YES
        if was and not now:
            assert any(each.tighter for each in found), (value, found)
            assert covers(after, before) is not Containment.YES


@given(schema=SCHEMAS)
def test_a_schema_does_not_differ_from_itself(schema: Schema) -> None:
    assert differences(schema, schema) == ()


@given(schema=objects(LEAF))
def test_texts_alone_are_words(schema: Schema) -> None:
    told = {**schema, "description": "New words."}
    assert [each.at for each in differences(schema, told)] == [At.WORDS]
