"""What the contract says of a handoff, whether or not its component is mounted (SPEC 11.7)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._base.boundary import Json
from remit._model.outcome import Untrusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Why only a person may do it, the doors it names for itself (None: the default), and what its data is marked."""

    reason: str
    doors: frozenset[str] | None
    untrusted: Untrusted


def recorded_handoff(capabilities: Mapping[tuple[str, str], Mapping[str, Json]], id: str) -> Recorded | None:
    """The handoff of this id; None where there is none, or where components that share the id differ in it."""
    found = {_read(block) for (_, capability), block in capabilities.items() if capability == id}
    return found.pop() if len(found) == 1 else None


def _read(block: Mapping[str, Json]) -> Recorded | None:
    handoff, doors, marked = block.get("handoff"), block["doors"], block.get("untrusted")
    if not isinstance(handoff, dict):
        return None
    return Recorded(
        reason=str(handoff["reason"]),
        doors=frozenset(map(str, doors)) if isinstance(doors, list) else None,
        untrusted=tuple(map(str, marked)) if isinstance(marked, list) else marked is True,
    )
