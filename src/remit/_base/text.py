"""Text that people and agents read: refused characters, and run-time text as one safe line (SPEC 3.2, 3.12)."""

import inspect
import re
from typing import Final

QUOTE_LIMIT: Final = 60
"""Characters of an interpolated value that `q` shows."""

_ELLIPSIS: Final = "…"
_MAX_BITS: Final = 1024

# Controls and line separators; bidi marks, embeddings, overrides and isolates; zero-width and other invisible format
# characters; tag characters and the variation selectors beside them, which can smuggle text nobody sees; lone
# surrogates.
_REFUSED: Final = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]"
)
_BLANK: Final = re.compile("[\\s\u0085\u2028\u2029]+")
_INNER_QUOTES: Final = str.maketrans({"“": "'", "”": "'", "„": "'", "‟": "'"})
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def first_bad(text: str) -> str | None:
    """Name the first refused character as `U+202E`, or return `None`.

    Refused are controls (line breaks and tabs too), bidi marks and overrides, zero-width and tag characters, lone
    surrogates (SPEC 3.2).
    """
    found = _REFUSED.search(text)
    return None if found is None else f"U+{ord(found.group()):04X}"


def first_bad_inside(value: object) -> str | None:
    """Name the first refused character of any text inside a JSON value, keys included, or return `None`."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack += [*node, *node.values()]
        elif isinstance(node, list):
            stack += node
        elif isinstance(node, str) and (bad := first_bad(node)) is not None:
            return bad
    return None


def clean_line(text: object, limit: int) -> str:
    """Return run-time text as one line of at most `limit` characters; never raises, whatever it is given (SPEC 3.12).

    Every run of white space becomes one space, refused characters go, a cut shows as `…`. What is neither text nor a
    number is named by its type; no code of the object runs.
    """
    line = _REFUSED.sub("", _BLANK.sub(" ", _as_text(text))).strip()
    if len(line) <= limit:
        return line
    return line[: max(limit - 1, 0)].rstrip() + _ELLIPSIS if limit > 0 else ""


def q(value: object) -> str:
    """Quote a value inside an author's text: “like this”, one line, 60 characters at most.

    The typographic quotes mark what stands between them as data nobody vouches for; inner ones are replaced, so that a
    value cannot close its own quotation (SPEC 3.12).
    """
    return f"“{clean_line(_as_text(value).translate(_INNER_QUOTES), QUOTE_LIMIT)}”"


def shown(text: str) -> str:
    """Return text as a decision page shows it: whole, with refused characters as escapes like `\\u202e` (SPEC 7.2)."""
    return _REFUSED.sub(_escape, text)


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring as one line, or the empty text; equal on every Python (SPEC 3.2)."""
    if not doc:
        return ""
    paragraph = re.split(r"\n[ \t]*\n", inspect.cleandoc(doc).strip("\n"), maxsplit=1)[0]
    return " ".join(line.strip() for line in paragraph.split("\n")).strip()


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # a plain copy, even of a subclass with methods of its own
    if value is None or type(value) is bool or type(value) is float:
        return str(value)
    if type(value) is int and value.bit_length() <= _MAX_BITS:  # printing a huge integer raises
        return str(value)
    return f"({type(value).__name__})"
