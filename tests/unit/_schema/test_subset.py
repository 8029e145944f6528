from collections.abc import Mapping
from typing import Any

import pytest

from remit._base.boundary import canonical
from remit._schema.subset import to_subset
from remit.errors import DefinitionCode, DefinitionError


def too_much(schema: Mapping[str, object]) -> DefinitionError:
    return refused(schema, code=DefinitionCode.LIMIT_EXCEEDED)


def refused(
    schema: Mapping[str, object],
    *,
    closed: bool = True,
    code: DefinitionCode = DefinitionCode.UNSUPPORTED_SCHEMA,
) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        to_subset(schema, subject="view:a.b", closed=closed)
    assert caught.value.code is code
    return caught.value


def test_a_literal_is_copied_and_its_objects_are_closed() -> None:
    given: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"filter": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    made = to_subset(given, subject="x", closed=True)
    assert made == {
        "type": "object",
        "properties": {
            "filter": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    }
    assert given["properties"]["filter"] == {"type": "object", "properties": {"city": {"type": "string"}}}


def test_an_author_may_keep_an_object_open() -> None:
    given = {"type": "object", "additionalProperties": True, "properties": {"a": {"type": ["object", "null"]}}}
    made = to_subset(given, subject="x", closed=True)
    assert made["additionalProperties"] is True
    assert made["properties"] == {"a": {"type": ["object", "null"], "additionalProperties": False}}


def test_an_output_is_not_closed() -> None:
    assert to_subset({"type": "object", "properties": {}}, subject="x", closed=False) == {
        "type": "object",
        "properties": {},
    }


def test_numbers_in_a_schema_are_normalised() -> None:
    made = to_subset({"type": "number", "minimum": 0.0, "default": 1.0, "maximum": 2.5}, subject="x", closed=True)
    assert canonical(made) == b'{"default":1,"maximum":2.5,"minimum":0,"type":"number"}'


def test_definitions_are_named_in_order_of_first_use_and_unused_ones_go() -> None:
    made = to_subset(
        {
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/pkg__one__City"},
                "b": {"$ref": "#/$defs/pkg__two__City-Input__1"},
                "c": {"$ref": "#/$defs/pkg__one__City", "description": "Again."},
            },
            "$defs": {
                "pkg__two__City-Input__1": {"type": "integer", "title": "City"},
                "pkg__one__City": {"type": "string"},
                "Unused": {"type": "null"},
            },
        },
        subject="x",
        closed=True,
    )
    assert made["$defs"] == {"City": {"type": "string"}, "City2": {"type": "integer"}}
    assert made["properties"] == {
        "a": {"$ref": "#/$defs/City"},
        "b": {"$ref": "#/$defs/City2"},
        "c": {"$ref": "#/$defs/City", "description": "Again."},
    }


def test_the_order_of_keys_in_the_source_changes_no_byte() -> None:
    one = {"type": "object", "required": ["b", "a"], "properties": {"a": {"type": "null"}, "b": {"type": "string"}}}
    two = {"properties": {"b": {"type": "string"}, "a": {"type": "null"}}, "required": ["a", "b"], "type": "object"}
    made = [canonical(to_subset(schema, subject="x", closed=True)) for schema in (one, two)]
    assert made[0] == made[1]


def test_an_allof_of_one_is_merged() -> None:
    made = to_subset({"allOf": [{"type": "integer", "minimum": 1}], "description": "Count."}, subject="x", closed=True)
    assert made == {"type": "integer", "minimum": 1, "description": "Count."}


def test_a_plain_oneof_of_tagged_branches_needs_its_discriminator() -> None:
    branch = {"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}}}
    other = {"type": "object", "required": ["k"], "properties": {"k": {"enum": ["b", "c"]}}}
    made = to_subset({"oneOf": [branch, other], "discriminator": {"propertyName": "k"}}, subject="x", closed=False)
    assert made["anyOf"] == [branch, other]
    assert "`oneOf` is outside" in refused({"oneOf": [branch, other]}).rule
    overlap = {"oneOf": [branch, branch], "discriminator": {"propertyName": "k"}}
    assert "does not decide" in refused(overlap).rule


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({"patternProperties": {}}, "`patternProperties`"),
        ({"propertyNames": {}}, "`propertyNames`"),
        ({"not": {}}, "`not`"),
        ({"if": {}}, "`if`"),
        ({"minProperties": 1}, "`minProperties`"),
        ({"contains": {}}, "`contains`"),
        ({"definitions": {}}, "`definitions`"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "another dialect"),
        ({"$id": "https://example.org/x"}, "`$id`"),
        ({"$ref": "https://example.org/x"}, "`$ref`"),
        ({"$ref": "#/$defs/none"}, "`$ref`"),
        ({"allOf": [{}, {}]}, "`allOf`"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "free keys"),
        ({"type": "text"}, "`type`"),
        ({"type": []}, "`type`"),
        ({"enum": []}, "`enum`"),
        ({"minLength": -1}, "not valid JSON Schema"),
        ({"minLength": 1.5}, "`minLength`"),
        ({"minimum": "0"}, "`minimum`"),
        ({"format": "ipv4"}, "'ipv4'"),
        ({"pattern": "(?<=a)b"}, "`pattern`"),
        ({"pattern": r"(a)\1"}, "`pattern`"),
        ({"pattern": "("}, "`pattern`"),
        ({"properties": {"": {}}}, "property name"),
        ({"properties": {"a\u200b": {}}}, "property name"),
        ({"properties": {"a": False}}, "a: a schema must be an object"),
        ({"properties": {"a": True}}, "a: a schema must be an object"),
        ({"type": "array", "items": [{}, {}]}, "[]: a schema must be an object"),
        ({"type": "object", "required": ["a"]}, "`required` names `a`"),
        ({"required": "a"}, "`required`"),
        ({"title": 7}, "`title`"),
        ({"deprecated": "yes"}, "`deprecated`"),
        ({"examples": 7}, "`examples`"),
        ({"$defs": []}, "`$defs` must be an object"),
        ({"allOf": [{"type": "string"}], "minLength": 1}, "`allOf` beside other keywords"),
        ({"oneOf": [], "discriminator": {}}, "without `propertyName`"),
        ({"oneOf": [7], "discriminator": {"propertyName": "k"}}, "tag `k` does not decide"),
        ({"oneOf": [{"required": ["k"], "properties": {"k": 7}}], "discriminator": {"propertyName": "k"}}, "tag `k`"),
        ({"oneOf": [{"required": ["k"], "properties": {"k": {}}}], "discriminator": {"propertyName": "k"}}, "tag `k`"),
        ({"$ref": "#/$defs/A", "minLength": 1, "$defs": {"A": {}}}, "`minLength` beside `$ref`"),
        ({"$ref": 7}, "a `$ref` that is no text"),
        ({"properties": []}, "`properties` must be an object"),
        ({"additionalProperties": 7}, "`additionalProperties` must be a boolean"),
        ({"anyOf": []}, "`anyOf`"),
        ({"properties": {"a": {"items": {"type": "integer", "default": "x"}}}}, "a[]: the default breaks"),
        ({"type": "string", "format": "date", "default": "2026-02-30"}, "the default breaks"),
        ({"default": float("nan")}, "not JSON"),
        ({"maximum": 2**53}, "not JSON"),
        ({"enum": [(1,), 2]}, "not JSON"),
    ],
)
def test_what_the_subset_cannot_say_is_refused(schema: dict[str, object], rule: str) -> None:
    assert rule in refused(schema).rule


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(levels - 1):
        schema = {"type": "array", "items": schema}
    return schema


def test_eight_levels_pass_and_nine_do_not() -> None:
    to_subset(nested(8), subject="x", closed=True)
    assert "8 levels" in too_much(nested(9)).rule


def test_a_shared_definition_counts_with_its_own_depth() -> None:
    schema: dict[str, Any] = {"$defs": {"D": nested(5)}, "properties": {"flat": {"$ref": "#/$defs/D"}}}
    to_subset(schema, subject="x", closed=True)
    deep: dict[str, Any] = {"$ref": "#/$defs/D"}
    for _ in range(4):
        deep = {"type": "array", "items": deep}
    schema["properties"] = {**schema["properties"], "deep": deep}
    assert "8 levels" in too_much(schema).rule


def test_doubling_definitions_are_judged_at_once() -> None:
    definitions: dict[str, object] = {"D0": {"type": "string"}}
    for number in range(1, 14):
        reference = {"$ref": f"#/$defs/D{number - 1}"}
        definitions[f"D{number}"] = {"anyOf": [reference, reference]}
    to_subset({"$ref": "#/$defs/D13", "$defs": definitions}, subject="x", closed=True)


def test_a_bottomless_schema_is_refused() -> None:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(100):
        schema = {"anyOf": [schema]}
    assert "levels" in too_much(schema).rule


def test_a_schema_over_16384_bytes_is_refused() -> None:
    assert "16384 bytes" in too_much({"type": "string", "description": "x" * 16_384}).rule
    to_subset({"type": "string", "description": "x" * 16_300}, subject="x", closed=True)


def test_mutual_recursion_is_refused_by_its_path() -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        },
    }
    assert refused(schema).rule == "b.a: recursive type A"


def test_an_empty_word_and_a_mark_that_is_false_say_nothing() -> None:
    given = {"type": "array", "title": " \n", "uniqueItems": False, "items": {}}
    assert to_subset(given, subject="x", closed=True) == {"type": "array", "items": {}}


def test_an_empty_schema_for_further_keys_takes_any() -> None:
    given = {"type": "object", "additionalProperties": {}}
    assert to_subset(given, subject="x", closed=True) == {"type": "object", "additionalProperties": True}


def test_a_tag_may_have_several_values() -> None:
    one = {"type": "object", "properties": {"k": {"enum": ["a", "b"]}}, "required": ["k"]}
    other = {"type": "object", "properties": {"k": {"const": "c"}}, "required": ["k"]}
    made = to_subset({"oneOf": [one, other], "discriminator": {"propertyName": "k"}}, subject="x", closed=False)
    assert made == {"anyOf": [one, other]}
