"""An answer that is no success, as the author of a catalogue may read it (SPEC 10.5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from remit._base.boundary import Json
from remit.procedures.errors import BackendError

_LONGEST_S: Final = 7 * 86_400.0
"""In milliseconds it still fits the 31 bits that timers of other languages have."""

_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that is no success, for `errors=`: its status, its heads by lower-cased name, its body if JSON."""

    status: int
    headers: Mapping[str, str]
    body: Json


ErrorMap: TypeAlias = Callable[[Answer], BackendError | None]


def seconds_of(value: str | None, now: datetime) -> float | None:
    """`Retry-After`, in seconds or as a date; at most seven days, and None for what is neither."""
    if value is None:
        return None
    if value.isascii() and value.isdecimal():
        return min(float(value[:_DIGITS]), _LONGEST_S)
    try:
        return min(max(0.0, (parsedate_to_datetime(value) - now).total_seconds()), _LONGEST_S)
    except (ValueError, TypeError, OverflowError):
        return None
