"""Identity: the grammar of names, and the opaque ids of what lives (SPEC 2)."""

import re
from dataclasses import dataclass
from typing import Literal, NewType

from remit.errors import DefinitionCode, DefinitionError

SurfaceId = NewType("SurfaceId", str)
RegistrationId = NewType("RegistrationId", str)
InvocationId = NewType("InvocationId", str)
ConfirmationId = NewType("ConfirmationId", str)
CapabilityId = NewType("CapabilityId", str)

MAX_ID = 128
DEFAULT_INSTANCE = "default"

_TYPE = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*")
_NAME = re.compile(r"[a-z][A-Za-z0-9]*")
_INSTANCE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # a lone surrogate is no character of any text


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedId:
    """A capability id taken apart: `view:<component>.<name>` or `domain:<path>` (then `name` is the path)."""

    plane: Literal["view", "domain"]
    component: str | None
    name: str


def parse_capability_id(text: object) -> ParsedId | None:
    """Take a capability id apart; None when it is malformed, which at call time means unknown (SPEC 2.3)."""
    if not isinstance(text, str) or len(text) > MAX_ID:
        return None
    plane, colon, rest = text.partition(":")
    if not colon or not rest:
        return None
    if plane == "domain":
        return None if _CONTROL.search(rest) else ParsedId(plane="domain", component=None, name=rest)
    if plane != "view":
        return None
    component, dot, name = rest.rpartition(".")
    if not dot or not _TYPE.fullmatch(component) or not _NAME.fullmatch(name):
        return None
    return ParsedId(plane="view", component=component, name=name)


def is_instance(text: object) -> bool:
    """True for an instance name: 1 to 128 characters of `[A-Za-z0-9_-]` (SPEC 2.1)."""
    return isinstance(text, str) and _INSTANCE.fullmatch(text) is not None


def capability_name(method: str) -> str:
    """`select_rows` declares `selectRows`: underscores go, the next letter is upper-cased (SPEC 2.2)."""
    first, *rest = [part for part in method.split("_") if part] or [""]
    return first + "".join(part[0].upper() + part[1:] for part in rest)


def check_component_type(text: object, *, place: str | None = None) -> str:
    """Return a valid component type, or raise INVALID_ID naming the rule (SPEC 2.1)."""
    if isinstance(text, str) and len(text) <= MAX_ID and _TYPE.fullmatch(text):
        return text
    too_long = isinstance(text, str) and len(text) > MAX_ID
    raise DefinitionError(
        DefinitionCode.INVALID_ID,
        f"{text!r:.160}",
        f"a component type has at most {MAX_ID} characters, as its ids do"
        if too_long
        else "a component type is dot-separated segments of [a-z][a-z0-9-]*",
        place=place,
        do='write for example type="devices.table"',
    )


def view_id(component: str, name: str, *, place: str | None = None) -> CapabilityId:
    """Compose `view:<component>.<name>`, or raise INVALID_ID (SPEC 2.1)."""
    text = f"view:{component}.{name}"
    if not _NAME.fullmatch(name):
        rule = "a capability name is [a-z][A-Za-z0-9]*"
    elif len(text) > MAX_ID:
        rule = f"a capability id has at most {MAX_ID} characters"
    else:
        return CapabilityId(text)
    raise DefinitionError(DefinitionCode.INVALID_ID, text, rule, place=place)


def check_domain_id(text: object, *, place: str | None = None) -> CapabilityId:
    """Return a valid `domain:<path>`, or raise INVALID_ID naming the rule (SPEC 2.1)."""
    parsed = parse_capability_id(text)
    if isinstance(text, str) and parsed is not None and parsed.plane == "domain":
        return CapabilityId(text)
    raise DefinitionError(
        DefinitionCode.INVALID_ID,
        f"{text!r:.160}",
        f"a reference names `domain:<path>`, at most {MAX_ID} characters, no control character, no lone surrogate",
        place=place,
        do='write for example reference("domain:devices.disable")',
    )


def check_id(id: object, of: str) -> None:
    """Raise a TypeError for what is no text where the host names a call, a request or a handoff."""
    if not isinstance(id, str):
        raise TypeError(f"{id!r:.80} is no id of {of}: an id is text, as it was given out")
