"""Where a live class and its contract differ, in words that say what to do (SPEC 3.8)."""

import json
from collections.abc import Mapping
from typing import Final, cast

from remit._base.boundary import Json
from remit._contract.manifest import BESIDE, FILE_NAME, Block, Manifest
from remit._contract.options import Place
from remit._contract.row import ComponentRows
from remit.errors import DefinitionCode, DefinitionError

_SHOWN: Final = 120
_DO: Final = "remit compile; review; commit"


def check_recorded(rows: ComponentRows, manifest: Manifest) -> None:
    """Compare every field of a class with the contract; the first difference is a CONTRACT_MISMATCH that names it.

    The component is recorded; that is looked up before there are rows.
    """
    declaration = rows.declaration
    recorded = manifest.components[declaration.type]
    live = {row.capability.id: row for row in rows.capabilities}
    for capability_id, row in live.items():
        block = manifest.capabilities.get((declaration.type, capability_id))
        if block is None:
            raise not_recorded(row.capability.at)
        _compare(row.capability.at, row.block, block)
    for known in cast("list[str]", recorded["capabilities"]):
        if known not in live:
            at = Place(subject=known.partition(":")[2], place=declaration.at.place)
            raise _mismatch(at, f"is in {FILE_NAME}, but the class does not declare it")
    _compare(declaration.at, rows.block, recorded)


def not_recorded(at: Place) -> DefinitionError:
    """The error for what was declared after the last compile."""
    return _mismatch(at, f"is not in {FILE_NAME}")


def _mismatch(at: Place, rule: str, facts: tuple[tuple[str, str], ...] = ()) -> DefinitionError:
    return at.wrong(rule, code=DefinitionCode.CONTRACT_MISMATCH, facts=facts, do=_DO)


def _compare(at: Place, live: Mapping[str, Json], recorded: Block) -> None:
    for field in sorted({*live, *recorded} - BESIDE):
        declared, known = live.get(field), recorded.get(field)
        if declared != known or type(declared) is not type(known):
            raise _mismatch(at, f"{field} differs from {FILE_NAME}", _facts(at, field, declared, known))


def _facts(at: Place, field: str, declared: Json, recorded: Json) -> tuple[tuple[str, str], ...]:
    mine, theirs = _properties(declared), _properties(recorded)
    if field in {"input", "output"} and mine is not None and theirs is not None:
        if list(mine) != list(theirs) and set(mine) != set(theirs):
            new, gone = sorted(set(mine) - set(theirs)), sorted(set(theirs) - set(mine))
            why = f"`{new[0]}` is new" if new else f"`{gone[0]}` is gone"
            place = f" in {at.place}" if at.place else ""
            return (("declared", _names(mine)), ("recorded", _names(theirs)), ("why", why + place))
        for name in sorted(mine):
            if mine[name] != theirs[name]:
                return (("field", name), ("declared", _shown(mine[name])), ("recorded", _shown(theirs[name])))
    return (("declared", _shown(declared)), ("recorded", _shown(recorded)))


def _properties(schema: Json) -> dict[str, Json] | None:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else None


def _names(properties: dict[str, Json]) -> str:
    return ", ".join(sorted(properties)) or "(none)"


def _shown(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
