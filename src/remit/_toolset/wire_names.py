"""Wire names: capability ids as tool names that every model and client accepts (SPEC 12.1)."""

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Final

NAME_BUDGET: Final = 64
"""Characters a tool name may have; language models' interfaces allow no more."""

SMALLEST_BUDGET: Final = 32

_PLAIN: Final = re.compile(r"[a-z]+:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_PLAIN_INSTANCE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_WIDTH: Final = 12
_WIDE: Final = 26

Qualified = tuple[str, str | None]
"""A capability id, and the instance that tells it apart where several are visible (None where one is)."""


def wire_name(capability_id: str, instance: str | None = None, *, budget: int = NAME_BUDGET) -> str:
    """Return the tool name of a capability: `view:devices.table.read` is `view_devices__table__read` (SPEC 12.1).

    `:` becomes `_`, `.` becomes `__`, an instance follows as `_at_<instance>`. What would be longer than `budget`, and
    ids and instances that this encoding could not tell from others, are cut and end in `_0_` and a hash of the whole.
    The name depends on its arguments alone. A budget below 32 is a `ValueError`.
    """
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"a name budget under {SMALLEST_BUDGET} characters leaves no room for a hash")
    return _name(capability_id, instance, budget, _WIDTH)


def wire_names(listing: Iterable[Qualified], *, budget: int = NAME_BUDGET, width: int = _WIDTH) -> dict[str, Qualified]:
    """Name every entry of a listing, each name once; entries that are equal share their name.

    Where two different entries would get one name, both get the longest hash, whatever their order.
    """
    entries = dict.fromkeys(listing)
    first: dict[str, list[Qualified]] = {}
    for entry in entries:
        first.setdefault(_name(*entry, budget, width), []).append(entry)
    named: dict[str, Qualified] = {}
    for name, owners in first.items():
        if len(owners) == 1:
            named[name] = owners[0]
        else:
            named.update((_shortened(*owner, budget, _WIDE), owner) for owner in owners)
    return named


def _name(capability_id: str, instance: str | None, budget: int, width: int) -> str:
    if _PLAIN.fullmatch(capability_id) and (instance is None or _PLAIN_INSTANCE.fullmatch(instance)):
        name = _readable(capability_id, instance)
        # An instance could end like a hash; then it is hashed itself, so that only hashes look like hashes.
        if len(name) <= budget and not _ends_like_a_hash(name):
            return name
    return _shortened(capability_id, instance, budget, width)


def _readable(capability_id: str, instance: str | None) -> str:
    name = capability_id.replace(":", "_").replace(".", "__")
    return name if instance is None else f"{name}_at_{instance}"


def _ends_like_a_hash(name: str) -> bool:
    return re.search(rf"_0_[a-z2-7]{{1,{_WIDE}}}$", name) is not None


def _shortened(capability_id: str, instance: str | None, budget: int, width: int) -> str:
    whole = f"{capability_id}\0{'' if instance is None else 'at ' + instance}"
    digest = base64.b32encode(hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()).decode().lower()
    suffix = f"_0_{digest[: min(width, _WIDE)]}"
    head = _ODD.sub("-", _readable(capability_id, instance))
    return head[: budget - len(suffix)] + suffix
