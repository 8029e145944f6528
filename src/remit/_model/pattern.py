"""The grammar of exposure and scope: whole segments, `*` one segment, `**` the rest (SPEC 11.2)."""

import re
from collections.abc import Iterable

from remit.errors import DefinitionCode, DefinitionError

_SEGMENT = re.compile(r"[A-Za-z0-9_-]+|\*|\*\*")
_TYPE = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*")
_REGION = "region:"
_REGIONS = "region:devices.page/**"


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


class Scope:
    """What one consumer may reach: an immutable set of patterns over ids, and of regions (SPEC 11.2).

    `region:` names component types from the outermost on, joined by `/`: `region:orders.page/**` is everything inside
    that component, `region:orders.page` what it declares itself, `region:*/orders.list` what a list declares that
    stands in some other component. A segment is a whole type or `*`; `**` may only be the last and stands for one or
    more. It is held against the chain of parent components and the capability's own.
    """

    __slots__ = ("_match", "ids", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        if not isinstance(texts, str) and isinstance(texts, Iterable):
            texts = tuple(texts)
            regions = [text for text in texts if isinstance(text, str) and text.startswith(_REGION)]
            ids = Patterns(text for text in texts if text not in regions)
        else:
            ids, regions = Patterns(texts), []  # which says what is wrong with them
        self.ids = ids
        self.texts: tuple[str, ...] = tuple(sorted({*ids.texts, *regions}))
        self._match = re.compile("|".join(map(_region, regions))).fullmatch if regions else None

    @property
    def regional(self) -> bool:
        """Whether it names regions, so that an id alone does not say what it holds."""
        return self._match is not None

    def __contains__(self, capability_id: str) -> bool:
        """Whether it holds this capability wherever it is mounted."""
        return capability_id in self.ids

    def beyond(self, other: "Scope") -> tuple[str, ...]:
        """The patterns of this scope that no one pattern of the other holds whole; none: it is within the other."""
        return tuple(text for text in self.texts if not any(_within(text, wide) for wide in other.texts))

    def holds(self, region: str) -> bool:
        """Whether it names a region in which this place is: the types from the outermost on, joined by `/`."""
        return self._match is not None and self._match(region) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        return f"Scope({list(self.texts)!r})"


def _within(narrow: str, wide: str) -> bool:
    """Whether whatever one pattern holds, the other holds too; both are patterns, and of one plane if it is so."""
    (plane, _, inner), (other, _, outer) = narrow.partition(":"), wide.partition(":")
    joint = "/" if f"{plane}:" == _REGION else "."
    if plane != other or "*" not in wide:
        return narrow == wide
    if plane == "domain" and "*" not in narrow:  # an operation may have any name, so that its dots are no segments
        return narrow in Patterns([wide])
    segments, around = inner.split(joint), outer.split(joint)
    for index, segment in enumerate(around):
        if index == len(segments):
            return False
        if segment == "**":
            return True
        if segments[index] == "**" or segment not in {"*", segments[index]}:
            return False
    return len(segments) == len(around)


def _region(text: str) -> str:
    segments = text.removeprefix(_REGION).split("/")
    parts: list[str] = []
    for index, segment in enumerate(segments):
        if segment == "**":
            if index != len(segments) - 1:
                raise _bad(text, "`**` may only be the last segment")
            parts.append("[^/]+(?:/[^/]+)*")
        elif segment == "*":
            parts.append("[^/]+")
        elif _TYPE.fullmatch(segment):
            parts.append(re.escape(segment))
        else:
            raise _bad(text, "a segment of a region is a whole component type, `*` or `**`", _REGIONS)
    return "/".join(parts)


def _expression(text: str) -> str:
    plane, colon, rest = text.partition(":")
    if not colon or plane not in {"view", "domain"} or not rest:
        if text.startswith(_REGION):
            raise _bad(text, "only the scope of a consumer names regions")
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


def _bad(text: str, rule: str, example: str = "view:devices.**") -> DefinitionError:
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, repr(text), rule, do=f'write for example "{example}"')
