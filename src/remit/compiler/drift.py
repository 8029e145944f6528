"""What changed between two contracts, change by change, with its class: one model for every rendering (SPEC 13.6)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from remit._base.boundary import Json
from remit._contract.external import ExternalRecord
from remit._contract.manifest import Block, Manifest, RowKey
from remit._contract.options import DERIVED
from remit._model.consumer import IN_PROCESS_DOORS
from remit._model.effects import Source
from remit._model.pattern import Patterns
from remit._model.retry import Retry
from remit._schema.difference import ABSENT, differences
from remit._schema.phrase import phrase, value_text
from remit.compiler.weigh import (
    NARROWING,
    NEUTRAL,
    WIDENING,
    Classes,
    Drift,
    weigh,
    weigh_approval,
    weigh_input,
    weigh_output,
    weigh_presence,
)

HEAD: Final = "[tool.remit]"
EXPOSURE: Final = "pyproject.toml [tool.remit.exposure]"
EXTERNAL: Final = "pyproject.toml [tool.remit.external]"
_DIGEST_SHOWN: Final = 19
_LED_BY: Final = 12
_PARTING_SHOWN: Final = 60
_IN_SOURCE: Final = frozenset({"doors=", "in-process"})
_SCHEMAS: Final = frozenset({"input", "output"})
_USUAL: Final[Mapping[str, str]] = {"approver": "the principal", "fidelity": "high", "source": "declared"}
APART: Final = frozenset({"hash", "id", "component", "name", "type", "doors", "capabilities", *_SCHEMAS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change a reviewer reads: what, which part of it, from, to, and where it stands now.

    `subject` is a capability id, a component type, `operation NAME`, `dependency NAME`, or `[tool.remit]`; `component`
    says in which component a capability stands. `place` is file and line, or the table of the project
    file; None for what is gone.
    """

    classes: Classes
    subject: str
    component: str | None
    field: str
    before: str
    after: str
    place: str | None

    @property
    def worst(self) -> Drift:
        """The class that a reviewer must see first."""
        return next(drift for drift in Drift if drift in self.classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """Every change between two contracts, the gravest first, then by subject and field."""

    changes: tuple[Change, ...]

    def failing(self, classes: Classes) -> tuple[Change, ...]:
        """The changes of these classes: a gate selects by them, and hides no row."""
        return tuple(change for change in self.changes if change.classes & classes)

    def count(self, drift: Drift) -> int:
        """How many changes are of this class; one change may be of two."""
        return sum(drift in change.classes for change in self.changes)


def drift(before: Manifest | None, after: Manifest, places: Mapping[RowKey, str]) -> Drifted:
    """Compare two contracts; without an old one everything counts as added.

    Capabilities are matched by id: one that moved to another component, or whose source moved to another file, is one
    that stayed. `places` are those of the newer source.
    """
    found = list(_Comparison(before, after, places).changes())
    order = list(Drift)
    found.sort(key=lambda change: (order.index(change.worst), change.subject, change.component or "", change.field))
    return Drifted(changes=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """What changes are told of, and where it stands."""

    subject: str
    component: str | None = None
    place: str | None = None

    def change(self, classes: Classes, field: str, before: str, after: str, *, place: str | None = None) -> Change:
        """A change here, or at another place."""
        return Change(
            classes=classes,
            subject=self.subject,
            component=self.component,
            field=field,
            before=before,
            after=after,
            place=place or self.place,
        )


class _Comparison:
    def __init__(self, before: Manifest | None, after: Manifest, places: Mapping[RowKey, str]) -> None:
        self._before = before
        self._after = after
        self._places = places
        self._told: set[tuple[str, str, str, str]] = set()

    def changes(self) -> Iterator[Change]:
        olds: Mapping[RowKey, Block] = {} if self._before is None else self._before.capabilities
        pairs = _paired(olds, self._after.capabilities)
        for old_key, new_key in pairs:
            yield from self._capability(old_key, new_key)
        yield from self._components()
        yield from self._operations()
        yield from self._external()
        yield from self._head()

    def _capability(self, old_key: RowKey | None, new_key: RowKey | None) -> Iterator[Change]:
        old = None if old_key is None or self._before is None else self._before.capabilities[old_key]
        new = None if new_key is None else self._after.capabilities[new_key]
        if old is not None and new is not None and old["component"] != new["component"]:
            # What governed it where it stood goes with it into the comparison: the components' own rows are not paired.
            old, new = _governed(cast(Manifest, self._before), old), _governed(self._after, new)
        component, subject = cast(RowKey, new_key or old_key)
        place = None if new_key is None else self._places.get(new_key)
        where = _Where(subject=subject, component=component, place=place)
        if old is None or new is None:
            block = cast(Block, old or new)
            text = f"{block['effect']}, confirmation {block['confirmation']}"
            texts = (ABSENT, text) if old is None else (text, ABSENT)
            yield where.change(WIDENING if old is None else NARROWING, "capability", *texts)
        else:
            for change in _fields(where, old, new):
                self._told.add((str(new.get("operation")), change.field, change.before, change.after))
                yield change
            if old["component"] != new["component"]:
                yield where.change(NEUTRAL, "component", str(old["component"]), str(new["component"]))
        yield from self._doors(where, old, new)

    def _doors(self, where: _Where, old: Block | None, new: Block | None) -> Iterator[Change]:
        """Each door that opened or closed, by itself; of what came or went, the network doors."""
        were = {} if self._before is None or old is None else opened(self._before, old)
        are = {} if new is None else opened(self._after, new)
        doors = were.keys() ^ are.keys()
        for door in sorted(doors if old is not None and new is not None else doors - set(IN_PROCESS_DOORS)):
            opens = door in are
            by = are.get(door) or were[door]
            texts = ("hidden", "listed") if opens else ("listed", "hidden")
            place = None if by in _IN_SOURCE else EXPOSURE
            yield where.change(WIDENING if opens else NARROWING, f"door {door}", *texts, place=place)

    def _components(self) -> Iterator[Change]:
        olds: Mapping[str, Block] = {} if self._before is None else self._before.components
        for name in sorted(olds.keys() | self._after.components.keys()):
            old, new = olds.get(name), self._after.components.get(name)
            where = _Where(subject=name, place=self._file_of(name))
            if old is not None and new is not None:
                yield from _fields(where, old, new)
                if old["doors"] != new["doors"]:  # what it opens and closes stands at each capability
                    yield where.change(NEUTRAL, "doors", _shown("doors", old["doors"]), _shown("doors", new["doors"]))
            elif not cast(Block, old or new)["capabilities"]:  # else its capabilities say it
                texts = (ABSENT, "component") if old is None else ("component", ABSENT)
                yield where.change(NEUTRAL, "component", *texts)

    def _file_of(self, component: str) -> str | None:
        places = sorted(place for (name, _), place in self._places.items() if name == component)
        return places[0].rpartition(":")[0] if places else None

    def _operations(self) -> Iterator[Change]:
        """What a backend changed that no reference to it shows: what the view fills, and what it says of itself."""
        olds = {} if self._before is None else self._before.operations
        for name in sorted(olds.keys() & self._after.operations.keys()):
            where = _Where(subject=f"operation {name}")
            for change in _fields(where, olds[name].to_json(), self._after.operations[name].to_json()):
                if (name, change.field, change.before, change.after) not in self._told:
                    yield change

    def _external(self) -> Iterator[Change]:
        """Dependencies that may add capabilities: what was approved of them (SPEC 13.5)."""
        olds = {} if self._before is None else self._before.external
        for name in sorted(olds.keys() | self._after.external.keys()):
            old, new = olds.get(name), self._after.external.get(name)
            where = _Where(subject=f"dependency {name}", place=None if new is None else EXTERNAL)
            if old is None or new is None:
                classes = WIDENING if old is None else NARROWING
                yield where.change(classes, "approval", _approval(old), _approval(new))
            elif old.digest != new.digest:
                yield where.change(weigh_approval(old.files, new.files), "approval", _approval(old), _approval(new))
            for field in ("components", "extends"):
                before, after = (() if each is None else getattr(each, field) for each in (old, new))
                if before != after:  # its capabilities say what that means
                    yield where.change(NEUTRAL, field, ", ".join(before) or ABSENT, ", ".join(after) or ABSENT)

    def _head(self) -> Iterator[Change]:
        where = _Where(subject=HEAD, place="pyproject.toml [tool.remit]")
        required = () if self._before is None else self._before.policies
        if required != self._after.policies:
            olds, news = cast(Json, list(required)), cast(Json, list(self._after.policies))
            classes = weigh("required policies", olds, news)
            yield where.change(classes, "policies", *_texts("policies", olds, news))
        warned = self._before is not None and self._before.warns_of_planes
        if warned is not self._after.warns_of_planes:
            texts = ("warn", "refuse") if warned else ("refuse", "warn")
            yield where.change(weigh("both_planes", *texts), "both_planes", *texts)
        exposed = {} if self._before is None else self._before.exposure
        for door in sorted(exposed.keys() | self._after.exposure.keys()):
            before, after = exposed.get(door, ()), self._after.exposure.get(door, ())
            for text in sorted(set(before) ^ set(after)):
                texts, classes = ((ABSENT, text), WIDENING) if text in after else ((text, ABSENT), NARROWING)
                yield where.change(classes, f"exposure {door}", *texts, place=EXPOSURE)


def opened(manifest: Manifest, block: Block) -> dict[str, str]:
    """The doors at which a capability of a contract may ever appear, each with what opened it."""
    return opened_by(manifest.exposure, block)


def opened_by(exposure: Mapping[str, Iterable[str]], block: Mapping[str, Json]) -> dict[str, str]:
    """The doors at which a capability may ever appear with the exposure of a site, each with what opened it.

    `in-process`, `doors=`, or the pattern of the site's exposure. `doors=` is a ceiling: with it, no pattern opens
    another door; without it, in-process doors are open (SPEC 3.13). What is derived and not exposed as such is at none
    (SPEC 11.9).
    """
    derived = block.get("source") == Source.DERIVED.value
    if derived and str(block["id"]) not in Patterns(exposure.get(DERIVED, ())):
        return {}
    declared = cast("list[str] | None", block["doors"])
    if declared is not None:
        return dict.fromkeys(declared, "doors=")
    found: dict[str, str] = {}
    found.update((door, "in-process") for door in IN_PROCESS_DOORS)
    for door, texts in exposure.items():
        if door == DERIVED:  # says which are there at all, and opens no door
            continue
        matching = [text for text in texts if str(block["id"]) in Patterns([text])]
        if matching:
            found[door] = matching[0]
    return found


def _paired(olds: Mapping[RowKey, Block], news: Mapping[RowKey, Block]) -> list[tuple[RowKey | None, RowKey | None]]:
    """Old and new keys side by side: the same key, else the same id in another component, else alone."""
    pairs: list[tuple[RowKey | None, RowKey | None]] = [(key, key) for key in sorted(olds.keys() & news.keys())]
    left, right = sorted(olds.keys() - news.keys()), sorted(news.keys() - olds.keys())
    for key in left:
        moved = next((other for other in right if other[1] == key[1]), None)
        if moved is not None:
            right.remove(moved)
        pairs.append((key, moved))
    return pairs + [(None, key) for key in right]


def _governed(manifest: Manifest, block: Block) -> Block:
    """A capability with what its component adds to its governance: policies, and whether it has a view."""
    component = manifest.components[str(block["component"])]
    policies = [*cast("list[Json]", component["policies"]), *cast("list[Json]", block["policies"])]
    return {**block, "policies": policies, **({"headless": True} if component.get("headless") else {})}


def _fields(where: _Where, old: Block, new: Block) -> Iterator[Change]:
    for field in sorted((old.keys() | new.keys()) - APART):
        before, after = old.get(field), new.get(field)
        if before != after or type(before) is not type(after):
            yield where.change(weigh(field, before, after), field, *_texts(field, before, after))
    for field in sorted(_SCHEMAS & (old.keys() | new.keys())):
        yield from _schemas(where, field, old.get(field), new.get(field))


def _schemas(where: _Where, field: str, before: Json, after: Json) -> Iterator[Change]:
    output = field == "output"
    if isinstance(before, dict) and isinstance(after, dict):
        for difference in differences(before, after):
            classes = weigh_output(difference) if output else weigh_input(difference)
            yield where.change(classes, f"{field} {difference.path}".rstrip(), difference.before, difference.after)
    elif before != after:
        texts = (ABSENT if side is None else phrase(side) for side in (before, after))
        yield where.change(weigh_presence(before, after, output=output), field, *texts)


def _texts(field: str, before: Json, after: Json) -> tuple[str, str]:
    """Both sides in words, which differ: another class under the name of a policy, the place where long values part."""
    if field == "policies":
        olds, news = _classes(before), _classes(after)
        other = frozenset(name for name in olds.keys() & news.keys() if olds[name] != news[name])
        texts = (_policies(before, other), _policies(after, other))
    else:
        texts = (_shown(field, before), _shown(field, after))
    return texts if texts[0] != texts[1] else _parting(before, after)


def _parting(before: Json, after: Json) -> tuple[str, str]:
    """Two values as JSON, from a little before the first place where they differ."""
    old, new = (json.dumps(side, sort_keys=True, ensure_ascii=False) for side in (before, after))
    same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    start = max(same - _LED_BY, 0)
    return _cut(old, start), _cut(new, start)


def _cut(text: str, start: int) -> str:
    end = start + _PARTING_SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _shown(field: str, value: Json) -> str:
    if field in _USUAL:
        return _USUAL[field] if value is None else str(value)
    if field == "concurrency":
        return _turns(value)
    if field == "retry" and isinstance(value, dict):
        return _attempts(value)
    if value is None:
        return "default" if field in ("timeout", "spend_time", "doors") else ABSENT
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(str(each) for each in value) or ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value_text(value)


def _approval(record: ExternalRecord | None) -> str:
    """Version and the beginning of the digest; the whole of it stands in the contract."""
    if record is None:
        return ABSENT
    return f"{record.version or 'rows alone'} {record.digest[:_DIGEST_SHOWN]}…"


def _turns(value: Json) -> str:
    match value:
        case None:
            return "without turns"
        case "instance":
            return "one at a time in an instance"
        case "capability":
            return "one at a time, apart from the rest of the instance"
        case {"key": str(name)}:
            return f"by key {json.dumps(name, ensure_ascii=False)}"
        case {"parallel": int(places)}:
            return f"{places} at once"
        case _:
            return value_text(value)


def _attempts(value: Block) -> str:
    """How many, and the pauses where they are not the usual ones: else a change of these would show nothing."""
    match value:
        case {"attempts": int(attempts), "backoff": backoff, "cap": cap, "jitter": jitter, **rest} if not rest:
            usual = Retry(attempts)
            pauses = f", pauses from {backoff} s to {cap} s, jitter {jitter}"
            return f"{attempts} attempts" + (
                "" if (backoff, cap, jitter) == (usual.backoff, usual.cap, usual.jitter) else pauses
            )
        case _:
            return value_text(value)


def _policies(policies: Json, other: frozenset[str]) -> str:
    """Each policy with its methods; those of the `other` names with their class, which is what changed."""
    if not isinstance(policies, list):
        return ABSENT if policies is None else value_text(policies)
    return ", ".join(_policy(each, other) for each in policies) or ABSENT


def _policy(policy: Json, other: frozenset[str]) -> str:
    match policy:
        case {"name": str(name), "methods": [*methods], "class": of_class}:
            of = f"; class {of_class}" if name in other else ""
            return f"{name} ({', '.join(map(str, methods))}{of})"
        case str(name):
            return name
        case _:
            return value_text(policy)


def _classes(policies: Json) -> dict[str, Json]:
    listed = policies if isinstance(policies, list) else []
    return {str(each.get("name")): each.get("class") for each in listed if isinstance(each, dict)}
