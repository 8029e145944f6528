"""Records as values: what an id is, what a set of them counts, how a kind is written (SPEC 11.6)."""

import pytest

from remit._model.answers import RecordSet
from remit._model.record import RecordCounts, is_record_id, kind_of


@pytest.mark.parametrize(
    ("value", "is_one"),
    [("17", True), (17, True), (0, True), (-3, True), ("", False), (True, False), (1.5, False), (None, False)],
)
def test_text_that_is_not_empty_and_integers_are_ids(value: object, is_one: bool) -> None:
    assert is_record_id(value) is is_one


def test_a_set_of_ids_counts_only_what_is_in_it() -> None:
    records = RecordSet(ids=["a", "b", "c", "c", 1], offscreen=["c", 1, "not here"])
    assert (records.total, records.offscreen, records.ids) == (4, 2, frozenset(["a", "b", "c", 1]))
    assert records.counts() == RecordCounts(total=4, offscreen=2)
    assert [records.contains("a"), records.contains(1), records.contains("1"), records.contains("not here")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_set_may_be_a_number_and_a_function() -> None:
    records = RecordSet(total=48, offscreen=12, contains=lambda id: id == "a")
    assert records.ids is None
    assert [records.contains("a"), records.contains("b")] == [True, False]
    assert records.counts().to_json() == {"param": "record", "total": 48, "offscreen": 12}


def test_counting_stops_at_a_thousand() -> None:
    assert RecordSet(ids=range(1_000), offscreen=range(1_000)).counts() == RecordCounts(total=1_000, offscreen=1_000)
    more = RecordSet(ids=range(1_001), offscreen=range(1_001)).counts()
    assert more.to_json() == {"param": "record", "total": 1_000, "offscreen": 1_000, "more": True}


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"ids": "abc"}, {"ids": 4}, {"ids": [""]}, {"ids": [True]}, {"ids": [1.5]}, {"ids": [None]},
        {"ids": b"abc"}, {"ids": ["a"], "offscreen": b"a"},
        {"ids": ["a"], "offscreen": "a"}, {"ids": ["a"], "offscreen": [None]}, {"ids": ["a"], "offscreen": 2},
        {"ids": ["a"], "offscreen": -1}, {"ids": ["a"], "total": 1}, {"ids": ["a"], "contains": bool},
        {"total": 4}, {"contains": bool}, {"total": -1, "contains": bool}, {"total": True, "contains": bool},
        {"total": 4, "contains": 4}, {"total": 4, "contains": bool, "offscreen": 5},
        {"total": 4, "contains": bool, "offscreen": ["a"]},
    ],
)  # fmt: skip
def test_what_is_no_set_of_records_is_refused_where_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        RecordSet(**wrong)  # type: ignore[call-overload]


def test_the_kind_of_page_ids_is_the_parameters_name_with_hyphens() -> None:
    assert [kind_of("order"), kind_of("order_line"), kind_of("line2")] == ["order", "order-line", "line2"]
    assert [kind_of("Order"), kind_of("_order"), kind_of("order_"), kind_of(""), kind_of("order__line")] == [None] * 5
