"""The wire by table: every parameter style, explode and type, with the bytes that must be sent (SPEC 10.6).

`sent` is a literal: the request target for a path or query, the line for a header or cookie. `refused` names a part of
the reason instead: of the build for a case without `value`, of the value else.
"""

from dataclasses import dataclass
from typing import Any

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
STRINGS = {"type": "array", "items": STRING}
INTEGERS = {"type": "array", "items": INTEGER}
RGB = {"type": "object", "properties": {"R": INTEGER, "G": INTEGER, "B": INTEGER}}
PLACE = {"type": "object", "properties": {"city": STRING, "zip": STRING}}
NESTED = {"type": "object", "properties": {"in": RGB}}

COLORS = ["blue", "black", "brown"]
COLOR = {"R": 100, "G": 200, "B": 150}
NOTHING: Any = object()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row; `style` None leaves the default to the document, `explode` too."""

    place: str
    style: str | None
    explode: bool | None
    schema: dict[str, Any]
    value: Any = NOTHING
    sent: str | None = None
    refused: str | None = None
    name: str = "color"
    more: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """A name for the test."""
        kind = self.schema.get("type", "any")
        told = "build" if self.value is NOTHING else repr(self.value)[:30]
        return f"{self.place}-{self.style}-{self.explode}-{kind}-{told}"


def _rows(place: str, style: str | None, explode: bool | None, *rows: tuple[dict[str, Any], Any, str]) -> list[Case]:
    return [Case(place=place, style=style, explode=explode, schema=s, value=v, sent=w) for s, v, w in rows]


def _refused(place: str, style: str | None, explode: bool | None, reason: str, *schemas: dict[str, Any]) -> list[Case]:
    return [Case(place=place, style=style, explode=explode, schema=each, refused=reason) for each in schemas]


PATHS = [
    *_rows(
        "path",
        "simple",
        False,
        (STRING, "blue", "/items/blue"),
        (INTEGER, 5, "/items/5"),
        (NUMBER, 2.5, "/items/2.5"),
        (BOOLEAN, True, "/items/true"),
        (STRINGS, COLORS, "/items/blue,black,brown"),
        (INTEGERS, [3, 4], "/items/3,4"),
        (RGB, COLOR, "/items/R,100,G,200,B,150"),
    ),
    *_rows(
        "path",
        "simple",
        True,
        (STRING, "blue", "/items/blue"),
        (INTEGER, -5, "/items/-5"),
        (BOOLEAN, False, "/items/false"),
        (STRINGS, COLORS, "/items/blue,black,brown"),
        (RGB, COLOR, "/items/R=100,G=200,B=150"),
    ),
    *_rows(
        "path",
        "label",
        False,
        (STRING, "blue", "/items/.blue"),
        (INTEGER, 5, "/items/.5"),
        (BOOLEAN, True, "/items/.true"),
        (STRINGS, COLORS, "/items/.blue,black,brown"),
        (RGB, COLOR, "/items/.R,100,G,200,B,150"),
    ),
    *_rows(
        "path",
        "label",
        True,
        (STRING, "blue", "/items/.blue"),
        (INTEGER, 5, "/items/.5"),
        (BOOLEAN, True, "/items/.true"),
        (STRINGS, COLORS, "/items/.blue.black.brown"),
        (RGB, COLOR, "/items/.R=100.G=200.B=150"),
    ),
    *_rows(
        "path",
        "matrix",
        False,
        (STRING, "blue", "/items/;color=blue"),
        (INTEGER, 5, "/items/;color=5"),
        (BOOLEAN, True, "/items/;color=true"),
        (STRINGS, COLORS, "/items/;color=blue,black,brown"),
        (RGB, COLOR, "/items/;color=R,100,G,200,B,150"),
    ),
    *_rows(
        "path",
        "matrix",
        True,
        (STRING, "blue", "/items/;color=blue"),
        (INTEGER, 5, "/items/;color=5"),
        (BOOLEAN, True, "/items/;color=true"),
        (STRINGS, COLORS, "/items/;color=blue;color=black;color=brown"),
        (RGB, COLOR, "/items/;R=100;G=200;B=150"),
    ),
    *_rows(
        "path",
        None,
        None,
        (STRING, "a b", "/items/a%20b"),
        (STRING, "é", "/items/%C3%A9"),
        (STRING, "%2e%2e%2f", "/items/%252e%252e%252f"),
        (STRING, "a,b", "/items/a%2Cb"),
        (STRING, "a;b=c", "/items/a%3Bb%3Dc"),
        (STRING, "a&b+c", "/items/a%26b%2Bc"),
        (STRING, "~-._", "/items/~-._"),
        (STRING, "...", "/items/..."),
        (STRINGS, ["a,b", "c"], "/items/a%2Cb,c"),
        (STRINGS, COLORS, "/items/blue,black,brown"),
        (RGB, {"R": 1}, "/items/R,1"),
    ),
]

SEGMENTS = [
    Case(place="path", style=style, explode=False, schema=STRING, value=value, refused="one segment of a path")
    for style in ("simple", "label", "matrix")
    for value in ("../admin", "a?x=1", "a/b", "a#b", "a\\b", "a\nb")
]
STEPS = [
    Case(place="path", style=None, explode=None, schema=STRING, value=value, refused="another place of the path")
    for value in ("..", ".")
]
OTHER_PATHS = [
    Case(place="path", style="label", explode=False, schema=STRING, value=".", refused="another place of the path"),
    Case(place="path", style=None, explode=None, schema=STRING, value="", refused="at least 1"),
    Case(place="path", style=None, explode=None, schema=STRINGS, value=[], refused="at least 1"),
    Case(place="path", style=None, explode=None, schema=RGB, value={}, refused="empty object"),
    Case(place="path", style="label", explode=True, schema=STRINGS, value=["a.b"], refused="delimiter"),
    *_refused("path", "form", None, "no style 'form' is known there", STRING),
    *_refused("path", "simple", False, "an array of something else than plain values", {"type": "array", "items": RGB}),
    *_refused("path", "simple", False, "is no plain value", NESTED),
    *_refused("path", "simple", False, "several that cannot be told apart", {"type": ["string", "integer"]}),
]

QUERIES = [
    *_rows(
        "query",
        "form",
        True,
        (STRING, "blue", "/items?color=blue"),
        (INTEGER, 5, "/items?color=5"),
        (NUMBER, 2.5, "/items?color=2.5"),
        (BOOLEAN, True, "/items?color=true"),
        (STRINGS, COLORS, "/items?color=blue&color=black&color=brown"),
        (INTEGERS, [3, 4], "/items?color=3&color=4"),
        (RGB, COLOR, "/items?R=100&G=200&B=150"),
        (STRINGS, ["", "a"], "/items?color=&color=a"),
    ),
    *_rows(
        "query",
        "form",
        False,
        (STRING, "blue", "/items?color=blue"),
        (INTEGER, 5, "/items?color=5"),
        (BOOLEAN, False, "/items?color=false"),
        (STRINGS, COLORS, "/items?color=blue,black,brown"),
        (STRINGS, ["a,b", "c"], "/items?color=a%2Cb,c"),
        (INTEGERS, [3, 4], "/items?color=3,4"),
        (RGB, COLOR, "/items?color=R,100,G,200,B,150"),
    ),
    *_rows(
        "query",
        "spaceDelimited",
        False,
        (STRINGS, COLORS, "/items?color=blue%20black%20brown"),
        (INTEGERS, [3, 4], "/items?color=3%204"),
        (RGB, COLOR, "/items?color=R%20100%20G%20200%20B%20150"),
    ),
    *_rows(
        "query",
        "pipeDelimited",
        False,
        (STRINGS, COLORS, "/items?color=blue%7Cblack%7Cbrown"),
        (INTEGERS, [3, 4], "/items?color=3%7C4"),
        (RGB, COLOR, "/items?color=R%7C100%7CG%7C200%7CB%7C150"),
    ),
    *_rows(
        "query",
        "deepObject",
        True,
        (RGB, COLOR, "/items?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        (PLACE, {"city": "São Paulo"}, "/items?color%5Bcity%5D=S%C3%A3o%20Paulo"),
    ),
    *_rows(
        "query",
        "deepObject",
        None,
        (PLACE, {"zip": "1&2"}, "/items?color%5Bzip%5D=1%262"),
    ),
    *_rows(
        "query",
        None,
        None,
        (STRING, "", "/items?color="),
        (STRING, "a b", "/items?color=a%20b"),
        (STRING, "a+b", "/items?color=a%2Bb"),
        (STRING, "a&b=c", "/items?color=a%26b%3Dc"),
        (STRING, "a#b?c/d", "/items?color=a%23b%3Fc%2Fd"),
        (STRING, "50%", "/items?color=50%25"),
        (STRING, "%41", "/items?color=%2541"),
        (STRING, "é", "/items?color=%C3%A9"),
        (STRING, "🚲", "/items?color=%F0%9F%9A%B2"),
        (STRING, "a\nb", "/items?color=a%0Ab"),
        (STRING, "[x]", "/items?color=%5Bx%5D"),
        (STRING, "null", "/items?color=null"),
        (NUMBER, 1e21, "/items?color=1e%2B21"),
        (NUMBER, 0, "/items?color=0"),
        (STRINGS, COLORS, "/items?color=blue&color=black&color=brown"),
        ({"type": ["string", "null"]}, "x", "/items?color=x"),
        ({"anyOf": [INTEGER, {"type": "null"}]}, 7, "/items?color=7"),
        ({"enum": ["a", "b"]}, "a", "/items?color=a"),
        ({"type": "string", "format": "date"}, "2026-12-01", "/items?color=2026-12-01"),
        ({"type": "string", "format": "date-time"}, "2026-12-01T00:00:00Z", "/items?color=2026-12-01T00%3A00%3A00Z"),
    ),
    Case(place="query", style=None, explode=None, schema=STRING, value="x", sent="/items?%24top=x", name="$top"),
    Case(place="query", style=None, explode=None, schema=STRING, value="x", sent="/items?date%3C=x", name="date<"),
    Case(place="query", style=None, explode=None, schema=STRINGS, value=["a"], sent="/items?ids%5B%5D=a", name="ids[]"),
    Case(
        place="query",
        style=None,
        explode=None,
        schema=STRINGS,
        value=["a", "b"],
        sent="/items?ids%5B%5D=a&ids%5B%5D=b",
        name="ids[]",
    ),
    Case(place="query", style=None, explode=None, schema=STRING, value="x", sent="/items?f%5Bc%5D=x", name="f[c]"),
]

RESERVED = [
    Case(place="query", style=None, explode=None, schema=STRING, value=value, sent=sent, more={"allowReserved": True})
    for value, sent in (
        ("/a:b?c@d", "/items?color=/a:b?c@d"),
        ("a&b#c+d", "/items?color=a%26b%23c%2Bd"),
        ("a=b;c,d", "/items?color=a=b;c,d"),
        ("[1]%", "/items?color=%5B1%5D%25"),
    )
] + [
    Case(
        place="query",
        style="form",
        explode=False,
        schema=STRINGS,
        value=["a,b", "c/d"],
        sent="/items?color=a%2Cb,c/d",
        more={"allowReserved": True},
    ),
]

OTHER_QUERIES = [
    Case(place="query", style=None, explode=None, schema=STRINGS, value=[], refused="at least 1"),
    Case(place="query", style=None, explode=None, schema=RGB, value={}, refused="empty object"),
    Case(place="query", style="form", explode=False, schema=STRINGS, value=[""], refused="an empty text"),
    Case(place="query", style="spaceDelimited", explode=False, schema=STRINGS, value=["a b"], refused="delimiter"),
    Case(place="query", style="pipeDelimited", explode=False, schema=STRINGS, value=["a|b"], refused="delimiter"),
    Case(place="query", style=None, explode=None, schema={"type": ["string", "null"]}, value=None, refused="string"),
    *[
        case
        for style in ("spaceDelimited", "pipeDelimited")
        for explode, kinds in ((True, (STRING, INTEGER, BOOLEAN, STRINGS, RGB)), (False, (STRING, INTEGER, BOOLEAN)))
        for case in _refused("query", style, explode, "arrays and objects that are not exploded", *kinds)
    ],
    *_refused("query", "deepObject", True, "exploded objects only", STRING, INTEGER, BOOLEAN, STRINGS),
    *_refused("query", "deepObject", False, "exploded objects only", STRING, INTEGER, BOOLEAN, STRINGS, RGB),
    *_refused("query", "deepObject", True, "is no plain value", NESTED),
    *_refused("query", "form", True, "is no plain value", NESTED),
    *_refused("query", "form", True, "fields are not all named", {"type": "object", "additionalProperties": True}),
    *_refused("query", "form", True, "a value of no type", {}),
    *_refused("query", "matrix", None, "no style 'matrix' is known there", STRING),
]

JSON_QUERIES = [
    Case(place="query", style="json", explode=None, schema=NESTED, value=value, sent=sent)
    for value, sent in (
        ({"in": {"R": 1}}, "/items?color=%7B%22in%22%3A%7B%22R%22%3A1%7D%7D"),
        ({}, "/items?color=%7B%7D"),
    )
]

HEADERS = [
    *[
        case
        for explode in (False, True)
        for case in _rows(
            "header",
            "simple",
            explode,
            (STRING, "blue", "color: blue"),
            (STRING, "light blue", "color: light blue"),
            (STRING, "", "color: "),
            (INTEGER, 5, "color: 5"),
            (BOOLEAN, True, "color: true"),
            (STRINGS, COLORS, "color: blue,black,brown"),
            (INTEGERS, [3, 4], "color: 3,4"),
        )
    ],
    *_rows("header", "simple", False, (RGB, COLOR, "color: R,100,G,200,B,150")),
    *_rows("header", "simple", True, (RGB, COLOR, "color: R=100,G=200,B=150")),
    *[
        Case(place="header", style=None, explode=None, schema=STRING, value=value, refused="a header cannot hold")
        for value in ("a\r\nx-admin: 1", " a", "a ", "é", "a\x00b")
    ],
    Case(place="header", style=None, explode=None, schema=STRINGS, value=["a,b"], refused="delimiter"),
    Case(place="header", style=None, explode=None, schema=STRINGS, value=["a", ""], refused="an empty text"),
    Case(place="header", style=None, explode=True, schema=PLACE, value={"city": "a=b"}, refused="delimiter"),
    *_refused("header", "form", None, "no style 'form' is known there", STRING),
    *[
        Case(place="header", style=None, explode=None, schema=STRING, refused="belongs to the connection", name=name)
        for name in ("Host", "Content-Length", "Transfer-Encoding", "Cookie", "X-Forwarded-For")
    ],
    Case(place="header", style=None, explode=None, schema=STRING, refused="a name that cannot be written", name="a b"),
]

COOKIES = [
    *[
        case
        for explode in (False, True, None)
        for case in _rows(
            "cookie",
            "form",
            explode,
            (STRING, "blue", "cookie: color=blue"),
            (INTEGER, 5, "cookie: color=5"),
            (BOOLEAN, True, "cookie: color=true"),
        )
    ],
    *[
        Case(place="cookie", style=None, explode=None, schema=STRING, value=value, refused="a cookie cannot hold")
        for value in ("a;b", "a b", "a,b", 'a"b', "é", "a\\b")
    ],
    *_refused("cookie", "form", True, "one plain value", STRINGS, RGB),
    *_refused("cookie", "form", False, "one plain value", STRINGS, RGB),
    *_refused("cookie", "simple", False, "no style 'simple' is known there", STRING),
]

CASES = [
    *PATHS,
    *SEGMENTS,
    *STEPS,
    *OTHER_PATHS,
    *QUERIES,
    *RESERVED,
    *OTHER_QUERIES,
    *JSON_QUERIES,
    *HEADERS,
    *COOKIES,
]
