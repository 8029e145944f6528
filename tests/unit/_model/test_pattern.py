"""Patterns over ids as values (SPEC 11.2)."""

import pytest

from remit._model.pattern import Patterns, Scope
from remit.errors import DefinitionError


def test_equal_sets_of_patterns_are_one_key_and_read_as_they_are_written() -> None:
    one, other = Patterns(["view:b.**", "view:a.*"]), Patterns(["view:a.*", "view:b.**", "view:a.*"])
    assert one == other
    assert len({one, other, Patterns([])}) == 2
    assert one != ["view:a.*", "view:b.**"]
    assert repr(one) == "Patterns(['view:a.*', 'view:b.**'])"


@pytest.mark.parametrize("text", ["view:dev*.table", "view:a..b", "view:a b", "domain:x.*y", "view:***"])
def test_a_segment_is_a_whole_name_or_a_wildcard(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"a segment is a whole name, `\*` or `\*\*`"):
        Patterns([text])


def test_a_region_is_the_whole_chain_of_types_and_a_wildcard_is_one_of_them_or_the_rest() -> None:
    inside = Scope(["region:orders.page/**"])
    assert inside.regional
    assert [inside.holds(place) for place in ("orders.page/orders.list", "orders.page/a/b")] == [True, True]
    assert [inside.holds(place) for place in ("orders.page", "orders/page/a", "orders.pages/a", "x/orders.page/a")] == [
        False
    ] * 4
    own, one = Scope(["region:orders.page"]), Scope(["region:*/orders.list"])
    assert [own.holds("orders.page"), own.holds("orders.page/orders.list")] == [True, False]
    assert [one.holds("a/orders.list"), one.holds("orders.list"), one.holds("a/b/orders.list")] == [True, False, False]


def test_a_scope_holds_ids_and_regions_and_is_one_key() -> None:
    one, other = Scope(["view:b.**", "region:a/*"]), Scope(("region:a/*", "view:b.**", "view:b.**"))
    assert one == other
    assert len({one, other, Scope([])}) == 2
    assert one != Patterns(["view:b.**"])
    assert one.texts == ("region:a/*", "view:b.**")
    assert repr(one) == "Scope(['region:a/*', 'view:b.**'])"
    assert "view:b.c.d" in one
    assert "view:a.c.d" not in one
    assert not Scope(["view:a.**"]).regional
    assert not Scope(["view:a.**"]).holds("a/b")


@pytest.mark.parametrize("text", ["region:", "region:a.*", "region:A", "region:a//b", "region:**/a", "region:a@b"])
def test_a_region_is_made_of_whole_types(text: str) -> None:
    with pytest.raises(DefinitionError):
        Scope([text])


def test_only_a_scope_names_regions() -> None:
    with pytest.raises(DefinitionError, match="only the scope of a consumer names regions"):
        Patterns(["region:a/**"])


def test_a_scope_is_a_collection_of_texts() -> None:
    with pytest.raises(TypeError, match="not one text"):
        Scope("view:a.**")
    with pytest.raises(TypeError, match="a collection of texts, not int"):
        Scope(4)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a pattern is text, not int"):
        Scope([4])  # type: ignore[list-item]
