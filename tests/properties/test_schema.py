"""Random schemas and random values: containment, defaults, issues and conversion keep their promises."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit._base.boundary import Json, canonical, take
from remit._schema.compare import Containment, covers
from remit._schema.subset import to_subset
from remit._schema.validate import Validator

NAMES = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["", "a", "b", "ab", "2026-01-31", "2026-02-30"])
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1e21])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 2)


def optional(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, extra, required: {
            "type": "object",
            "properties": properties,
            **extra,
            **({"required": sorted(required & set(properties))} if required & set(properties) else {}),
        },
        st.dictionaries(NAMES, inner, max_size=3),
        optional(additionalProperties=st.booleans()),
        st.sets(NAMES, max_size=2),
    )


LEAVES = st.one_of(
    st.just({}),
    st.sampled_from([{"type": kind} for kind in ("null", "boolean", "integer", "number", "string")]),
    st.builds(
        lambda extra: {"type": "integer", **extra}, optional(minimum=st.integers(-2, 2), maximum=st.integers(-2, 2))
    ),
    st.builds(lambda extra: {"type": "string", **extra}, optional(minLength=COUNTS, maxLength=COUNTS)),
    st.just({"type": "string", "format": "date"}),
    st.builds(
        lambda values: {"enum": values}, st.lists(WORDS | st.integers(-1, 2), min_size=1, max_size=3, unique=True)
    ),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(
            lambda items, extra: {"type": "array", "items": items, **extra},
            inner,
            optional(minItems=COUNTS, maxItems=COUNTS, uniqueItems=st.booleans()),
        ),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


def validator(schema: dict[str, Json]) -> Validator:
    return Validator(to_subset(schema, subject="x", closed=False))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Json], dict[str, Json]]:
    """Two schemas, often one being the other with a small change, so that containment is not always NO."""
    left = draw(SCHEMAS)
    change = draw(st.sampled_from(["other", "either", "loosen", "tighten"]))
    if change == "other":
        return left, draw(SCHEMAS)
    if change == "either":
        return {"anyOf": [left, draw(SCHEMAS)]}, left
    right = copy.deepcopy(left)
    for keyword in draw(st.lists(st.sampled_from(["minimum", "minLength", "required", "items", "enum"]), max_size=2)):
        right.pop(keyword, None)
    return (right, left) if change == "loosen" else (left, right)


@settings(max_examples=120, deadline=None)
@given(pairs(), st.lists(VALUES, min_size=8, max_size=25))
def test_a_yes_is_never_refuted_by_a_value(pair: tuple[dict[str, Json], dict[str, Json]], values: list[Any]) -> None:
    wider, narrower = pair
    if covers(wider, narrower) is not Containment.YES:
        return
    outer, inner = validator(wider), validator(narrower)
    for value in values:
        taken, _ = take(value)
        assert not inner.is_valid(taken) or outer.is_valid(taken)


@settings(max_examples=60, deadline=None)
@given(SCHEMAS)
def test_a_schema_covers_itself(schema: dict[str, Json]) -> None:
    assert covers(schema, copy.deepcopy(schema)) is Containment.YES


@settings(max_examples=120, deadline=None)
@given(SCHEMAS, VALUES)
def test_issues_exist_exactly_for_what_is_invalid(schema: dict[str, Json], value: Any) -> None:
    judge = validator(schema)
    taken, _ = take(value)
    found = judge.issues(taken)
    assert (found == ()) is judge.is_valid(taken)
    assert len(found) <= 20


@settings(max_examples=120, deadline=None)
@given(SCHEMAS)
def test_the_subset_is_a_fixed_point(schema: dict[str, Json]) -> None:
    for closed in (True, False):
        made = to_subset(schema, subject="x", closed=closed)
        assert canonical(to_subset(made, subject="x", closed=closed)) == canonical(made)


NESTED: dict[str, Json] = {
    "type": "object",
    "properties": {"x": {"type": "integer", "default": 1}, "y": {"type": "string"}},
}
FIELDS: list[tuple[dict[str, Json], list[Json]]] = [
    ({"type": "integer", "default": 3}, [0, -1]),
    ({"type": ["string", "null"], "default": None}, [None, "a"]),
    ({"type": "array", "items": NESTED, "default": [{}]}, [[], [{"x": 2}, {}], [{"y": "a"}]]),
    ({**NESTED, "default": {}}, [{}, {"x": 5}, {"y": "b"}]),
    ({"anyOf": [NESTED, {"type": "null"}], "default": {"y": "c"}}, [None, {}, {"x": 1}]),
    ({"type": "boolean"}, [True, False]),
    (NESTED, [{}, {"x": 4, "y": ""}]),
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_filling_keeps_a_value_valid_and_is_done_once(data: st.DataObject) -> None:
    fields = data.draw(st.dictionaries(NAMES, st.sampled_from(FIELDS), min_size=1))
    given_keys = data.draw(st.sets(st.sampled_from(sorted(fields))))
    candidate: dict[str, Json] = {name: data.draw(st.sampled_from(fields[name][1])) for name in sorted(given_keys)}
    schema = {"type": "object", "properties": {name: field for name, (field, _) in fields.items()}}
    judge = Validator(to_subset(schema, subject="x", closed=True))
    assert judge.is_valid(candidate)
    before = canonical(candidate)
    filled = judge.fill(candidate)
    assert canonical(candidate) == before
    assert judge.is_valid(filled)
    assert judge.fill(filled) is filled
    assert isinstance(filled, dict)
    assert {name for name, (field, _) in fields.items() if "default" in field} <= set(filled)
    assert all(filled[name] == candidate[name] for name in given_keys if isinstance(candidate[name], (int, str)))
