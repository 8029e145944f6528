import pytest

from remit._schema.paths import join, segment


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([], ""),
        (["ids", 2], "ids[2]"),
        (["filter", "city"], "filter.city"),
        ([0, "a"], "[0].a"),
        (["a b", "c"], "?.c"),
        (["", "c"], "?.c"),
        (["x" * 70], "x" * 64),
        (["é"], "?"),
        (["a\n"], "?"),
    ],
)
def test_a_path_shows_plain_keys_only(steps: list[str | int], path: str) -> None:
    assert join(steps) == path


def test_a_key_is_judged_after_the_cut() -> None:
    assert segment("x" * 64 + "\u202e") == "x" * 64
    assert segment("x" * 63 + "\u202e") == "?"
