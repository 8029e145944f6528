"""Page ids: a capability, the kind of a folded template, an instance (SPEC 11.5)."""

import pytest

from remit._model.page_id import PageId, read_page_id


@pytest.mark.parametrize(
    ("text", "capability", "kind", "instance"),
    [
        ("view:orders.list.updateNote", "view:orders.list.updateNote", None, None),
        ("view:orders.list.updateNote@order", "view:orders.list.updateNote", "order", None),
        ("view:orders.list.updateNote@order-line#left_2", "view:orders.list.updateNote", "order-line", "left_2"),
        ("view:orders.list.updateNote#default", "view:orders.list.updateNote", None, "default"),
        ("domain:orders.notify", "domain:orders.notify", None, None),
        ("domain:orders.notify#orders.list/default", "domain:orders.notify", None, "orders.list/default"),
        ("domain:orders@acme", "domain:orders@acme", None, None),
        ("domain:a#b#default", "domain:a#b", None, "default"),
    ],
)
def test_a_page_id_reads_back_as_it_is_written(
    text: str, capability: str, kind: str | None, instance: str | None
) -> None:
    read = read_page_id(text)
    assert read == PageId(capability=capability, kind=kind, instance=instance)
    assert str(read) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "view:", "view:a", "view:a.b@", "view:a.b@Order", "view:a.b@order@line", "view:a.b#", "view:a.b#no space",
        "view:a.b#left@order", "view:a.b#x/y/z", "orders.list.updateNote", "view:a.b@order#left#right", None, 4,
    ],
)  # fmt: skip
def test_what_is_malformed_is_no_page_id(text: object) -> None:
    assert read_page_id(text) is None
