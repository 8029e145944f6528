"""Ranking in a listing: whole words first, any form of a word, and nothing that a query could break."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit._model.descriptor import Descriptor
from remit._model.ids import CapabilityId
from remit._toolset import search
from remit._toolset.search import Index
from tests.unit._toolset.test_direct import SELECT


def descriptor(id: str, description: str, *fields: str, component: str = "a.b") -> Descriptor:
    properties = {name: {"type": "string", "description": "A value."} for name in fields}
    return replace(
        SELECT,
        id=CapabilityId(id),
        component=component,
        description=description,
        input_schema={"type": "object", "properties": properties},
    )


LISTING = (
    descriptor("view:mail.box.sendMessage", "Send what was written.", "recipientAddress"),
    descriptor("view:mail.box.archive", "Put a message away."),
    descriptor("domain:orders.cancel", "Cancel an order of the customer.", "order_id"),
    descriptor("view:mail.box.archive", "Put a message away."),
)


@pytest.mark.requirement("12.4-ranked")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("message", [0, 1, 3]),  # a name counts more than a sentence, equal ones keep their order
        ("archive", [1, 3]),
        ("cancelling orders", [2]),
        ("address", [0]),
        ("ORDER id", [2]),
        ("sendMessage", [0, 1, 3]),
        ("mes", [0, 1, 3]),
        ("me", []),
        ("", []),
        ("!? --", []),
    ],
)
def test_a_query_finds_the_capabilities_that_have_a_word_of_it(query: str, found: list[int]) -> None:
    assert Index(LISTING).find(query) == found


@pytest.mark.requirement("12.4-ranked")
@given(st.text(max_size=200))
def test_no_query_breaks_the_search(query: str) -> None:
    assert set(INDEX.find(query)) <= set(range(len(LISTING)))


@pytest.mark.requirement("12.4-from-its-own-listing")
def test_the_rarity_of_a_word_is_that_in_the_given_listing() -> None:
    common = tuple(descriptor(f"view:mail.box.other{n}", "Cancel something.") for n in range(20))
    # Among many that cancel, the order is what tells; among few orders, cancelling does.
    first = Index((*common, descriptor("view:shop.orders.look", "Look."))).find("cancel orders")[0]
    assert first == len(common)


INDEX = Index(LISTING)


def test_a_python_without_full_text_search_is_told_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # SQLite's own answer about a module that it does not have.
    monkeypatch.setattr(search, "_TABLE", "CREATE VIRTUAL TABLE listing USING fts0(name)")
    with pytest.raises(RuntimeError, match="has no FTS5"):
        Index(LISTING)
