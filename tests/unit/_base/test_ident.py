import re

import pytest

from remit._base.ident import is_correlation_id, is_invocation_id, new_id


def test_a_new_id_has_its_prefix_and_is_never_the_same() -> None:
    ids = {new_id("srf_") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"srf_[A-Za-z0-9_-]{22}", text) for text in ids)


def test_a_made_invocation_id_is_one_a_caller_could_give() -> None:
    assert is_invocation_id(new_id("inv_"))


@pytest.mark.parametrize("text", ["a", "A-1_b.c", "x" * 128])
def test_these_are_ids_a_caller_may_give(text: str) -> None:
    assert is_invocation_id(text)
    assert is_correlation_id(text)


@pytest.mark.parametrize("text", ["", "x" * 129, "a b", "a\n", "\na", "é", "a/b", "٣", None, 7, b"a", ["a"]])
def test_these_are_not(text: object) -> None:
    assert not is_invocation_id(text)
    assert not is_correlation_id(text)
