import pytest

from remit._base.paths import MAX_PATH, join, reworded, segment


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


@pytest.mark.parametrize("steps", [[], ["ids", 2], ["filter", "city"], [0, "a"], ["a b", "c"], ["x" * 70], ["a", 0, 1]])
def test_a_path_of_ours_is_reworded_to_itself(steps: list[str | int]) -> None:
    assert reworded(join(steps)) == join(steps)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("p\n\u202e", "?"),
        ("a.b c[3].d", "a.?[3].d"),
        ("a[x]", "?"),
        ("a..b", "a.?.b"),
        ("x" * 10_000, "x" * 64),
        ("[" * 10_000, "?"),
    ],
)
def test_a_path_of_somebody_else_shows_plain_segments_only(written: str, shown: str) -> None:
    assert reworded(written) == shown


def test_a_path_of_somebody_else_is_bounded() -> None:
    for written in (".".join(["segment"] * 5_000), "a" + "[123456789012345]" * 5_000, "." * 100_000):
        assert len(reworded(written)) <= MAX_PATH + 2
