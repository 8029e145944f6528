import enum
import inspect
import sys
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pytest
import rfc8785

from remit._base.boundary import Json, NotJson, TooLarge, canonical, loads, take


class Colour(enum.Enum):
    RED = "red"


class Level(enum.StrEnum):
    HIGH = "high"


class Text(str):
    __slots__ = ()


@dataclass
class Point:
    x: int


REFUSED: list[tuple[object, str]] = [
    ((1, 2), "tuple"),
    ([(1,)], "tuple"),
    ({"a": {"b": ()}}, "tuple"),
    ({1, 2}, "set"),
    (frozenset(), "frozenset"),
    (b"x", "bytes"),
    (float("nan"), "NaN"),
    ({"a": float("inf")}, "infinity"),
    ([float("-inf")], "infinity"),
    (2**53, "2^53-1"),
    (-(2**53), "2^53-1"),
    (2**70, "2^53-1"),
    (float(2**53), "2^53-1"),
    ([1e20], "2^53-1"),
    ({"a": -1e16}, "2^53-1"),
    ("\ud800", "surrogate"),
    ({"\udfff": 1}, "surrogate"),
    ({1: "x"}, "key"),
    ({None: "x"}, "key"),
    (uuid.UUID(int=7), "UUID"),
    (Colour.RED, "Colour"),
    ([Colour.RED], "Colour"),
    (Decimal("1.5"), "Decimal"),
    (datetime(2026, 1, 1, tzinfo=UTC), "datetime"),
    (Point(1), "Point"),
    (Text("x"), "Text"),
    (OrderedDict(a=1), "OrderedDict"),
    (1j, "complex"),
    (object(), "object"),
]


@pytest.mark.parametrize(
    ("value", "word"), REFUSED, ids=[f"{type(value).__name__}-{place}" for place, (value, _) in enumerate(REFUSED)]
)
def test_what_is_not_json_is_refused_and_named_by_kind(value: object, word: str) -> None:
    with pytest.raises(NotJson) as caught:
        take(value)
    assert word in caught.value.reason


def test_cycles_and_bottomless_nesting_are_refused() -> None:
    cyclic: list[object] = []
    cyclic.append(cyclic)
    table: dict[str, object] = {}
    table["again"] = table
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    for value in (cyclic, table, deep):
        with pytest.raises(NotJson, match="nested"):
            take(value)


def test_a_reason_never_holds_the_value() -> None:
    for value in ({"secret-key": {"secret-text"}}, ["secret-text", 2**60], {"secret-key": "secret\ud800"}):
        with pytest.raises(NotJson) as caught:
            take(value)
        assert "secret" not in caught.value.reason
        assert "1152921504606846976" not in caught.value.reason


def test_the_copy_is_the_callers_no_longer() -> None:
    inner = [1]
    given = {"a": inner}
    copy, _ = take(given)
    inner.append(2)
    assert copy == {"a": [1]}


NORMALISED: list[tuple[object, object, bytes]] = [
    (1.0, 1, b"1"),
    (-0.0, 0, b"0"),
    ([1.0, {"a": 2.0}], [1, {"a": 2}], b'[1,{"a":2}]'),
    (9007199254740991.0, 9007199254740991, b"9007199254740991"),
    (1e21, 1e21, b"1e+21"),
    (1.5e300, 1.5e300, b"1.5e+300"),
    (1e-7, 1e-7, b"1e-7"),
    (1e-6, 1e-6, b"0.000001"),
    (5e-324, 5e-324, b"5e-324"),
    (0.1, 0.1, b"0.1"),
    (True, True, b"true"),
    ("1.0", "1.0", b'"1.0"'),
    ({"b": 1, "a": 2}, {"a": 2, "b": 1}, b'{"a":2,"b":1}'),
    ({"\U0001f600": 1, "\ue000": 2}, {"\U0001f600": 1, "\ue000": 2}, '{"\U0001f600":1,"\ue000":2}'.encode()),
    (Level.HIGH, "high", b'"high"'),
]


@pytest.mark.parametrize(("value", "copy", "printed"), NORMALISED, ids=[repr(value) for value, _, _ in NORMALISED])
def test_numbers_are_normalised_and_bytes_are_rfc_8785(value: object, copy: object, printed: bytes) -> None:
    taken, data = take(value)
    assert (taken, type(taken), data) == (copy, type(copy), printed)
    assert data == rfc8785.dumps(taken)


def test_one_and_true_stay_apart() -> None:
    assert take([True, 1, 1.0])[1] == b"[true,1,1]"


def test_size_is_that_of_the_canonical_form() -> None:
    assert take({"a": 1.0}, max_bytes=7)[1] == b'{"a":1}'
    with pytest.raises(TooLarge):
        take({"a": 1.0}, max_bytes=6)
    with pytest.raises(TooLarge):
        take("ä" * 10, max_bytes=21)
    assert take("ä" * 10, max_bytes=22)[0] == "ä" * 10
    with pytest.raises(TooLarge):
        take("x" * 300_000, max_bytes=65_536)


def test_a_huge_value_that_is_not_json_is_refused_whatever_its_size() -> None:
    with pytest.raises(NotJson):
        take([{1}, "x" * 100], max_bytes=10)


def test_canonical_and_loads_are_inverse_on_taken_values() -> None:
    value, data = take({"a": [1.5, 1e-9, 1e22, None, "é", {"\U0001f600": 0, "\uffff": 1}]})
    assert canonical(value) == data
    again = loads(data)
    assert again == value
    assert again is not value


def test_canonical_sees_an_odd_float_anywhere() -> None:
    value: Json = {"text": "5e-1", "deep": [[[1e-9]]]}
    assert canonical(value) == b'{"deep":[[[1e-9]]],"text":"5e-1"}'
    assert canonical([1e22]) == b"[1e+22]"
    assert canonical({"text": "5e-1"}) == b'{"text":"5e-1"}'


@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        ({"n": float("nan")}, "n", "NaN"),
        ({"a": 1.0, "ids": [1, 2**60]}, "ids[1]", "integer"),
        ({"a": 1.0, "ids": [1.0, 2.0**60]}, "ids[1]", "integer"),
        ({"filter": {"city": "\ud800"}}, "filter.city", "surrogate"),
        ({"filter": {"\ud800": 1}}, "filter", "a key"),
        ({"a": [{"b": {1, 2}}]}, "a[0].b", "set"),
        ({"level": Level.HIGH, "n": float("nan"), "late": ()}, "n", "NaN"),
        ({"a b\n": float("inf")}, "?", "infinity"),
        (float("nan"), "", "NaN"),
    ],
)
def test_a_refusal_names_the_first_place_that_is_no_json(value: object, path: str, word: str) -> None:
    with pytest.raises(NotJson) as caught:
        take(value)
    assert (caught.value.path, word in caught.value.reason) == (path, True)


def test_a_refusal_for_size_or_depth_names_no_place() -> None:
    table: dict[str, object] = {}
    table["again"] = table
    for value, room in ((table, None), ({"a": "x" * 100}, 10)):
        with pytest.raises(NotJson) as caught:
            take(value, max_bytes=room)
        assert caught.value.path == ""


def far_down(levels: int, ask: Callable[[], str]) -> str:
    """What `ask` answers that many calls further down the stack."""
    return ask() if levels == 0 else far_down(levels - 1, ask)


def test_near_the_end_of_the_stack_a_deep_value_is_refused_and_breaks_nothing() -> None:
    value: list[object] = []
    for _ in range(200):
        value = [value]

    def ask() -> str:
        try:
            take(value)
        except NotJson as refusal:
            return refusal.reason
        return "taken"

    left = sys.getrecursionlimit() - len(inspect.stack(0))
    # From Python 3.12 on, comparing lists does not use up the stack of Python.
    assert far_down(left - 150, ask) == ("nested too deeply" if sys.version_info < (3, 12) else "taken")
    assert ask() == "taken"


@pytest.mark.parametrize("text", [b"no json", b"[1,]", b"\xff"])
def test_a_prepared_fragment_is_no_json_value(text: bytes) -> None:
    with pytest.raises(NotJson, match="Fragment"):
        take({"a": orjson.Fragment(text)})
