"""Argument repair, rule by rule."""

from typing import Any

import pytest

from remit._base.boundary import Json
from remit._schema.repair import TABLE, Repair, repair
from remit._schema.validate import Validator

INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
BOOLEAN: Json = {"type": "boolean"}
ITEMS: Json = {"type": "array", "items": {"type": "integer"}}
OBJECT: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "text": {"type": "string"}, "any": {}},
    "additionalProperties": False,
}


def read(schema: Json, text: Json, definitions: Json = None) -> Json:
    """What is made of one field `x` with this schema."""
    whole: dict[str, Json] = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    if definitions is not None:
        whole["$defs"] = definitions
    value, _ = repair(whole, {"x": text}, 100)
    assert isinstance(value, dict)
    return value["x"]


def test_the_table_has_three_lines() -> None:
    assert [(rule.name, sorted(rule.types)) for rule in TABLE] == [
        ("json-text", ["array", "object"]),
        ("decimal-text", ["integer", "number"]),
        ("boolean-text", ["boolean"]),
    ]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (INTEGER, "12", 12),
        (INTEGER, "-3", -3),
        (INTEGER, "0", 0),
        (INTEGER, "9007199254740991", 9007199254740991),
        ({"type": ["integer", "null"]}, "7", 7),
        ({"const": 5}, "5", 5),
        ({"enum": [1, 2, None]}, "2", 2),
        (NUMBER, "12", 12),
        (NUMBER, "1.5", 1.5),
        (NUMBER, "-0.25", -0.25),
        (BOOLEAN, "true", True),
        (BOOLEAN, "false", False),
        ({"type": ["boolean", "integer"]}, "1", 1),
        (ITEMS, "[1, 2]", [1, 2]),
        (ITEMS, " []\n", []),
        (ITEMS, '["1", 2]', [1, 2]),
        (OBJECT, '{"n": "1", "text": "2", "any": "3"}', {"n": 1, "text": "2", "any": "3"}),
        ({"anyOf": [ITEMS, {"type": "null"}]}, "[1.0]", [1]),
        ({"anyOf": [ITEMS, OBJECT]}, '{"n": 1}', {"n": 1}),
    ],
)
def test_text_is_read_where_no_text_is_meant(schema: Json, text: str, value: Json) -> None:
    found = read(schema, text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        " 12",
        "12 ",
        "1e3",
        "0x10",
        "1,000",
        "12.0",
        "",
        "12345678901234567890",
        "007",
        "-0",
        "+1",
        "1_0",
        "١٢",
        "0.1.2",
        "9007199254740992",
        "NaN",
        "true",
        "[1]",
    ],
)
def test_what_is_no_plain_whole_number_stays_text(text: str) -> None:
    assert read(INTEGER, text) == text


@pytest.mark.parametrize(
    "text", ["1.50", "1e3", ".5", "5.", "12.0", "-0.0", "0.1000000000000000055", "1" * 400, "9" * 30, "inf"]
)
def test_a_number_that_would_not_come_back_as_written_stays_text(text: str) -> None:
    assert read(NUMBER, text) == text


@pytest.mark.parametrize("text", ["True", "FALSE", "0", "1", "no", "yes", " true", "", "null"])
def test_only_true_and_false_are_booleans(text: str) -> None:
    assert read(BOOLEAN, text) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 1}',
        "[1",
        "1, 2",
        "[1] [2]",
        "[NaN]",
        "[-Infinity]",
        "[12345678901234567890]",
        "[0.1000000000000000055]",
        "[-0]",
        '["\\ud800"]',
        "[1e400]",
        "[" * 50_000 + "]" * 50_000,
        "[1 /* one */]",
        "['1']",
    ],
)
def test_json_text_that_is_another_type_or_loses_something_stays_text(text: str) -> None:
    assert read(ITEMS, text) == text


def test_a_key_that_stands_twice_is_a_loss() -> None:
    assert read(OBJECT, '{"n": 1, "n": 2}') == '{"n": 1, "n": 2}'


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": ["string", "integer"]},
        {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}, {"type": "boolean"}]},
        {"enum": ["1", 1]},
        {"anyOf": [{"$ref": "#/$defs/Text"}, {"type": "integer"}]},
        {"oneOf": [{"type": "integer"}]},
        {"minimum": 3},
    ],
)
@pytest.mark.parametrize("text", ['{"a":1}', "[1]", "123", "true", "null"])
def test_nothing_is_read_in_a_field_that_may_be_text(schema: Any, text: str) -> None:
    assert read(schema, text, {"Text": {"type": "string", "format": "date"}}) == text


def test_a_field_that_one_form_leaves_open_is_left_alone() -> None:
    open_form: Json = {"type": "object", "properties": {"m": INTEGER}}
    closed: Json = {"type": "object", "properties": {"n": INTEGER}, "additionalProperties": False}
    assert read({"anyOf": [open_form, closed]}, {"n": "1"}) == {"n": "1"}
    assert read(closed, {"n": "1", "other": "1"}) == {"n": 1, "other": "1"}
    assert read({"anyOf": [ITEMS, {"type": "array"}]}, ["1"]) == ["1"]


def test_references_are_followed_and_a_lost_or_circular_one_is_anything() -> None:
    assert read({"$ref": "#/$defs/N"}, "4", {"N": INTEGER}) == 4
    assert read({"$ref": "#/$defs/gone"}, "4", {}) == "4"
    assert read({"$ref": "#/$defs/A"}, "4", {"A": {"$ref": "#/$defs/A"}}) == "4"


def test_every_repair_is_named_by_path_and_rule_and_never_by_value() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"ids": ITEMS, "filter": OBJECT, "all": BOOLEAN, "strange key": INTEGER},
    }
    given: dict[str, Json] = {"ids": '["1"]', "filter": {"n": "2"}, "all": "false", "strange key": "3"}
    before = {**given}
    value, repairs = repair(schema, given, 100)
    assert value == {"ids": [1], "filter": {"n": 2}, "all": False, "strange key": 3} and given == before
    assert repairs == (
        Repair("ids", "json-text"),
        Repair("ids[0]", "decimal-text"),
        Repair("filter.n", "decimal-text"),
        Repair("all", "boolean-text"),
        Repair("?", "decimal-text"),
    )


def test_more_places_than_allowed_repair_nothing() -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"ids": ITEMS}}
    given: Json = {"ids": ["1", "2", "3"]}
    assert repair(schema, given, 3)[0] == {"ids": [1, 2, 3]}
    value, repairs = repair(schema, given, 2)
    assert value is given and repairs == ()


def test_a_validator_repairs_only_what_becomes_valid() -> None:
    judge = Validator({"type": "object", "properties": {"n": INTEGER, "m": {"type": "integer", "maximum": 3}}})
    valid: Json = {"n": 1}
    assert judge.repair(valid, 100)[0] is valid
    given: Json = {"n": "1", "m": "2"}
    assert judge.repair(given, 100)[0] == {"n": 1, "m": 2}
    assert judge.repair(given, 0) == (given, ())
    wrongs: list[Json] = [{"n": "1", "m": "4"}, {"n": "1", "m": "x"}, {"n": None}]
    for wrong in wrongs:
        repaired, done = judge.repair(wrong, 100)
        assert repaired is wrong and done == ()


def test_a_branch_that_is_no_object_says_nothing_about_fields() -> None:
    schema: dict[str, Json] = {"anyOf": [ITEMS, {"type": "null"}, OBJECT]}
    assert repair(schema, {"n": "7", "text": "7"}, 100) == ({"n": 7, "text": "7"}, (Repair("n", "decimal-text"),))
    assert repair(schema, {"m": "7"}, 100) == ({"m": "7"}, ())


def test_a_field_that_may_hold_a_list_or_an_object_of_constants_is_read_by_their_types() -> None:
    assert read({"enum": [[1], {"a": 1}]}, "[1]") == [1]
    assert read({"const": {"a": 1}}, '{"a":1}') == {"a": 1}
