"""What every row of a contract has, whichever version wrote it: what it is read by (SPEC 3.7)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from remit._base.boundary import Json
from remit._model.effects import Confirmation, Effect, Kind

_Fits = Callable[[Json], bool]


def misformed(row: Mapping[str, Json], parts: Mapping[str, _Fits]) -> str | None:
    """Name the first part of a row that is missing or has another form than every version writes; None for none."""
    return next((name for name, fits in parts.items() if name not in row or not fits(row[name])), None)


def _texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts_or_none(value: Json) -> bool:
    return value is None or _texts(value)


def _policies(value: Json) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("class"), str)
        and _texts(each.get("methods"))
        for each in value
    )


def _one_of(words: frozenset[str]) -> _Fits:
    return lambda value: isinstance(value, str) and value in words


COMPONENT: Final[Mapping[str, _Fits]] = MappingProxyType(
    {"doors": _texts_or_none, "policies": _policies, "capabilities": _texts}
)
CAPABILITY: Final[Mapping[str, _Fits]] = MappingProxyType(
    {
        "kind": _one_of(frozenset(Kind)),
        "effect": _one_of(frozenset(Effect)),
        "confirmation": _one_of(frozenset(Confirmation)),
        "doors": _texts_or_none,
        "policies": _policies,
    }
)
