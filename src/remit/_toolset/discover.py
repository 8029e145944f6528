"""What `surface_discover` answers: an overview, or capabilities, in parts of bounded size (SPEC 12.4)."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit._model.listing import Listed, Snapshot
from remit._model.prefix import begins, disjoint
from remit._toolset.fixed import Asked
from remit._toolset.result import to_text
from remit._toolset.search import Index
from remit.errors import AgentError, Issue, invalid_input

BUDGET: Final = 16_384
SMALLEST_BUDGET: Final = 8_192
"""Room for all that an answer must say, and for one entry."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/*-]+")
_OFFSET: Final = re.compile(r"[0-9]{1,9}")
_MOST: Final = "9" * 9
_LEFT_OUT: Final = (("outputSchema",), ("inputSchema",), ("description", "title", "note", "reason", "tags", "bound"))
"""What an entry too large for an answer of its own goes without, as far as it must."""

Form = dict[str, object]


def check_prefixes(prefixes: object) -> None:
    """Refuse what are no prefixes: a TypeError that says what to write."""
    if isinstance(prefixes, str):
        raise TypeError(f"prefixes is a collection, not one text: write [{prefixes!r}]")
    if prefixes is not None and not isinstance(prefixes, Collection):
        raise TypeError(f"prefixes is a collection of texts, not {type(prefixes).__name__}")
    if odd := [each for each in prefixes or () if not isinstance(each, str)]:
        raise TypeError(f"an entry of prefixes is text, not {type(odd[0]).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One part of an answer: its JSON form, and the capabilities it shows."""

    form: Form
    shown: tuple[Listed, ...]


class Discovery:
    """Answers from a listing. `prefixes` is what the host lets this toolset show at most: a request only narrows it.

    It narrows what is shown, not what may be called: that is decided by scope, exposure and policies.
    """

    __slots__ = ("_budget", "_index", "_prefixes")

    def __init__(self, prefixes: Collection[str] | None, budget: int) -> None:
        self._prefixes = None if prefixes is None else tuple(prefixes)
        self._budget = budget
        self._index = Index(())

    def answer(self, source: str, asked: Asked, snapshot: Snapshot) -> Found | AgentError:
        """The part of the answer that was asked for; a `next` of another state of the view is a refusal."""
        start = _start(asked.next, snapshot)
        if isinstance(start, AgentError):
            return start
        visible = [listed for listed in snapshot.capabilities() if self._within(listed)]
        head: Form = {"surfaceId": snapshot.surface_id, "surfaceVersion": snapshot.surface_version}
        if asked.everything:
            part = self._part(source, head, "components", _overview(visible, snapshot), start)
            return Found(form=part, shown=())
        found = self._asked(asked, visible)
        ids = {listed.id for listed in found}
        named = (
            ("refusedPrefixes", [_said(text, f"prefixes[{at}]") for at, text in self._refused(asked.prefixes)]),
            ("unknownIds", [_said(text, f"ids[{at}]") for at, text in enumerate(asked.ids) if text not in ids]),
        )
        head.update((key, texts) for key, texts in named if texts)
        form = self._part(source, head, "capabilities", [listed.to_json() for listed in found], start)
        shown = form["capabilities"]
        count = len(shown) if isinstance(shown, list) else 0
        return Found(form=form, shown=tuple(found[start : start + count]))

    def fitting(self, form: Form) -> Form:
        """The form of one capability, as far as it fits into an answer."""
        return _smaller(form, self._budget // 2)

    def _within(self, listed: Listed) -> bool:
        return self._prefixes is None or any(begins(listed, prefix) for prefix in self._prefixes)

    def _refused(self, prefixes: Sequence[str]) -> list[tuple[int, str]]:
        """The prefixes that this toolset can never show anything of; told from the prefixes alone."""
        if self._prefixes is None:
            return []
        own = self._prefixes
        return [(at, prefix) for at, prefix in enumerate(prefixes) if all(disjoint(prefix, one) for one in own)]

    def _asked(self, asked: Asked, visible: Sequence[Listed]) -> list[Listed]:
        ranked = visible if asked.query is None else self._ranked(asked.query, visible)
        return [
            listed
            for listed in ranked
            if (not asked.prefixes or any(begins(listed, prefix) for prefix in asked.prefixes))
            and (not asked.ids or listed.id in asked.ids)
        ]

    def _ranked(self, query: str, visible: Sequence[Listed]) -> list[Listed]:
        descriptors = tuple(listed.descriptor for listed in visible)
        if descriptors != self._index.of:
            self._index = Index(descriptors)
        return [visible[at] for at in self._index.find(query)]

    def _part(self, source: str, head: Form, key: str, entries: Sequence[Form], start: int) -> Form:
        """As many entries from `start` on as the budget allows, at least one if there is one; `next` if more follow."""
        following = f"{head['surfaceId']}:{head['surfaceVersion']}:"
        form: Form = {**head, "total": len(entries), key: []}
        frame = {"source": source, "data": {**form, "next": following + _MOST}}
        room = self._budget - _bytes(frame)
        taken: list[Form] = []
        for entry in entries[start:]:
            fitted = entry if taken else _smaller(entry, room - 1)
            room -= _bytes(fitted) + 1
            if room < 0 and taken:
                break
            taken.append(fitted)
        form[key] = taken
        if start + len(taken) < len(entries):
            form["next"] = f"{following}{start + len(taken)}"
        return form


def _start(following: str | None, snapshot: Snapshot) -> int | AgentError:
    if following is None:
        return 0
    surface, _, rest = following.partition(":")
    version, _, offset = rest.partition(":")
    if not _OFFSET.fullmatch(offset):
        return invalid_input([Issue(path="next", message="must be the `next` of an answer")])
    if (surface, version) != (snapshot.surface_id, snapshot.surface_version):
        return invalid_input([Issue(path="next", message="the view has changed since; ask again without it")])
    return int(offset)


def _overview(visible: Sequence[Listed], snapshot: Snapshot) -> list[Form]:
    """The components in the order of the snapshot, then those of which only references are visible."""
    counts: dict[str, int] = {}
    first: dict[str, Listed] = {}
    for listed in visible:
        counts[listed.registration] = counts.get(listed.registration, 0) + 1
        first.setdefault(listed.registration, listed)
    described = {component.registration: component for component in snapshot.components}
    forms: list[Form] = []
    for registration, count in counts.items():
        form: Form = {
            "type": first[registration].descriptor.component,
            "instance": first[registration].instance,
            "registration": registration,
            "capabilities": count,
        }
        component = described.get(first[registration].registration)
        if component is not None:
            form["title"] = component.title
            form["description"] = component.description
        forms.append(form)
    return forms


def _smaller(form: Form, room: int) -> Form:
    """The form itself, or without its largest parts, which `leftOut` then names."""
    without: list[str] = []
    for keys in _LEFT_OUT:
        if _bytes(form) <= room:
            break
        without += [key for key in keys if form.get(key) is not None]
        form = {key: value for key, value in form.items() if key not in without} | {"leftOut": without}
    return form


def _said(text: str, place: str) -> str:
    """What a caller named, if it is plain; else the place where it stood."""
    return text if _PLAIN.fullmatch(text) else place


def _bytes(form: Mapping[str, object]) -> int:
    return len(to_text(form).encode())
