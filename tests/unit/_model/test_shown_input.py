"""The exact input as a person reads it: leaf by leaf, nothing joined, nothing cut (SPEC 7.2)."""

from remit._model.shown_input import WITHHELD, Field, rows_of


def test_every_leaf_has_a_row_and_what_is_empty_is_a_leaf() -> None:
    rows = rows_of({"filter": {"city": "Milan", "tags": []}, "ids": ["a", {"n": 1}], "more": {}}, (), ())
    assert [(row.path, row.value) for row in rows] == [
        ("filter.city", '"Milan"'),
        ("filter.tags", "[]"),
        ("ids[0]", '"a"'),
        ("ids[1].n", "1"),
        ("more", "{}"),
    ]


def test_what_is_required_or_changed_stands_first_and_once() -> None:
    rows = rows_of({"a": 1, "b": 2, "c": None}, ("c", "b", "c", "gone"), ("b",))
    assert rows == (
        Field(path="c", value="null", bound=False),
        Field(path="b", value="2", bound=True),
        Field(path="a", value="1", bound=False),
    )


def test_a_withheld_field_keeps_its_places_and_loses_its_values() -> None:
    rows = rows_of({"code": ["4711", "0815"], "a": "\u202ex"}, (), (), ("code",))
    assert [(row.path, row.value, row.withheld) for row in rows] == [
        ("code[0]", WITHHELD, True),
        ("code[1]", WITHHELD, True),
        ("a", '"\\u202ex"', False),
    ]
