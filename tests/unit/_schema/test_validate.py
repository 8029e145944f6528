import copy
from typing import Any

import pytest

from remit._base.boundary import Json, take
from remit._schema.judge import compile_schema
from remit._schema.validate import Validator
from remit.errors import DefinitionCode, DefinitionError

# schema, values that pass, values that do not; each value goes through the boundary first, as every value does.
VERDICTS: list[tuple[dict[str, Json], list[object], list[object]]] = [
    (
        {"type": "integer"},
        [0, 1.0, -(2**53) + 1, 2**53 - 1],
        [True, 1.5, "1", None, 1e21, -1e21],
    ),
    ({"type": ["integer", "null"], "minimum": -5}, [None, -5], [-6, 1e21, "x"]),
    ({"type": "number"}, [0.5, 1, 1e21, 5e-324], [True, "1"]),
    ({"type": "string", "minLength": 2, "maxLength": 2}, ["ab", "éé", "\U0001f600\U0001f600"], ["a", "abc"]),
    ({"type": "string", "pattern": r"^\d+\w$"}, ["1a"], ["١a", "1é", "1a\n", "a"]),
    (
        {"type": "string", "format": "date-time"},
        ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+02:00", "2024-02-29T00:00:00Z"],
        [
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00Z",
            "2026-02-30T12:00:00Z",
            "2026-02-29T00:00:00Z",
            "2016-12-31T23:59:60Z",
            "0000-01-01T00:00:00Z",
            "1767225600",
            "",
        ],
    ),
    (
        {"type": "string", "format": "date"},
        ["2026-01-31", "2024-02-29"],
        ["2026-02-30", "0000-01-01", "2026-1-31", "20260131", "1767225600"],
    ),
    ({"type": "string", "format": "time"}, ["12:00:00Z", "23:59:59+01:00"], ["12:00:00", "23:59:60Z", "24:00:00Z"]),
    (
        {"type": "string", "format": "uuid"},
        ["123e4567-e89b-12d3-a456-426614174000"],
        ["123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "x"],
    ),
    ({"type": "string", "format": "email"}, ["a@example.org"], ["a", "@", "a b@example.org"]),
    ({"type": "string", "format": "uri"}, ["https://example.org/a?b#c", "urn:isbn:1"], ["example.org", "a b"]),
    ({"const": 1}, [1, 1.0], [True, "1"]),
    ({"enum": ["a", 1, None]}, ["a", 1, None], [True, "A", 0, False]),
    ({"type": "array", "uniqueItems": True}, [[1, True, "1"]], [[1, 1.0], ["a", "a"]]),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [[], [1]], [[1, 2], ["a"], {}]),
    (
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False},
        [{"a": None}],
        [{}, {"a": 1}, {"a": None, "b": 1}, [], "{}"],
    ),
    ({"type": "number", "multipleOf": 0.1}, [0.3, 7], [0.35]),
]


@pytest.mark.parametrize(("schema", "good", "bad"), VERDICTS, ids=[str(row[0])[:60] for row in VERDICTS])
def test_the_schema_decides_exactly(schema: dict[str, Json], good: list[object], bad: list[object]) -> None:
    validator = Validator(schema)
    verdicts = {repr(value): validator.is_valid(take(value)[0]) for value in [*good, *bad]}
    assert verdicts == {**{repr(value): True for value in good}, **{repr(value): False for value in bad}}
    for value in good:
        assert validator.issues(take(value)[0]) == ()
    for value in bad:
        assert validator.issues(take(value)[0]) != ()


@pytest.mark.parametrize(
    "schema",
    [{"pattern": "(?=a)b"}, {"pattern": "("}, {"minLength": "x"}, {"$ref": "#/$defs/none"}, {"type": "text"}],
)
def test_a_schema_that_cannot_be_compiled_is_a_definition_error(schema: dict[str, Json]) -> None:
    with pytest.raises(DefinitionError) as caught:
        Validator(schema, subject="view:a.b")
    assert caught.value.code is DefinitionCode.UNSUPPORTED_SCHEMA
    assert caught.value.subject == "view:a.b"


def test_a_pattern_that_explodes_elsewhere_answers_at_once() -> None:
    validator = Validator({"type": "string", "pattern": "^(a+)+$"})
    assert not validator.is_valid("a" * 60_000 + "b")


FILTER: dict[str, Json] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "default": "Milan"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    },
    "additionalProperties": False,
}
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "ids": {"type": "array", "items": {"type": "string", "pattern": "^d-"}, "minItems": 1},
        "mode": {"enum": ["replace", "add"], "default": "replace"},
        "filter": {"$ref": "#/$defs/Filter", "default": {"city": "Rome"}},
        "other": {"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        "count": {"type": "integer", "minimum": 1, "maximum": 10},
        "name": {"type": "string", "minLength": 2},
        "shape": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                    "required": ["kind", "radius"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "dot"}, "size": {"type": "integer", "default": 1}},
                    "required": ["kind"],
                    "additionalProperties": False,
                },
            ]
        },
    },
    "required": ["ids"],
    "additionalProperties": False,
    "$defs": {"Filter": FILTER},
}
GOOD: dict[str, Json] = {"ids": ["d-1"]}

ISSUES: list[tuple[Json, list[tuple[str, str]]]] = [
    ({}, [("ids", "is required")]),
    ([], [("", "must be an object")]),
    ({"ids": []}, [("ids", "must have at least 1 item")]),
    ({"ids": ["d-1", 7, "x"]}, [("ids[1]", "must be a string"), ("ids[2]", 'must match the pattern "^d-"')]),
    ({**GOOD, "mode": "x"}, [("mode", 'must be one of "replace", "add"')]),
    ({**GOOD, "mod": "add"}, [("mod", "unknown key mod; did you mean mode?")]),
    ({**GOOD, "IDs": []}, [("IDs", "unknown key IDs; did you mean ids?")]),
    (
        {**GOOD, "zzzz": 1},
        [("zzzz", "unknown key zzzz; allowed: ids, mode, filter, other, rows, count, name, shape")],
    ),
    ({**GOOD, "filter": {"citty": "x"}}, [("filter.citty", "unknown key citty; did you mean city?")]),
    ({**GOOD, "rows": [{}, {"city": 1}]}, [("rows[1].city", "must be a string")]),
    ({**GOOD, "other": {"city": 1}}, [("other.city", "must be a string")]),
    ({**GOOD, "other": 7}, [("other", "must be null or an object")]),
    ({**GOOD, "count": 0}, [("count", "must be at least 1")]),
    ({**GOOD, "count": 0.5}, [("count", "must be an integer")]),
    ({**GOOD, "count": True}, [("count", "must be an integer")]),
    ({**GOOD, "name": "a"}, [("name", "must have at least 2 characters")]),
    ({**GOOD, "shape": {"kind": "circle"}}, [("shape.radius", "is required")]),
    ({**GOOD, "shape": {"kind": "square"}}, [("shape", "fits none of the allowed forms")]),
]


@pytest.mark.parametrize(("value", "expected"), ISSUES, ids=[str(row[0]) for row in ISSUES])
def test_issues_name_field_rule_and_what_is_allowed(value: Json, expected: list[tuple[str, str]]) -> None:
    found = Validator(SCHEMA).issues(value)
    assert [(issue.path, issue.message) for issue in found] == expected


def test_issues_never_hold_a_value_or_a_strange_key() -> None:
    value: Json = {
        "ids": ["secret-1", {"secret": "secret-2"}],
        "mode": "secret-3",
        "secret key \u202e": 1,
        "secretly" * 20: 1,
        "count": "secret-4",
    }
    found = Validator(SCHEMA).issues(value)
    assert [issue.path for issue in found if "?" in issue.path] == ["?"]
    assert all(len(issue.path) <= 64 for issue in found)
    assert not any("secret-" in issue.message or "\u202e" in issue.message for issue in found)


def test_at_most_twenty_issues_come_back() -> None:
    validator = Validator(SCHEMA)
    assert len(validator.issues(take({"ids": [7] * 500})[0])) == 20
    assert len(validator.issues({**GOOD, **{f"k{number}": 1 for number in range(500)}})) == 20


def test_defaults_are_filled_in_everywhere_and_the_input_stays_as_it_is() -> None:
    validator = Validator(SCHEMA)
    given: Json = {"ids": ["d-1"], "other": {}, "rows": [{}, {"city": "Rome", "tags": ["x"]}], "shape": {"kind": "dot"}}
    before = copy.deepcopy(given)
    filled = validator.fill(given)
    assert filled == {
        "ids": ["d-1"],
        "mode": "replace",
        "filter": {"city": "Rome", "tags": []},
        "other": {"city": "Milan", "tags": []},
        "rows": [{"city": "Milan", "tags": []}, {"city": "Rome", "tags": ["x"]}],
        "shape": {"kind": "dot", "size": 1},
    }
    assert given == before
    assert validator.is_valid(filled)
    assert validator.fill(filled) is filled


def test_a_complete_value_comes_back_as_the_same_object() -> None:
    complete: Json = {"ids": ["d-1"], "mode": "add", "filter": {"city": "x", "tags": []}, "other": None}
    assert Validator(SCHEMA).fill(complete) is complete
    anything: Json = {"a": [1]}
    assert Validator({"type": "object"}).fill(anything) is anything


def test_no_two_values_share_a_default() -> None:
    validator = Validator(SCHEMA)
    first: Any = validator.fill(dict(GOOD))
    first["filter"]["tags"].append("mine")
    second: Any = validator.fill(dict(GOOD))
    assert second["filter"]["tags"] == []


def test_an_explicit_null_is_not_a_missing_value() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": ["integer", "null"], "default": 5}},
        "additionalProperties": False,
    }
    assert Validator(schema).fill({"a": None}) == {"a": None}
    assert Validator(schema).fill({}) == {"a": 5}


def test_the_bounds_an_author_wrote_stay_when_they_are_narrower() -> None:
    validator = Validator({"type": "integer", "minimum": -3, "maximum": 1e300})
    assert validator.is_valid(-3)
    assert not validator.is_valid(-4)
    assert not validator.is_valid(1e21)


def test_a_long_list_of_what_is_allowed_ends_in_an_ellipsis() -> None:
    found = Validator({"enum": [f"value-{number:03}" for number in range(100)]}).issues("other")
    assert found[0].message.startswith('must be one of "value-000", "value-001", ')
    assert found[0].message.endswith(", …")
    assert len(found[0].message) <= 330


def test_a_strange_key_is_held_against_the_keys_of_its_own_place() -> None:
    point: dict[str, Json] = {
        "type": "object",
        "properties": {"alpha": {"type": "integer"}},
        "additionalProperties": False,
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {
            "named": {"$ref": "#/$defs/Point"},
            "either": {
                "anyOf": [{"type": "string"}, {"type": "object", "properties": {}, "additionalProperties": False}]
            },
            "none": {"type": "object", "additionalProperties": False},
            "rows": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Point"}]}},
        },
        "additionalProperties": False,
        "$defs": {"Point": point},
    }
    value: Json = {"named": {"alpho": 1}, "either": {"x": 1}, "none": {"x": 1}, "rows": [{"alpho": 1}]}
    assert {issue.path: issue.message for issue in Validator(schema).issues(value)} == {
        "named.alpho": "unknown key alpho; did you mean alpha?",
        "either.x": "unknown key x; no keys are allowed here",
        "none": "no keys are allowed here",
        "rows[0].alpho": "unknown key alpho; did you mean alpha?",
    }


def test_a_reference_that_leads_nowhere_does_not_compile() -> None:
    with pytest.raises(ValueError, match="lost"):
        compile_schema({"$ref": "#/$defs/lost"})


def test_no_bound_of_a_schema_reaches_beyond_a_safe_integer() -> None:
    engine = compile_schema({"type": "integer", "minimum": -1e300, "maximum": 1e300})
    assert engine.is_valid(2**53 - 1)
    assert not engine.is_valid(1e21)
    assert not engine.is_valid(-1e21)
