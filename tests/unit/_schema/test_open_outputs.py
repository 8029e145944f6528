"""What is declared as anything is converted by nothing, and is no number where it is none (SPEC 3.6)."""

import math
from typing import Any

import pytest
from pydantic import BaseModel

from remit._base.boundary import Json, NotJson
from remit._schema.derive import derive_output
from remit._schema.openness import open_places, openness_of, put_back


@pytest.mark.parametrize(
    "value", [math.nan, {"a": math.inf}, {1, 2}, (1, 2), b"raw", 1j, {1: 2}], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("hint", [Any, object], ids=["Any", "object"])
def test_what_is_not_json_is_refused_where_anything_is_declared(hint: object, value: object) -> None:
    derived = derive_output(hint, namespace={}, subject="x")
    with pytest.raises(NotJson):
        derived.dump(value)
    assert derived.dump({"a": [1, None]})[0] == {"a": [1, None]}


def test_what_is_no_number_is_no_null_inside_a_declared_type_either() -> None:
    derived = derive_output(list[Any], namespace={}, subject="x")
    with pytest.raises(NotJson):
        derived.dump([math.nan])


class Closed(BaseModel):
    """Says everywhere what it takes."""

    n: int


class Open(BaseModel):
    """Takes anything in one place."""

    extra: Any


def test_the_branch_that_fits_decides_what_is_put_back() -> None:
    dump = derive_output(Closed | Open, namespace={}, subject="x").dump
    assert dump(Closed(n=1))[0] == {"n": 1}
    assert dump(Open(extra={"a": [None]}))[0] == {"extra": {"a": [None]}}
    with pytest.raises(NotJson):
        dump(Open(extra={1, 2}))


def test_a_scalar_beside_open_lists_is_taken_as_it_was_written() -> None:
    open_ = openness_of({"type": ["array", "null"], "items": {}})
    assert put_back(open_, None, None) is None
    given = {1}
    assert put_back(open_, [1], [given]) == [given]


def test_a_reference_that_leads_nowhere_opens_nothing() -> None:
    assert openness_of({"$ref": "#/$defs/lost"}) is None


def test_every_place_of_a_schema_where_anything_may_stand_is_named() -> None:
    row: dict[str, Json] = {"type": "object", "properties": {"id": {"type": "integer"}, "more": {}}}
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {
            "any": {"title": "Anything"},
            "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            "list": {"type": ["array", "null"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]},
            "closed": {"type": "object", "additionalProperties": False},
            "never": False,
        },
        "additionalProperties": True,
        "$defs": {"Row": row},
    }
    assert open_places(schema) == ("*", "any", "either.*", "list[]", "rows[].more")
    assert open_places({}) == ("*",)
    assert open_places({"type": "object", "properties": {}, "additionalProperties": False}) == ()
