"""What is declared as anything is converted by nothing, and is no number where it is none (SPEC 3.6)."""

import math
from typing import Any

import pytest

from remit._base.boundary import NotJson
from remit._schema.derive import derive_output


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
