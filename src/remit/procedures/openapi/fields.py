"""The names of an operation's fields as an agent sees them (SPEC 10.6)."""

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, TypeAlias

Slot: TypeAlias = tuple[str, str]
"""A place (`path`, `query`, `header`, `cookie`, `body`) and the name there."""

_KNOWN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64


def field_names(slots: Iterable[Slot]) -> dict[Slot, str]:
    """Name every slot: `[A-Za-z0-9_-]`, at most 64 characters, each once; equal slots give equal names.

    A name that is in several places says which in each, as `id_in_path`. One that models refuse is rewritten:
    `filter[city]` is `filter_city`, `$top` is `top`; where that is taken, a number follows. Names that can stay, stay.
    """
    places = tuple(slots)
    count = Counter(name for _, name in places)
    wanted = {slot: slot[1] if count[slot[1]] == 1 else f"{slot[1]}_in_{slot[0]}" for slot in places}
    names = {slot: name for slot, name in wanted.items() if _KNOWN.fullmatch(name)}
    taken = set(names.values())
    for slot, name in wanted.items():
        if slot not in names:
            names[slot] = free = _free(_short(name), taken)
            taken.add(free)
    return {slot: names[slot] for slot in places}


def _short(name: str) -> str:
    plain = _OTHER.sub("_", name).strip("_") or "field"
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[: _LONGEST - 9]}_{sha256(name.encode()).hexdigest()[:8]}"


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name[: _LONGEST - 4]}_{number}"
    return candidate
