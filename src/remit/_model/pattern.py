"""The grammar of exposure and scope: whole segments, `*` one segment, `**` the rest (SPEC 11.2)."""

import re
from collections.abc import Iterable

from remit.errors import DefinitionCode, DefinitionError

_SEGMENT = re.compile(r"[A-Za-z0-9_-]+|\*|\*\*")


class Patterns:
    """An immutable set of patterns over capability ids; empty matches nothing.

    A pattern is `view:` or `domain:` and dot-separated segments: `view:devices.**`, `domain:devices.disable`,
    `view:*.table.*`. `**` may only be the last segment and stands for one or more; a bare `**` after the plane is all.
    """

    __slots__ = ("_match", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        if isinstance(texts, str):
            raise TypeError(f"patterns are a collection, not one text: write [{texts!r}]")
        if not isinstance(texts, Iterable):
            raise TypeError(f"patterns are a collection of texts, not {type(texts).__name__}")
        texts = tuple(texts)
        if odd := [each for each in texts if not isinstance(each, str)]:
            raise TypeError(f"a pattern is text, not {type(odd[0]).__name__}")
        self.texts: tuple[str, ...] = tuple(sorted(set(texts)))
        self._match = re.compile("|".join(_expression(text) for text in self.texts)).fullmatch if self.texts else None

    def __contains__(self, capability_id: str) -> bool:
        return self._match is not None and self._match(capability_id) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patterns) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        return f"Patterns({list(self.texts)!r})"


def _expression(text: str) -> str:
    plane, colon, rest = text.partition(":")
    if not colon or plane not in {"view", "domain"} or not rest:
        raise _bad(text, "a pattern starts with `view:` or `domain:`")
    segments = rest.split(".")
    if plane == "domain" and not any("*" in segment for segment in segments):
        return re.escape(text)
    parts: list[str] = []
    for index, segment in enumerate(segments):
        if not _SEGMENT.fullmatch(segment):
            raise _bad(text, "a segment is a whole name, `*` or `**`")
        if segment == "**":
            if index != len(segments) - 1:
                raise _bad(text, "`**` may only be the last segment")
            parts.append(r"[^.@]+(?:\.[^.@]+)*")
        else:
            parts.append(r"[^.@]+" if segment == "*" else re.escape(segment))
    return re.escape(f"{plane}:") + r"\.".join(parts)


def _bad(text: str, rule: str) -> DefinitionError:
    return DefinitionError(
        DefinitionCode.INVALID_DEFINITION, repr(text), rule, do='write for example "view:devices.**"'
    )
