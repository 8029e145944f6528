"""Did something change while an observation ran? (SPEC 3.11)"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit._journal.audit import AuditEntry, AuditType
from remit._model.listing import Snapshot
from remit._toolset.direct import addressed

_EFFECTS: Final = frozenset({AuditType.INVOCATION, AuditType.CONFIRMATION, AuditType.REGISTRATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one consumer could see at one instant, and how far the journal had come."""

    version: str
    available: Mapping[tuple[str, str], bool]
    sequence: int


def sight_of(snapshot: Snapshot, audit: Sequence[AuditEntry]) -> Sight:
    """Look now."""
    return Sight(
        version=snapshot.surface_version,
        available={(each.id, addressed(each)): each.available for each in snapshot.capabilities()},
        sequence=audit[-1].sequence if audit else 0,
    )


def changes(before: Sight, after: Sight, audit: Sequence[AuditEntry], invocation: str) -> list[str]:
    """Version, availability and journalled effects that are not those of this very invocation, one line each."""
    found: list[str] = []
    if before.version != after.version:
        found.append(f"version  {before.version} → {after.version}")
    for key in sorted(before.available.keys() & after.available.keys()):
        if before.available[key] != after.available[key]:
            id, address = key
            found.append(f"{id} of {address}  {_word(before.available[key])} → {_word(after.available[key])}")
    for entry in audit:
        if entry.sequence > before.sequence and entry.type in _EFFECTS and entry.invocation != invocation:
            found.append(f"journal  {entry.type.value} {entry.capability or entry.registration or ''}".rstrip())
    return found


def _word(available: bool) -> str:
    return "available" if available else "unavailable"
