"""Where two schemas differ, in a reviewer's words (SPEC 13.6)."""

from typing import Any

import pytest

from remit._schema.difference import At, differences
from remit._schema.phrase import phrase


def field(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, At, str, str, bool, bool, bool]]:
    """The differences of one field `x` that goes from one schema to another."""
    found = differences(
        {"type": "object", "properties": {"x": before}, "additionalProperties": False},
        {"type": "object", "properties": {"x": after}, "additionalProperties": False},
    )
    return [(d.path, d.at, d.before, d.after, d.looser, d.tighter, d.disjoint) for d in found]


def test_another_spelling_of_the_same_values_is_no_difference() -> None:
    assert field({"type": "string"}, {"type": ["string"]}) == []
    assert field({"type": ["array"], "items": {}}, {"type": "array"}) == []


def test_what_the_words_leave_out_is_shown_as_it_is_written() -> None:
    many = ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert field({"enum": [*many, "i"]}, {"enum": [*many, "j"]}) == [
        (
            "x",
            At.VALUE,
            '{"enum": ["a", "b", "c", "d", "e", "f", "g", "h", "i"]}',
            '{"enum": ["a", "b", "c", "d", "e", "f", "g", "h", "j"]}',
            True,
            True,
            False,
        )
    ]


@pytest.mark.parametrize(
    ("value", "kind", "others"),
    [
        (None, "null", "string"),
        (True, "boolean", "number"),
        (1, "integer", "boolean"),
        (1.5, "number", "null"),
        ("a", "string", "array"),
        ([1], "array", "object"),
        ({"a": 1}, "object", "array"),
    ],
)
def test_a_constant_is_disjoint_with_every_type_but_its_own(value: object, kind: str, others: str) -> None:
    def disjoint(other: str) -> bool:
        return [each[-1] for each in field({"const": value}, {"type": other})] == [True]

    assert not disjoint(kind)
    assert disjoint(others)


def test_a_union_and_a_list_of_types_have_all_their_types() -> None:
    union = {"anyOf": [{"type": "string"}, {"const": None}]}
    assert [each[-1] for each in field(union, {"type": ["null", "boolean"]})] == [False]
    assert [each[-1] for each in field(union, {"type": ["integer", "boolean"]})] == [True]
    assert [each[-1] for each in field(union, {"minLength": 1})] == [False]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "anything"),
        ({"minimum": 3}, "anything"),
        ({"type": "string", "format": "date", "minLength": 10}, "text in the form date of 10 or more characters"),
        ({"type": "string", "maxLength": 5, "pattern": "^a"}, 'text of at most 5 characters matching "^a"'),
        ({"type": ["boolean", "null"]}, "true or false or null"),
        ({"type": "array", "minItems": 2, "maxItems": 2, "uniqueItems": True}, "list of 2 without repeats"),
        ({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "null"}}, "list of 1 to 2 each null"),
        ({"type": "array", "items": {"type": "null"}}, "list of null"),
        ({"type": "object"}, "object of any other key"),
        ({"type": "object", "additionalProperties": False}, "object of no key"),
        (
            {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a"], "additionalProperties": False},
            "object of a, b?",
        ),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, "integer at least 1 below 9"),
        ({"const": "x y"}, 'only "x y"'),
        ({"const": "x" * 70}, "only " + "x" * 59 + "…"),
    ],
)
def test_a_schema_is_said_in_a_few_words(schema: dict[str, Any], words: str) -> None:
    assert phrase(schema) == words


def test_a_reference_is_read_as_what_it_names() -> None:
    point: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
    named: dict[str, Any] = {
        "type": "array",
        "items": {"$ref": "#/$defs/Point", "title": "Here"},
        "$defs": {"Point": point},
    }
    assert differences(named, {"type": "array", "items": {**point, "title": "Here"}}) == ()
    (found,) = differences(named, {"type": "array", "items": point})
    assert (found.path, found.at, found.before) == ("[] title", At.WORDS, "Here")


def test_lists_that_count_alike_differ_in_their_items_alone() -> None:
    before: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "uniqueItems": False}
    after: dict[str, Any] = {"type": "array", "items": {"type": "null"}}
    assert [found.path for found in differences(before, after)] == ["[]"]


def test_lists_that_count_otherwise_differ_there_and_in_their_items() -> None:
    before: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": 3}
    after: dict[str, Any] = {"type": "array", "items": {"type": "null"}, "maxItems": 2}
    counted, items = differences(before, after)
    assert (counted.path, counted.looser, counted.tighter) == ("", False, True)
    assert items.path == "[]"
