import pytest

from remit._base.boundary import Json
from remit._schema.compare import Containment, covers

INTEGER: dict[str, Json] = {"type": "integer"}
ONE: dict[str, Json] = {
    "type": "object",
    "properties": {"a": INTEGER},
    "required": ["a"],
    "additionalProperties": False,
}
WITH_OPTIONAL: dict[str, Json] = {
    "type": "object",
    "properties": {"a": INTEGER, "b": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
WITH_REQUIRED: dict[str, Json] = {**WITH_OPTIONAL, "required": ["a", "b"]}
PATTERN: dict[str, Json] = {"type": "string", "pattern": "^a+$"}


@pytest.mark.parametrize(
    ("wider", "narrower", "answer"),
    [
        (WITH_OPTIONAL, ONE, Containment.YES),
        (WITH_OPTIONAL, WITH_REQUIRED, Containment.YES),
        (WITH_REQUIRED, ONE, Containment.NO),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, Containment.YES),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, Containment.NO),
        ({"type": "number"}, INTEGER, Containment.YES),
        (INTEGER, {"type": "string"}, Containment.NO),
        ({"anyOf": [INTEGER, {"type": "null"}]}, INTEGER, Containment.YES),
        ({"$ref": "#/$defs/A", "$defs": {"A": INTEGER}}, INTEGER, Containment.YES),
        ({"type": "array"}, {"type": "array", "uniqueItems": True}, Containment.YES),
        (PATTERN, {"type": "string", "pattern": "^aa+$"}, Containment.UNKNOWN),
        (PATTERN, dict(PATTERN), Containment.YES),
        ({"type": "text"}, INTEGER, Containment.UNKNOWN),
        ({"pattern": "("}, INTEGER, Containment.UNKNOWN),
    ],
)
def test_containment_is_told_or_unknown(wider: dict[str, Json], narrower: dict[str, Json], answer: Containment) -> None:
    assert covers(wider, narrower) is answer


def test_annotations_play_no_part() -> None:
    described: dict[str, Json] = {**INTEGER, "description": "Count.", "default": 3, "title": "N", "examples": [1]}
    assert covers(INTEGER, described) is Containment.YES
    assert covers(described, INTEGER) is Containment.YES
