"""The one door for values: JSON-ness, an own copy, normalised numbers and RFC 8785 bytes in one pass (SPEC 3.6)."""

import math
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, TypeAlias, cast

import orjson

from remit._base.paths import join

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer every JSON reader keeps exactly; beyond it, either way, integers are refused (SPEC 3.6)."""

_EXPONENT_FROM: Final = 1e21
_SMALL_BELOW: Final = 1e-5
_MAX_NAME: Final = 64
_TOO_LONG: Final = "an integer beyond 2^53-1; declare it as a string"

_PRINT: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_PRINT_IN_GIVEN_ORDER: Final = _PRINT & ~orjson.OPT_SORT_KEYS

# orjson prints every float with a point or an exponent, so bytes with neither hold no float. Text may match too: that
# costs a walk only.
_EXPONENT: Final = re.compile(rb"e[-+1-9]")
_ASTRAL: Final = re.compile(rb"[\xf0-\xf4]")


class NotJson(Exception):
    """A value is no JSON that remit accepts; `reason` says why in words that never hold the value (SPEC 3.6).

    `path` says where inside the value, like `ids[2]`; it is empty for the value itself, and where no one place is to
    blame: size, depth, a cycle (SPEC 8.3).
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason: str = reason
        self.path: str = path

    @property
    def told(self) -> str:
        """The reason with its place, for the operator."""
        return f"{self.reason}, at `{self.path}`" if self.path else self.reason


class TooLarge(NotJson):
    """The canonical form of a value has more UTF-8 bytes than allowed (SPEC 17)."""


def take(value: object, *, max_bytes: int | None = None) -> tuple[Json, bytes]:
    """Return an own, normalised copy of `value` and its RFC 8785 bytes.

    Integral floats become integers, so `1.0` and `1` are one value. Refused with `NotJson`: NaN and infinities,
    integers beyond 2^53-1 in any spelling (integral floats below 1e21 included), lone surrogates, keys that are not
    text, tuples, sets, bytes, dates, UUIDs, enum members, dataclasses, subclasses of the JSON types, cycles, more than
    254 levels. The one leniency: a member of a `str` or `int` enumeration counts as its value. More than `max_bytes`
    bytes of the canonical form: `TooLarge` (SPEC 3.6, 17).
    """
    try:
        printed = orjson.dumps(value, None, _PRINT)
        # No normalisation shortens a number to less than a quarter ("-0.0" to "0"), so this refusal is exact and cheap.
        if max_bytes is not None and len(printed) > 4 * max_bytes:
            raise TooLarge(f"more than {max_bytes} bytes")
        box: list[Json] = [orjson.loads(printed)]
        # What orjson prints although it is not JSON (tuple, NaN, UUID, enum member) does not come back equal.
        if box[0] != value:
            raise _refused(value)
    except TypeError:  # orjson.JSONEncodeError
        raise _refused(value) from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:  # a pre-rendered fragment that is no JSON
        raise _refused(value) from None
    if b"." in printed or _EXPONENT.search(printed):
        changed, odd = _normalise(box)
        if odd:
            printed = orjson.dumps(_with_fragments(box[0]), None, _PRINT)
        elif changed:
            printed = orjson.dumps(box[0], None, _PRINT)
    printed = _in_utf16_order(box[0], printed)
    if max_bytes is not None and len(printed) > max_bytes:
        raise TooLarge(f"more than {max_bytes} bytes")
    return box[0], printed


def canonical(value: Json) -> bytes:
    """Return the RFC 8785 bytes of a value that came through `take`, or was put together from such values.

    Cheaper than `take`: nothing is copied and nothing is checked again. A value from elsewhere belongs into `take`.
    """
    printed = orjson.dumps(value, None, _PRINT)
    if _EXPONENT.search(printed) and _has_odd(value):
        printed = orjson.dumps(_with_fragments(value), None, _PRINT)
    return _in_utf16_order(value, printed)


def loads(data: bytes) -> Json:
    """Return an own copy of a value from its canonical bytes; only for bytes that `take` or `canonical` returned."""
    return cast(Json, orjson.loads(data))


def _children(node: Json) -> Iterator[Json]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _normalise(box: list[Json]) -> tuple[bool, bool]:
    """Make integral floats integers, in place; say whether one was met, and one that prints unlike ECMAScript.

    This walk is the dearest part of a large input. What is in the box came from a JSON reader, so exact types will do.
    """
    changed = odd = False
    stack: list[dict[str, Json] | list[Json]] = [box]
    while stack:
        node = stack.pop()
        places: Iterable[tuple[str | int, Json]] = node.items() if type(node) is dict else enumerate(node)
        for place, child in places:
            if type(child) is float:
                if child.is_integer() or -_SMALL_BELOW < child < _SMALL_BELOW:
                    if _beyond(child):
                        raise _refused(box[0])
                    cast("dict[str | int, Json]", node)[place], odd = _number(child, odd)  # a list, too
                    changed = True
            elif type(child) is dict or type(child) is list:
                stack.append(child)
    return changed, odd


def _number(number: float, odd: bool) -> tuple[int | float, bool]:
    if -SAFE_INTEGER <= number <= SAFE_INTEGER and number.is_integer():
        return int(number), odd
    return number, True


def _beyond(number: float) -> bool:
    """True for what prints as an integer beyond 2^53-1; from 1e21 on a number prints with an exponent."""
    return SAFE_INTEGER < abs(number) < _EXPONENT_FROM


def _is_odd(number: float) -> bool:
    size = abs(number)
    return size >= _EXPONENT_FROM or 0.0 < size < _SMALL_BELOW


def _has_odd(value: Json) -> bool:
    stack: list[Json] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, float):
            if _is_odd(node):
                return True
        else:
            stack.extend(_children(node))
    return False


def _with_fragments(value: Json) -> object:
    if isinstance(value, dict):
        return {key: _with_fragments(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_with_fragments(child) for child in value]
    if isinstance(value, float) and _is_odd(value):
        return orjson.Fragment(_ecmascript(value).encode("ascii"))
    return value


def _ecmascript(number: float) -> str:
    """Lay the shortest digits of a float out by the rule of ECMAScript's Number::toString, which RFC 8785 adopts."""
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)  # the value is 0.DIGITS times ten to this power
    digits = digits.rstrip("0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"


def _in_utf16_order(value: Json, printed: bytes) -> bytes:
    # orjson sorts keys by code point, RFC 8785 by UTF-16 unit; the two differ only where a key goes beyond U+FFFF.
    if printed.isascii() or _ASTRAL.search(printed) is None or not _has_astral_key(value):
        return printed
    return orjson.dumps(_with_fragments(_sorted_keys(value)), None, _PRINT_IN_GIVEN_ORDER)


def _has_astral_key(value: Json) -> bool:
    stack: list[Json] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict) and any(max(key, default="") > "\uffff" for key in node):
            return True
        stack.extend(_children(node))
    return False


def _sorted_keys(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted_keys(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    if isinstance(value, list):
        return [_sorted_keys(child) for child in value]
    return value


def _refused(value: object) -> NotJson:
    """Say what in a refused value is no JSON, and where; only a refusal pays for this walk.

    A cycle or a too deep value is what is left when every part is fine.
    """
    seen: set[int] = set()
    stack: list[tuple[object, _Place]] = [(value, None)]
    while stack:
        node, place = stack.pop()
        if type(node) in (dict, list):
            if id(node) in seen:
                continue
            seen.add(id(node))
        if (reason := _why_node(node)) is not None:
            return NotJson(reason, join(_steps(place)))
        if type(node) is dict:
            children = cast("dict[str, object]", node).items()
            stack.extend((child, (place, key)) for key, child in reversed(children))
        elif type(node) is list:
            items = cast("list[object]", node)
            stack.extend((items[index], (place, index)) for index in range(len(items) - 1, -1, -1))
    return NotJson("nested too deeply, or within itself")


_Place: TypeAlias = "tuple[_Place, str | int] | None"


def _steps(place: _Place) -> list[str | int]:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return steps[::-1]


def _why_node(node: object) -> str | None:
    if node is None or type(node) in (bool, list):
        return None
    if type(node) is str:
        return "text with a lone surrogate" if _lone_surrogate(node) else None
    if type(node) is int or type(node) is float:
        return _why_number(node)
    if type(node) is dict:
        return _why_keys(cast("dict[object, object]", node))
    if isinstance(node, Enum) and isinstance(node, str | int):
        return _why_node(node.value)  # such a member counts as its value
    return f"a value of the type {_type_name(node)} is not JSON"


def _why_number(number: int | float) -> str | None:
    if type(number) is int:
        return _TOO_LONG if abs(number) > SAFE_INTEGER else None
    if not math.isfinite(number):
        return "NaN or an infinity"
    return _TOO_LONG if _beyond(number) else None


def _why_keys(node: dict[object, object]) -> str | None:
    for key in node:
        if type(key) is not str:
            return "a key that is not text"
        if _lone_surrogate(key):
            return "a key with a lone surrogate"
    return None


def _lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _type_name(value: object) -> str:
    name = type(value).__name__
    return name if name.isidentifier() and len(name) <= _MAX_NAME else "?"
