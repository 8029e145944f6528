"""`handoff=`: a step that only a person may do, and the path where the person does it (SPEC 11.7)."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from remit._base.boundary import Json
from remit._contract.capability import Capability
from remit._contract.options import LIMITS, Options, Place, checked_text
from remit._contract.plan import Handing, Slot
from remit._contract.reference import Reference, checked_overridable
from remit._model.answers import Handoff
from remit._model.record import PARAM

PATH_CHARACTERS: Final = 200
"""Of a written path; what fills its segments comes on top."""

_DO: Final = 'write for example handoff=Handoff("Customers enter their card", to="/orders/{order}/pay")'
_PLAIN: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@-]+")
_SLOT: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_RUN_ONLY: Final = ("approver", "spend_time", "retry", "may_vary", "concurrency", "blocking")
_ATTACHED: Final = ("precondition", "summary", "redact")


def checked_handoff(at: Place, written: object) -> Handoff | None:
    """Return what was written, or None; DefinitionError for what cannot be meant, whatever the capability is."""
    if written is None:
        return None
    if not isinstance(written, Handoff):
        raise at.wrong(f"handoff={written!r:.80} is no Handoff", do=_DO)
    checked_text(at, "the reason of handoff", written.reason, LIMITS.runtime_text)
    path = checked_text(at, "the path of handoff", written.to, PATH_CHARACTERS)
    if not path.startswith("/") or path.startswith("//"):
        raise at.wrong(f"handoff= goes to {path!r}, which is no path of the application's own origin", do=_DO)
    for segment in _written(path):
        if not _SLOT.fullmatch(segment) and (segment in {".", ".."} or not _PLAIN.fullmatch(segment)):
            raise at.wrong(
                f"handoff= has the segment {segment!r}, which is neither plain text nor one {{name}}",
                do="write a path without query and fragment, each {name} between two slashes",
            )
    return written


def check_handoff(capability: Capability) -> None:
    """Judge a handoff with its capability, as far as no catalogue is needed.

    What fills the path must not be the agent's, nor withheld; and what only a run would use is refused, for it never
    runs.
    """
    handing = handing_of(capability)
    if handing is None:
        return
    at, options = capability.at, capability.options
    usual = Options()
    idle = [f"{name}=" for name in _RUN_ONLY if getattr(options, name) != getattr(usual, name)]
    idle += [f".{name}" for name in _ATTACHED if name in capability.attached]
    if idle:
        raise at.wrong(f"is a handoff, which never runs, and has {idle[0]}", do="take one of the two out")


def handing_of(capability: Capability) -> Handing | None:
    """What a call needs to know of the place to go to, None for what an agent may run."""
    at = capability.at
    written = checked_handoff(at, capability.options.handoff)
    if written is None:
        return None
    fields = _fields(capability)
    segments: list[str | Slot] = []
    for segment in _written(written.to):
        slot = _SLOT.fullmatch(segment)
        if slot is None:
            segments.append(segment)
        elif slot[1] in fields:
            segments.append(Slot(fields[slot[1]]))
        else:
            known = ", ".join(sorted(fields)) or "(none)"
            raise at.wrong(
                f"handoff= has {{{slot[1]}}} in its path, which is neither the record nor a field the view fills",
                do="what an agent sends, and what is sensitive, stands in no URL",
                facts=(("known", known),),
            )
    return Handing(reason=written.reason, segments=tuple(segments))


def handoff_block(written: Handoff) -> Json:
    """Its form in the contract."""
    return {"reason": written.reason, "to": written.to}


def handing_block(capability: Capability) -> dict[str, Json]:
    """What it adds to the contract's block of its capability."""
    written = capability.options.handoff
    return {"handoff": handoff_block(written)} if isinstance(written, Handoff) else {}


def path_of(handing: Handing, effective: Mapping[str, Json]) -> str | None:
    """The path for one effective input; None when a value cannot stand in it as one segment.

    Each is encoded whole, `/` too. No encoding keeps `.` and `..` from being read as steps, so that they cannot stand.
    """
    parts: list[str] = []
    for segment in handing.segments:
        if isinstance(segment, str):
            parts.append(segment)
            continue
        value = effective.get(segment.field)
        if isinstance(value, bool) or not isinstance(value, str | int) or value in {"", ".", ".."}:
            return None
        text = str(value)
        if len(text) > LIMITS.record_id:
            return None
        parts.append(quote(text, safe=""))
    return "/" + "/".join(parts)


def _written(path: str) -> list[str]:
    return [] if path == "/" else path[1:].split("/")


def _fields(capability: Capability) -> Mapping[str, str]:
    """By the name in a path, the field of the effective input."""
    options = capability.options
    if not isinstance(capability, Reference):
        name = options.record
        return {} if name is None else {name: PARAM}
    open_ = {*checked_overridable(capability), *options.sensitive}
    return {name: name for name in capability.bindings if "." not in name and name not in open_}
