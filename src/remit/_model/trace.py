"""Where a call stands in a trace that goes through several systems: W3C trace context (SPEC 6.14)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,456})?")
_NO_VERSION: Final = "ff"

TRACEPARENT: Final = "traceparent"
"""The name under which doors are sent it: a header, or a key of MCP's `_meta`."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The span that a call was made in, as `traceparent` writes it; `baggage` and `tracestate` are never carried.

    With `linked` it is from outside the trust boundary: the call is linked with it in the journal and does not continue
    it, so nothing is sent on to a backend. Anything but a well-formed `traceparent` is a ValueError.
    """

    traceparent: str
    linked: bool = False

    def __post_init__(self) -> None:
        if _read(self.traceparent) != self.traceparent:
            raise ValueError("traceparent is 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, in lower case")

    @classmethod
    def read(cls, text: object, *, linked: bool) -> Self | None:
        """What a caller sent; None for what is malformed, which fails no call. A later version is read as this one."""
        known = _read(text)
        return None if known is None else cls(known, linked)

    @classmethod
    def carried(cls, headers: Sequence[str], *, linked: bool) -> Self | None:
        """What the headers `traceparent` of a request say: one is read, several are no trace."""
        return cls.read(headers[0], linked=linked) if len(headers) == 1 else None


def _read(text: object) -> str | None:
    found = _PARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == _NO_VERSION or (version == "00" and more is not None) or not trace.strip("0") or not span.strip("0"):
        return None
    return f"00-{trace}-{span}-{flags}"
