"""One view of a contract for people: what may be reached, through which door, and who decides (SPEC 13.1)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from remit._base.boundary import Json
from remit._contract.manifest import Block, Manifest
from remit._model.effects import Confirmation, Fidelity, Kind, Source
from remit._schema.openness import open_places
from remit.compiler.drift import opened

NOBODY = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One capability as a reviewer reads it.

    A `headless` one stands in a component without a view, a `page` one in a component that a page may bind.
    `doors` maps each door to what opened it: `in-process`, `doors=`, or the pattern of the site's exposure. `decides`
    names who must approve, `-` when nobody is asked. `policies` are those of the component and of the capability; those
    of every surface stand in the head of the contract. `may_vary` and `sensitive` name the marked fields of the input.
    `turns` says which calls wait for each other where that is not
    the usual; `attempts` how often a call is run at most; `dependency` which distribution declares it, None for the
    project itself; `targets` are the builds it is in, where the project has several. `open_input` are the places of
    the input where anything may stand, because its declaration says so (SPEC 3.5).
    """

    id: str
    component: str
    headless: bool
    page: bool
    kind: str
    effect: str
    confirmation: str
    decides: str
    audit: str
    doors: Mapping[str, str]
    policies: tuple[str, ...]
    bound: tuple[str, ...]
    overridable: tuple[str, ...]
    may_vary: tuple[str, ...]
    sensitive: tuple[str, ...]
    record: str | None
    steps: tuple[str, ...]
    untrusted: bool | tuple[str, ...]
    source: str
    fidelity: str
    reason: str | None
    turns: str | None
    attempts: int
    open_input: tuple[str, ...]
    dependency: str | None
    targets: tuple[str, ...]
    place: str | None
    description: str


def lines_of(manifest: Manifest, places: Mapping[tuple[str, str], str], door: str | None = None) -> list[Line]:
    """Every capability, by component and id; with `door`, those that could ever appear there."""
    lines = [
        _line(manifest, block, places.get(key))
        for key, block in sorted(manifest.capabilities.items(), key=lambda item: item[0])
    ]
    return lines if door is None else [line for line in lines if door in line.doors]


def _line(manifest: Manifest, block: Block, place: str | None) -> Line:
    component = manifest.components[str(block["component"])]
    return Line(
        id=str(block["id"]),
        component=str(block["component"]),
        headless=component.get("headless") is True,
        page=component.get("page") is True,
        kind=str(block["kind"]),
        effect=str(block["effect"]),
        confirmation=str(block["confirmation"]),
        decides=_decides(block, manifest),
        audit=str(block["audit"]),
        doors=opened(manifest, block),
        policies=(*_policies(component), *_policies(block)),
        bound=_names(block, "bound"),
        overridable=_names(block, "overridable"),
        may_vary=_names(block, "may_vary"),
        sensitive=_names(block, "sensitive"),
        record=None if block.get("record") is None else str(block["record"]),
        steps=_names(block, "steps"),
        untrusted=block.get("untrusted") is True or _names(block, "untrusted") or False,
        source=str(block.get("source", Source.DECLARED.value)),
        fidelity=str(block.get("fidelity", Fidelity.HIGH.value)),
        reason=None if block["reason"] is None else str(block["reason"]),
        turns=_turns(block),
        attempts=_attempts(block),
        open_input=open_places(cast("Mapping[str, Json]", block["input"])),
        dependency=next(
            (name for name, each in manifest.external.items() if block["component"] in each.components), None
        ),
        targets=_names(block, "targets"),
        place=place,
        description=str(block["description"]),
    )


def _policies(block: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(str(policy["name"]) for policy in cast("list[dict[str, Json]]", block["policies"]))


def _names(block: Block, field: str) -> tuple[str, ...]:
    return tuple(cast("list[str]", block.get(field) or []))


def _decides(block: Block, manifest: Manifest) -> str:
    """Who must approve; a flow wants the approvers of its steps, too (SPEC 11.8)."""
    steps = [manifest.capabilities[str(block["component"]), id] for id in _names(block, "steps")]
    approvers = sorted({str(each["approver"]) for each in (block, *steps) if each["approver"] is not None})
    who = f"grant {' and '.join(approvers)}" if approvers else "the principal"
    match Confirmation(str(block["confirmation"])):
        case Confirmation.NEVER:
            return NOBODY
        case Confirmation.OPTIONAL:
            return f"{who}, if a policy asks"
        case Confirmation.REQUIRED:
            return who
        case Confirmation.ALWAYS:
            return f"{who}, each time"


def _turns(block: Block) -> str | None:
    match block["kind"], block["concurrency"]:
        case ("action", "instance") | ("reference", "capability") | (_, None):
            return None
        case _, "instance":
            return "one at a time with the actions of its instance"
        case _, {"key": name}:
            return f"one at a time with everything of the key {name}"
        case _, {"parallel": places}:
            return f"up to {places} at once"
        case _:
            return "one at a time, apart from everything else of its instance"


def _attempts(block: Block) -> int:
    match block["retry"]:
        case {"attempts": int(attempts)}:
            return attempts
        case _:
            return 1


def counts(manifest: Manifest) -> str:
    """`3 capabilities of 1 component, 1 operation`."""
    parts = [
        counted(len(manifest.capabilities), "capability", "capabilities")
        + " of "
        + counted(len(manifest.components), "component", "components")
    ]
    if manifest.operations:
        parts.append(counted(len(manifest.operations), "operation", "operations"))
    return ", ".join(parts)


def counted(number: int, one: str, many: str) -> str:
    """`1 capability`, `2 capabilities`."""
    return f"{number} {one if number == 1 else many}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their widest cell, two spaces apart, the last one free; no trailing blanks."""
    every = [head, *rows]
    widths = [max(len(row[index]) for row in every) for index in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in every
    )


def as_text(lines: list[Line], door: str | None) -> str:
    """The compact table: reach and gates on one line a capability."""
    several = any(line.targets for line in lines)
    head = ("capability", "effect", "confirmation", "who decides", "opened by" if door else "doors", "where")
    rows: list[tuple[str, ...]] = [
        (
            line.id,
            line.effect,
            line.confirmation,
            line.decides,
            line.doors[door] if door else ", ".join(line.doors),
            *([", ".join(line.targets)] if several else []),
            line.place or "",
        )
        for line in lines
    ]
    parts = [table((*head[:-1], "targets", head[-1]) if several else head, rows)]
    notes = [(line.id, _note(line)) for line in lines if _note(line)]
    if notes:
        parts.append(table(("gates", ""), notes))
    return "\n\n".join(parts)


def _note(line: Line) -> str:
    notes = [f"policies {', '.join(line.policies)}"] if line.policies else []
    notes += _marked(line)
    if line.open_input:
        notes.append(f"agents may send anything as {', '.join(line.open_input)}")
    if line.turns is not None:
        notes.append(line.turns)
    if line.attempts > 1:
        notes.append(f"run up to {line.attempts} times when it fails")
    if line.reason is not None:
        notes.append(f"lowered: {line.reason}")
    return "; ".join(notes)


def _marked(line: Line) -> Iterator[str]:
    """What is said of fields: who fills them, who may change them, and who is told."""
    if known := _known(line):
        yield known
    if special := _special(line):
        yield special
    if line.bound:
        yield f"{'its component' if line.headless else 'the view'} fills {', '.join(line.bound)}"
    if line.overridable:
        yield f"agents may fill {', '.join(line.overridable)} themselves"
    if line.record is not None:
        yield f"for one {line.record} of those that `.records` lets reach"
    if line.steps:
        yield f"runs {', then '.join(line.steps)}"
    if line.may_vary:
        yield f"may vary once approved for the session: {', '.join(line.may_vary)}"
    if line.sensitive:
        yield f"withheld: {', '.join(line.sensitive)}"
    if line.untrusted:
        outside = ("all it says",) if isinstance(line.untrusted, bool) else line.untrusted
        yield f"from outside: {', '.join(outside)}"


def _special(line: Line) -> str:
    """What its component is beside the usual, where that concerns this capability (SPEC 10.8, 11.17)."""
    if line.headless:
        return "without a view"
    return "a page may answer for it" if line.page and line.kind != Kind.REFERENCE else ""


def _known(line: Line) -> str:
    """Who wrote it and how well it is known, where either is not as usual (SPEC 11.9)."""
    told = [line.source] if line.source != Source.DECLARED else []
    return ", ".join([*told, f"{line.fidelity} fidelity"]) if line.fidelity != Fidelity.HIGH else "".join(told)


def dependencies_text(manifest: Manifest) -> str:
    """Which dependencies may add capabilities, and what was approved of them; empty when there are none."""
    rows = [
        (
            name,
            each.version or "any with these rows",
            ", ".join([*each.components, *(f"(inherited by {heir})" for heir in each.extends)]),
            each.approved,
        )
        for name, each in sorted(manifest.external.items())
    ]
    return table(("dependency", "version", "components", "approved"), rows) if rows else ""


def as_json(lines: list[Line], manifest: Manifest, offered: Iterable[Mapping[str, object]]) -> str:
    """The same, for programs; `offered` is what backends offer and no component references."""
    form = {
        "hash": manifest.hash,
        "policies": list(manifest.policies),
        "capabilities": [asdict(line) for line in lines],
        "dependencies": [manifest.external[name].to_json() for name in sorted(manifest.external)],
        "offered": list(offered),
    }
    return json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False)
