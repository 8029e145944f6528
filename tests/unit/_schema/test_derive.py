import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

from remit._base.boundary import NotJson, canonical, take
from remit._schema.derive import (
    NO_HINT,
    ConversionRefused,
    DerivedInput,
    OutputRefused,
    derive_input,
    derive_output,
    return_hint,
)
from remit._schema.typed import open_variables
from remit._schema.validate import Validator
from remit.errors import DefinitionCode, DefinitionError

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers


class Context:
    pass


class Principal:
    pass


ROLES: dict[type, str] = {Context: "context", Principal: "principal"}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Filter(BaseModel):
    city: str = "Milan"
    tags: set[str] = set()

    @field_validator("city")
    @classmethod
    def known(cls, value: str) -> str:
        if value == "Atlantis":
            raise ValueError("secret rule text")
        return value


class Depending(BaseModel):
    low: int
    high: int = Field(default_factory=lambda fields: fields["low"] + 1)


class Span(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> "Span":
        assert self.low <= self.high, "secret rule text"
        return self


@dataclass
class Point:
    x: int
    y: int = 0


def derive(function: Callable[..., object], **options: Any) -> DerivedInput:
    return derive_input(function, namespace={}, injected=ROLES, subject="view:a.b", **options)


def convert(derived: DerivedInput, given: object) -> dict[str, object]:
    validator = Validator(derived.schema)
    value, _ = take(given)
    assert validator.is_valid(value)
    return derived.convert(canonical(validator.fill(value)))


def test_parameters_become_a_closed_object_with_defaults() -> None:
    def select(
        self: object,
        ids: Annotated[list[str], Field(min_length=1, description="Row ids.")],
        mode: Literal["replace", "add"] = "replace",
    ) -> None: ...

    derived = derive(select)
    assert derived.schema == {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Row ids."},
            "mode": {"type": "string", "enum": ["replace", "add"], "default": "replace"},
        },
        "required": ["ids"],
        "additionalProperties": False,
    }
    assert derived.parameters == ("ids", "mode")
    assert convert(derived, {"ids": ["a"]}) == {"ids": ["a"], "mode": "replace"}


def test_no_parameters_is_an_empty_closed_object() -> None:
    def clear(self: object) -> None: ...

    assert derive(clear).schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert convert(derive(clear), {}) == {}


def test_a_function_has_no_instance_to_skip() -> None:
    def disable(device_ids: list[str], *, caller: Principal) -> int:
        return 0

    derived = derive(disable, method=False)
    assert derived.parameters == ("device_ids",)
    assert derived.injected == {"caller": "principal"}


def test_a_role_is_said_by_annotation_never_by_name() -> None:
    def act(self: object, anything: Context, context: str, who: Annotated[Principal, "doc"]) -> None: ...

    derived = derive(act)
    assert derived.injected == {"anything": "context", "who": "principal"}
    assert derived.parameters == ("context",)


def test_a_role_mixed_with_other_types_is_refused() -> None:
    def act(self: object, who: Principal | None = None) -> None: ...

    with pytest.raises(DefinitionError, match="mixes `Principal`"):
        derive(act)


def test_any_parameter_name_works() -> None:
    def act(self: object, schema: int, copy: int, json: int, model_dump: int, class_: int, _private: int) -> None: ...

    given = dict.fromkeys(("schema", "copy", "json", "model_dump", "class_", "_private"), 1)
    assert convert(derive(act), given) == given


def test_typed_values_are_built_from_json() -> None:
    def act(  # noqa: PLR0913
        self: object,
        when: datetime,
        colour: Colour,
        amount: Decimal,
        key: uuid.UUID,
        at: Point,
        where: Filter,
        pair: tuple[int, int],
        ratio: float,
    ) -> None: ...

    made = convert(
        derive(act),
        {
            "when": "2026-01-31T12:00:00Z",
            "colour": "red",
            "amount": "1.50",
            "key": "00000000-0000-0000-0000-000000000007",
            "at": {"x": 1.0},
            "where": {"tags": ["a"]},
            "pair": [1, 2],
            "ratio": 1,
        },
    )
    assert made == {
        "when": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "colour": Colour.RED,
        "amount": Decimal("1.50"),
        "key": uuid.UUID(int=7),
        "at": Point(1),
        "where": Filter(tags={"a"}),
        "pair": (1, 2),
        "ratio": 1.0,
    }
    assert type(made["ratio"]) is float


def test_a_mutable_default_is_fresh_in_every_call() -> None:
    def act(self: object, ids: list[str] = [], where: Filter = Filter()) -> None: ...  # noqa: B006, B008

    derived = derive(act)
    first, second = convert(derived, {}), convert(derived, {})
    assert first == {"ids": [], "where": Filter()}
    assert first["ids"] is not second["ids"]
    assert first["where"] is not second["where"]


def test_an_authors_rule_is_an_issue_without_its_text_or_the_value() -> None:
    def act(self: object, where: Filter, spans: list[Span]) -> None: ...

    with pytest.raises(ConversionRefused) as caught:
        convert(derive(act), {"where": {"city": "Atlantis"}, "spans": [{"low": 2, "high": 1}]})
    assert [issue.path for issue in caught.value.issues] == ["where.city", "spans[0]"]
    assert {issue.message for issue in caught.value.issues} == {"is refused by a rule of this field"}
    assert "secret" not in str(caught.value)
    assert "Atlantis" not in str(caught.value)


def test_the_place_of_an_issue_is_one_in_the_input() -> None:
    def act(self: object, where: Filter | Span | None, points: dict[str, Any]) -> None: ...

    with pytest.raises(ConversionRefused) as caught:
        convert(derive(act), {"where": {"city": "Atlantis"}, "points": {}})
    assert "where.city" in [issue.path for issue in caught.value.issues]
    assert not any("Filter" in issue.path or "Span" in issue.path for issue in caught.value.issues)


def test_at_most_twenty_issues_come_back() -> None:
    def act(self: object, spans: list[Span]) -> None: ...

    with pytest.raises(ConversionRefused) as caught:
        convert(derive(act), {"spans": [{"low": 2, "high": 1}] * 50})
    assert len(caught.value.issues) == 20


def star_args(self: object, *ids: str) -> None: ...
def star_kwargs(self: object, **options: str) -> None: ...
def positional(self: object, ids: str, /) -> None: ...
def unannotated(self: object, ids) -> None: ...  # type: ignore[no-untyped-def]
def no_instance() -> None: ...
def field_default(self: object, x: int = Field(default=3)) -> None: ...
def wrong_default(self: object, x: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def breaking_default(self: object, x: Annotated[int, Field(ge=1)] = 0) -> None: ...
def infinite_default(self: object, x: float = float("inf")) -> None: ...
def aliased(self: object, x: Annotated[int, Field(alias="y")]) -> None: ...
def shadowed(self: object, x: Annotated[int, Field(alias="y")], y: int) -> None: ...
def untitled(
    self: object,
    x: Annotated[int, Field(field_title_generator=lambda name, info: 5)],  # pyright: ignore[reportArgumentType]
) -> None: ...
def depending(self: object, x: Depending) -> None: ...
def default_twice(self: object, x: Annotated[int, Field(default=3)]) -> None: ...
def late(self: object, x: "OnlyForCheckers") -> None: ...
def broken(self: object, x: Any) -> None: ...


broken.__annotations__["x"] = "list["  # checkers refuse to read it in place


def not_a_type(self: object, x: "1 + 'a'") -> None: ...  # type: ignore[valid-type]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "rule", "do"),
    [
        (star_args, "`*ids`", "name each parameter"),
        (star_kwargs, "`**options`", "name each parameter"),
        (positional, "positional-only", "remove the `/`"),
        (unannotated, "`ids` has no annotation", "annotate it"),
        (no_instance, "takes no instance", "`self`"),
        (field_default, "`Field(…)` as its default", "Annotated"),
        (wrong_default, "x: the default breaks", "valid"),
        (breaking_default, "x: the default breaks", "valid"),
        (infinite_default, "x: the default is no JSON value", "annotated type"),
        (aliased, "alias `y`", "rename"),
        (shadowed, "`x` has the name of another parameter as its alias", "remove the alias"),
        (untitled, "input: field_title_generator", ""),
        (depending, "x: a default computed from other fields", "a fixed default"),
        (default_twice, "`x` has its default inside `Field(…)`", "in the signature"),
        (late, "`OnlyForCheckers`, which does not exist at run time", "module level"),
        (broken, "cannot be evaluated", "a type"),
        (not_a_type, "cannot be evaluated", "a type"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_described_is_refused(function: Callable[..., object], rule: str, do: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        derive(function)
    assert caught.value.code in {DefinitionCode.UNSUPPORTED_SCHEMA, DefinitionCode.INVALID_DEFINITION}
    assert rule in caught.value.rule
    assert do in (caught.value.do or "")


def test_names_are_looked_up_in_the_given_namespace_too() -> None:
    def act(self: object, x: "Inner") -> "Inner": ...  # type: ignore[name-defined]  # noqa: F821

    namespace = {"Inner": int}
    derived = derive_input(act, namespace=namespace, injected={}, subject="x")
    assert derived.schema["properties"] == {"x": {"type": "integer"}}
    hint = return_hint(act, namespace=namespace, subject="x")
    assert hint is int
    assert derive_output("list[Inner]", namespace=namespace, subject="x").schema == {
        "type": "array",
        "items": {"type": "integer"},
    }


def test_a_missing_return_annotation_takes_any_json() -> None:
    def act(self: object):  # type: ignore[no-untyped-def]
        ...

    hint = return_hint(act, namespace={}, subject="x")
    assert hint is NO_HINT
    derived = derive_output(hint, namespace={}, subject="x")
    assert derived.schema is None
    assert derived.dump({"a": 1.0}) == ({"a": 1}, b'{"a":1}')
    with pytest.raises(NotJson):
        derived.dump((1,))


def test_returning_none_is_the_null_type() -> None:
    def act(self: object) -> None: ...

    derived = derive_output(return_hint(act, namespace={}, subject="x"), namespace={}, subject="x")
    assert derived.schema == {"type": "null"}
    assert derived.dump(None) == (None, b"null")
    with pytest.raises(OutputRefused, match="returned a value of the type int"):
        derived.dump(7)


class Row(BaseModel):
    id: str
    seen: datetime | None = None
    rate: float | None = None
    amount: Decimal = Decimal("1.50")


class WideRow(Row):
    secret: str = "hidden"


def test_a_model_comes_out_as_json_with_its_bytes() -> None:
    derived = derive_output(Row, namespace={}, subject="x")
    value, data = derived.dump(Row(id="a", seen=datetime(2026, 1, 31, tzinfo=UTC), rate=1.0))
    assert value == {"amount": "1.50", "id": "a", "rate": 1, "seen": "2026-01-31T00:00:00Z"}
    assert data == canonical(value)
    assert derived.schema is not None
    assert Validator(derived.schema).is_valid(value)


def test_a_subclass_discloses_nothing_more() -> None:
    value, _ = derive_output(list[Row], namespace={}, subject="x").dump([WideRow(id="a")])
    assert value == [{"amount": "1.50", "id": "a", "rate": None, "seen": None}]


@pytest.mark.parametrize(
    ("hint", "value"),
    [(Row, {"id": "a"}), (list[int], (1, 2)), (int, "7"), (list[Row], [{"id": "a"}])],
)
def test_a_value_of_another_type_is_refused_without_quoting_it(hint: Any, value: object) -> None:
    with pytest.raises(OutputRefused) as caught:
        derive_output(hint, namespace={}, subject="x").dump(value)
    assert caught.value.reason == (f"a value of the type {type(value).__name__} does not fit the declared output type")
    assert caught.value.__cause__ is not None


@dataclass
class LooksLikeRow:
    id: str = "a"
    seen: None = None
    rate: None = None
    amount: Decimal = Decimal("1.50")
    secret: str = "hidden"


@pytest.mark.parametrize(("hint", "value"), [(Row, Point(1)), (str, None)])
def test_what_slips_through_the_types_breaks_the_closed_schema(hint: Any, value: object) -> None:
    derived = derive_output(hint, namespace={}, subject="x")
    assert derived.schema is not None
    assert not Validator(derived.schema).is_valid(derived.dump(value)[0])


def test_an_object_that_looks_like_the_declared_one_discloses_declared_fields_only() -> None:
    value, _ = derive_output(Row, namespace={}, subject="x").dump(LooksLikeRow())
    assert value == {"amount": "1.50", "id": "a", "rate": None, "seen": None}


def test_nan_never_leaves_as_null() -> None:
    derived = derive_output(float | None, namespace={}, subject="x")
    with pytest.raises(NotJson, match="NaN"):
        derived.dump(float("nan"))
    with pytest.raises(NotJson, match="NaN"):
        derive_output(Row, namespace={}, subject="x").dump(Row(id="a", rate=float("inf")))
    assert derived.dump(None) == (None, b"null")


def test_a_naive_time_breaks_the_output_schema() -> None:
    derived = derive_output(datetime, namespace={}, subject="x")
    value, _ = derived.dump(datetime(2026, 1, 31))  # noqa: DTZ001
    assert derived.schema is not None
    assert not Validator(derived.schema).is_valid(value)


T = TypeVar("T")


class Odd:
    """No generic class, whatever it says."""

    __parameters__ = "T"


def test_open_type_variables_are_found_wherever_they_stand() -> None:
    assert list(open_variables(dict[str, list[T]])) == ["T"]  # type: ignore[valid-type]
    assert list(open_variables(list[int])) == []
    assert list(open_variables(Odd)) == []
