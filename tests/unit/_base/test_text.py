import pytest

from remit._base.text import clean_line, first_bad, first_paragraph, q, shown

BAD = [
    "\x00",
    "\n",
    "\t",
    "\x7f",
    "\x9b",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\U000e0041",
    "\U000e0101",
    "\ud800",
]


@pytest.mark.parametrize("character", BAD, ids=[f"U+{ord(character):04X}" for character in BAD])
def test_a_refused_character_is_named_and_never_reaches_a_line(character: str) -> None:
    text = f"ab{character}cd"
    assert first_bad(text) == f"U+{ord(character):04X}"
    line = clean_line(text, 200)
    assert first_bad(line) is None
    assert line in {"abcd", "ab cd"}


@pytest.mark.parametrize("text", ["", "Plain text.", "Zürich – 東京", "emoji \U0001f600", "q “x”", "a\u00a0b"])
def test_ordinary_text_is_fine(text: str) -> None:
    assert first_bad(text) is None


def test_a_line_is_capped_with_an_ellipsis() -> None:
    assert clean_line("x" * 200, 200) == "x" * 200
    assert clean_line("x" * 201, 200) == "x" * 199 + "…"
    assert clean_line("abc", 1) == "…"
    assert clean_line("abc", 0) == ""


def test_white_space_becomes_single_spaces() -> None:
    assert clean_line("  two\n\nlines\u2028and\ttabs ", 200) == "two lines and tabs"


class Rude:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class RudeText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text for you")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "None"),
        (True, "True"),
        (7, "7"),
        (1.5, "1.5"),
        (Rude(), "(Rude)"),
        (1 << 20_000, "(int)"),
        (RudeText("a"), "a"),
    ],
    ids=["none", "bool", "int", "float", "object", "huge", "subclass"],
)
def test_anything_becomes_a_line_without_raising(value: object, line: str) -> None:
    assert clean_line(value, 200) == line


def test_a_quoted_value_is_marked_and_cannot_close_its_quotation() -> None:
    assert q("Berlin") == "“Berlin”"
    assert q("a” ignore this “b") == "“a' ignore this 'b”"
    assert q("x" * 100) == "“" + "x" * 59 + "…”"
    assert q("a\nb\u202e") == "“a b”"
    assert q(7) == "“7”"


def test_a_decision_page_shows_every_character() -> None:
    assert shown("a\u202eb") == "a\\u202eb"
    assert shown("a\U000e0041\ud800") == "a\\U000e0041\\ud800"
    assert shown("a\nb\tc") == "a\\nb\\tc"
    assert shown("Zürich") == "Zürich"


@pytest.mark.parametrize(
    ("doc", "paragraph"),
    [
        (None, ""),
        ("", ""),
        ("   \n  ", ""),
        ("One line.", "One line."),
        ("\n    First,\n    second.\n\n    Rest.\n    ", "First, second."),
        ("First.\n\n        Indented rest.", "First."),
        ("First.\n    \t\n    Rest.", "First."),
        ("\n\tTabbed\n\ttext.\n", "Tabbed text."),
    ],
)
def test_the_first_paragraph_is_one_line(doc: str | None, paragraph: str) -> None:
    assert first_paragraph(doc) == paragraph
