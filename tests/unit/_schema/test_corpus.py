"""The hint shapes that are accepted, each with its schema, and those that are refused, each with the way out."""

import enum
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar

import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from remit._schema.derive import derive_input, derive_output
from remit.errors import DefinitionCode, DefinitionError

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Only(enum.Enum):
    ONE = "one"


class Number(enum.IntEnum):
    A = 1
    B = 2


class City(BaseModel):
    """Where it
    stands."""

    name: str
    zip: str | None = None
    tags: list[str] = Field(default_factory=list)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class DefaultCat(BaseModel):
    kind: Literal["cat"] = "cat"


class Tree(BaseModel):
    kids: "list[Tree]"


class Page(BaseModel, Generic[T]):
    items: list[T]


class Dice(BaseModel):
    roll: float = Field(default_factory=random.random)


class Infinite(BaseModel):
    bound: float = float("inf")


class Bare:
    pass


@dataclass
class Point:
    x: int
    y: int = 0


class Pair(TypedDict):
    a: int
    b: NotRequired[str]


class Both(NamedTuple):
    a: int
    b: str


CITY_FIELDS: dict[str, object] = {
    "name": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    "zip": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
}
CITY = {
    "type": "object",
    "properties": CITY_FIELDS,
    "required": ["name"],
    "additionalProperties": False,
    "description": "Where it stands.",
}
DECIMAL: dict[str, object] = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}


def tagged(name: str, kind: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"kind": {"type": "string", "const": kind}},
        "required": ["kind"],
        "additionalProperties": False,
        "title": name,
    }


def untitled(schema: dict[str, object]) -> dict[str, object]:
    return {keyword: value for keyword, value in schema.items() if keyword != "title"}


def ref(name: str) -> dict[str, object]:
    return {"$ref": f"#/$defs/{name}"}


ACCEPTED: list[tuple[str, Any, dict[str, object], dict[str, object]]] = [
    ("bool", bool, {"type": "boolean"}, {}),
    ("int", int, {"type": "integer"}, {}),
    ("float", float, {"type": "number"}, {}),
    ("str", str, {"type": "string"}, {}),
    ("none", None, {"type": "null"}, {}),
    ("optional", int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {}),
    ("literal", Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, {}),
    ("literal-one", Literal["a"], {"type": "string", "const": "a"}, {}),
    ("literal-mixed", Literal["a", 1, None], {"enum": ["a", 1, None]}, {}),
    ("enum", Colour, ref("Colour"), {"Colour": {"type": "string", "enum": ["red", "blue"]}}),
    ("enum-of-one", Only, ref("Only"), {"Only": {"type": "string", "const": "one"}}),
    ("int-enum", Number, ref("Number"), {"Number": {"type": "integer", "enum": [1, 2]}}),
    ("list", list[int], {"type": "array", "items": {"type": "integer"}}, {}),
    ("set", set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, {}),
    ("frozenset", frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, {}),
    ("tuple-open", tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, {}),
    (
        "tuple-alike",
        tuple[int, int],
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        {},
    ),
    ("uuid", uuid.UUID, {"type": "string", "format": "uuid"}, {}),
    ("datetime", datetime, {"type": "string", "format": "date-time"}, {}),
    ("date", date, {"type": "string", "format": "date"}, {}),
    ("time", time, {"type": "string", "format": "time"}, {}),
    ("decimal", Decimal, DECIMAL, {}),
    ("decimal-bounded", Annotated[Decimal, Field(ge=0)], DECIMAL, {}),
    ("uri", AnyUrl, {"type": "string", "minLength": 1, "format": "uri"}, {}),
    ("model", City, ref("City"), {"City": CITY}),
    ("list-of-models", list[City], {"type": "array", "items": ref("City")}, {"City": CITY}),
    (
        "open-model",
        Open,
        ref("Open"),
        {
            "Open": {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": True,
            }
        },
    ),
    (
        "tagged-union",
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"anyOf": [ref("Cat"), ref("Dog")]},
        {"Cat": untitled(tagged("Cat", "cat")), "Dog": untitled(tagged("Dog", "dog"))},
    ),
    (
        "union",
        Cat | Dog,
        {"anyOf": [ref("Cat"), ref("Dog")]},
        {"Cat": untitled(tagged("Cat", "cat")), "Dog": untitled(tagged("Dog", "dog"))},
    ),
    (
        "dataclass",
        Point,
        ref("Point"),
        {
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
                "additionalProperties": False,
            }
        },
    ),
    (
        "typed-dict",
        Pair,
        ref("Pair"),
        {
            "Pair": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            }
        },
    ),
    (
        "generic-model",
        Page[int],
        ref("Page_int_"),
        {
            "Page_int_": {
                "type": "object",
                "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
                "required": ["items"],
                "additionalProperties": False,
            }
        },
    ),
    ("anything", Any, {}, {}),
    ("mapping-of-anything", dict[str, Any], {"type": "object", "additionalProperties": True}, {}),
    (
        "bounded",
        Annotated[int, Field(ge=0, lt=10, multiple_of=2, description="A\n number.", title="N", examples=[2])],
        {
            "type": "integer",
            "minimum": 0,
            "exclusiveMaximum": 10,
            "multipleOf": 2,
            "title": "N",
            "description": "A number.",
            "examples": [2],
        },
        {},
    ),
    ("deprecated", Annotated[int, Field(deprecated=True)], {"type": "integer", "deprecated": True}, {}),
    (
        "text",
        Annotated[str, Field(min_length=1, max_length=5, pattern="^a+$")],
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a+$"},
        {},
    ),
    (
        "email",
        Annotated[str, Field(json_schema_extra={"format": "email"})],
        {"type": "string", "format": "email"},
        {},
    ),
]


def one_parameter(hint: Any) -> Callable[..., None]:
    def function(self: object, x: Any) -> None: ...

    function.__annotations__ = {"x": hint}
    return function


@pytest.mark.parametrize(
    ("hint", "field", "definitions"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED]
)
def test_an_accepted_hint_has_exactly_this_schema(
    hint: Any, field: dict[str, object], definitions: dict[str, object]
) -> None:
    derived = derive_input(one_parameter(hint), namespace={}, injected={}, subject="x")
    expected: dict[str, object] = {
        "type": "object",
        "properties": {"x": field},
        "required": ["x"],
        "additionalProperties": False,
    }
    if definitions:
        expected["$defs"] = definitions
    assert derived.schema == expected


REFUSED: list[tuple[str, Any, str, str]] = [
    ("duration", timedelta, "x: format 'duration'", "milliseconds"),
    ("bytes", bytes, "x: format 'binary'", "base64"),
    ("tuple-mixed", tuple[int, str], "x: a tuple whose positions differ", "one named field per position"),
    ("named-tuple", Both, "x: a tuple whose positions differ", "one named field per position"),
    ("mapping", dict[str, int], "x: a mapping with free keys", "key field"),
    ("recursion", Tree, "x.kids[]: recursive type Tree", "parent id"),
    ("tag-with-default", Annotated[DefaultCat | Dog, Field(discriminator="kind")], "tag `kind`", "no default"),
    ("type-variable", T, "type variable T", "concrete"),
    ("nested-type-variable", list[T], "type variable T", "concrete"),  # type: ignore[valid-type]
    ("bare-generic", Page, "type variable", "concrete"),
    ("look-around", Annotated[str, Field(pattern="^(?=a)")], "x: a pattern", "look-around"),
    ("random-default", Dice, "x: a default that is another one each time", "fixed default"),
    ("default-that-is-not-json", Infinite, "", ""),
    ("callable", Callable[[], int], "x: ", ""),
    ("union-with-callable", int | Callable[[], int], "x: ", ""),
    ("foreign-class", Bare, "x: ", ""),
    ("bad-description", Annotated[int, Field(description="a\u202eb")], "x: `description`", "plain text"),
]


@pytest.mark.parametrize(("hint", "found", "write"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refused_hint_says_where_and_what_to_write(hint: Any, found: str, write: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        derive_input(one_parameter(hint), namespace={}, injected={}, subject="view:a.b")
    assert caught.value.code is DefinitionCode.UNSUPPORTED_SCHEMA
    assert caught.value.subject == "view:a.b"
    assert found in caught.value.rule
    assert write in (caught.value.do or "")


def test_outputs_are_closed_and_always_hold_what_has_a_default() -> None:
    derived = derive_output(City, namespace={}, subject="x")
    assert derived.schema == {
        "type": "object",
        "properties": CITY_FIELDS,
        "required": ["name", "tags", "zip"],
        "additionalProperties": False,
        "description": "Where it stands.",
    }


def test_a_tag_with_a_default_decides_in_an_output() -> None:
    union = Annotated[DefaultCat | Dog, Field(discriminator="kind")]
    schema = derive_output(union, namespace={}, subject="x").schema
    assert schema is not None
    assert schema["anyOf"] == [ref("DefaultCat"), ref("Dog")]
