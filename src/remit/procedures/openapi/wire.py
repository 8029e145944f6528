"""Values as bytes of an address or a head, by style and explode (SPEC 10.6; RFC 6570, RFC 3986).

Everything but unreserved characters is percent-encoded, and delimiters between the parts of a value are written raw,
so that a reader who splits first and decodes then gets back what was meant. A value that such a reader would get
wrong is refused.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, assert_never, cast
from urllib.parse import quote

from remit._base.boundary import Json, canonical
from remit.procedures.openapi.parameters import Parameter, Shape
from remit.procedures.openapi.refusal import ValueRefused

_LEAVES_THE_SEGMENT: Final = re.compile(r"[/\\?#\x00-\x1f\x7f]")
_IN_A_HEADER: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?|")
_IN_A_COOKIE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
_RESERVED_IN_A_QUERY: Final = ":/?@!$'()*,;="
_DELIMITERS: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_RAW_DELIMITERS: Final = {"spaceDelimited": " ", "pipeDelimited": "|"}


def text_of(value: Json) -> str:
    """A plain value as text: `true`, `-1`, `2.5`, or the text itself."""
    return value if isinstance(value, str) else canonical(value).decode()


def encoded(text: str) -> str:
    """Percent-encode everything but unreserved characters, as UTF-8."""
    return quote(text, safe="")


def query_pairs(parameter: Parameter, value: Json, field: str) -> list[str]:
    """The `name=value` pairs of one query parameter, encoded."""
    name = encoded(parameter.name)
    if parameter.as_json:
        return [f"{name}={encoded(canonical(value).decode())}"]
    write = _query_writer(parameter)
    match parameter.shape:
        case Shape.SCALAR:
            return [f"{name}={write(text_of(value))}"]
        case Shape.ARRAY:
            texts = [text_of(each) for each in _some(cast("list[Json]", value), field, "array")]
            if parameter.explode:
                return [f"{name}={write(text)}" for text in texts]
            return [f"{name}={_joined(parameter, texts, write, field)}"]
        case Shape.OBJECT:
            members = _members(parameter, value, field)
            if parameter.style == "deepObject":
                return [f"{name}%5B{encoded(key)}%5D={write(text)}" for key, text in members]
            if parameter.explode:
                return [f"{encoded(key)}={write(text)}" for key, text in members]
            return [f"{name}={_joined(parameter, [part for pair in members for part in pair], write, field)}"]
        case _:
            assert_never(parameter.shape)


def path_segment(parameter: Parameter, value: Json, field: str) -> str:
    """The encoded part of one path segment; it is never empty, and no reader takes it for a step elsewhere."""
    parts: _Parts
    match parameter.shape:
        case Shape.SCALAR:
            parts = [(None, _stays(text_of(value), field))]
        case Shape.ARRAY:
            parts = [(None, _stays(text_of(each), field)) for each in _some(cast("list[Json]", value), field, "array")]
        case Shape.OBJECT:
            parts = [(encoded(key), _stays(text, field)) for key, text in _members(parameter, value, field)]
        case _:
            assert_never(parameter.shape)
    return _PATHS[parameter.style](parameter, parts, field)


def header_value(parameter: Parameter, value: Json, field: str) -> str:
    """The value of one header; headers have no escapes, so what would be read otherwise is refused."""
    match parameter.shape:
        case Shape.SCALAR:
            return _plain_header(text_of(value), field, "")
        case Shape.ARRAY:
            items = _some(cast("list[Json]", value), field, "array")
            return ",".join(_plain_header(text_of(each), field, ",") for each in items)
        case Shape.OBJECT:
            between, forbidden = ("=", ",=") if parameter.explode else (",", ",")
            members = _members(parameter, value, field)
            return ",".join(between.join(_plain_header(part, field, forbidden) for part in pair) for pair in members)
        case _:
            assert_never(parameter.shape)


def cookie_pair(parameter: Parameter, value: Json, field: str) -> str:
    """The `name=value` of one cookie; cookies have no escapes either."""
    text = text_of(value)
    if not _IN_A_COOKIE.fullmatch(text):
        raise ValueRefused(field, "holds a character that a cookie cannot hold")
    return f"{parameter.name}={text}"


def _query_writer(parameter: Parameter) -> Callable[[str], str]:
    if not parameter.reserved:
        return encoded
    safe = _RESERVED_IN_A_QUERY if parameter.shape is Shape.SCALAR or parameter.explode else ":/?@!$'()*;="
    return lambda text: quote(text, safe=safe)


def _joined(parameter: Parameter, texts: list[str], write: Callable[[str], str], field: str) -> str:
    raw = _RAW_DELIMITERS.get(parameter.style)
    for text in texts:
        if not text:
            raise ValueRefused(field, "holds an empty text, which is lost between delimiters")
        if raw is not None and raw in text:
            raise ValueRefused(field, "holds the delimiter of its own list")
    return _DELIMITERS[parameter.style].join(write(text) for text in texts)


def _some(values: list[Json], field: str, what: str) -> list[Json]:
    if not values:
        raise ValueRefused(field, f"is an empty {what}, which cannot be sent")
    return values


def _members(parameter: Parameter, value: Json, field: str) -> list[tuple[str, str]]:
    given = cast("Mapping[str, Json]", value)
    members = [(key, text_of(given[key])) for key in parameter.keys if key in given]
    if not members:
        raise ValueRefused(field, "is an empty object, which cannot be sent")
    return members


# Path segments

_Parts = list[tuple[str | None, str]]


def _stays(text: str, field: str) -> str:
    if not text or _LEAVES_THE_SEGMENT.search(text):
        raise ValueRefused(field, "must be one segment of a path: not empty, without / \\ ? # and control characters")
    return encoded(text)


def _flat(parts: _Parts) -> list[str]:
    return [each for key, text in parts for each in ((text,) if key is None else (key, text))]


def _pairs(parts: _Parts) -> list[str]:
    return [text if key is None else f"{key}={text}" for key, text in parts]


def _simple(parameter: Parameter, parts: _Parts, field: str) -> str:
    return ",".join(_pairs(parts) if parameter.explode else _flat(parts))


def _label(parameter: Parameter, parts: _Parts, field: str) -> str:
    if parameter.explode and parameter.shape is not Shape.SCALAR and any("." in text for text in _flat(parts)):
        raise ValueRefused(field, "holds a dot, the delimiter of its own list")
    return "." + (".".join(_pairs(parts)) if parameter.explode else ",".join(_flat(parts)))


def _matrix(parameter: Parameter, parts: _Parts, field: str) -> str:
    name = encoded(parameter.name)
    if not parameter.explode:
        return f";{name}={','.join(_flat(parts))}"
    return "".join(f";{name if key is None else key}={text}" for key, text in parts)


_PATHS: Final[Mapping[str, Callable[[Parameter, _Parts, str], str]]] = {
    "simple": _simple,
    "label": _label,
    "matrix": _matrix,
}


def _plain_header(text: str, field: str, forbidden: str) -> str:
    if not _IN_A_HEADER.fullmatch(text):
        raise ValueRefused(field, "holds a character that a header cannot hold, or a space at an end")
    if any(character in text for character in forbidden) or (forbidden and not text):
        raise ValueRefused(field, "holds the delimiter of its own list, or an empty text in it")
    return text
